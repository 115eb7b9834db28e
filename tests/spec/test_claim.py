"""Claims as contrasts: what each predicate asks, written out by hand."""

from core.spec.claim import (
    Contrast,
    Term,
    above,
    all_of,
    at_least,
    below,
    collapsed,
    gains,
    greater,
    holds_as_printed,
    sound,
    truth,
)  # fmt: skip

A, B, C = ("a",), ("b",), ("c",)


def test_collapse_asks_of_more_than_half_of_a_cells_runs_and_soundness_of_fewer():
    for share, fallen in ((0.51, True), (0.49, False)):

        def of(contrast, share=share):
            assert contrast.of == "share" and (contrast.metric.checkpoint, contrast.metric.task) == ("last", "dev")
            return sum(term.weight for term in contrast.terms) * share > contrast.above

        assert truth(collapsed(A), of) is fallen and truth(sound(A), of) is not fallen
    assert holds_as_printed(collapsed(A), {A: 0.0}) is None  # a table's score says nothing of vectors


def test_a_gain_is_as_printed_from_both_sides():
    for gain, holds in ((0.9, False), (1.1, True), (2.9, True), (3.1, False)):
        assert holds_as_printed(gains(A, B, 2.0, 1.0), {A: 50.0 + gain, B: 50.0}) is holds


PRINTED = {("x", "1"): 70.0, ("x", "2"): 72.0, ("y", "1"): 71.0, ("y", "2"): None}


def test_numbers_settle_a_contrast_by_sign_and_an_equal_one_is_not_above():
    assert holds_as_printed(greater(("x", "2"), ("x", "1"), by=1.9), PRINTED) is True
    assert holds_as_printed(greater(("x", "2"), ("x", "1"), by=2.0), PRINTED) is False
    assert holds_as_printed(below(("x", "1"), 70.5), PRINTED) is True and holds_as_printed(above(("x", "1"), 70.0), PRINTED) is False
    assert holds_as_printed(Contrast((Term(0.98, ("x", "2")), Term(-1.0, ("x", "1")))), PRINTED) is True  # 70 < 70.56


def test_a_wildcard_is_the_mean_of_its_cells_and_missing_if_one_is():
    assert holds_as_printed(greater(("x", "2"), ("x", "1"), by=1.9), PRINTED, read_to=0.05) is None  # 0.1 above, read to ± 0.1
    assert holds_as_printed(greater(("y", "1"), ("x", None)), PRINTED) is False  # 71 against the mean of 70 and 72
    assert holds_as_printed(greater(("x", "2"), (None, "1")), PRINTED) is True  # 72 against 70.5
    assert holds_as_printed(greater(("x", "2"), (None, "2")), PRINTED) is None
    assert holds_as_printed(above(("z", None), 0.0), PRINTED) is None


def test_what_is_missing_leaves_a_joined_claim_open_unless_the_rest_settles_it():
    true, false, missing = above(("x", "1"), 69.0), above(("x", "1"), 71.0), above(("y", "2"), 0.0)
    assert holds_as_printed(all_of(true, missing), PRINTED) is None
    assert holds_as_printed(all_of(false, missing), PRINTED) is False
    assert holds_as_printed(at_least(1, [true, missing]), PRINTED) is True
    assert holds_as_printed(at_least(1, [false, missing]), PRINTED) is None
    assert holds_as_printed(at_least(2, [true, false, missing]), PRINTED) is None
    assert holds_as_printed(at_least(2, [false, false, missing]), PRINTED) is False
