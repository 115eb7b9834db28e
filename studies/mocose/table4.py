"""MoCoSE Table 4: depth of the projection and of the predictor."""

from core.study.claim import Claim, all_of, best, greater, of_metric
from core.study.study import Axis, FigureSpec, Metric, Row, study
from studies.mocose._models import STANDARD

PREDICTOR = ("1", "2", "3")
ADDED = "0"  # predictor layers of a column that the paper does not print
UNIFORMITY = Metric(task="STS-B", title="Uniformity", quantity="uniformity_global")
PRINTED = {  # projection layers: score by predictor layers
    "0": (None, 60.46, 62.67, 63.62),
    "1": (None, 76.74, 76.89, 76.24),
    "2": (None, 66.96, 66.29, 61.57),
    "3": (None, 31.51, 43.97, 39.13),
}

STUDY = study(
    caption="Layers of the projection and of the predictor",
    method="mocose",
    base={**STANDARD, "heads.out_size": 768},
    rows=Axis(
        "projection",
        "Projection layers",
        {depth: Row({"heads.projection_layers": int(depth)}) for depth in PRINTED},
    ),
    columns=Axis(
        "predictor",
        "Predictor layers",
        {depth: Row({"heads.predictor_layers": int(depth)}) for depth in (ADDED, *PREDICTOR)},
    ),
    printed=PRINTED,
    figure=FigureSpec(x="projection", series="predictor"),
    reference=("1", "2"),
    claims=(
        Claim(
            key="T4.1",
            text="One projection layer with two predictor layers is best.",
            predicate=best(("1", "2"), [(a, b) for a in PRINTED for b in PREDICTOR]),
            quote="""the best results are obtained when the projection is 1 layer and the prediction
                has 2 layers.""",
            place="Section 5.2",
            note="As printed by 0.15 over one predictor layer.",
        ),
        Claim(
            key="T4.2",
            text="Without the projection the score is lower.",
            predicate=all_of(*(greater(("1", depth), ("0", depth)) for depth in PREDICTOR)),
            quote="the removal of projection layers degrades the performance of the model.",
            place="Section 5.2",
        ),
        Claim(
            key="T4.3",
            text="More than one projection layer hurts (our reading).",
            predicate=all_of(
                *(
                    greater(("1", depth), (more, depth))
                    for more in ("2", "3")
                    for depth in PREDICTOR
                )
            ),
            quote="""the best results are obtained when the projection is 1 layer and the prediction
                has 2 layers.""",
            place="Section 5.2",
            note="""The paper says that 1/2 is best; that one layer is better at every depth of the
                predictor is our reading of it.""",
        ),
        Claim(
            key="T4.4",
            text="The predictor makes vectors more uniform (our reading).",
            margin=0.1,
            predicate=of_metric(greater(("1", ADDED), ("1", "2")), UNIFORMITY),
            quote="""both the queue and the prediction layer of the upper branch serves to disperse
                the output feature of the upper and lower branches, thus ensuring that the
                contrastive loss obtains features with sufficient uniformity.""",
            place="Section 3",
            note="""The sentence is of the features that the loss sees; ours are the sentence
                vectors, which is our reading. The margin, in the unit of uniformity, is ours, as in
                F4.1. Less is better. No row is without the queue.""",
        ),
    ),
    footnotes="""
        - What is fixed is not said; the standard setting (batch 64, queue 512, 128 initial vectors,
          decay 0.85) is a guess. Section 4.1 would have the decay rise from 0.75 to 0.95 (D2).
        - The released code cannot build two or more projection layers, so half of the table was
          made with other code. Here each further layer is Linear, LayerNorm and dropout of the
          encoder's width, in front of the last one: a guess (D12).
        - The column without predictor is ours: the paper prints none at its usual decay.
        - Without projection layers the contrastive space has the width of the encoder.
    """,
)
