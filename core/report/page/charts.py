"""Small charts of the page as <svg> elements that take the page's colours: effects on a common axis, seeds, development curves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd

from core.report.cells import CellResult
from core.report.claims import signed
from core.report.contrasts import weights
from core.report.page.content import Card, Standing
from core.report.quantities import curve

REACH = 8.0  # points to each side of the matrix' axis
WIDE, HIGH = 200, 22  # of a matrix' chart, in its own units
STRIP_WIDE, STRIP_HIGH = 420, 62
CURVE_WIDE, CURVE_HIGH = 420, 120
CLASSES = {"supported": "yes", "contradicted": "no", "equivalent": "same"}
MOST_CURVES = 60


def kind(outcome: str) -> str:
    """The class that colours an outcome."""
    return CLASSES.get(outcome, "open")


def effects(card: Card, editions: Sequence[str]) -> str:
    """The effects of a claim by edition, stacked on one axis from -8 to 8 points; "" where none is in points."""
    shown = [(name, card.standings[name]) for name in editions if name in card.standings and _known(card.standings[name])]
    if not shown:
        return ""
    high = max(HIGH, 9 * len(shown))
    step = high / len(shown)
    bands, parts, said = [], [], []
    for place, (name, one) in enumerate(shown):
        y = (place + 0.5) * step
        if one.band is not None:
            low, up = _x(-one.band), _x(one.band)
            bands.append(f'<rect class="band" x="{low:.1f}" y="{y - step / 2:.1f}" width="{up - low:.1f}" height="{step:.1f}"/>')
        parts.append(_mark(one, y))
        said.append(f"{name}: {signed(one.verdict.effect)}")
    zero = f'<line class="zero" x1="{_x(0):.1f}" x2="{_x(0):.1f}" y1="0" y2="{high}"/>'
    printed = next((one.verdict.printed_effect for _, one in shown if one.verdict.printed_effect is not None), None)
    if printed is not None:
        said.append(f"as printed: {signed(printed)}")
        parts.append(_printed(printed, high))
    words = escape(f"Effect in points, {'; '.join(said)}", quote=True)
    return f'<svg class="effect" role="img" aria-label="{words}" viewBox="0 0 {WIDE} {high}">{"".join(bands)}{zero}{"".join(parts)}</svg>'


def beside_the_axis(card: Card) -> list[Standing]:
    """How a claim stands where its effect is in no points, so that it is written and not drawn."""
    return [one for one in card.standings.values() if _measured(one) and not one.in_points]


def _known(one: Standing) -> bool:
    return one.in_points and _measured(one)


def _measured(one: Standing) -> bool:
    return bool(one.values) and bool(np.isfinite(one.verdict.effect)) and one.verdict.outcome != "not comparable"


def _x(value: float) -> float:
    return WIDE / 2 + float(np.clip(value, -REACH, REACH)) / REACH * (WIDE / 2 - 6)


def _mark(one: Standing, y: float) -> str:
    found, name = one.verdict, kind(one.verdict.outcome)
    parts = []
    if np.isfinite(found.low):
        parts.append(f'<line class="ci {name}" x1="{_x(found.low):.1f}" x2="{_x(found.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts += [_arrow(sign, y, name) for sign, end in ((-1, found.low), (1, found.high)) if sign * end > REACH]
    if abs(found.effect) > REACH:
        return "".join([*parts, _arrow(1 if found.effect > 0 else -1, y, name)])
    return "".join([*parts, f'<circle class="{name}" cx="{_x(found.effect):.1f}" cy="{y:.1f}" r="3.2"/>'])


def _arrow(sign: int, y: float, name: str) -> str:
    tip = _x(sign * REACH) + sign * 5
    return f'<path class="{name}" d="M{tip:.1f} {y:.1f}l{-sign * 6} -3.2v6.4z"/>'


def _printed(value: float, high: float) -> str:
    if abs(value) > REACH:
        return ""
    return f'<path class="printed" d="M{_x(value):.1f} 1v{high - 2:.1f}"/>'


def seeds(one: Standing) -> str:
    """Each seed's value of the comparison that decides a claim, with its mean, interval, zero, and the paper's number; "" without one."""
    if not one.values:
        return ""
    found = one.verdict
    marks = [0.0, *one.values, *([found.printed_effect] if found.printed_effect is not None else [])]
    ends = [end for end in (found.low, found.high) if np.isfinite(end)]
    spread = max(marks) - min(marks) or 1.0
    low = max(min([*marks, *ends]), min(marks) - 0.5 * spread)
    high = min(max([*marks, *ends]), max(marks) + 0.5 * spread)
    scale = (STRIP_WIDE - 24) / (high - low)

    def x(value: float) -> float:
        return 12 + (min(max(value, low), high) - low) * scale

    parts = [
        f'<line class="zero" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="2" y2="38"/>',
        f'<text x="{min(max(x(0), 26), STRIP_WIDE - 26):.1f}" y="58" text-anchor="middle">threshold</text>',
    ]
    if np.isfinite(found.low):
        name = kind(found.outcome)
        parts.append(f'<line class="ci {name}" x1="{x(found.low):.1f}" x2="{x(found.high):.1f}" y1="30" y2="30"/>')
        for end, edge, sign in ((found.low, low, -1), (found.high, high, 1)):
            if sign * (end - edge) > 1e-9:
                parts.append(f'<path class="{name}" d="M{x(edge) + sign * 8:.1f} 30l{-sign * 7} -4v8z"/>')
    parts += [
        f'<circle class="seed" cx="{x(value):.1f}" cy="{10 + 5 * (place % 3):.0f}" r="2.6"/>' for place, value in enumerate(one.values)
    ]
    parts.append(f'<circle class="{kind(found.outcome)}" cx="{x(found.effect):.1f}" cy="30" r="4"/>')
    if found.printed_effect is not None:
        parts.append(f'<circle class="hollow" cx="{x(found.printed_effect):.1f}" cy="40" r="3.4"/>')
    words = escape(f"{len(one.values)} seeds; mean {signed(found.effect)}; the values are in seeds.csv", quote=True)
    return f'<svg class="strip" role="img" aria-label="{words}" viewBox="0 0 {STRIP_WIDE} {STRIP_HIGH}">{"".join(parts)}</svg>'


def cells_of(one: Standing) -> list[CellResult]:
    """The cells with runs in the comparison that decides a claim; the first of several cells that read the same runs."""
    named = weights(one.verdict.contrast, one.result)
    cells = [cell for cell in one.result.cells if cell.cell.labels in named and any(run.rows is not None for run in cell.runs)]
    return list({tuple(run.run_id for run in cell.runs): cell for cell in reversed(cells)}.values())[::-1]


def curves(one: Standing) -> tuple[str, list[tuple[int, str]]]:
    """The development curves of the runs behind a claim, a hue for each cell, and the legend of these hues; "" and [] without curves."""
    found = [
        (place, points)
        for place, cell in enumerate(cells_of(one)[:6])
        for run in cell.runs
        if run.rows is not None
        for points in (curve(run.rows, one.result.aggregate),)
        if points.count() > 1
    ][:MOST_CURVES]
    if not found:
        return "", []
    steps, scores = max(int(points.index[-1]) for _, points in found), [float(value) for _, points in found for value in points.dropna()]
    low, high = min(scores), max(scores)
    across, up = (CURVE_WIDE - 60) / steps, (CURVE_HIGH - 30) / ((high - low) or 1.0)
    lines = []
    for place, points in found:
        for unbroken in _unbroken(points):
            path = "L".join(f"{40 + step * across:.0f} {8 + (high - value) * up:.0f}" for step, value in unbroken)
            lines.append(f'<path class="hue{place}" d="M{path}"/>')
    axis = (
        f'<text x="36" y="12" text-anchor="end">{high:.0f}</text><text x="36" y="{CURVE_HIGH - 20}" text-anchor="end">{low:.0f}</text>'
        f'<text x="40" y="{CURVE_HIGH - 4}">step 0</text><text x="{CURVE_WIDE - 20}" y="{CURVE_HIGH - 4}" text-anchor="end">{steps}</text>'
    )
    words = escape(
        f"Development scores along training of {len(found)} runs, from {low:.0f} to {high:.0f}; the values are in curves.csv", quote=True
    )
    svg = f'<svg class="curves" role="img" aria-label="{words}" viewBox="0 0 {CURVE_WIDE} {CURVE_HIGH}">{axis}{"".join(lines)}</svg>'
    return svg, list(dict.fromkeys((place, "/".join(cells_of(one)[place].cell.labels)) for place, _ in found))


def _unbroken(points: pd.Series) -> list[list[tuple[float, float]]]:
    """The parts of a curve between checks without a score, where vectors were all alike."""
    parts: list[list[tuple[float, float]]] = [[]]
    for step, value in points.items():
        if np.isfinite(value):
            parts[-1].append((step, value))
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]
