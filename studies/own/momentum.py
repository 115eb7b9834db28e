"""ESimCSE's momentum: how far its slow encoder lags, with and without word repetition."""

from core.study.study import Axis, FigureSpec, Row, study
from studies.esimcse._components import BOTH, COMPONENTS, QUEUE

LAMBDAS = ("0.9", "0.98", "0.995")
PARTS = {part: COMPONENTS[part] for part in (QUEUE, BOTH)}

STUDY = study(
    name="momentum",
    order=9,
    title="ESimCSE's momentum",
    caption="Momentum λ of the slow encoder, with and without word repetition",
    method="esimcse",
    rows=Axis(
        "momentum",
        "Slow encoder's λ",
        {value: Row({"momentum.lambda": float(value)}) for value in LAMBDAS},
    ),
    columns=Axis("components", "Components", PARTS),
    figure=FigureSpec(x="momentum", series="components"),
    reference=("0.995", "ESimCSE"),
    footnotes="""
        - λ is the share of the slow encoder's weights that each step keeps.
        - The paper uses 0.995 and varies it in no table. The slow encoder then averages over about
          200 steps, with 0.9 over ten.
    """,
)
