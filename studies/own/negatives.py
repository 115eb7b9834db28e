"""Where negatives come from, with and without the predictor: what lies between MoCoSE and SimCSE
(D1)."""

from core.study.study import Axis, FigureSpec, Row, study
from studies.mocose._models import STANDARD

BASELINE = "SimCSE: batch alone"
SETTINGS = {
    BASELINE: Row(method="simcse"),
    "MoCoSE: queue": Row({"loss.in_batch_negatives": False, "heads.predictor_layers": 2}),
    "queue and batch": Row({"loss.in_batch_negatives": True, "heads.predictor_layers": 2}),
    "queue, no predictor": Row({"loss.in_batch_negatives": False, "heads.predictor_layers": 0}),
    "queue and batch, no predictor": Row(
        {"loss.in_batch_negatives": True, "heads.predictor_layers": 0}
    ),
}

STUDY = study(
    name="negatives",
    order=8,
    title="Negatives and predictor",
    caption="MoCoSE with and without its predictor, by where negatives come from, beside SimCSE",
    method="mocose",
    base=STANDARD,
    rows=Axis("setting", "Negatives", SETTINGS),
    figure=FigureSpec(x="setting"),
    reference=(BASELINE,),
    footnotes="""
        - The first two rows of MoCoSE have the predictor of two layers; its paper shows no row
          without it at the usual decay.
        - Equation 3 has the negatives of the queue alone, the code those of the batch, too (D1).
          The decay is 0.85.
    """,
)
