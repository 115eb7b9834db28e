"""What claims ask, by hand, and that those which say nothing are refused."""

from dataclasses import replace
from itertools import product

import pytest
from small_study import small

from core.errors import UserError
from core.study.check import check_runs
from core.study.claim import (
    Claim,
    above,
    all_of,
    any_of,
    below,
    between,
    collapsed,
    differ,
    greater,
    some_of,
    sound,
    truth,
    within,
)
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


def test_ranges_and_differences_are_pairs_of_sides():
    """The first `pairs` twos of a predicate are two sides of one comparison."""
    for predicate, pairs, needed in (
        (within([A, B, C], 1.0), 3, 6),
        (differ([A, B, C], 1.0), 3, 1),
        (between(A, [B, C], 0.0, 1.0), 2, 4),
        (all_of(below(A, 5.0), above(A, -5.0), greater(B, A), pairs=1), 1, 3),
    ):
        assert (predicate.pairs, predicate.needed) == (pairs, needed)
        sides = predicate.contrasts()[: 2 * pairs]
        for one, other in zip(sides[::2], sides[1::2], strict=True):
            turned = {term.cell: -term.weight for term in other.terms}
            assert {term.cell: term.weight for term in one.terms} == turned


def test_collapse_asks_of_more_than_half_of_a_cells_runs_and_soundness_of_fewer():
    for share, fallen in ((0.51, True), (0.49, False)):

        def of(contrast, share=share):
            assert contrast.of == "share"
            assert (contrast.metric.checkpoint, contrast.metric.task) == ("last", "dev")
            return sum(term.weight for term in contrast.terms) * share > contrast.above

        assert truth(collapsed(A), of) is fallen and truth(sound(A), of) is not fallen


def test_a_claim_without_a_text_and_a_range_of_no_width_are_refused():
    with pytest.raises(UserError, match="Claim K"):
        Claim(key="K", text=" ", predicate=greater(A, B))
    with pytest.raises(UserError, match="above 0"):
        within([A, B], -1.0)
