"""The papers' claims: complete, in the papers' words, of one unit, no two alike, and judged on the printed numbers as they say."""

import re
import unicodedata
from pathlib import Path

import pytest
from places import SHARED

from core.report.quantities import unit
from core.spec.claim import holds_as_printed
from studies import STUDIES

REFERENCE = SHARED / "reference"
TEXTS = {"mocose": ("000", "001", "002", "003"), "esimcse": ("004",)}  # by the papers' file names; 001 is the poster
PAPERS = [study for study in STUDIES if study.paper in TEXTS]
CLAIMS = [(study, claim) for study in PAPERS for claim in study.claims]
IDS = [claim.key for _, claim in CLAIMS]
PIECE = 10  # letters that each side of a page break must have


def letters(text: str) -> str:
    """Letters and digits alone: as line ends, ligatures, formulas and quotation marks leave them."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKC", text.replace(r"\leq", "")).lower())


def stands_in(quote: str, text: str) -> bool:
    """Whether the quotation is in the text, whole or cut in two by a page."""
    return quote in text or any(quote[:at] in text and quote[at:] in text for at in range(PIECE, len(quote) - PIECE + 1))


@pytest.mark.parametrize("study, claim", CLAIMS, ids=IDS)
def test_every_claim_says_whose_words_where_and_what_decides_it(study, claim):
    assert claim.quote and claim.decided_by and claim.text.endswith(".") and (not claim.note or claim.note.endswith("."))
    assert re.fullmatch(r"Abstract|Section \d(\.\d)?|Appendix A\.\d+|(Table|Figure) \d+'s caption|poster|slides", claim.place)
    assert claim.margin is None or claim.margin > 0


@pytest.mark.parametrize("study, claim", CLAIMS, ids=IDS)
def test_every_quotation_is_the_papers(study, claim):
    files = [path for path in (REFERENCE / "papers").glob("*.txt") if path.name[:3] in TEXTS[study.paper]]
    if not files:
        pytest.skip("the papers' texts are not beside this checkout (../shared/reference/papers)")
    if claim.place in ("poster", "slides"):
        files = [path for path in files if path.name.startswith("001")]
    assert any(stands_in(letters(claim.quote), letters(path.read_text())) for path in files), claim.quote


@pytest.mark.parametrize("study, claim", CLAIMS, ids=IDS)
def test_every_claim_is_judged_on_the_printed_numbers_as_it_says(study, claim):
    judged = holds_as_printed(claim.predicate, {cell.labels: cell.published for cell in study.cells})
    assert {True: "holds", False: "fails", None: "not printed"}[judged] == claim.printed


@pytest.mark.parametrize("study, claim", CLAIMS, ids=IDS)
def test_a_contrast_has_one_unit(study, claim):
    for contrast in claim.predicate.contrasts():
        cells = [cell for term in contrast.terms for cell in study.matching(term.cell)]
        assert len({unit(contrast.metric or study.metric_of(cell)) for cell in cells}) == 1


@pytest.mark.parametrize("study, claim", CLAIMS, ids=IDS)
def test_a_contrast_compares_cells_or_sets_one_against_a_number(study, claim):
    for contrast in claim.predicate.contrasts():
        total = sum(term.weight for term in contrast.terms)
        assert len(contrast.terms) == 1 or total == pytest.approx(0, abs=1e-9) or contrast.metric is not None
        assert all(not cell.copied for term in contrast.terms for cell in study.matching(term.cell))


@pytest.mark.parametrize("study", PAPERS, ids=lambda study: study.name)
def test_no_two_claims_of_a_study_are_the_same(study):
    predicates = [claim.predicate for claim in study.claims]
    assert len(set(predicates)) == len(predicates) and len({claim.key for claim in study.claims}) == len(predicates)


@pytest.mark.parametrize("study, claim", CLAIMS, ids=IDS)
def test_a_threshold_of_our_own_is_owned(study, claim):
    if any(contrast.above for contrast in claim.predicate.contrasts()):
        assert re.search(r"\bours?\b|read as|our reading", claim.note)


@pytest.mark.parametrize("study, claim", CLAIMS, ids=IDS)
def test_what_allows_a_loss_has_no_second_margin(study, claim):
    allows = any(contrast.above < 0 and len(contrast.terms) > 1 for contrast in claim.predicate.contrasts())
    assert not allows or claim.margin is None


@pytest.mark.parametrize("study, claim", CLAIMS, ids=IDS)
def test_equal_cells_support_no_claim_but_one_of_no_effect(study, claim):
    flat = {cell.labels: 50.0 for cell in study.cells}
    judged = holds_as_printed(claim.predicate, flat)
    no_effect = {"T2.1", "T2.1 (test)", "T5.2", "T5.3", "T5.5", "T5.5 (generated)", "T6a.2", "T6b.2", "F2.3", "F3.2", "T1.7", "E8.2"}
    assert judged is (True if claim.key in no_effect else None if _measured(claim) else False)
    assert claim.key not in no_effect or claim.margin is None


def _measured(claim) -> bool:
    """Whether every contrast reads what no table prints, so that its cells say nothing."""
    return all(contrast.metric is not None or contrast.of == "scatter" for contrast in claim.predicate.contrasts())


def test_quotations_are_found_across_a_page_and_not_by_their_ends_alone():
    page = letters("the model achieves the best per-\nDim Avg. 256 73.91\nformance when the batch size is 64.")
    assert stands_in(letters("the model achieves the best performance when the batch size is 64."), page)
    assert not stands_in(letters("the model achieves the worst performance when the batch size is 64."), page)
    assert letters("the ﬁrst “model’s” ($\\leq 3$) re-\nsult") == "thefirstmodels3result"


def test_what_no_claim_asks_is_quoted_from_the_papers_and_names_claims_that_there_are():
    text = (Path(__file__).parents[2] / "studies" / "reference" / "not_asked.md").read_text()
    by_paper = dict(zip(TEXTS, re.split(r"^## .*$", text, flags=re.MULTILINE)[1:], strict=True))
    keys = {claim.key for _, claim in CLAIMS}
    rows = [(paper, row.split(" | ")) for paper, part in by_paper.items() for row in part.splitlines() if row.startswith('| "')]
    assert len(rows) >= 10 and all(re.search(r"Section|Appendix|Figure|Table", place) for _, (_, place, _) in rows)
    assert {key for _, (_, _, why) in rows for key in re.findall(r"\b[TFE]\d+\.\d+\b", why)} <= keys
    for paper, (sentence, _, _) in rows:
        files = [path for path in (REFERENCE / "papers").glob("*.txt") if path.name[:3] in TEXTS[paper]]
        if not files:
            pytest.skip("the papers' texts are not beside this checkout (../shared/reference/papers)")
        quotes = re.findall(r'"([^"]+)"', sentence)
        assert quotes and any(all(stands_in(letters(quote), letters(path.read_text())) for quote in quotes) for path in files), quotes
