"""Batch size with equal numbers of updates; the cells of Table 6b have equal epochs."""

from core.study.study import Axis, FigureSpec, Row, study

SIZES = ("32", "64", "128", "256")

STUDY = study(
    name="updates",
    order=2,
    title="Equal updates",
    caption="""Batch size at a fixed queue, every cell with as many updates as a batch of 64 has in
        one epoch""",
    method="mocose",
    base={"ema.start": 0.85, "queue.size": 512, "queue.init_size": 128},
    columns=Axis(
        "batch_size", "Batch size", {size: Row({"train.batch_size": int(size)}) for size in SIZES}
    ),
    figure=FigureSpec(x="batch_size"),
    reference="64",
    equal_updates=True,
    footnotes="""
        - MoCoSE's Table 6b gives every batch size one epoch, so a batch of 256 has a quarter of the
          updates of one of 64. Here all have as many updates; larger batches therefore read the
          text more than once, in a new order each time.
        - The learning rate is the same in all cells.
    """,
)
