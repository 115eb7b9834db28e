"""What a decay of 0 without predictor does, with and without the other keys of the batch as negatives (D1)."""

from core.methods.mocose.settings import constant
from core.spec.study import Study
from core.spec.table import Axis, Cell, FigureSpec, Metric

PREDICTORS = {"no predictor": 0, "predictor": 2}
NEGATIVES = {"queue": False, "queue and batch": True}

STUDY = Study(
    name="collapse",
    paper="ours",
    order=6,
    title="Collapse and negatives",
    caption="Development score at the end of training with a decay of 0, by where negatives come from (D1)",
    method="mocose",
    base_changes={"queue.size": 512, "queue.init_size": 128, "train.batch_size": 64, **constant(0.0)},
    axes=(
        Axis(name="predictor", title="Predictor", labels=tuple(PREDICTORS)),
        Axis(name="negatives", title="Negatives", labels=tuple(NEGATIVES)),
    ),
    rows="predictor",
    columns="negatives",
    cells=tuple(
        Cell(labels=(predictor, negatives), changes={"heads.predictor_layers": layers, "loss.in_batch_negatives": batch})
        for predictor, layers in PREDICTORS.items()
        for negatives, batch in NEGATIVES.items()
    ),
    metric=Metric(task="dev", title="Development score", quantity="curve_last", checkpoint="curve"),
    figure=FigureSpec(kind="curve", caption="Development score along training with a decay of 0"),
    reference=("no predictor", "queue"),
    footnotes=(
        (
            "MoCoSE's Figures 5 and 6 under two kinds of negatives. Equation 3 has those of the queue alone, the code those of the batch, too (D1). "
            "What else differs between the profiles stays the profile's."
        ),
    ),
)
