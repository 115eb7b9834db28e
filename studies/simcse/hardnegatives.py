"""Supervised SimCSE: hard negatives and their weight (equation 5)."""

from core.study.study import DEVELOPMENT, Axis, FigureSpec, Row, study

WEIGHTS = {"without": None, "weight 0.5": 0.5, "weight 1": 1.0, "weight 2": 2.0}
ROWS = {name: Row({"hard.weight": weight}) for name, weight in WEIGHTS.items()}

STUDY = study(
    order=9,
    title="Hard negatives",
    caption="Supervised SimCSE with hard negatives, by the weight of a sentence's own",
    method="supervised",
    rows=Axis(
        "negatives",
        "Hard negatives",
        {"SimCSE on the sentences alone": Row(method="simcse"), **ROWS},
    ),
    metric=DEVELOPMENT,
    figure=FigureSpec(x="negatives"),
    reference="without",
    footnotes="""
        - The rows need triples of your own: --text FILE?columns=sent0,sent1,hard_neg.
        - Defaults are a batch of 512 and a rate of 5e-5. No numbers of the paper are shown.
    """,
)
