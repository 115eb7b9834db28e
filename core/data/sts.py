"""Graded sentence pairs: the seven STS tests and STS-B's splits in SentEval's layout, and the
demo's own sets. Text is read as SentEval reads it: one pair a line, quotes literal, white space
runs made single blanks. Other counts than published are refused, since a score on other pairs is
another number."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from core.config.scale import DEMO, TRANSFER
from core.config.section import decimal
from core.data.text import (
    DEMO_FOLDER,
    Example,
    expect,
    numbered_lines,
    parsed_rows,
    sentence,
    text_digest,
)
from core.errors import UserError
from core.formatting import counted

Pair = tuple[str, str, float]
FETCH_AGAIN = "fetch SentEval's data again"
# Pairs per subset, as published. STS13 lacks SMT, whose sentences are not redistributable.
STS_YEARS: dict[str, dict[str, int]] = {}
# The other sets and the transfer tasks: by split a file below the root, with its pairs or examples.
# Of two classes each is a file.
SPLITS: dict[str, dict[str, tuple[str, int]]] = {}
PUBLISHED_COUNTS = """
    STS12 MSRpar 750
    STS12 MSRvid 750
    STS12 SMTeuroparl 459
    STS12 surprise.OnWN 750
    STS12 surprise.SMTnews 399
    STS13 FNWN 189
    STS13 headlines 750
    STS13 OnWN 561
    STS14 deft-forum 450
    STS14 deft-news 300
    STS14 headlines 750
    STS14 images 750
    STS14 OnWN 750
    STS14 tweet-news 750
    STS15 answers-forums 375
    STS15 answers-students 750
    STS15 belief 375
    STS15 headlines 750
    STS15 images 750
    STS16 answer-answer 254
    STS16 headlines 249
    STS16 plagiarism 230
    STS16 postediting 244
    STS16 question-question 209
    STS-B train STS/STSBenchmark/sts-train.csv 5749
    STS-B dev STS/STSBenchmark/sts-dev.csv 1500
    STS-B test STS/STSBenchmark/sts-test.csv 1379
    SICK-R train SICK/SICK_train.txt 4500
    SICK-R dev SICK/SICK_trial.txt 500
    SICK-R test SICK/SICK_test_annotated.txt 4927
    MR pos MR/rt-polarity.pos 5331
    MR neg MR/rt-polarity.neg 5331
    CR pos CR/custrev.pos 2407
    CR neg CR/custrev.neg 1368
    SUBJ pos SUBJ/subj.objective 5000
    SUBJ neg SUBJ/subj.subjective 5000
    MPQA pos MPQA/mpqa.pos 3312
    MPQA neg MPQA/mpqa.neg 7294
    SST-2 train SST/binary/sentiment-train 67349
    SST-2 dev SST/binary/sentiment-dev 872
    SST-2 test SST/binary/sentiment-test 1821
    TREC train TREC/train_5500.label 5452
    TREC test TREC/TREC_10.label 500
    MRPC train MRPC/msr_paraphrase_train.txt 4076
    MRPC test MRPC/msr_paraphrase_test.txt 1725
    """
for _name, _part, *_file, _count in map(str.split, PUBLISHED_COUNTS.strip().split("\n")):
    if _file:
        SPLITS.setdefault(_name, {})[_part] = (_file[0], int(_count))
    else:
        STS_YEARS.setdefault(_name, {})[_part] = int(_count)
STSB_COLUMNS = 7  # columns of STS-B, of which some lines have more
# lines of the header, and the columns of `_graded`
LAYOUTS = {"STS-B": (0, (STSB_COLUMNS, 5, 6, 4)), "SICK-R": (1, (5, 1, 2, 3))}
_PLACES = (
    "",
    "senteval",
    "SentEval",
    "data/downstream",
    "senteval/data/downstream",
    "SentEval/data/downstream",
    "downstream",
)


def senteval_root(path: Path) -> Path:
    """The folder that holds STS/ and SICK/: `path` or the one usual place below it that does.
    Raises UserError."""
    places = [Path(path) / place for place in _PLACES]
    having = [root for root in places if (root / "STS").is_dir() and (root / "SICK").is_dir()]
    roots = {root.resolve() for root in having}
    if len(roots) == 1:
        return having[0]
    raise UserError(
        f"{path} has {counted(len(roots), 'folder')} of SentEval data; give the one with STS/ and "
        "SICK/ in it, or use --scale demo, which needs none."
    )


def year_files(name: str, subset: str) -> tuple[str, str]:
    """Input and gold file of one subset of STS12 … STS16, relative to the root."""
    folder = f"STS/{name}-en-test"
    return f"{folder}/STS.input.{subset}.txt", f"{folder}/STS.gs.{subset}.txt"


def used_files(transfer: bool = False) -> tuple[str, ...]:
    """The files that can move a run's number, sorted: seven tests, all of STS-B, transfer tasks."""
    files: list[str] = []
    for name, subsets in STS_YEARS.items():
        for subset in subsets:
            files += year_files(name, subset)
    files += [file for file, _ in SPLITS["STS-B"].values()]
    files.append(SPLITS["SICK-R"]["test"][0])
    if transfer:
        files += transfer_files()
    return tuple(sorted(files))


