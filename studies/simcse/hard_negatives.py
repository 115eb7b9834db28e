"""Supervised SimCSE: hard negatives and their weight (equation 5)."""

from core.study.study import Axis, Cell, FigureSpec, Metric, Study

UNSUPERVISED = "SimCSE on the sentences alone"
WEIGHTS = {"without": None, "weight 0.5": 0.5, "weight 1": 1.0, "weight 2": 2.0}

STUDY = Study(
    name="simcse-hard-negatives",
    paper="simcse",
    order=9,
    title="Hard negatives",
    caption="Supervised SimCSE with hard negatives, by the weight of a sentence's own",
    method="supervised",
    axes=(Axis(name="negatives", title="Hard negatives", labels=(UNSUPERVISED, *WEIGHTS)),),
    rows="negatives",
    columns=None,
    cells=(
        Cell(labels=(UNSUPERVISED,), method="simcse"),
        *(
            Cell(labels=(name,), changes={"hard.weight": weight})
            for name, weight in WEIGHTS.items()
        ),
    ),
    metric=Metric(task="dev", title="Development set"),
    figure=FigureSpec(x="negatives"),
    reference=("without",),
    footnotes=(
        "The rows need triples of your own: --text FILE?columns=sent0,sent1,hard_neg.",
        "Defaults are a batch of 512 and a rate of 5e-5. No numbers of the paper are shown.",
    ),
)
