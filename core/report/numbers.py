"""Numbers as people read them: signs, decimals, intervals."""

import math

import numpy as np

from core.study.claim import ROUNDING


def number(value: float, places: int = 2, signed: bool = False) -> str:
    """A number with so many decimals and a real minus sign; no sign where it rounds to zero."""
    away = math.copysign(1e-9, value)  # an exact half is left by earlier rounding: away from zero
    sign = "+" if signed else ""
    text = f"{value + away:{sign}.{places}f}"
    if float(text) == 0:
        return text.lstrip("+-")
    return text.replace("-", "−")


def plain(value: float) -> str:
    """A number with the digits that it has and a real minus sign."""
    return f"{value:g}".replace("-", "−")


def significant(value: float) -> int:
    """Decimals of two significant digits, at least two."""
    if not abs(value) > ROUNDING:
        return 2
    return max(2, 1 - math.floor(math.log10(abs(value))))


def signed(value: float) -> str:
    """A difference with its sign, and as many decimals as it takes to see it."""
    return number(value, significant(value), signed=True)


def significance(different: str, tested_low: float) -> str:
    """The mark of a difference that its test finds significant; else empty."""
    if different != "yes":
        return ""
    return " ▲" if tested_low > 0 else " ▼"


def interval(low: float, high: float) -> str:
    """An interval in brackets; empty where its bounds are unknown."""
    if not np.isfinite(low):
        return ""
    return f"[{signed(low)}, {signed(high)}]"
