"""ESimCSE Table 8: dropout rate."""

from core.spec.claim import Claim, all_of, best, greater, within
from core.spec.layout import Axis, Cell, FigureSpec, Metric
from core.spec.study import Study

PRINTED = {"0.1": 84.85, "0.15": 84.75, "0.2": 83.37}  # dropout: STS-B development score
SIMCSE = ("SimCSE",)

STUDY = Study(
    name="esimcse-table8",
    paper="esimcse",
    title="Table 8",
    caption="Dropout rate",
    method="esimcse",
    axes=(Axis(name="dropout", title="Dropout", labels=(*PRINTED, *SIMCSE)),),
    rows=None,
    columns="dropout",
    cells=(
        *(
            Cell(
                labels=(rate,),
                changes={"encoder.hidden_dropout": float(rate), "encoder.attention_dropout": float(rate)},
                published=score,
            )
            for rate, score in PRINTED.items()
        ),
        Cell(labels=SIMCSE, method="simcse", published=82.45),
    ),
    metric=Metric(task="dev", title="Development set"),
    figure=FigureSpec(kind="bars", x="dropout", caption="Development score by dropout"),
    reference=("0.1",),
    claims=(
        Claim(
            key="E8.1",
            text="Of the three dropout rates 0.1 is the best.",
            predicate=best(("0.1",), [(rate,) for rate in PRINTED]),
        ),
        Claim(
            key="E8.2",
            text="A dropout of 0.15 does about as well as 0.1.",
            predicate=within([("0.1",), ("0.15",)], 1.0),
            note="The paper gives no margin; within one point is ours.",
        ),
        Claim(
            key="E8.3",
            text="A dropout of 0.2 loses more than one point and is still better than SimCSE.",
            predicate=all_of(greater(("0.1",), ("0.2",), 1.0), greater(("0.2",), SIMCSE)),
            note="The paper calls its drop of 1.48 nearly 1 (D75).",
        ),
    ),
    footnotes=(
        "The column SimCSE, dropout 0.1, is from the paper's Table 4; its text compares with it.",
        "The rate is that of the encoder's hidden states and attention weights together.",
        "The score is that of the best of many development checks on the set that is reported, as in the paper (D74, "
        "D76); its 0.1 is the released run of seed 42.",
    ),
)