def transfer_files() -> list[str]:
    """The files of the seven transfer tasks."""
    files = []
    for task in TRANSFER:
        files += [file for file, _ in SPLITS[task].values()]
    return files


@dataclass(frozen=True)
class StsSet:
    """Pairs of sentences with gold similarity in [0, 5], float64 (pairs,), in file order. `subset`
    labels the part of the set that a pair is of. STS-B, SICK-R and the demo's sets have one subset
    each."""

    name: str
    subset: tuple[str, ...]
    a: tuple[str, ...]
    b: tuple[str, ...]
    gold: np.ndarray

    def __len__(self) -> int:
        return len(self.a)


def set_of(name: str, pairs: Sequence[Pair], subsets: Sequence[str] = ()) -> StsSet:
    """The set of these pairs, with the subset of each; one subset if none are given."""
    a, b, gold = zip(*pairs, strict=True)
    return StsSet(name, tuple(subsets) or (name,) * len(a), a, b, np.array(gold, dtype=np.float64))


def load_sts(evaluation_path: Path) -> dict[str, StsSet]:
    """STS12 … STS16, STS-B and SICK-R (test splits), and `STS-B dev`, by name.

    `evaluation_path` holds STS/ and SICK/, or a senteval/ or data/downstream/ that does. Raises
    UserError, naming file and line, for anything missing, malformed, wrongly encoded, out of range
    or of another count than published.
    """
    root = senteval_root(evaluation_path)
    sets = [_year(root, name) for name in STS_YEARS]
    for name, split in (("STS-B", "test"), ("SICK-R", "test"), ("STS-B", "dev")):
        sets.append(load_split(root, name, split))
    return {pairs.name: pairs for pairs in sets}


def load_split(evaluation_path: Path, name: str, split: str) -> StsSet:
    """The train, dev or test split of STS-B or SICK-R."""
    file, count = SPLITS[name][split]
    header, columns = LAYOUTS[name]
    place = senteval_root(evaluation_path) / file
    lines = [row for row in numbered_lines(place)[header:] if row[1].strip()]  # a blank end
    pairs = examples(place, count, partial(_graded, columns), lines)
    if split != "test":
        name = f"{name} {split}"
    return set_of(name, pairs)


def load_demo() -> dict[str, StsSet]:
    """The demo's test sets and development set, by name: two sentences and a score, between
    tabs."""
    sets = {}
    for name in (*DEMO.tests, DEMO.dev):
        pairs = []
        for _, line in numbered_lines(DEMO_FOLDER / f"{name}.tsv.gz"):
            a, b, gold = line.split("\t")
            pairs.append((a, b, float(gold)))
        sets[name] = set_of(name, pairs)
    return sets


def sets_digest(sets: Mapping[str, StsSet]) -> str:
    """SHA-256 of the sets' content: name, sentences and gold of every pair, in order of name."""
    lines = []
    for name in sorted(sets):
        for a, b, gold in zip(sets[name].a, sets[name].b, sets[name].gold, strict=True):
            lines.append(f"{name}\t{a}\t{b}\t{float(gold)!r}\n")
    return text_digest(lines)


def _year(root: Path, name: str) -> StsSet:
    """STS12 … STS16: by subset an input file of two tab-separated sentences and a gold file, by
    line; unscored lines are left out."""
    labels = []
    pairs = []
    for subset, count in STS_YEARS[name].items():
        text, gold = (root / file for file in year_files(name, subset))
        lines = numbered_lines(text)
        scores = numbered_lines(gold)
        if len(lines) != len(scores):
            raise UserError(
                f"{name} {subset} has {len(lines)} lines of text but {len(scores)} of gold scores "
                f"({gold}); {FETCH_AGAIN}."
            )
        scored = []
        for (number, line), (_, score) in zip(lines, scores, strict=True):
            if score.strip():
                scored.append((number, f"{score}\t{line}"))
        pairs += examples(f"{text} with {gold.name}", count, partial(_graded, (3, 1, 2, 0)), scored)
        labels += [subset] * count
    return set_of(name, pairs, labels)


def examples(
    where: object, count: int, read: Callable[[str], Example], lines: Sequence[tuple[int, str]]
) -> list[Example]:
    """What `read` makes of these lines of a file, as many as were published. Raises UserError."""
    rows = list(parsed_rows(f"{where}, line", lines, read))
    if len(rows) != count:
        raise UserError(
            f"{where} has {len(rows)} examples, but {count} are published; {FETCH_AGAIN}."
        )
    return rows


def _graded(columns: tuple[int, int, int, int], line: str) -> Pair:
    """The pair in a line: `columns` are the number of columns, and those of both sentences and of
    gold. Some lines of STS-B have more."""
    fields = line.split("\t")
    count, *places = columns
    enough = len(fields) == count or len(fields) > count == STSB_COLUMNS
    expect(enough, f"sentences and gold score in {count} columns between tabs", line)
    a, b, gold = pair(*(fields[place] for place in places))
    expect(0.0 <= gold <= 5.0, "a gold score from 0 to 5", gold)
    return a, b, gold


def pair(a: str, b: str, score: str) -> Pair:
    """Two sentences, with white space runs made single blanks, and their score. Raises
    ValueError."""
    number = decimal(score)
    if number is None:
        raise ValueError(f"expected a score, but found {score[:40]!r}")
    return sentence(a), sentence(b), number
