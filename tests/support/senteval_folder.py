"""A whole SentEval folder of made-up pairs and tasks with the published counts, for tests without
the real data."""

from pathlib import Path

from core.data.sts import SPLITS, STS_YEARS, year_files
from core.data.transfer import TREC_KINDS


def build(root: Path) -> Path:
    """Write every file that the loader reads below `root`, and return it. Gold scores run through
    0, 0.5, …, 5."""
    for name, subsets in STS_YEARS.items():
        for subset, count in subsets.items():
            text, gold = (root / file for file in year_files(name, subset))
            lines(text, count, lambda i, at=f"{name} {subset}": f"{at} a {pair(i)}\n")
            lines(gold, count, lambda i: f"{score(i)}\n")
    for split, (file, count) in SPLITS["STS-B"].items():
        line = f"g\tf\ty\t{{}}\t{{}}\t{split} a {{}}\n"
        lines(root / file, count, lambda i, line=line: line.format(i, score(i), pair(i)))
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
    for split, (file, count) in SPLITS["SICK-R"].items():
        line = f"{{}}\t{split} A {{}}\t{{}}\tNEUTRAL\r\n"
        lines(root / file, count, lambda i, line=line: line.format(i, pair(i), score(i)), head)
    return root


def lines(path: Path, count: int, line, head: str = "") -> None:
    """Write a file of so many lines, by their numbers."""
    write(path, head + "".join(map(line, range(count))))


def pair(i: int) -> str:
    """The end of a first sentence, and a second one."""
    return f"{i} {words(i)}\tb {i} {words(3 * i)}"


def words(i: int) -> str:
    """Some of the words that `tiny_checkpoint` knows."""
    return f"w{i % 40} w{i // 40 % 40} w{i // 7 % 40}"


def score(i: int) -> float:
    return (i * 7 % 11) / 2


def transfer(root: Path) -> Path:
    """Write the files of the seven transfer tasks below `root`, and return it."""
    for name in ("MR", "CR", "SUBJ", "MPQA"):
        for side, (file, count) in SPLITS[name].items():
            write(root / file, "".join(f"{name} {side} {i} w{i % 40} \n" for i in range(count)))
    for split, (file, count) in SPLITS["SST-2"].items():
        write(root / file, "".join(f"{split} {i} w{i % 40} \t{i % 2}\n" for i in range(count)))
    for split, (file, count) in SPLITS["TREC"].items():
        lines = "".join(
            f"{TREC_KINDS[i % 6]}:fine caf\xe9 {split} {i} w{i % 40} ?\n" for i in range(count)
        )
        write(root / file, lines, "latin-1")
    for file, count in SPLITS["MRPC"].values():
        rows = "".join(
            f"{i % 2}\t{i}\t{i}\tfirst {i} said w{i % 40}\tsecond {i} said w{i % 40}\r\n"
            for i in range(count)
        )
        write(root / file, "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n" + rows)
    return root


def write(path: Path, text: str, encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
