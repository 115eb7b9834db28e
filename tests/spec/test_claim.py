"""Claims as contrasts: what each predicate asks, written out by hand."""

from core.spec.claim import all_of, at_least, collapsed, gains, greater, sound, truth

A, B, C = ("a",), ("b",), ("c",)


def test_collapse_asks_of_more_than_half_of_a_cells_runs_and_soundness_of_fewer():
    for share, fallen in ((0.51, True), (0.49, False)):

        def of(contrast, share=share):
            assert contrast.of == "share" and (contrast.metric.checkpoint, contrast.metric.task) == ("last", "dev")
            return sum(term.weight for term in contrast.terms) * share > contrast.above

        assert truth(collapsed(A), of) is fallen and truth(sound(A), of) is not fallen


def test_a_gain_is_as_printed_from_both_sides():
    for gain, holds in ((0.9, False), (1.1, True), (2.9, True), (3.1, False)):
        leads = {A: 50.0 + gain, B: 50.0}
        of = lambda one, leads=leads: sum(term.weight * leads[term.cell] for term in one.terms) > one.above
        assert truth(gains(A, B, 2.0, 1.0), of) is holds


def test_what_is_missing_leaves_a_joined_claim_open_unless_the_rest_settles_it():
    true, false, missing = greater(A, B), greater(B, A), greater(A, C)
    value = {true: True, false: False, missing: None}.get
    assert truth(all_of(true, missing), value) is None and truth(all_of(false, missing), value) is False
    assert truth(at_least(1, [true, missing]), value) is True and truth(at_least(1, [false, missing]), value) is None
    assert truth(at_least(2, [true, false, missing]), value) is None
    assert truth(at_least(2, [false, false, missing]), value) is False
