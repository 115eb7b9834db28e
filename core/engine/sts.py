"""Graded sentence pairs: the seven STS tests and STS-B's splits in SentEval's layout, and the demo's own sets.

Text is read as SentEval reads it: UTF-8, one pair a line, quotes literal, white space runs made single blanks. Gold scores
lie in [0, 5]. Whatever differs from the published counts is refused, since a score on other pairs is another number.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.runner.senteval import SICK_SPLITS, STS_YEARS, STSB_SPLITS, senteval_root, year_files
from core.spec.errors import UserError

AGAIN = "fetch SentEval's data again"


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
    """STS-B's train, dev or test split: seven tab-separated columns, of which 5 to 7 are score, sentence, sentence."""
    file, count = STSB_SPLITS[split]
    path = senteval_root(evaluation_path) / file
    rows = []
    for number, line in numbered_lines(path):
        fields = line.split("\t")
        if len(fields) < 7:
            raise malformed(path, number, f"seven tab-separated columns, found {len(fields)}")
        rows.append((sentence(path, number, fields[5]), sentence(path, number, fields[6]), _gold(path, number, fields[4])))
    return _single("STS-B" if split == "test" else f"STS-B {split}", rows, count, path)


def load_sick(evaluation_path: Path, split: str) -> StsSet:
    """SICK-R's train, dev (trial) or test split: a header line, then id, sentence, sentence, relatedness (1 to 5), entailment."""
    file, count = SICK_SPLITS[split]
    path = senteval_root(evaluation_path) / file
    rows = []
    for number, line in numbered_lines(path):
        if number == 1:
            continue
        fields = line.split("\t")
        if len(fields) != 5:
            raise malformed(path, number, f"five tab-separated columns, found {len(fields)}")
        rows.append((sentence(path, number, fields[1]), sentence(path, number, fields[2]), _gold(path, number, fields[3])))
    return _single("SICK-R" if split == "test" else f"SICK-R {split}", rows, count, path)


def load_demo() -> dict[str, StsSet]:
    """The demo world's development set and test sets, by the names of `core.spec.scale.DEMO`."""
    from core.engine.demo.pairs import DEV, TESTS, graded_pairs  # the real scales need no demo world

    sets = {}
    for name in (*TESTS, DEV):
        pairs = graded_pairs(name)
        sets[name] = StsSet(
            name=name,
            subset=(name,) * len(pairs),
            a=tuple(pair.a for pair in pairs),
            b=tuple(pair.b for pair in pairs),
            gold=np.array([pair.gold for pair in pairs], dtype=np.float64),
        )
    return sets


def sets_digest(sets: dict[str, StsSet]) -> str:
    """SHA-256 of the sets' content: name, sentences and gold of every pair, one a line, sets in order of name."""
    lines = [
        f"{name}\t{a}\t{b}\t{float(gold)!r}\n"
        for name in sorted(sets) for a, b, gold in zip(sets[name].a, sets[name].b, sets[name].gold)
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _year(root: Path, name: str) -> StsSet:
    """STS12 … STS16: an input file of two tab-separated sentences and a gold file, line by line; unscored lines are left out."""
    rows, labels = [], []
    for subset, count in STS_YEARS[name].items():
        input_path, gold_path = (root / file for file in year_files(name, subset))
        lines, scores = list(numbered_lines(input_path)), list(numbered_lines(gold_path))
        if len(lines) != len(scores):
            raise UserError(
                f"{name} {subset} has {len(lines)} lines of text but {len(scores)} of gold scores ({gold_path}); {AGAIN}."
            )
        found = 0
        for (number, line), (_, score) in zip(lines, scores):
            if not score.strip():
                continue
            fields = line.split("\t")
            if len(fields) != 2:
                raise malformed(input_path, number, f"two sentences separated by a tab, found {len(fields)} columns")
            a, b = (sentence(input_path, number, field) for field in fields)
            rows.append((a, b, _gold(gold_path, number, score)))
            found += 1
        _check_count(f"{name} {subset}", count, found, input_path)
        labels += [subset] * found
    return _set(name, labels, rows)


def _single(name: str, rows: list, count: int, path: Path) -> StsSet:
    _check_count(name, count, len(rows), path)
    return _set(name, [name] * len(rows), rows)


def _set(name: str, labels: list[str], rows: list[tuple[str, str, float]]) -> StsSet:
    a, b, gold = zip(*rows)
    return StsSet(name=name, subset=tuple(labels), a=a, b=b, gold=np.array(gold, dtype=np.float64))


def numbered_lines(path: Path, encoding: str = "utf-8") -> list[tuple[int, str]]:
    """Numbered lines of a text file, counted from 1, without their ends. Only a newline ends a line, whatever Unicode says."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; {AGAIN} or correct --data-dir.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); correct --data-dir.") from error
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {number} is not {encoding.upper()}; {AGAIN}, unconverted.") from error
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [(number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1)]


def sentence(path: Path, number: int, text: str) -> str:
    """The text with single blanks between its words. Raises UserError if it has none."""
    words = " ".join(text.split())  # as SentEval does; it matters to byte-level tokenizers
    if not words:
        raise malformed(path, number, "a sentence, found none")
    return words


def _gold(path: Path, number: int, text: str) -> float:
    try:
        gold = float(text)
    except ValueError as error:
        raise malformed(path, number, f"a gold score, found {text.strip()[:40]!r}") from error
    if not 0.0 <= gold <= 5.0:  # also refuses NaN
        raise UserError(f"{path}, line {number}: the gold score {text.strip()} lies outside 0 to 5; {AGAIN}.")
    return gold


def malformed(path: Path, number: int, expected: str) -> UserError:
    """What to say of a line that is not as expected."""
    return UserError(f"{path}, line {number}: expected {expected}; {AGAIN}.")


def _check_count(name: str, expected: int, found: int, path: Path) -> None:
    if found != expected:
        raise UserError(f"{name} has {found} scored pairs in {path.parent}, but {expected} are published; {AGAIN}.")
