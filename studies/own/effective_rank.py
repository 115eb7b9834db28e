"""Effective rank of the vectors beside the score: what RankMe (Garrido et al., 2023) asks of these
papers."""

from core.study.study import AVERAGE, Axis, Row, study

MOCOSE = {"queue.size": 512, "queue.init_size": 128, "train.batch_size": 64}
ROWS = {
    "SimCSE": Row(method="simcse"),
    "SimCSE + word repetition": Row({"queue": None, "momentum": None}, method="esimcse"),
    "SimCSE + momentum queue": Row({"dup": None}, method="esimcse"),
    "ESimCSE": Row(method="esimcse"),
    "MoCoSE, decay 0.85": Row({**MOCOSE, "ema.start": 0.85}, method="mocose"),
    "MoCoSE, decay 0.99": Row({**MOCOSE, "ema.start": 0.99}, method="mocose"),
    "MoCoSE without predictor": Row(
        {**MOCOSE, "ema.start": 0.85, "heads.predictor_layers": 0}, method="mocose"
    ),
}
MEASURES = {
    "score": Row(title=AVERAGE.title),
    "effective rank": Row(task="dev", title="Effective rank", quantity="effective_rank"),
    "alignment": Row(task="STS-B", title="Alignment", quantity="alignment_global"),
    "uniformity": Row(task="STS-B", title="Uniformity", quantity="uniformity_global"),
}

STUDY = study(
    name="effective-rank",
    order=11,
    caption="Score, effective rank of the vectors, alignment and uniformity",
    method="simcse",
    rows=Axis("row", "Row", ROWS),
    columns=Axis("measure", "Measure", MEASURES),
    figure=None,  # several units; rank.png draws effective rank against score over all runs
    reference=("SimCSE", None),
    footnotes="""
        - Effective rank: exp of the entropy of the shares of variance of the development sentences'
          vectors, as RankMe with squared values. `python -m tools.effective_rank` has its rank
          correlation with the score over all runs.
    """,
)
