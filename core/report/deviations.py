"""What each D-number stands for, read from the project's own list of where papers and code part."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "studies" / "reference" / "deviations.md"
ENTRY = re.compile(r"^\*\*(D\d+)\.\s*(.+?)\*\*\s*$((?:\n(?!\*\*D\d).+)*)", re.MULTILINE)


@cache
def known_deviations() -> Mapping[str, str]:
    """By D-number: its title and what paper and code say, in plain words; empty where the list is not there."""
    return read(LIST.read_text(encoding="utf-8")) if LIST.is_file() else {}


def read(text: str) -> Mapping[str, str]:
    """The entries of the list: a line **D1. Title.**, then lines that begin with P: (the paper) and C: (the code), which may go on."""
    found = {}
    for name, title, body in ENTRY.findall(text):
        parts = re.split(r"\n(?=[PCES]:)", body.strip())
        said = [f"{who}: {' '.join(part[2:].split())}" for part in parts for mark, who in (("P:", "paper"), ("C:", "code")) if part.startswith(mark)]
        found[name] = re.sub(r"[`*]", "", " ".join([title.strip().rstrip(".") + ".", *said]))
    return found
