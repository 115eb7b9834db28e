"""What claims ask, by hand, and that those which say nothing are refused."""

from dataclasses import replace

import pytest
from small_study import small

from core.errors import UserError
from core.study.axes import OF_METRIC
from core.study.check import check_runs
from core.study.claim import Claim, above, collapsed, greater, of_metric, sound, truth
from core.study.study import Axis, Cell, Metric

A = ("a",)
B = ("b",)
C = ("c",)
COSINE = Metric(task="dev", title="Cosine", quantity="mean_cosine", checkpoint="last")
DEV = Metric(task="dev", title="Development")
CELLS = (
    Cell(labels=A),
    Cell(labels=B, changes={"ema.start": 0.85}),
    Cell(labels=C, changes={"ema.start": 0.5}),
)


@pytest.mark.parametrize(
    ("predicate", "stated", "metrics", "why"),
    [
        (greater(A, B), {}, {}, "compares a and b, one number of one run"),
        (greater(A, B), {}, {"b": DEV}, ""),
        (greater(B, C), {}, {}, ""),
        (
            greater(A, C),
            {},
            {"c": COSINE},
            r"compares different kinds \(Spearman × 100, cosine\): a and c",
        ),
        (
            of_metric(greater(B, C), COSINE),
            {},
            {},
            "has a margin of a point, and its unit is another: b and c",
        ),
        (of_metric(greater(B, C), COSINE), {"margin": 0.05}, {}, ""),
        (above(A, 0.3, COSINE), {"margin": None}, {}, ""),
    ],
)
def test_a_comparison_that_says_nothing_is_refused(predicate, stated, metrics, why):
    """Cells a and b are one run; by name, the cells' own metrics."""
    cells = []
    for cell in CELLS:
        own = metrics.get(cell.labels[0])
        read = {name: getattr(own, name) for name in OF_METRIC} if own else {}
        cells.append(replace(cell, **read))
    claim = Claim(key="K", text="", predicate=predicate, **stated)
    axes = (Axis(name="size", title="Size", labels=("a", "b", "c")),)
    one = small(axes=axes, cells=tuple(cells), claims=(claim,), reference=None)
    if why:
        with pytest.raises(UserError, match=why):
            check_runs(one)
    else:
        check_runs(one)


def test_collapse_asks_of_more_than_half_of_a_cells_runs_and_soundness_of_fewer():
    for share, fallen in ((0.51, True), (0.49, False)):

        def of(contrast, share=share):
            assert contrast.of == "share" and (
                contrast.metric.checkpoint,
                contrast.metric.task,
            ) == ("last", "dev")
            return sum(term.weight for term in contrast.terms) * share > contrast.above

        assert truth(collapsed(A), of) is fallen and truth(sound(A), of) is not fallen
