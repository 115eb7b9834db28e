"""SimCSE Table 6: the layer on [CLS], in training and in testing."""

from core.study.claim import Claim, best
from core.study.study import Axis, Cell, FigureSpec, Metric, Study

POOLING: dict[str, tuple[dict[str, object], float]] = {  # changes, and the STS-B development score
    "[CLS] with layer": ({"eval.head": "on"}, 81.7),
    "[CLS] with layer in training alone": ({"eval.head": "off"}, 82.5),
    "[CLS] without layer": ({"eval.head": "never"}, 80.9),
}
TRAIN_ALONE = ("[CLS] with layer in training alone",)

STUDY = Study(
    caption="Pooling: [CLS] with and without the layer on it",
    method="simcse",
    axes=(Axis(name="pooling", title="Pooling", labels=tuple(POOLING)),),
    rows="pooling",
    cells=tuple(
        Cell(labels=(name,), changes=changes, published=score)
        for name, (changes, score) in POOLING.items()
    ),
    metric=DEVELOPMENT,
    figure=FigureSpec(x="pooling"),
    reference=TRAIN_ALONE,
    claims=(
        Claim(
            key="S6.1",
            text="The layer on [CLS] in training alone is the best of the three.",
            predicate=best(TRAIN_ALONE, [(name,) for name in POOLING]),
            quote=(
                "for unsupervised SimCSE, taking [CLS] representation with MLP only during "
                "training works the best"
            ),
            place="Section 6.3",
        ),
    ),
    footnotes=(
        (
            "The paper's row First-last avg. is printed at 81.2; no method here trains an average "
            "of layers. The supervised column is left out."
        ),
        "Numbers are the published paper's, one decimal; how many runs they have is not said.",
        (
            "The paper checks every 250 steps. Its script checks every 125, and so do these runs "
            "(D88)."
        ),
    ),
)
