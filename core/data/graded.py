"""Graded sentence pairs in SentEval's layout, read and checked line by line. Standard library only, for plan and job.

Text is read as SentEval reads it: UTF-8, one pair a line, quotes literal, white space runs made single blanks. Gold scores
lie in [0, 5]. Whatever differs from the published counts is refused, since a score on other pairs is another number.
"""

from __future__ import annotations

from pathlib import Path

from core.data.senteval import SICK_SPLITS, STS_YEARS, STSB_SPLITS, senteval_root, year_files
from core.data.text import text_bytes
from core.spec.errors import UserError
from core.spec.numbers import decimal

MOST_BYTES = 1 << 30  # of a set, which has a few million
AGAIN = "fetch SentEval's data again"
Pair = tuple[str, str, float]


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
    found = []
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
        _check_count(f"{name} {subset}", count, len(pairs), input_path)
        found += [(subset, pair) for pair in pairs]
    return found


def stsb_pairs(root: Path, split: str) -> list[Pair]:
    """STS-B's train, dev or test split: seven tab-separated columns, of which 5 to 7 are score, sentence, sentence."""
    file, count = STSB_SPLITS[split]
    path, pairs = root / file, []
    for number, line in numbered_lines(path):
        fields = line.split("\t")
        if len(fields) < 7:
            raise malformed(path, number, f"seven tab-separated columns, found {len(fields)}")
        pairs.append((sentence(path, number, fields[5]), sentence(path, number, fields[6]), _gold(path, number, fields[4])))
    _check_count("STS-B" if split == "test" else f"STS-B {split}", count, len(pairs), path)
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
    _check_count("SICK-R" if split == "test" else f"SICK-R {split}", count, len(pairs), path)
    return pairs


def numbered_lines(
    path: Path, encoding: str = "utf-8", option: str = "--data-dir", mend: str = f"{AGAIN}, unconverted"
) -> list[tuple[int, str]]:
    """Numbered lines of a text file, counted from 1, without their ends. Only a newline ends a line, whatever Unicode says.

    Raises UserError for what cannot be read; `option` named the file, and `mend` says what to do about another encoding.
    """
    try:
        content = text_bytes(path, MOST_BYTES)
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; {AGAIN} or correct {option}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); correct {option}.") from error
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {number} is not {encoding.upper()}; {mend}.") from error
    lines = text.replace("\ufeff", "").split("\n")  # a byte-order mark is no part of a sentence
    if not lines[-1]:
        lines.pop()
    return [(number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1)]


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


def _check_count(name: str, expected: int, found: int, path: Path) -> None:
    if found != expected:
        raise UserError(f"{name} has {found} scored pairs in {path.parent}, but {expected} are published; {AGAIN}.")
