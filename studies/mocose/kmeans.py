"""MoCoSE's slide deck: centres of the queue in the place of its entries."""

from core.study.study import Axis, Cell, FigureSpec, Metric, Study
from studies.mocose._models import STANDARD

# what stands for the queue: changes, and the score
PRINTED: dict[str, tuple[dict[str, object], float]] = {
    "normal": ({"queue.negatives": "entries", "queue.clusters": None}, 76.41),
    "mean": ({"queue.negatives": "mean", "queue.clusters": None}, 76.80),
    "5 clusters": ({"queue.negatives": "kmeans", "queue.clusters": 5}, 74.37),
    "10 clusters": ({"queue.negatives": "kmeans", "queue.clusters": 10}, 77.13),
    "15 clusters": ({"queue.negatives": "kmeans", "queue.clusters": 15}, 77.01),
    "20 clusters": ({"queue.negatives": "kmeans", "queue.clusters": 20}, 75.82),
}

STUDY = Study(
    title="K-means",
    caption="Centres of the queue in the place of its entries (slide deck)",
    method="mocose",
    base=STANDARD,
    axes=(Axis(name="negatives", title="Negatives", labels=tuple(PRINTED)),),
    columns="negatives",
    cells=tuple(
        Cell(labels=(name,), changes=changes, published=score)
        for name, (changes, score) in PRINTED.items()
    ),
    metric=AVERAGE,
    figure=FigureSpec(x="negatives"),
    reference="10 clusters",
    footnotes=(
        (
            "In the slide deck only, without a claim. Decay, queue and batch are the slides'; "
            "initial vectors, number of runs and how the centres are found are a guess."
        ),
        "Numbers of clusters are kept at every scale; the queue is scaled with the batch.",
        "Normal is the standard setting, for which Table 7 prints 77.30 (D48).",
    ),
)
