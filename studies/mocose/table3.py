"""MoCoSE Table 3 and Figure 8: the decay eta of the target branch."""

from core.study.claim import Claim, best, differ, greater
from core.study.study import Axis, FigureSpec, Row, study
from studies.mocose._figures import digitised

PRINTED = {"0.5": 75.76, "0.8": 75.19, "0.85": 76.49, "0.9": 76.05, "0.95": 76.08, "0.99": 75.12}

STUDY = study(
    caption="EMA decay of the target branch",
    method="mocose",
    base={"queue.size": 512, "queue.init_size": 128},
    columns=Axis(
        "ema_decay", "EMA decay η", {eta: Row({"ema.start": float(eta)}) for eta in PRINTED}
    ),
    printed=PRINTED,
    printed_runs=digitised(8, "ema_decay"),  # ± 0.02; 0.5 is not drawn
    figure=FigureSpec(x="ema_decay"),
    reference="0.85",
    claims=(
        Claim(
            key="T3.1",
            text="A decay of 0.85 is best.",
            predicate=best("0.85", PRINTED),
            quote="the best result is obtained when the decay weight of EMA is set to 0.85.",
            place="Section 5.1",
        ),
        Claim(
            key="T3.2",
            text="A smaller decay than vision's 0.99 is better (our reading).",
            predicate=greater("0.85", "0.99"),
            quote="""Compared to the choice of EMA decay weight in CV (generally as large as 0.99),
                the value of 0.85 in our model is smaller""",
            place="Section 5.1",
            note="""The sentence is of the setting; that it scores higher is our reading. As printed
                0.8 is level with 0.99, and 0.5 above 0.8.""",
        ),
        Claim(
            key="T3.3",
            text="The decay matters: some two of the six differ, in either direction.",
            predicate=differ(PRINTED),
            quote="EMA decay weight affects the performance of the model.",
            place="Section 5.1",
            note="""The sign is that of the comparison shown, and either sign counts. As printed the
                six lie within 1.37 points, of three runs each; no two of the five that Figure 8
                draws differ at 5 %.""",
        ),
    ),
    footnotes="""
        - The paper does not say what is fixed; batch 64, queue 512 and 128 initial vectors are a
          guess. With them η = 0.85 is the same run as 512/quarter of Table 7, for which the paper
          prints 77.30, not 76.49.
        - Under paper η is constant. The released code has no constant decay: there, and under
          repaired, η is where it starts, and it rises to 1 along a cosine (D2, D3).
        - The paper's single runs are read off Figure 8 (± 0.02; three runs assumed, the middle one
          inferred; none for 0.5).
    """,
)
