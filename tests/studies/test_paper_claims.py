"""The papers' claims: in the papers' words, of one unit, no two alike, and judged on the printed numbers as they say."""

import re
import unicodedata

import pytest
from places import SHARED

from core.spec.claim import truth
from studies import STUDIES, find

REFERENCE = SHARED / "reference"
TEXTS = {"mocose": ("000", "001", "002", "003"), "esimcse": ("004",)}  # by the papers' file names; 001 is the poster
PAPERS = [study for study in STUDIES if study.paper in TEXTS]
CLAIMS = [(study, claim) for study in PAPERS for claim in study.claims]
BY_KEY = {claim.key: (study, claim) for study, claim in CLAIMS}
PIECE = 10  # letters that each side of a page break must have
BETWEEN = 1600  # letters of a page or a table that may stand between; 1,545 at T1.4
FAIL = {"T5.4", "T5.6", "F3.1", "F3.2"}  # on the paper's own numbers
NOT_PRINTED = {
    "T2.1 (test)", "T2.2 (test)", "T2.3 (test)", "T4.4", "T7.3", "F2.3", "F3.3", "F4.1", "F4.2", "F5.3", "F5.4", "F6.1", "F6.2 (schedule)",
    "F7.1", "F7.1 (levels)", "F7.2", "F7.3", "F13.1", "F13.2", "E1.1 (our reading)", "E1.3", "E1.4", "E6.4", "E10.5", "E-F2.1",
}  # fmt: skip


def letters(text: str) -> str:
    """Letters and digits alone: as line ends, ligatures, formulas and quotation marks leave them."""
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKC", text.replace(r"\leq", "")).lower())


def stands_in(quote: str, text: str) -> bool:
    """Whether the quotation is in the text, whole or cut in two by a page: the second piece soon after the first."""
    if quote in text:
        return True
    for at in range(PIECE, len(quote) - PIECE + 1):
        for found in re.finditer(quote[:at], text):
            if text.find(quote[at:], found.end(), found.end() + BETWEEN + len(quote) - at) >= 0:
                return True
    return False


def texts(paper: str, place: str = "") -> list[str]:
    """The letters of a paper's texts; none where they are not beside this checkout."""
    paths = [path for path in (REFERENCE / "papers").glob("*.txt") if path.name[:3] in TEXTS[paper]]
    if not paths:
        pytest.skip("the papers' texts are not beside this checkout (../shared/reference/papers)")
    return [letters(path.read_text()) for path in paths if place not in ("poster", "slides") or path.name.startswith("001")]


def holds(study, claim):
    """Whether a claim holds on the printed numbers, by their sign; None: not all are printed, or within their reading error."""

    def of(contrast):
        cells = [[cell.published for cell in study.matching(term.cell)] for term in contrast.terms]
        if contrast.metric is not None or contrast.of != "value" or any(None in numbers for numbers in cells):
            return None
        weights = [term.weight for term in contrast.terms]
        lead = sum(w * sum(numbers) / len(numbers) for w, numbers in zip(weights, cells, strict=True)) - contrast.above
        error = claim.read_to * sum(map(abs, weights))
        return None if error and abs(lead) <= error + 1e-9 else lead > 1e-9

    return truth(claim.predicate, of)


def test_every_quotation_is_the_papers():
    for study, claim in CLAIMS:
        assert any(stands_in(letters(claim.quote), text) for text in texts(study.paper, claim.place)), claim.key


def test_every_claim_is_judged_on_the_printed_numbers_as_it_says():
    for study, claim in CLAIMS:
        assert {True: "holds", False: "fails", None: "not printed"}[holds(study, claim)] == claim.printed, claim.key
    shipped = {key: claim.printed for key, (_, claim) in BY_KEY.items()}
    assert {key for key, printed in shipped.items() if printed == "fails"} == FAIL
    assert {key for key, printed in shipped.items() if printed == "not printed"} == NOT_PRINTED


def test_every_claim_can_fail_and_can_hold_and_those_without_learning_are_of_collapse_or_time():
    assert {claim.key for _, claim in CLAIMS if claim.gate == "none"} == {"F5.3", "F5.4", "F6.1", "E6.4"}
    for _, claim in CLAIMS:
        assert truth(claim.predicate, lambda contrast: False) is False and truth(claim.predicate, lambda contrast: True) is True, claim.key


