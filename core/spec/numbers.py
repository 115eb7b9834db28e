"""Numbers as people write them: the digits 0 to 9. Python's own readers also take underscores, other scripts' digits, nan and inf."""

from __future__ import annotations

import re

LONGEST = 100  # characters; no number that can be meant has more
_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def whole(text: str) -> int | None:
    """The whole number that a text is, blanks around it aside; None if it is none."""
    return int(text) if len(text) <= LONGEST and _WHOLE.fullmatch(text.strip()) else None


def decimal(text: str) -> float | None:
    """The number that a text is, such as `3`, `.5` or `1e-5`, blanks around it aside; None if it is none or too large for one."""
    if len(text) > LONGEST or not _DECIMAL.fullmatch(text.strip()):
        return None
    value = float(text)
    return value if abs(value) != float("inf") else None
