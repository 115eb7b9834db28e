"""MoCoSE Figure 7: singular values of the sentence vectors."""

from core.spec.base import as_coded, rising, wrapping
from core.spec.claim import Claim, all_of, greater
from core.spec.layout import Axis, Cell, FigureSpec, Metric
from core.spec.study import Study

MODELS = {  # method and changes
    "MoCoSE": ("mocose", {**rising(0.75, 0.95), "queue.size": 512, "queue.init_size": 128, "train.batch_size": 64}),
    "SimCSE": ("simcse", {"train.batch_size": 64, "train.learning_rate": 3e-5}),
}
MEASURES = {  # title and quantity
    "largest": ("Largest", "singular_value_0"),
    "at 50": ("At index 50", "singular_50"),
    "at 100": ("At index 100", "singular_100"),
    "share at 50": ("Index 50 / largest", "spectrum_50"),
    "share at 100": ("Index 100 / largest", "spectrum_100"),
}
PRINTED = {  # by eye (± 5), in the order of the measures; the shares follow from the others
    "MoCoSE": (220.0, 57.0, 28.0, 57 / 220, 28 / 220),
    "SimCSE": (158.0, 43.0, 24.0, 43 / 158, 24 / 158),
}

STUDY = Study(
    name="mocose-figure7",
    paper="mocose",
    title="Figure 7",
    caption="Singular values of the sentence vectors",
    method="mocose",
    axes=(
        Axis(name="model", title="Model", labels=tuple(MODELS)),
        Axis(name="measure", title="Singular value", labels=tuple(MEASURES)),
    ),
    rows="model",
    columns="measure",
    cells=tuple(
        Cell(
            labels=(model, measure), changes=changes, published=printed, method=method,
            by_profile=as_coded(wrapping(0.75)) if method == "mocose" else {},
            metric=Metric(task="dev", title=title, quantity=quantity),
        )
        for model, (method, changes) in MODELS.items()
        for (measure, (title, quantity)), printed in zip(MEASURES.items(), PRINTED[model])
    ),
    metric=Metric(task="dev", title="Index 50 / largest", quantity="spectrum_50"),
    figure=FigureSpec(kind="spectrum", series="model", caption="Figure 7: singular values by index"),
    reference=None,
    claims=(
        Claim(
            key="F7.1", text="MoCoSE's singular values fall more slowly than SimCSE's.",
            predicate=all_of(*(greater(("MoCoSE", place), ("SimCSE", place)) for place in ("at 50", "at 100"))),
            note=(
                "As seen in the figure, where MoCoSE's curve lies above up to index 100. It starts "
                "higher, too: F7.1 (share)."
            ),
        ),
        Claim(
            key="F7.1 (share)", text="MoCoSE's singular values fall more slowly than SimCSE's, as shares of the largest.",
            printed="fails",
            predicate=all_of(*(greater(("MoCoSE", place), ("SimCSE", place)) for place in ("share at 50", "share at 100"))),
            note="Lengths of vectors cancel out. By eye 0.26 against 0.27 at index 50 and 0.13 against 0.15 at 100.",
        ),
    ),
    footnotes=(
        "Which sentences the paper took and whether it centred their vectors is not said; ours are those of the "
        "development set, not centred: a guess. Levels do not compare between numbers of sentences.",
        "The paper's numbers are read off by eye (± 5). It also draws BERT without training, which is "
        "missing here: 380, 12 and 7.",
        "Indices are of 768, and keep their ratio to the width of another encoder.",
        "The models are Table 1's.",
    ),
)
