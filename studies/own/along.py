"""At which step of training a difference of ESimCSE's Tables 6 and 7 is there."""

from core.study.study import DEVELOPMENT, Axis, FigureSpec, study
from studies.esimcse.table6 import BASELINE, PRINTED, ROWS

STUDY = study(
    name="along",
    order=12,
    title="Differences along training",
    caption="ESimCSE's parts against SimCSE on the development set, by step",
    method="esimcse",
    rows=Axis("components", "Components", ROWS),
    printed=PRINTED,
    metric=DEVELOPMENT,
    figure=FigureSpec(kind="along"),
    reference=BASELINE,
    footnotes="""
        - The rows are those of ESimCSE's Table 7, on the development set, as in Table 6, whose
          numbers are the printed ones. A difference is paired by seed at each check.
        - The paper prints one number a row, at the checkpoint that the development set selects.
    """,
)
