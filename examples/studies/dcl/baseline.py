"""DCL beside SimCSE."""

from core.study.claim import Claim, greater
from core.study.study import Axis, Cell, FigureSpec, Metric, Study

STUDY = Study(
    name="dcl-baseline",
    paper="dcl",
    title="DCL beside SimCSE",
    caption="Two losses",
    method="dcl",
    axes=(Axis(name="method", title="Method", labels=("SimCSE", "DCL")),),
    rows="method",
    columns=None,
    cells=(Cell(labels=("SimCSE",), method="simcse"), Cell(labels=("DCL",))),
    metric=Metric(task="avg", title="STS average"),
    figure=FigureSpec(),
    reference=("SimCSE",),
    claims=(Claim(key="DCL.1", text="DCL is better.", predicate=greater(("DCL",), ("SimCSE",))),),
)
