"""Graded sentence pairs: the seven STS tests and STS-B's splits in SentEval's layout (`core.data.graded`), and the demo's own sets."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.data.graded import Pair, numbered_lines, sick_pairs, stsb_pairs, year_pairs
from core.data.pins import DEMO_FOLDER
from core.data.senteval import STS_YEARS, senteval_root
from core.spec.scale import DEMO


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
