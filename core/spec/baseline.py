"""SimCSE alone: what it gains over the untrained encoder is the bar by which other methods count as
learning."""

from __future__ import annotations

from core.spec.study import Axis, Cell, Metric, Study

SIMCSE = Study(
    name="simcse-alone",
    paper="ours",
    title="SimCSE alone",
    caption="The baseline of both papers, whose gain is the bar for other methods",
    method="simcse",
    axes=(Axis(name="method", title="Method", labels=("SimCSE",)),),
    rows="method",
    columns=None,
    cells=(Cell(labels=("SimCSE",)),),
    metric=Metric(task="avg", title="Average"),
    figure=None,
    reference=None,
    footnotes=("A method counts as learning if it gains more than a third of what SimCSE gains here.",),
)
