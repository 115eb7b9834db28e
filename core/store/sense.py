"""What a stored run can hold: numbers in the range of what they measure, and provenance of the types that are written.

A seal shows that a file is as it was written; this, that a run could have written it. Nothing beyond is drawn, averaged or named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from core.spec.section import MOST

# By the metric's first letters: least and most. Others are real numbers of single precision, or say by nan or inf that there is none.
RANGES = (
    ("spearman", -100.0, 100.0),
    ("accuracy", 0.0, 100.0),
    ("cosine", -1.0, 1.0),
    ("mean_cosine", -1.0, 1.0),
    ("view_cosine", -1.0, 1.0),
)
ROUNDING = 1e-3  # single precision may exceed a bound by its last digits
LARGEST = float(np.finfo(np.float32).max)
LONGEST = 4096  # characters of a name
LONG_AGO = 1e10  # seconds that nothing took


def nonsense(table: pa.Table, provenance: object) -> str:
    """What no run can have written into its table or its provenance, in some words; empty if all is possible."""
    return _of_numbers(table) or _of_provenance(provenance)


def _of_numbers(table: pa.Table) -> str:
    if any(column.null_count for column in table.columns):
        return "a number or a name is missing"
    steps, values = table["step"].to_numpy(), table["value"].to_numpy()
    if len(steps) and not (0 <= steps.min() and steps.max() <= MOST["train.steps"]):
        return "a step lies outside every run"
    if (np.abs(values[np.isfinite(values)]) > LARGEST).any():
        return "a number is larger than any that is computed"
    metrics = np.array(table["metric"].to_pylist(), dtype=object)
    for name, least, most in RANGES:
        mine = values[[metric.startswith(name) for metric in metrics]] if len(metrics) else values
        if ((mine < least - ROUNDING) | (mine > most + ROUNDING)).any():
            return f"a {name} lies outside {least:g} to {most:g}"
    return ""


def _of_provenance(provenance: object) -> str:
    if not isinstance(provenance, Mapping):
        return "its provenance is no list of names and values"
    wrong = [name for name, fits in KNOWN.items() if name in provenance and not fits(provenance[name])]
    return f"its provenance has no sense under {wrong[0]!r}" if wrong else ""


def _name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST


def _count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value < LONG_AGO


def _or_none(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


def _each(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(map(_name, value)) and all(map(fits, value.values()))


def _encoders(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, list) and len(one) == 4 and _name(one[0]) and _name(one[1]) and _count(one[2]) and _name(one[3]) for one in value
    )


# What the code reads of a provenance, and what each is; other names are shown at most.
KNOWN: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(("commit", "corpus", "device", "encoder", "evaluation", "evaluation_digest", "host", "processor", "python"), _name),
    **dict.fromkeys(("corpus_rows", "encoder_hidden", "peak_memory_bytes", "threads"), _count),
    "corpus_rows_csv_quoted": _or_none(_count),
    "transfer_digest": _or_none(_name),
    "encoder_masked_words": lambda value: type(value) is bool,
    "encoders": _encoders,
    "seconds": _each(_time),
    "step_seconds": _time,
    "versions": _each(_name),
}
