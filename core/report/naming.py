"""Names as they hold at a scale: the encoder that stands for the paper's, and how many test sets there are."""

from __future__ import annotations

import re

from core.report.cells import StudyResult
from core.spec.scale import PAPER

BASE = re.compile(r"BERT-base(?![\w])")
SETS = re.compile(r"\bseven STS (tasks|sets|test sets)")
TRANSFER = re.compile(r"\b([Ss])even transfer tasks")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def label_here(label: str, result: StudyResult) -> str:
    """A row's label with the encoder that was run in the place of BERT-base: "MoCoSE-BERT-base" is "MoCoSE-MiniLM" where MiniLM is."""
    return label if result.scale.name == PAPER.name else _replaced(label, result.sources.encoder_name)


def text_here(text: str, result: StudyResult) -> str:
    """A caption or a sentence of ours with as many test sets and transfer tasks as this scale has."""
    text = SETS.sub(lambda found: f"{_count(result.scale.tests)} test sets", text)
    return TRANSFER.sub(lambda found: f"{_count(result.scale.probes, found[1] == 'S')} transfer tasks", text)


def stand_in(result: StudyResult) -> str:
    """One sentence on the encoder that stands for BERT-base, where a label names that; else ""."""
    named = any(BASE.search(label) for axis in result.study.axes for label in axis.labels)
    if not named or result.scale.name == PAPER.name:
        return ""
    return f"Rows and columns are named by the encoder that was run, {result.sources.encoder_name}; the paper's numbers in them are of BERT-base."


def _replaced(label: str, encoder: str) -> str:
    found = BASE.search(label)
    if found is None or label[: found.start()].endswith("Ro"):  # RoBERTa-base is another encoder
        return label
    return label[: found.start()] + encoder + label[found.end() :]


def _count(names: tuple[str, ...], capital: bool = False) -> str:
    word = NUMBERS[len(names)] if len(names) < len(NUMBERS) else str(len(names))
    return word.capitalize() if capital else word
