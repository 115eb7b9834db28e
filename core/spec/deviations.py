"""What a D-number stands for: the first line of its entry in studies/reference/deviations.md."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).parents[2] / "studies" / "reference" / "deviations.md"
ENTRY = re.compile(r"^\*\*(D\d+)\. (.+)\*\*$", re.MULTILINE)
NUMBER = re.compile(r"\bD\d+\b")


@cache
def explanations() -> dict[str, str]:
    """One sentence a D-number, in the file's order."""
    return dict(ENTRY.findall(FILE.read_text(encoding="utf-8")))


def explained(*texts: str) -> tuple[str, ...]:
    """A note for each D-number in these texts, each once, in the file's order: "D21: The code …"."""
    mentioned = {number for text in texts for number in NUMBER.findall(text)}
    return tuple(f"{number}: {sentence}" for number, sentence in explanations().items() if number in mentioned)
