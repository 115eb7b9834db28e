"""Figures by difference: every row against the paper's reference, ours and the paper's on one axis, with what seeds alone make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.report import pictures
from core.report.cells import StudyResult
from core.report.differences import Differences, Panel, base_pattern, differences
from core.report.findings import of_differences
from core.report.limits import frame
from core.report.marks import ABOVE, BELOW, draw_row, of_ours
from core.report.quantities import SCORE
from core.report.sheet import RIGHT, ROOM_FOR_N, WIDTH, notes_of, place, room, sheet, wrapped
from core.report.style import BAND, DASHED, GREY, OURS, PALE
from core.report.verdicts import verdicts
from core.report.withholding import in_full
from core.spec.errors import counted

PER_ROW, PER_WRAP = 0.235, 0.1  # inches a row, and for each further line of its name
MOST_COLUMNS = 4
FROM_NOISE = "grey band: 95 % of what seeds alone make of such a difference, by the noise study"
FROM_REFERENCE = "blue band: the reference's own 95 % interval"
LEVELS = ("curve", "spectrum")  # kinds of figures that are no differences


def drawable(result: StudyResult) -> bool:
    """Whether a study has a figure: a number of our own, and where it is rows, two with runs that can be set beside each other."""
    if result.study.figure is None or not any(cell.estimate.n for cell in result.cells):
        return False
    return pictures.drawable(result) if _is_levels(result) else differences(result) is not None


def figure(result: StudyResult) -> Figure:
    """The figure of a study that is `drawable`. To be called inside `style.drawing()`."""
    if _is_levels(result):
        return pictures.of_levels(result)
    found = differences(result)
    if found is None:
        raise ValueError(f"{result.study.name} has nothing to draw")
    return of_rows(result, found)


def _is_levels(result: StudyResult) -> bool:
    return result.figure.kind in LEVELS or base_pattern(result) is None


def finding(drawn: Figure) -> str:
    """A figure's title in one line."""
    return next(" ".join(text.get_text().split()) for text in drawn.texts if text.get_fontweight() == "bold")


def of_rows(result: StudyResult, found: Differences) -> Figure:
    """Panels of rows against their base, four beside each other at most."""
    columns = min(MOST_COLUMNS, len(found.panels))
    names = [row.label for row in found.panels[0].rows]
    more = sum(wrapped(name).count("\n") for name in names)
    height = 0.12 + PER_ROW * max(len(panel.rows) for panel in found.panels) + PER_WRAP * more
    made = sheet(
        result,
        of_differences(found, _settled(result)),
        _line(result, found),
        notes_of(result, *_notes(result, found)),
        panels=len(found.panels),
        columns=columns,
        height=height,
        left=room(names),
        right=ROOM_FOR_N if columns == 1 else RIGHT,
        titled=any(panel.title for panel in found.panels),
    )
    bounds = frame(found.panels)
    for number, (box, panel) in enumerate(zip(made.boxes, found.panels, strict=False)):
        axes = place(made.figure, box)
        _furnish(axes, panel, names if number % columns == 0 else None, bounds, PALE if found.from_noise else BAND)
        untrained = found.untrained if found.untrained is not None and bounds[0] <= found.untrained <= bounds[1] else None
        _draw(axes, panel, bounds, found.ordered, columns == 1, untrained)
        axes.set_xlabel(
            f"{'points' if panel.unit == SCORE else panel.unit} above {found.base_name}" if number % columns == 0 else "", loc="left"
        )
    return made.figure


def _furnish(axes: Axes, panel: Panel, names: Sequence[str] | None, bounds: tuple[float, float], band: str) -> None:
    axes.set_xlim(bounds)
    axes.set_ylim(len(panel.rows) - 0.45, -0.55)
    axes.set_yticks(range(len(panel.rows)), [wrapped(name) for name in names] if names is not None else [""] * len(panel.rows), size=7)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=PALE, linewidth=0.6)
    axes.locator_params(axis="x", nbins=8 if axes.get_position().width * WIDTH > 3 else 4)
    for place_, row in enumerate(panel.rows):
        if row.band is not None:
            axes.barh(place_, 2 * row.band, left=-row.band, height=1.0, color=band, linewidth=0, zorder=0)
    axes.set_xlim(bounds)
    axes.axvline(0, color="black", linewidth=0.8, zorder=3.5)  # above the white behind a word
    if panel.title:
        axes.set_title(panel.title, loc="left", pad=3, size=7.5)


