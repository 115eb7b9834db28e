"""SimCSE Table D.1: the temperature of the loss."""

from core.study.claim import Claim, best
from core.study.study import DEVELOPMENT, Axis, FigureSpec, Row, study

TEMPERATURES = ("0.001", "0.01", "0.05", "0.1", "1")

STUDY = study(
    title="Table D.1",
    caption="Temperature of the loss",
    method="simcse",
    columns=Axis(
        "temperature",
        "Temperature τ",
        {value: Row({"loss.temperature": float(value)}) for value in TEMPERATURES},
    ),
    metric=DEVELOPMENT,
    figure=FigureSpec(x="temperature"),
    reference="0.05",
    claims=(
        Claim(
            key="SD1.1",
            text="Of the five temperatures 0.05 is the best (our reading).",
            predicate=best("0.05", TEMPERATURES),
            quote="""with a carefully tuned temperature τ = 0.05, cosine similarity is better than
                dot product.""",
            place="Appendix D",
            note="""The sentence compares with the dot product, which no method here has. That 0.05
                is the best of those tried is our reading of tuned.""",
        ),
    ),
    footnotes="""
        - No number is printed for unsupervised SimCSE, so the paper's row is empty. Its table has
          84.9, 85.4, 86.2, 82.0 and 64.0 at these temperatures and 85.9 for the dot product,
          without saying of which model; 86.2 is the supervised one's in Table 6 (a guess).
        - The paper checks every 250 steps. Its script checks every 125, and so do these runs (D88).
    """,
)
