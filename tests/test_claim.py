"""Claims as contrasts: what each predicate asks, written out by hand."""

import pytest

from core.spec.claim import (
    Contrast, Joined, Term, above, all_of, at_least, below, best, collapses, falling, greater, interacts, rising, within,
)  # fmt: skip

A, B, C = ("a",), ("b",), ("c",)


def test_greater_is_a_difference_above_a_threshold():
    assert greater(A, B) == Contrast((Term(1.0, A), Term(-1.0, B)), 0.0)
    assert greater(A, B, by=-0.5).above == -0.5


def test_values_are_compared_with_numbers_from_both_sides():
    assert above(A, 50.0) == Contrast((Term(1.0, A),), 50.0)
    assert below(A, 50.0) == Contrast((Term(-1.0, A),), -50.0)  # -a > -50


def test_the_best_beats_every_other_and_not_itself():
    assert best(B, (A, B, C)) == Joined((greater(B, A), greater(B, C)), 2)
    assert best(A, (A, B)) == greater(A, B)


def test_no_effect_is_two_one_sided_comparisons_for_each_pair():
    assert within((A, B), 1.0) == Joined((greater(A, B, -1.0), greater(B, A, -1.0)), 2)
    assert len(within((A, B, C), 1.0).contrasts()) == 6


def test_order_is_step_by_step():
    assert rising((A, B, C)) == Joined((greater(B, A), greater(C, B)), 2)
    assert falling((A, B)) == greater(A, B)


def test_collapse_is_a_share_of_the_healthy_cell_and_interaction_a_difference_of_steps():
    assert collapses(A, B) == Contrast((Term(0.5, B), Term(-1.0, A)))  # 0.5 b - a > 0
    gain = interacts(gain=(A, B), less=(B, C))
    assert [(t.weight, t.cell) for t in gain.terms] == [(1.0, B), (-1.0, A), (-1.0, C), (1.0, B)]


def test_joined_predicates_list_their_contrasts_and_refuse_what_cannot_be_needed():
    several = at_least(2, [greater(A, B), all_of(greater(B, C), greater(A, C)), above(A, 1.0)])
    assert (several.needed, len(several.contrasts())) == (2, 4)
    with pytest.raises(ValueError, match="3 of 2"):
        at_least(3, [greater(A, B), greater(B, A)])
