"""The labels of figures: in the place of a BERT that the paper names, the encoder that ran."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from core.study.claim import Labels, labels_of
from core.study.study import Study

NAMED_ENCODER = re.compile(r"(-)?BERT(?:-base|-large)?(?:-|\b)")
PRINTED_NAMES = {
    "bert-base": "BERT-base",
    "bert-large": "BERT-large",
    "roberta-base": "RoBERTa-base",
    "roberta-large": "RoBERTa-large",
}


class Labelled(NamedTuple):
    """A study and its frames with a figure's labels; `printed` has the paper's by the figure's."""

    study: Study
    cells: pd.DataFrame
    curves: pd.DataFrame
    printed: Mapping[str, str]


def labelled(study: Study, cells: pd.DataFrame, curves: pd.DataFrame) -> Labelled:
    """A study and its frames of cells and curves with the labels of figures."""
    names = dict(study.figure.names) if study.figure is not None else {}
    for axis in study.axes:
        for label, of_label in cells.groupby(axis.name, sort=False):
            names.setdefault(str(label), _ran(str(label), of_label))
    names = {label: name for label, name in names.items() if name != label}
    if not names:
        return Labelled(study, cells, curves, {})

    axes = [axis.name for axis in study.axes]
    old = cells[axes].agg("/".join, axis=1)
    cells = cells.assign(**{name: cells[name].replace(names) for name in axes})
    new = cells[axes].agg("/".join, axis=1)
    references = dict(zip(old, new, strict=True))
    cells["reference"] = cells["reference"].map(lambda name: references.get(name, name))
    curves = curves.assign(**{name: curves[name].replace(names) for name in axes})
    printed = {name: label for label, name in names.items()}
    return Labelled(_renamed(study, names), cells, curves, printed)


def _ran(label: str, rows: pd.DataFrame) -> str:
    """A label with the encoder that ran in the place of a BERT that it names; the paper's at the
    papers' scale, and where nothing can run."""
    encoders = sorted(set(rows["encoder"][rows["scale"] != "paper"]) - {""})
    if len(encoders) != 1:
        return label

    def encoder(match: re.Match) -> str:
        if match[1]:
            return f" ({encoders[0]})"
        return encoders[0] + (" " if match[0].endswith("-") else "")

    return NAMED_ENCODER.sub(encoder, label)


def _renamed(study: Study, names: Mapping[str, str]) -> Study:
    """The study with other labels of its axes, cells, reference and figure; without its claims."""

    def renamed(labels: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(label, label) for label in labels)

    def pattern(labels: Labels | str) -> Labels:
        return tuple(names.get(label, label) if label else None for label in labels_of(labels))

    spec = study.figure
    if spec is not None:
        against = {}
        for label, other in spec.against.items():
            against[names.get(label, label)] = names.get(other, other)
        spec = replace(
            spec,
            base=pattern(spec.base) if spec.base else None,
            against=against,
            curves={names.get(name, name): curve for name, curve in spec.curves.items()},
        )
    return replace(
        study,
        axes=tuple(replace(axis, labels=renamed(axis.labels)) for axis in study.axes),
        cells=tuple(replace(cell, labels=renamed(cell.labels)) for cell in study.cells),
        reference=pattern(study.reference) if study.reference else None,
        figure=spec,
        claims=(),
    )


def paper_words(study: Study, rows: pd.DataFrame) -> str:
    """What the legend calls the paper's marks: with the encoder of its rows, unless that ran."""
    if rows["scale"].iloc[0] == "paper":
        return "paper"
    printed = set(
        map(tuple, rows[rows["printed"].notna()][[axis.name for axis in study.axes]].to_numpy())
    )
    encoders = {cell.encoder for cell in study.cells if cell.labels in printed}
    return f"paper ({', '.join(PRINTED_NAMES[name] for name in sorted(encoders))})"
