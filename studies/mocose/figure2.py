"""MoCoSE Figure 2: the maximum traceable distance (MTD), averaged over batch sizes, with SimCSE beside it."""

from core.spec.claim import Claim, best
from core.spec.layout import Axis, Cell, FigureSpec, Metric
from core.spec.study import Study

MTD = {  # 1 / (1 - decay) + queue / batch: decay, queue / batch
    "5": (0.75, 1), "6": (0.75, 2), "7.67": (0.85, 1), "8": (0.75, 4), "8.67": (0.85, 2), "10.67": (0.85, 4), "12": (0.75, 8),
    "14.67": (0.85, 8), "21": (0.95, 1),
}  # fmt: skip
PRINTED = {  # batch: Figure 3's means by MTD (± 0.02), of which Figure 2's line is the mean
    64: (76.50, 76.66, 76.65, 75.91, 76.87, 76.39, 76.38, 77.30, 76.33),
    128: (76.80, 77.06, 76.64, 76.81, 76.90, 76.78, 76.98, 76.62, 76.58),
    256: (76.76, 76.74, 76.59, 76.66, 76.62, 76.73, 76.77, 76.76, 75.41),
}
SIMCSE = {"train.batch_size": 64, "train.learning_rate": 3e-5}

STUDY = Study(
    name="mocose-figure2",
    paper="mocose",
    title="Figure 2",
    caption="Maximum traceable distance (MTD) of the negatives, over three batch sizes",
    method="mocose",
    axes=(
        Axis(name="batch_size", title="Batch size", labels=tuple(str(batch) for batch in PRINTED)),
        Axis(name="mtd", title="MTD", labels=("SimCSE", *MTD)),
    ),
    rows="batch_size",
    columns="mtd",
    cells=(
        Cell(labels=("64", "SimCSE"), changes=SIMCSE, published=76.25, method="simcse"),
        *(
            Cell(
                labels=(str(batch), mtd),
                changes={
                    "ema.start": decay, "queue.size": batches * batch, "queue.init_size": min(128, batches * batch),
                    "train.batch_size": batch,
                },
                published=score,
            )
            for batch, scores in PRINTED.items()
            for (mtd, (decay, batches)), score in zip(MTD.items(), scores)
        ),
    ),
    metric=Metric(task="avg", title="Average of the STS test sets"),
    figure=FigureSpec(kind="line", x="mtd", caption="Figure 2: score against the MTD, mean over batch sizes"),
    reference=("64", "14.67"),
    claims=(
        Claim(
            key="F2.1", text="For BERT-base the best MTD is 14.67.",
            predicate=best((None, "14.67"), [(None, mtd) for mtd in MTD]),
            note="Of the mean over batch sizes. As printed the peak comes from batch 64 alone (Figure 3).",
        ),
    ),
    footnotes=(
        "The paper's line is the mean of the cells here, which are read off Figure 3 (± 0.02): three runs each.",
        "Decay and queue are inferred from the MTD; 128 initial vectors are derived for batch 64 and a guess otherwise, "
        "and never more than the queue holds.",
        "The MTD is nominal: it takes the decay where it starts, which is constant under paper alone (D3), and its first term is a "
        "mean age and no maximum (D4).",
        "SimCSE has no queue and no target branch. The paper draws it at 0 by convention (D4); it is "
        "drawn first here, on no scale.",
    ),
)
