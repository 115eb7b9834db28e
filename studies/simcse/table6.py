"""SimCSE Table 6: the layer on [CLS], in training and in testing."""

from core.study.claim import Claim, best
from core.study.study import DEVELOPMENT, Axis, FigureSpec, Row, study

TRAIN_ALONE = "[CLS] with layer in training alone"
POOLING = {
    "[CLS] with layer": Row({"eval.head": "on"}),
    TRAIN_ALONE: Row({"eval.head": "off"}),
    "[CLS] without layer": Row({"eval.head": "never"}),
}

STUDY = study(
    caption="Pooling: [CLS] with and without the layer on it",
    method="simcse",
    rows=Axis("pooling", "Pooling", POOLING),
    printed={"[CLS] with layer": 81.7, TRAIN_ALONE: 82.5, "[CLS] without layer": 80.9},
    metric=DEVELOPMENT,
    figure=FigureSpec(x="pooling"),
    reference=TRAIN_ALONE,
    claims=(
        Claim(
            key="S6.1",
            text="The layer on [CLS] in training alone is the best of the three.",
            predicate=best(TRAIN_ALONE, POOLING),
            quote="""for unsupervised SimCSE, taking [CLS] representation with MLP only during
                training works the best""",
            place="Section 6.3",
        ),
    ),
    footnotes="""
        - The paper's row First-last avg. is printed at 81.2; no method here trains an average of
          layers. The supervised column is left out.
        - Numbers are the published paper's, one decimal; how many runs they have is not said.
        - The paper checks every 250 steps. Its script checks every 125, and so do these runs (D88).
    """,
)
