"""Deviations: each place where MoCoSE's paper and code part, changed alone in the clean configuration."""

from core.spec.base import deviating
from core.spec.layout import Axis, Cell, FigureSpec, Metric
from core.spec.study import Study

CLEAN, CODE = deviating("mocose")  # what the profile released changes, on either side

CHANGES = {
    "clean": {},
    "D1 queue negatives alone (eq. 3)": {"loss.in_batch_negatives": False},
    "D2 constant decay 0.85": {"ema.schedule": "constant", "ema.end": None, "ema.total_updates": None},
    "D2 decay 0.75 to 0.95 over the run (text)": {
        "ema.schedule": "cosine_to_end", "ema.start": 0.75, "ema.end": 0.95, "ema.total_updates": None,
    },
    "D5 EMA before the forward": {"ema.when": "before_forward"},
    "D6 keys not detached": {"target.stop_gradient": False},
    "D6 + D7 and target projection trained": {"target.stop_gradient": False, "target.freeze_projection": False},
    "D8 target has its own embeddings": {"target.embeddings": "ema"},
    "D9 no dropout in the target": {"target.dropout": "off"},
    "D10 pooler's vector scored": {"eval.vector": "pooler"},
    "D10 projection's vector scored": {"eval.vector": "projection"},
    "D11 keys end in LayerNorm": {"heads.projection_tail": "linear_ln"},
    "D11 keys end in Linear": {"heads.projection_tail": "linear"},
    "D14 + D15 queue of the 2022 code": {"queue.init": "released_2022"},
    "D18 no FGSM": {"fgsm.gradient": "none", "fgsm.epsilon": 0.0},
    "D18 current gradient, online view": {"fgsm.gradient": "current", "fgsm.views": "online_only"},
    "D18 + D19 the same at epsilon 0.01": {"fgsm.gradient": "current", "fgsm.views": "online_only", "fgsm.epsilon": 0.01},
    "D20 FGSM in evaluation": {"fgsm.at_eval": True},
    "D30 a check every 300 steps": {"eval.every": 300},
    "D36 text read with quotes": {"data.reader": "csv_quoted"},
    "D37 last batch kept, no FGSM": {"data.drop_last": False, "fgsm.gradient": "none", "fgsm.epsilon": 0.0},
    "D40 selected on the test sets": {"select.metric": "sts_test_avg", "select.score": "mean_of_7"},
    "D40 + D41 and on a mean of eight": {"select.metric": "sts_test_avg", "select.score": "mean_of_8_rounded"},
    "all that the code does": CODE,
}  # fmt: skip
READINGS = {  # the clean runs, read otherwise
    "D40 last checkpoint": Metric(task="avg", title="Average of the STS test sets", checkpoint="last"),
    "D80 mean over subsets": Metric(task="avg", title="Average of the STS test sets", quantity="spearman_mean"),
    "D80 weighted mean over subsets": Metric(task="avg", title="Average of the STS test sets", quantity="spearman_wmean"),
}

STUDY = Study(
    name="deviations",
    paper="ours",
    title="Deviations",
    caption="MoCoSE's deviations, one at a time",
    method="mocose",
    base_changes=CLEAN,
    axes=(Axis(name="deviation", title="Deviation", labels=(*CHANGES, *READINGS)),),
    rows="deviation",
    columns=None,
    cells=(
        *(Cell(labels=(name,), changes=changes) for name, changes in CHANGES.items()),
        *(Cell(labels=(name,), metric=metric) for name, metric in READINGS.items()),
    ),
    metric=Metric(task="avg", title="Average of the STS test sets"),
    figure=FigureSpec(kind="ranked", x="deviation", caption="What each deviation alone does to the clean configuration"),
    reference=("clean",),
    footnotes=(
        "Every row is the clean configuration with one thing changed towards the code, or towards the other reading of "
        "the paper where the clean side already is the code's; the profile decides about the seed alone (D35).",
        "D5 is a control: without gradient accumulation both timings give the same numbers, so a difference would be an "
        "error of ours.",
        "D7 without D6 does nothing, and D37 cannot go with FGSM (D20): compare it with the row D18 no FGSM; at scales "
        "with a fixed number of steps it has no ragged batch to keep.",
        "The rows D40 last checkpoint and D80 read the clean runs otherwise; what is aggregated has one subset a set at "
        "scale demo.",
        "D21, D22, D24 and D33 act through an augmentation alone: see deviations-d21. Precision (D34) is the scale's to "
        "choose.",
    ),
)
