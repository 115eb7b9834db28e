"""Graded sentence pairs: the seven STS tests and STS-B's splits in SentEval's layout, and the demo's own sets.

Text is read as SentEval reads it: UTF-8, one pair a line, quotes literal, white space runs made single blanks. Gold
scores lie in [0, 5]. Other counts than published are refused, since a score on other pairs is another number.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.data.pins import DEMO_FOLDER
from core.data.senteval import SICK_SPLITS, STS_YEARS, STSB_SPLITS, senteval_root, year_files
from core.data.text import AGAIN, numbered_lines
from core.spec.errors import UserError
from core.spec.scale import DEMO
from core.spec.section import decimal

Pair = tuple[str, str, float]


@dataclass(frozen=True)
class StsSet:
    """Pairs of sentences with gold similarity in [0, 5]; `subset` labels each pair's part of the set, in file order.

    All four have one entry a pair; gold is float64, (pairs,). STS-B, SICK-R and the demo's sets have one subset each.
    """

    name: str
    subset: tuple[str, ...]
    a: tuple[str, ...]
    b: tuple[str, ...]
    gold: np.ndarray

    def __post_init__(self):
        if not len(self.subset) == len(self.a) == len(self.b) == len(self.gold):
            raise ValueError(f"{self.name}: subset, a, b and gold differ in length")

    def __len__(self) -> int:
        return len(self.a)


def load_sts(evaluation_path: Path) -> dict[str, StsSet]:
    """STS12 … STS16, STS-B and SICK-R (test splits), and `STS-B dev`, by name.

    `evaluation_path` holds STS/ and SICK/, or a senteval/ or data/downstream/ that does. Raises UserError, naming file and
    line, for anything missing, malformed, wrongly encoded, out of range or of another count than published.
    """
    root = senteval_root(evaluation_path)
    sets = {name: _year(root, name) for name in STS_YEARS}
    sets["STS-B"] = load_stsb(root, "test")
    sets["SICK-R"] = load_sick(root, "test")
    sets["STS-B dev"] = load_stsb(root, "dev")
    return sets


def load_stsb(evaluation_path: Path, split: str) -> StsSet:
    """STS-B's train, dev or test split."""
    pairs = stsb_pairs(senteval_root(evaluation_path), split)
    return _single("STS-B" if split == "test" else f"STS-B {split}", pairs)


def load_sick(evaluation_path: Path, split: str) -> StsSet:
    """SICK-R's train, dev (trial) or test split."""
    pairs = sick_pairs(senteval_root(evaluation_path), split)
    return _single("SICK-R" if split == "test" else f"SICK-R {split}", pairs)


def load_demo() -> dict[str, StsSet]:
    """The demo's test sets and development set, by name. A line has two sentences and a score, between tabs."""
    sets = {}
    for name in (*DEMO.tests, DEMO.dev):
        rows = (line.split("\t") for _, line in numbered_lines(DEMO_FOLDER / f"{name}.tsv.gz"))
        sets[name] = _single(name, [(a, b, float(gold)) for a, b, gold in rows])
    return sets


