"""MoCoSE's slide deck: centres of the queue in the place of its entries."""

from core.study.study import Axis, FigureSpec, Row, study
from studies.mocose._models import STANDARD

CENTRES = {  # what stands for the queue
    "normal": Row({"queue.negatives": "entries", "queue.clusters": None}),
    "mean": Row({"queue.negatives": "mean", "queue.clusters": None}),
    "5 clusters": Row({"queue.negatives": "kmeans", "queue.clusters": 5}),
    "10 clusters": Row({"queue.negatives": "kmeans", "queue.clusters": 10}),
    "15 clusters": Row({"queue.negatives": "kmeans", "queue.clusters": 15}),
    "20 clusters": Row({"queue.negatives": "kmeans", "queue.clusters": 20}),
}
PRINTED = {
    "normal": 76.41,
    "mean": 76.80,
    "5 clusters": 74.37,
    "10 clusters": 77.13,
    "15 clusters": 77.01,
    "20 clusters": 75.82,
}

STUDY = study(
    title="K-means",
    caption="Centres of the queue in the place of its entries (slide deck)",
    method="mocose",
    base=STANDARD,
    columns=Axis("negatives", "Negatives", CENTRES),
    printed=PRINTED,
    figure=FigureSpec(x="negatives"),
    reference="10 clusters",
    footnotes="""
        - In the slide deck only, without a claim. Decay, queue and batch are the slides'; initial
          vectors, number of runs and how the centres are found are a guess.
        - Numbers of clusters are kept at every scale; the queue is scaled with the batch.
        - Normal is the standard setting, for which Table 7 prints 77.30 (D48).
    """,
)
