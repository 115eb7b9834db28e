"""Effective rank of the vectors beside the score: what RankMe (Garrido et al., 2023) asks of these
papers."""

from core.study.study import Axis, Cell, Metric, Study

MOCOSE = {"queue.size": 512, "queue.init_size": 128, "train.batch_size": 64}
ROWS: dict[str, tuple[str, dict[str, object]]] = {  # method and changes
    "SimCSE": ("simcse", {}),
    "SimCSE + word repetition": ("esimcse", {"queue": None, "momentum": None}),
    "SimCSE + momentum queue": ("esimcse", {"dup": None}),
    "ESimCSE": ("esimcse", {}),
    "MoCoSE, decay 0.85": ("mocose", {**MOCOSE, "ema.start": 0.85}),
    "MoCoSE, decay 0.99": ("mocose", {**MOCOSE, "ema.start": 0.99}),
    "MoCoSE without predictor": (
        "mocose",
        {**MOCOSE, "ema.start": 0.85, "heads.predictor_layers": 0},
    ),
}
MEASURES = {
    "score": Metric(task="avg", title="Average of the STS test sets"),
    "effective rank": Metric(task="dev", title="Effective rank", quantity="effective_rank"),
    "alignment": Metric(task="STS-B", title="Alignment", quantity="alignment_global"),
    "uniformity": Metric(task="STS-B", title="Uniformity", quantity="uniformity_global"),
}

STUDY = Study(
    name="effective-rank",
    order=11,
    caption="Score, effective rank of the vectors, alignment and uniformity",
    method="simcse",
    axes=(
        Axis(name="row", title="Row", labels=tuple(ROWS)),
        Axis(name="measure", title="Measure", labels=tuple(MEASURES)),
    ),
    rows="row",
    columns="measure",
    cells=tuple(
        Cell(labels=(row, measure), method=method, changes=changes, metric=metric)
        for row, (method, changes) in ROWS.items()
        for measure, metric in MEASURES.items()
    ),
    metric=MEASURES["score"],
    figure=None,  # several units; rank.png draws effective rank against score over all runs
    reference=("SimCSE", None),
    footnotes=(
        (
            "Effective rank: exp of the entropy of the shares of variance of the development "
            "sentences' vectors, as RankMe with squared values. `python -m tools.effective_rank` "
            "has its rank correlation with the score over all runs."
        ),
    ),
)