def effect(key: str) -> list[float]:
    """What the printed numbers give for each contrast of a claim, above its threshold."""
    study, claim = BY_KEY[key]

    def mean(labels):
        cells = [cell.published for cell in study.matching(labels)]
        return sum(cells) / len(cells)

    return [sum(t.weight * mean(t.cell) for t in contrast.terms) - contrast.above for contrast in claim.predicate.contrasts()]


def test_means_slopes_and_leads_by_hand():
    # STS12-14 gain 3.62, 0.38, 0.89; the others -0.39, -0.09, 1.27, -0.62
    assert effect("T1.5") == pytest.approx([4.89 / 3 - 0.17 / 4])
    assert effect("T1.7") == pytest.approx([1 - 0.39, 1 - 0.09, 1 + 1.27, 1 - 0.62])
    assert sum(one > 0 for one in effect("T1.8")) == 6
    assert effect("T2.3") == pytest.approx([85.46 - 84.94, 85.46 - 84.66, 85.46 - 85.81])
    assert effect("T2.4") == pytest.approx([1 + 86.90 - 86.11, 1 - 86.90 + 86.11])
    assert effect("T6b.2") == pytest.approx([1 + 77.25 - 76.78, 1 + 77.25 - 76.62])
    # means over fills 76.3375, 76.1825, 76.4775, 76.4625, 46.2825 at log2 = 7, 8, 9, 10, 12 (mean 9.2, squares 14.8)
    assert effect("T7.2") == pytest.approx([-(-2.2 * 76.3375 - 1.2 * 76.1825 - 0.2 * 76.4775 + 0.8 * 76.4625 + 2.8 * 46.2825) / 14.8])
    assert effect("T7.3 (worse)") == pytest.approx([76.4625 - 46.2825])
    assert effect("T7.4") == pytest.approx([(77.30 + 76.20 + 50.42 - 76.29 - 76.45 - 45.80) / 3])
    # the middle leads the other halves by 77.02 - 75.9967, the whole leads the four by 76.86 - 76.2525
    assert effect("T8.4") == pytest.approx([(77.02 - 227.99 / 3) - (76.86 - 305.01 / 4)])
    assert effect("F2.2") == pytest.approx([230.68 / 3 - 230.06 / 3, 230.68 / 3 - 228.32 / 3])
    assert effect("F3.1") == pytest.approx([0.80, 0.97, -0.18, 0.04, 0.00, 1.35])
    # 128 and 256 at 14.67 have 76.62 and 76.76, with the queue of 512 76.78 and 76.62
    assert effect("F3.3") == pytest.approx([(76.62 + 76.76 - 76.78 - 76.62) / 2])
    assert effect("E1.1") == pytest.approx([(484.33 - 433.11) / 6])


def test_gains_are_the_printed_ones_and_margins_half_of_them():
    backbones = ("BERT-base", "BERT-large", "RoBERTa-base", "RoBERTa-large")
    for name, keys, labels in (
        ("table4", ("E4.2", "E4.3", "E4.4", "E4.5"), lambda method, backbone: (method, backbone)),
        ("table5", ("E5.3", "E5.4", "E5.5", "E5.6"), lambda method, backbone: (f"{method}-{backbone}", "avg")),
    ):
        printed = {cell.labels: cell.published for cell in find(f"esimcse-{name}").cells}
        gains = [printed[labels("ESimCSE", one)] - printed[labels("unsup-SimCSE", one)] for one in backbones]
        for key, gain in zip(keys, gains, strict=True):
            low, high = BY_KEY[key][1].predicate.contrasts()
            assert (low.above, -high.above) == pytest.approx((gain / 2, gain * 1.5)) and f"{gain:.2f}" in BY_KEY[key][1].text
        whole = keys[0].partition(".")[0] + ".1"
        assert [BY_KEY[key][1].margin for key in (whole, f"{whole} (BERT-base)")] == pytest.approx([min(gains) / 2, gains[0] / 2])
    margins = {"E6.1": 1.53, "E6.2": 0.76, "E7.1": 1.18, "E7.2": 0.73, "T5.1": 0.28}
    assert {key: 2 * BY_KEY[key][1].margin for key in margins} == pytest.approx(margins)
    ratio = BY_KEY["E6.4"][1].predicate.terms[0].weight  # 160 sentences forward beside 128 forward and backward, of three passes each
    assert ratio == pytest.approx((3 * 128 + 160) / (3 * 128))
