"""ESimCSE's momentum: how far its slow encoder lags, with and without word repetition."""

from core.study.study import Axis, Cell, FigureSpec, Metric, Study

LAMBDAS = ("0.9", "0.98", "0.995")
PARTS: dict[str, dict[str, object]] = {"+momentum contrast": {"dup": None}, "ESimCSE": {}}

STUDY = Study(
    name="momentum",
    order=9,
    title="ESimCSE's momentum",
    caption="Momentum λ of the slow encoder, with and without word repetition",
    method="esimcse",
    axes=(
        Axis(name="momentum", title="Momentum λ", labels=LAMBDAS),
        Axis(name="components", title="Components", labels=tuple(PARTS)),
    ),
    rows="momentum",
    columns="components",
    cells=tuple(
        Cell(labels=(value, components), changes={**changes, "momentum.lambda": float(value)})
        for value in LAMBDAS
        for components, changes in PARTS.items()
    ),
    metric=AVERAGE,
    figure=FigureSpec(x="momentum", series="components"),
    reference=("0.995", "ESimCSE"),
    footnotes=(
        (
            "The paper uses 0.995 and varies it in no table. The slow encoder then averages over "
            "about 200 steps, with 0.9 over ten."
        ),
    ),
)
