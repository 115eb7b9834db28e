"""ESimCSE Figure 2: batch size of unsupervised SimCSE."""

from core.study.claim import Claim, best
from core.study.study import DEVELOPMENT, Axis, FigureSpec, Row, study

SIZES = ("32", "64", "128", "256", "512")

STUDY = study(
    caption="Batch size of unsupervised SimCSE",
    method="simcse",
    columns=Axis(
        "batch_size", "Batch size", {size: Row({"train.batch_size": int(size)}) for size in SIZES}
    ),
    metric=DEVELOPMENT,
    figure=FigureSpec(x="batch_size"),
    reference="64",
    claims=(
        Claim(
            key="E-F2.1",
            text="A batch of 64 is the best for unsupervised SimCSE.",
            predicate=best("64", SIZES),
            quote="""the optimal batch size is 64, and other settings of the batch size will lower
                the performance.""",
            place="Section 1",
            note="The figure's numbers are not available, and which sizes it shows is a guess.",
        ),
    ),
    footnotes="""
        - The paper's numbers are not available; the sizes are a guess, and the learning rate stays
          at 3e-5 for all of them.
        - All sizes see the same sentences once: a batch twice as large has half as many steps, and
          half as many development checks.
        - The score is that of the best of these checks on the set that is reported, so smaller
          batches choose among more (D74, D76).
    """,
)
