"""Deviations: each place where MoCoSE's paper and code part, changed alone in the paper's
configuration."""

from core.config.methods import deviating
from core.methods.mocose.settings import rising, wrapping
from core.study.study import Axis, FigureSpec, Row, study

SIDES = deviating("mocose")  # where the profiles differ, with what each has there
STALE: dict[str, object] = {"fgsm.gradient": "stale_online", "fgsm.views": "both_same"}

CHANGES: dict[str, dict[str, object]] = {
    "paper": {},
    "D1 negatives of the batch too": {"loss.in_batch_negatives": True},
    "D2 decay 0.85 to 1 and down again": wrapping(0.85),
    "D2 decay 0.75 to 0.95 over the run (Section 4.1)": rising(0.75, 0.95),
    "D5 EMA before the forward": {"ema.when": "before_forward"},
    "D6 keys not detached": {"target.stop_gradient": False},
    "D6 + D7 and target projection trained": {
        "target.stop_gradient": False,
        "target.freeze_projection": False,
    },
    "D8 target has its own embeddings": {"target.embeddings": "ema"},
    "D9 no dropout in the target": {"target.dropout": "off"},
    "D10 pooler's vector scored": {"eval.vector": "pooler"},
    "D10 projection's vector scored": {"eval.vector": "projection"},
    "D11 keys end in LayerNorm": {"heads.projection_tail": "linear_ln"},
    "D11 keys end in LayerNorm and dropout": {"heads.projection_tail": "linear_ln_dropout"},
    "D11 predictor ends in a linear layer": {"heads.predictor_tail": "linear"},
    "D14 + D15 queue of the 2022 code": {"queue.init": "released_2022"},
    "D18 no FGSM": {"fgsm.gradient": "none", "fgsm.epsilon": 0.0},
    "D18 stale gradient, both views": STALE,
    "D18 + D19 epsilon 0.01": {"fgsm.epsilon": 0.01},
    "D18 + D20 and FGSM in evaluation": STALE | {"fgsm.at_eval": True},
    "D30 a check every 300 steps": {"eval.every": 300},
    "D36 text read with quotes": {"data.reader": "csv_quoted"},
    "D37 last batch kept": {"data.drop_last": False},
    "D40 selected on the test sets": {"select.metric": "sts_test_avg", "select.score": "mean_of_7"},
    "D40 + D41 and on a mean of eight": {
        "select.metric": "sts_test_avg",
        "select.score": "mean_of_8_rounded",
    },
    "D84 AdamW of the transformers library": {"train.adamw": "transformers"},
    "repaired": SIDES["repaired"],
    "all that the code does": SIDES["released"],
}
READINGS = {  # the paper's runs, read otherwise
    "D40 last checkpoint": Row(checkpoint="last"),
    "D80 mean over subsets": Row(quantity="spearman_mean"),
    "D80 weighted mean over subsets": Row(quantity="spearman_wmean"),
}

STUDY = study(
    name="deviations",
    order=3,
    caption="MoCoSE's deviations, one at a time",
    method="mocose",
    base=SIDES["paper"],
    rows=Axis(
        "deviation",
        "Deviation",
        {name: Row(changes) for name, changes in CHANGES.items()} | READINGS,
    ),
    figure=FigureSpec(x="deviation"),
    reference="paper",
    footnotes="""
        - Every row is the paper's configuration with one thing changed towards the code, or towards
          another reading of the paper; the profile decides about the seed alone (D35).
        - Repaired has the changes D1, D2, D11 and D18 together; the last change adds the code's
          slips.
        - D5 is a control: without gradient accumulation both timings give the same numbers, so a
          difference would be an error of ours.
        - D7 without D6 does nothing, and D20 needs a stored gradient: compare it with the row D18
          stale gradient. At scales with a fixed number of steps D37 has no ragged batch to keep.
        - The rows D40 last checkpoint and D80 read the paper's runs otherwise; what is aggregated
          has one subset a set at scale demo.
        - D21, D22, D24 and D33 act through an augmentation alone: see deviations-d21. Precision
          (D34) is the scale's to choose.
    """,
)
