"""At which step of training a difference of ESimCSE's Tables 6 and 7 is there."""

from core.study.study import DEVELOPMENT, Axis, FigureSpec, study
from studies.esimcse._components import BASELINE, BOTH, COMPONENTS, QUEUE, REPETITION

STUDY = study(
    name="along",
    order=12,
    title="Differences along training",
    caption="ESimCSE's parts against SimCSE on the development set, by step",
    method="esimcse",
    rows=Axis("components", "Components", COMPONENTS),
    printed={BASELINE: 82.45, REPETITION: 84.09, QUEUE: 83.98, BOTH: 84.85},
    metric=DEVELOPMENT,
    figure=FigureSpec(kind="along"),
    reference=BASELINE,
    footnotes="""
        - The rows are those of ESimCSE's Table 7, on the development set, as in Table 6, whose
          numbers are the printed ones. A difference is paired by seed at each check.
        - The paper prints one number a row, at the checkpoint that the development set selects;
          ESimCSE's equals its released log at step 2,875, after which the log falls (D74).
    """,
)
