"""DCL beside SimCSE."""

from core.study.claim import Claim, greater
from core.study.study import Axis, FigureSpec, Row, study

STUDY = study(
    title="DCL beside SimCSE",
    caption="Two losses",
    method="dcl",
    rows=Axis("method", "Method", {"SimCSE": Row(method="simcse"), "DCL": Row()}),
    figure=FigureSpec(),
    reference="SimCSE",
    claims=(Claim(key="DCL.1", text="DCL is better.", predicate=greater("DCL", "SimCSE")),),
)
