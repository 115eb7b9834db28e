"""SentEval's transfer tasks in made-up words with the published counts, for tests without the real data."""

from pathlib import Path

from core.data.sts import SPLITS
from core.data.transfer import TREC_KINDS


def build(root: Path) -> Path:
    """Write the files of the seven tasks below `root`, with empty STS/ and SICK/ if there are none, and return it."""
    for name in ("STS", "SICK"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("MR", "CR", "SUBJ", "MPQA"):
        for side, (file, count) in SPLITS[name].items():
            write(root / file, "".join(f"{name} {side} {i} w{i % 40} \n" for i in range(count)))
    for split, (file, count) in SPLITS["SST-2"].items():
        write(root / file, "".join(f"{split} {i} w{i % 40} \t{i % 2}\n" for i in range(count)))
    for split, (file, count) in SPLITS["TREC"].items():
        lines = "".join(f"{TREC_KINDS[i % 6]}:fine caf\xe9 {split} {i} w{i % 40} ?\n" for i in range(count))
        write(root / file, lines, "latin-1")
    for file, count in SPLITS["MRPC"].values():
        rows = "".join(f"{i % 2}\t{i}\t{i}\tfirst {i} said w{i % 40}\tsecond {i} said w{i % 40}\r\n" for i in range(count))
        write(root / file, "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n" + rows)
    return root


def write(path: Path, text: str, encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