def sets_digest(sets: dict[str, StsSet]) -> str:
    """SHA-256 of the sets' content: name, sentences and gold of every pair, one a line, sets in order of name."""
    lines = [
        f"{name}\t{a}\t{b}\t{float(gold)!r}\n"
        for name in sorted(sets)
        for a, b, gold in zip(sets[name].a, sets[name].b, sets[name].gold, strict=True)
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _year(root: Path, name: str) -> StsSet:
    labelled = year_pairs(root, name)
    return _set(name, [subset for subset, _ in labelled], [pair for _, pair in labelled])


def _single(name: str, pairs: list[Pair]) -> StsSet:
    return _set(name, [name] * len(pairs), pairs)


def _set(name: str, labels: list[str], pairs: list[Pair]) -> StsSet:
    a, b, gold = zip(*pairs, strict=True)
    return StsSet(name=name, subset=tuple(labels), a=a, b=b, gold=np.array(gold, dtype=np.float64))


def check_sets(evaluation_path: Path) -> None:
    """Read every set that a run uses. Raises UserError, naming file and line, for whatever is not as it was published."""
    root = senteval_root(evaluation_path)
    for name in STS_YEARS:
        year_pairs(root, name)
    for split in STSB_SPLITS:
        stsb_pairs(root, split)
    sick_pairs(root, "test")


def year_pairs(root: Path, name: str) -> list[tuple[str, Pair]]:
    """STS12 … STS16 as (subset, pair): an input file of two tab-separated sentences and a gold file, line by line; unscored lines
    are left out. Raises UserError."""
    labelled = []
    for subset, count in STS_YEARS[name].items():
        input_path, gold_path = (root / file for file in year_files(name, subset))
        lines, scores = numbered_lines(input_path), numbered_lines(gold_path)
        if len(lines) != len(scores):
            raise UserError(f"{name} {subset} has {len(lines)} lines of text but {len(scores)} of gold scores ({gold_path}); {AGAIN}.")
        pairs = []
        for (number, line), (_, score) in zip(lines, scores, strict=True):
            if not score.strip():
                continue
            fields = line.split("\t")
            if len(fields) != 2:
                raise malformed(input_path, number, f"two sentences separated by a tab, found {len(fields)} columns")
            a, b = (sentence(input_path, number, field) for field in fields)
            pairs.append((a, b, _gold(gold_path, number, score)))
        check_count(f"{name} {subset}", f"scored pairs in {input_path.parent}", count, len(pairs))
        labelled += [(subset, pair) for pair in pairs]
    return labelled


def stsb_pairs(root: Path, split: str) -> list[Pair]:
    """STS-B's train, dev or test split: seven tab-separated columns, of which 5 to 7 are score, sentence, sentence."""
    file, count = STSB_SPLITS[split]
    path, pairs = root / file, []
    for number, line in numbered_lines(path):
        fields = line.split("\t")
        if len(fields) < 7:
            raise malformed(path, number, f"seven tab-separated columns, found {len(fields)}")
        pairs.append((sentence(path, number, fields[5]), sentence(path, number, fields[6]), _gold(path, number, fields[4])))
    check_count("STS-B" if split == "test" else f"STS-B {split}", f"scored pairs in {path.parent}", count, len(pairs))
    return pairs


def sick_pairs(root: Path, split: str) -> list[Pair]:
    """SICK-R's train, dev (trial) or test split: a header line, then id, sentence, sentence, relatedness (1 to 5), entailment."""
    file, count = SICK_SPLITS[split]
    path, pairs = root / file, []
    for number, line in numbered_lines(path):
        if number == 1:
            continue
        fields = line.split("\t")
        if len(fields) != 5:
            raise malformed(path, number, f"five tab-separated columns, found {len(fields)}")
        pairs.append((sentence(path, number, fields[1]), sentence(path, number, fields[2]), _gold(path, number, fields[3])))
    check_count("SICK-R" if split == "test" else f"SICK-R {split}", f"scored pairs in {path.parent}", count, len(pairs))
    return pairs


def sentence(path: Path, number: int, text: str) -> str:
    """A line's sentence with white space runs made single blanks. Raises UserError if there is none."""
    words = " ".join(text.split())  # as SentEval does; it matters to byte-level tokenizers
    if not words:
        raise malformed(path, number, "a sentence, found none")
    return words


def _gold(path: Path, number: int, text: str) -> float:
    gold = decimal(text)
    if gold is None:
        raise malformed(path, number, f"a gold score, found {text.strip()[:40]!r}")
    if not 0.0 <= gold <= 5.0:
        raise UserError(f"{path}, line {number}: the gold score {text.strip()} lies outside 0 to 5; {AGAIN}.")
    return gold


def malformed(path: Path, number: int, expected: str) -> UserError:
    """The complaint about a line that is not as `expected`."""
    return UserError(f"{path}, line {number}: expected {expected}; {AGAIN}.")


def check_count(name: str, kind: str, expected: int, count: int) -> None:
    """Raise UserError unless a set has as many examples of this kind as were published."""
    if count != expected:
        raise UserError(f"{name} has {count} {kind}, but {expected} are published; {AGAIN}.")