def _draw(axes: Axes, panel: Panel, bounds: tuple[float, float], ordered: bool, counts: bool, untrained: float | None) -> None:
    if untrained is not None:
        axes.axvline(untrained, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    if ordered:
        _lines(axes, panel, bounds)
    for place_, row in enumerate(panel.rows):
        draw_row(axes, panel, place_, bounds, ordered, untrained)
        if counts and row.n and row.mean is not None:
            axes.text(1.01, place_ + ABOVE, f"n = {row.n}", transform=axes.get_yaxis_transform(), size=6, color=GREY, va="center")


def _lines(axes: Axes, panel: Panel, bounds: tuple[float, float]) -> None:
    """Rows that are numbers in order are joined, ours and the paper's; the reference is at zero, and what is not known leaves a gap."""
    ours = [np.nan if (value := of_ours(row)) is None else value for row in panel.rows]
    papers = [np.nan if row.printed is None or not bounds[0] <= row.printed <= bounds[1] else row.printed for row in panel.rows]
    rows = np.arange(len(panel.rows))
    axes.plot(ours, rows + ABOVE, color=OURS, linewidth=0.8, alpha=0.6, zorder=2)
    axes.plot(papers, rows + BELOW, color=GREY, linewidth=0.7, linestyle=DASHED, alpha=0.7, zorder=2)


def _line(result: StudyResult, found: Differences) -> str:
    """What the symbols are, in one line above the panels."""
    rows = found.rows
    parts = [result.figure.caption.rstrip(".")] if result.figure.caption else []
    parts.append("● ours, | one seed")
    if any(row.told for row in rows):
        parts.append("◆ differs from the reference")
    if any(row.printed is not None for row in rows):
        parts.append("○ as the paper prints it")
    if any(row.failed for row in rows):
        parts.append("× collapsed or diverged")
    if any(row.band is not None for row in rows):
        parts.append(FROM_NOISE if found.from_noise else FROM_REFERENCE)
    return "   ".join(parts)


def _notes(result: StudyResult, found: Differences) -> list[str]:
    said = [in_full(result)]
    if any(row.basis == "own" for row in found.rows):
        said.append("Solid: the interval that a verdict is tested with.")
    if any(row.basis == "equal scatter" for row in found.rows):
        said.append("Dashed: fewer than five seeds, taken to scatter as all rows do; no verdict rests on this interval.")
    if any(row.word == "cannot act here" for row in found.rows):
        said.append("Cannot act here: every number equals the reference's at this scale.")
    if found.left_out:
        said.append(f"Not run yet, and not drawn: {counted(found.left_out, 'row')}.")
    if found.elsewhere:
        said.append(
            f"In the table alone, for they are never run here: {counted(found.elsewhere, 'row')} of other encoders or copied by the paper."
        )
    shown = {row.n for row in found.rows if row.mean is not None}
    if len(found.panels) > 1 and shown:
        said.append(
            f"n = {min(shown)} seeds a row." if len(shown) == 1 else f"n = {min(shown)} to {max(shown)} seeds a row; the table has each."
        )
    if found.untrained is not None:
        said.append(
            f"Untrained, the encoder is {found.untrained:+.1f} points from the reference (dotted, where it is in the frame).".replace(
                "-", "−"
            )
        )
    return said


def _settled(result: StudyResult) -> dict[str, tuple[str, int]]:
    """The claims of a study that are supported or contradicted: outcome and seeds."""
    return {one.claim.key: (one.outcome, one.n) for one in verdicts(result) if one.outcome in ("supported", "contradicted")}
