"""Numbers as people read them: signs, decimals, intervals."""

from __future__ import annotations

import math

import numpy as np


def number(value: float, places: int = 2, signed: bool = False) -> str:
    """A number with so many decimals and a real minus sign; no sign where it rounds to zero."""
    away = math.copysign(1e-9, value)  # an exact half is left by earlier rounding: away from zero
    text = f"{value + away:{'+' if signed else ''}.{places}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float) -> str:
    """A difference with its sign, and as many decimals as it takes to see it."""
    return number(value, 2 if abs(value) >= 0.1 or value == 0 else 3, signed=True)


def interval(low: float, high: float) -> str:
    """An interval in brackets; empty where its bounds are unknown."""
    return f"[{signed(low)}, {signed(high)}]" if np.isfinite(low) else ""
