"""What claims ask, by hand, and that those which say nothing are refused."""

from dataclasses import replace
from itertools import product

import pytest
from small_study import small

from core.errors import UserError
from core.study.check import check_runs
from core.study.claim import Claim, above, any_of, greater, some_of, truth, within
from core.study.study import Axis, Cell, Metric

A = ("a",)
B = ("b",)
C = ("c",)
COSINE = Metric(task="dev", title="Cosine", quantity="mean_cosine", checkpoint="last")
CELLS = (
    Cell(labels=A),
    Cell(labels=B, changes={"ema.start": 0.85}),
    Cell(labels=C, changes={"ema.start": 0.5}),
)


@pytest.mark.parametrize(
    ("predicate", "read", "sound"),
    [
        (greater(A, B), {}, False),  # one number of one run
        (greater(A, B), {"b": {"task": "dev"}}, True),
        (greater(B, C), {}, True),
        (greater(A, C), {"c": {"quantity": "mean_cosine"}}, False),  # of two kinds
        (above(A, 0.3, COSINE), {}, True),
        (above(A, 0.3, replace(COSINE, in_z=True)), {}, False),  # of no unit
    ],
)
def test_a_comparison_that_says_nothing_is_refused(predicate, read, sound):
    """Cells a and b are one run; `read` is what the cells read of it, by name."""
    cells = tuple(replace(cell, **read.get(cell.labels[0], {})) for cell in CELLS)
    claim = Claim(key="K", text="A claim.", predicate=predicate)
    axes = (Axis(name="size", title="Size", labels=("a", "b", "c")),)
    one = small(axes=axes, cells=cells, claims=(claim,), reference=None)
    if sound:
        check_runs(one)
    else:
        with pytest.raises(UserError, match="Claim K"):
            check_runs(one)


@pytest.mark.parametrize("needed", (1, 2, 3))
def test_truth_is_what_every_way_to_decide_the_undecided_agrees_on(needed):
    """Kleene's value, against all completions; a group stands within another."""
    leaves = [greater(A, B), greater(B, C), greater(C, A), above(A, 1.0)]
    groups = (any_of(leaves[0], leaves[1]), leaves[2], leaves[3])
    predicate = some_of(needed, groups)
    for values in product((True, False, None), repeat=len(leaves)):
        seen = set()
        for filled in product((True, False), repeat=len(leaves)):
            pairs = list(zip(values, filled, strict=True))
            if all(value in (None, guess) for value, guess in pairs):
                first, second, *others = filled
                seen.add(sum([first or second, *others]) >= needed)
        expected = seen.pop() if len(seen) == 1 else None
        assert truth(predicate, dict(zip(leaves, values, strict=True)).get) is expected


def test_a_range_of_no_width_is_refused():
    with pytest.raises(UserError, match="above 0"):
        within([A, B], -1.0)
