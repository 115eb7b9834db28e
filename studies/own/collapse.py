"""What a decay of 0 does, with and without the other keys of the batch as negatives (D1)."""

from core.methods.mocose.settings import constant
from core.study.study import Axis, FigureSpec, Metric, Row, study

HEALTHY = "standard"
SETTINGS = {  # as in Figure 5
    "no predictor, η = 0": Row({"heads.predictor_layers": 0, **constant(0.0)}),
    "predictor, η = 0": Row({"heads.predictor_layers": 2, **constant(0.0)}),
    HEALTHY: Row({"heads.predictor_layers": 2, "ema.start": 0.85}),
}
NEGATIVES = {
    "queue": Row({"loss.in_batch_negatives": False}),
    "queue and batch": Row({"loss.in_batch_negatives": True}),
}

STUDY = study(
    name="collapse",
    order=6,
    title="Collapse and negatives",
    caption="""Development score at the end of training with a decay of 0 and with the standard one,
        by where negatives come from (D1)""",
    method="mocose",
    base={"queue.size": 512, "queue.init_size": 128, "train.batch_size": 64},
    rows=Axis("setting", "Setting", SETTINGS),
    columns=Axis("negatives", "Negatives", NEGATIVES),
    metric=Metric(task="dev", title="Development score", quantity="curve_last", checkpoint="curve"),
    figure=FigureSpec(kind="curve"),
    must_learn=((HEALTHY, None),),
    footnotes="""
        - MoCoSE's Figures 5 and 6 under two kinds of negatives. Equation 3 has those of the queue
          alone, the code those of the batch, too (D1). What else differs between the profiles stays
          the profile's. Judged by its standard row, as Figure 5 is: a row that may collapse cannot
          show that a scale can train.
    """,
)
