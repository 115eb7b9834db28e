"""What decides the claims of a commit: read from its files, in a process of its own, as its classes
had it.

`python rule_forms.py`, in a folder with the `core` and `studies` of any commit since claims are
contrasts, prints every claim's form, and how many claims share its study's 5 %, as JSON. Nothing
here imports the project but the studies of that folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from typing import Any

NUMBER = r"\d+(?:\.\d+)?"


def form_of(claim: Any) -> str:
    """16 hex digits over what a claim itself says: predicate, margin, gate, what the untrained
    encoder shows. Classes of before 28 November 2026 have an `above` and no side or gate."""
    form = [_plain(claim.predicate), claim.margin, getattr(claim, "gate", "learns")]
    untrained = getattr(claim, "untrained", None)
    if untrained is not None:
        form.append(_plain(untrained))
    return digest(form)


def digest(content: object) -> str:
    """16 hex digits over a JSON text."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _plain(predicate: Any) -> list[object]:
    if hasattr(predicate, "parts"):
        return [predicate.needed, *map(_plain, predicate.parts)]
    metric = predicate.metric
    read = metric and [metric.task, metric.quantity, metric.checkpoint]
    below = getattr(predicate, "side", "above") == "below"
    sign = -1 if below else 1
    terms = [[sign * term.weight, *term.cell] for term in predicate.terms]
    above = predicate.threshold if hasattr(predicate, "threshold") else predicate.above
    if below:  # as rules are registered: the negative sum lies above
        terms.reverse()
        above = 0.0 - above
    return [terms, above, read, predicate.of]


def checks_of(sources: str) -> list[list[float]]:
    """Numbers of seeds, and the share of the 5 % that each check spends, as a source states
    them."""
    (shares,) = re.findall(r"^SHARES = [{(](0\.02.*?|3: .*?)[})]", sources, re.MULTILINE) or [""]
    numbers = [float(number) for number in re.findall(NUMBER, shares)]
    if ":" in shares:
        return [[seeds, share] for seeds, share in zip(numbers[::2], numbers[1::2], strict=True)]
    (looks,) = re.findall(r"^LOOKS = \((.*?)\)", sources, re.MULTILINE) or [""]
    seeds = [float(number) for number in re.findall(NUMBER, looks)]
    return [list(pair) for pair in zip(seeds, numbers, strict=False)]


if __name__ == "__main__":
    sys.path.insert(0, ".")
    from studies import STUDIES

    claims = [(claim, len(study.claims)) for study in STUDIES for claim in study.claims]
    print(json.dumps({claim.key: [form_of(claim), number] for claim, number in claims}))
