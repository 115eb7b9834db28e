"""What decides a claim is said so that no other rule has the same sentence."""

from dataclasses import replace

import pytest

from core.report.criteria import criterion
from core.study.claim import Claim, all_of, at_least, best, changed, differ, greater, within
from core.study.study import Axis, FigureSpec, Row
from core.study.study import study as study_of
from studies import STUDIES

CLAIMS = [(study, claim) for study in STUDIES for claim in study.claims]
LABELS = ("a", "b", "c")
SMALL = study_of(
    caption="Small",
    method="mocose",
    rows=Axis("size", "Size", {label: Row() for label in LABELS}),
    figure=FigureSpec(),
)
RULES = (
    greater("a", "b"),
    greater("b", "a"),
    greater("a", "b", by=1.0),
    greater("a", "b", by=-1.0),
    best("a", LABELS),
    at_least(1, best("a", LABELS).parts),
    within(LABELS, 1.0),
    within(LABELS, 2.0),
    differ(LABELS),
    differ(LABELS, by=1.0),
    all_of(greater("a", "b"), greater("b", "a", by=-1.0)),
    all_of(greater("a", "c"), greater("b", "c")),
)


def test_different_rules_have_different_sentences():
    sentences = {criterion(Claim(key="k", text="t", predicate=rule), SMALL) for rule in RULES}
    assert len(sentences) == len(RULES)


@pytest.mark.parametrize(
    "study", [study for study in STUDIES if study.claims], ids=lambda study: study.name
)
def test_claims_of_one_sentence_have_one_rule(study):
    rules = {}
    for claim in study.claims:
        rule = rules.setdefault(criterion(claim, study), claim.predicate)
        assert rule == claim.predicate, claim.key


def test_a_sentence_is_short_and_names_every_label_of_a_comparison_of_two():
    for study, claim in CLAIMS:
        sentence = criterion(claim, study)
        assert len(sentence.split()) <= 40, claim.key
        contrasts = claim.predicate.contrasts()
        terms = contrasts[0].terms
        if len(contrasts) == 1 and len(terms) == 2 and contrasts[0].metric is None:
            (left, right) = (term.cell for term in terms)
            for one, other in zip(left, right, strict=True):
                assert one == other or (one in sentence and other in sentence), claim.key


def test_a_threshold_is_in_the_sentence():
    for study, claim in CLAIMS:
        moved = changed(claim.predicate, lambda each: replace(each, above=each.above + 0.25))
        if claim.predicate.contrasts()[0].of == "value":
            assert criterion(replace(claim, predicate=moved), study) != criterion(claim, study)
