"""Names as they hold at a scale: the encoder that stands for the paper's, and how many test sets there are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.report.cells import StudyResult
from core.spec.claim import Contrast, Labels
from core.spec.scale import PAPER
from core.spec.table import Axis

BASE = re.compile(r"BERT-base(?![\w])")
BARE = re.compile(r"(?<![\w-])BERT(?!-base|-large|\w)(-?)")  # the encoder itself, untrained or averaged
NUMERIC = re.compile(r"[\d.~]+(e-?\d+)?")
SETS = re.compile(r"\bseven STS (tasks|sets|test sets)")
TRANSFER = re.compile(r"\b([Ss])even transfer tasks")
MOST_TERMS = 4  # of a comparison that is spelled out
TEXTS = {"wiki_sentences.txt": "Wikipedia sentences", "wiki1m_for_simcse.txt": "one million Wikipedia sentences"}  # by their known files
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def label_here(label: str, result: StudyResult) -> str:
    """A row's label with the encoder that was run in the place of BERT-base: "MoCoSE-BERT-base" is "MoCoSE-MiniLM" where MiniLM is, and
    so is "BERT" alone in a row that is run here."""
    if result.scale.name == PAPER.name:
        return label
    if BARE.search(label) and any(label in cell.cell.labels and not cell.unavailable for cell in result.cells):
        return BARE.sub(lambda found: result.sources.encoder_name + (" " if found[1] else ""), label)
    return _base_here(label, result)


def _base_here(label: str, result: StudyResult) -> str:
    """The same of BERT-base alone, for comparisons, whose words stand in CSV files, too."""
    return label if result.scale.name == PAPER.name else _replaced(label, result.sources.encoder_name)


def spoken(labels: Sequence[str | None], result: StudyResult) -> str:
    """A cell's labels as a sentence has them, each number with its axis: "dropout 0.2", "SimCSE, batch size 64". Such numbers come
    after the other labels, and a test set last; averages and labels that are None are passed over."""
    given = [(axis, label) for axis, label in zip(result.study.axes, labels, strict=False) if label is not None]
    task = next((f" on {label}" for axis, label in given if axis.name == "task" and label != "avg"), "")
    named = [(label_here(label, result), axis, label) for axis, label in given if axis.name != "task"]
    parts = [(here, _with_axis(axis, label, here)) for here, axis, label in named]
    return ", ".join(part for _, part in sorted(parts, key=lambda pair: pair[0] != pair[1])) + task


def _with_axis(axis: Axis, label: str, here: str) -> str:
    """A label behind its axis' title where it says little alone: a number, a phrase that ends in one, or what stands among numbers."""
    small = label.islower() and (any(NUMERIC.fullmatch(one) for one in axis.labels) or label[-1].isdigit() and " " in label)
    if not small and not NUMERIC.fullmatch(label):
        return here
    title = axis.title if axis.title[1:2].isupper() else axis.title[0].lower() + axis.title[1:]
    return f"{title} {here}"


def text_here(text: str, result: StudyResult) -> str:
    """A caption or a sentence of ours with as many test sets and transfer tasks as this scale has."""
    text = SETS.sub(lambda found: f"{_count(result.scale.tests)} test sets", text)
    return TRANSFER.sub(lambda found: f"{_count(result.scale.probes, found[1] == 'S')} transfer tasks", text)


def text_named(file: str) -> str:
    """A training text as a reader knows it: a file of a known name by what it holds, any other by its name."""
    return TEXTS.get(file, file)


def contrast_here(contrast: Contrast, result: StudyResult) -> str:
    """A comparison in words: "0.85 minus 0.9, above 0"; many cells are given by their number, another metric by its name."""
    terms = [(term.weight, _cell(term.cell, result)) for term in contrast.terms]
    if len(terms) > MOST_TERMS:
        said = f"a weighted sum of {len(terms)} cells"
    else:
        said = "".join(_term(weight, name, first=n == 0) for n, (weight, name) in enumerate(terms))
    if contrast.of == "scatter":
        said = f"scatter over seeds: {said}"
    if contrast.metric is not None:
        said = f"{contrast.metric.title.lower()}: {said}"
    threshold = f"{contrast.above:g}".replace("-", "−")
    return f"{said}, above {threshold}"


def _cell(labels: Labels, result: StudyResult) -> str:
    return "/".join(
        "every " + axis.title.lower() if label is None else _base_here(label, result)
        for axis, label in zip(result.study.axes, labels, strict=False)
    )


def _term(weight: float, name: str, first: bool) -> str:
    sign = ("" if first else " plus ") if weight > 0 else "minus " if first else " minus "
    return f"{sign}{name}" if abs(weight) == 1.0 else f"{sign}{abs(weight):.3g} × {name}"


def stand_in(result: StudyResult) -> str:
    """One sentence on the encoder that stands for BERT-base, if a label names BERT-base; else ""."""
    named = any(label_here(label, result) != label for axis in result.study.axes for label in axis.labels)
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
