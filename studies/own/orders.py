"""Orders: what ESimCSE and its parts gain over SimCSE where all runs share one seed of the data
(D35)."""

from core.study.study import Axis, FigureSpec, Row, study
from studies.esimcse._components import COMPONENTS

ORDERS = (42, 43, 44, 45, 46, 47)  # the code's own number first

STUDY = study(
    name="orders",
    order=7,
    title="Orders of the text",
    caption="""ESimCSE's Table 7 under several seeds of the data, each shared by all runs of its row
        (D35)""",
    method="esimcse",
    rows=Axis(
        "order", "Seed of the data", {str(order): Row({"seed.data": order}) for order in ORDERS}
    ),
    columns=Axis("components", "Components", COMPONENTS),
    figure=FigureSpec(x="order", series="components", base=(None, "unsup-SimCSE")),
    footnotes="""
        - The code seeds order of the text, dropout and repetitions with 42 in every run (D35). Here
          all runs of a row share such a seed, so that its seeds differ in new weights alone: what
          rows have in common holds for any order, what they do not is one order's. The number is
          the code's, its generator is not, so 42 is no more their order than the others are.
    """,
)
