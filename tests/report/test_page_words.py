"""What the page says in words: its first sentence, the comparison of a card, when it is equivalent, and what a look showed."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake_store import filled
from pages import TABLE, TABLE7, made, result, under

from core.report.naming import text_named
from core.report.page import charts
from core.report.page.content import Section, gathered_page
from core.report.page.lede import answer, lede, most_telling
from core.report.page.words import chance, equivalence, in_words, level, look_says, turns_on, unit_of
from core.report.page.writing import page_files
from core.report.sequential import PValues
from core.report.verdicts import verdicts
from core.spec.claim import Contrast, Term, above, below, greater, interacts, mean_above, scatters_more
from core.spec.table import Metric
from studies import find

HALF, MOST = ("0.5",), ("0.8",)
MEAN_COSINE = Metric(task="dev", title="Mean cosine", quantity="mean_cosine", checkpoint="last")


@pytest.fixture(scope="module")
def page():
    return made()


def page_with(**changed):
    """The page over the small table, where the claims' verdicts at demo · paper are changed by claim."""
    one = result()
    found = tuple(replace(verdict, **changed.get(verdict.claim.key.split()[0].replace(".", ""), {})) for verdict in verdicts(one))
    return gathered_page((TABLE,), {("demo", "paper"): [Section(result=replace(one, verdicts=found), picture=None)]})


def test_the_first_words_name_settled_claims_with_their_effects_and_no_counts():
    settled = {"outcome": "contradicted", "effect": -2.086, "printed_effect": 1.95}
    page = page_with(X1=settled, X2={"outcome": "supported", "effect": 0.92, "printed_effect": None})
    assert answer(page) == (
        "No claim has been tested at the papers' own scale yet. On a made-up language, which says nothing of English (demo_bert 2x128, demo text"
        "; profile paper), the settled claims of the largest printed effects, in points for (+) or against (−) the claim. "
        "Supported: X.2 (all): 0.85 is best (+0.92). Contradicted: X.1: The first is above the second (−2.09, printed +1.95)."
    )
    assert [part.anchor for part in lede(page) if part.anchor] == ["X.2-all", "X.1"]
    half = {**settled, "effect": -0.94, "printed_effect": 1.2, "contrast": greater(HALF, MOST, 1.2)}
    assert answer(page_with(X1=half)).endswith(": The first is above the second (measured 0.26, asked: above 1.2, printed 2.40).")
    unprinted = page_with(X1={**half, "printed_effect": None})
    assert answer(unprinted).endswith(": The first is above the second (measured 0.26, asked: above 1.2).")


def test_the_first_words_put_large_printed_effects_first():
    settled = {"outcome": "contradicted", "printed_effect": 1.0}
    order = [part.anchor for part in lede(page_with(X1=settled, X2={**settled, "printed_effect": 3.0})) if part.anchor]
    assert order == ["X.2-all", "X.1"]


def test_the_first_words_are_of_the_edition_nearest_to_the_papers_and_say_where_nothing_is_settled():
    undecided = {"outcome": "undecided"}
    none = page_with(X1=undecided, X2=undecided)
    assert answer(none) == "No claim has been tested at the papers' own scale yet. No claim is settled yet." and most_telling(none) is None
    page = page_with(X1={"outcome": "supported"})
    (demo, *_) = page.editions
    near = replace(demo, scale="mini", profile="released")
    other = replace(demo, profile="released")
    assert most_telling(replace(page, editions=[other, demo, near])) is near and most_telling(replace(page, editions=[other, demo])) is demo
    assert not answer(replace(page, editions=[replace(demo, scale="paper")])).startswith("No claim has been tested")


def test_a_text_is_called_by_what_its_known_file_holds():
    assert [text_named(name) for name in ("wiki_sentences.txt", "mine.txt")] == ["Wikipedia sentences", "mine.txt"]


def test_comparisons_are_said_in_words_that_can_be_parsed():
    one = result()
    said = {
        greater(HALF, MOST): "“0.5” is above “0.8”",
        greater(HALF, MOST, 1.0): "“0.5” is more than 1 point above “0.8”",
        greater(HALF, MOST, -1.5): "“0.5” is less than 1.5 points below “0.8”",
        below(HALF, 5.0): "“0.5” is below 5 points",
        above(HALF, 0.95, MEAN_COSINE): "“0.5” is above 0.95 (mean cosine)",
        scatters_more(HALF, MOST): "“0.5” is above “0.8” (the scatter over seeds)",
        interacts((HALF, MOST), (("0.9",), ("0.95",))): "“0.8” exceeds “0.5” by more than “0.95” exceeds “0.9”",
        Contrast((Term(1.1, HALF), Term(-1.0, MOST))): "1.1 × “0.5” is above “0.8”",
    }
    assert {contrast: turns_on(contrast, one) for contrast in said} == said
    assert "0.5 × 0.5" in turns_on(mean_above([HALF, MOST], [("0.9",)]), one)  # no form of its own: as a sum
    table1 = find("esimcse-table1")
    like, unlike = (("at most 3", None), ("more than 3", None))
    mean = turns_on(greater(like, unlike), result(table1, filled(table1)))
    assert mean.startswith("“at most 3” is above “more than 3”, mean over every ")


def test_a_claim_with_a_margin_says_in_its_unit_when_it_is_equivalent():
    claim = TABLE.claims[0]
    assert "is shown to be under 1 point, it counts as equivalent." in equivalence(claim, TABLE)
    assert "under 0.05 cosine, it" in equivalence(replace(claim, predicate=above(HALF, 0.9, MEAN_COSINE), margin=0.05), TABLE)
    assert equivalence(replace(claim, margin=None), TABLE) == ""


def test_a_look_says_which_it_was_what_it_showed_and_what_was_needed():
    one = replace(verdicts(result())[0], look=2, n=8, alpha=0.0015, p=PValues(1.0, 7.9e-05, 0.9967))
    assert look_says(replace(one, outcome="contradicted")) == "Third look (8 seeds): p = 0.00008 against the claim; 0.0015 was needed."
    assert "p = 1 for the claim, p = 0.00008 against it; 0.0015 is needed" in look_says(replace(one, outcome="undecided"))
    assert (
        "p = 1 for a difference below the margin" in look_says(replace(one, outcome="equivalent"))
        and look_says(replace(one, look=-1)) == ""
    )
    assert [chance(p) for p in (0.0, 0.5, 0.0123, 0.0002)] == ["below 1 in 100,000", "= 0.5", "= 0.012", "= 0.0002"]


def test_a_value_beside_what_is_asked_is_not_hidden_by_rounding():
    one = verdicts(result())[0]
    small = replace(one, contrast=above(HALF, 0.001, MEAN_COSINE), effect=-0.0009999)
    assert level(small, "cosine") == "Measured 0.000, asked: above 0.001."
    assert level(replace(one, contrast=below(HALF, 5.0), effect=-20.85), "points") == "Measured 25.85 points, asked: below 5."
    assert level(replace(one, contrast=greater(HALF, MOST, 1.2), effect=-0.9), "points") == "Measured 0.30 points, asked: above 1.2."
    assert level(replace(one, contrast=greater(HALF, MOST)), "points") == "" and level(replace(small, effect=np.nan), "cosine") == ""


def test_a_curve_of_the_page_breaks_where_a_check_has_no_score():
    store, (whole, broken) = filled(TABLE), ({}, {})
    for found in (whole, broken):
        one = result(store=store)
        page = gathered_page((TABLE,), {("demo", "paper"): [Section(result=replace(one, verdicts=verdicts(one)), picture=None)]})
        ((_, standing),) = page.cards["mocose-table3"][0].standings.items()
        found["svg"], _ = charts.curves(standing)
        found["paths"] = found["svg"].count('<path class="hue')
        for run in store.runs.values():
            run.rows.loc[(run.rows["checkpoint"] == "curve") & (run.rows["step"] == 200), "value"] = np.nan
    assert whole["paths"] > 1 and broken["paths"] == 2 * whole["paths"]
    assert "nan" not in broken["svg"]  # where a number cannot be read a browser ends the path


def test_an_effect_in_no_points_is_written_with_its_unit_and_one_in_points_is_drawn():
    table10 = find("esimcse-table10")
    gap = next(claim for claim in table10.claims if claim.key == "E10.5").predicate.contrasts()[0]
    assert (unit_of(gap, table10), unit_of(above(HALF, 0.9, MEAN_COSINE), TABLE), unit_of(greater(HALF, MOST), TABLE)) == (
        "points",
        "cosine",
        "points",
    )
    card = page_with().cards["mocose-table3"][0]
    ((name, one),) = card.standings.items()
    other = replace(card, standings={name: replace(one, unit="cosine")})
    assert charts.beside_the_axis(card) == [] and charts.effects(card, [name])
    assert charts.beside_the_axis(other) == [other.standings[name]] and not charts.effects(other, [name])
    assert in_words(replace(one.verdict, effect=0.0159, low=0.009, high=0.0298), "cosine") == "+0.016 [+0.009, +0.030] cosine"


def test_a_verdict_on_another_editions_runs_says_so():
    both = {("demo", profile): [Section(result=replace(result(), edition=replace(result().edition, profile=profile)), picture=None)]
            for profile in ("paper", "repaired")}  # fmt: skip
    page = gathered_page((TABLE,), both)
    (first, second) = page.begun
    assert (dict(first.shared), dict(second.shared)) == ({}, {"demo · paper": 2})
    card = page.cards["mocose-table3"][0]
    assert [one.same_as for one in card.standings.values()] == ["", "demo · paper"]
    apart = gathered_page((TABLE,), both | {("demo", "repaired"): [Section(result=under("repaired", 40.0), picture=None)]})
    assert not apart.begun[1].shared


def test_what_a_scale_does_not_ask_has_an_empty_cell(page):
    given, files = page
    html = files["index.html"]
    card = next(card for card in given.cards["mocose-table7"] if card.claim.key == "T7.1")
    assert card.scales == {"demo", "long", "mini", "paper"} and "not asked at this scale</span>" not in html
    table1 = find("mocose-table1")
    pages = gathered_page((table1, TABLE7), {("demo", "paper"): [Section(result=result(TABLE7), picture=None)]})
    (sets,) = (card for card in pages.cards["mocose-table1"] if card.claim.key == "T1.2")
    (average,) = (card for card in pages.cards["mocose-table1"] if card.claim.key == "T1.1")
    assert sets.scales == {"mini", "paper"} and average.scales == {"demo", "long", "mini", "paper"}
    text = page_files(pages, Path("r"), Path("f"), {})["index.html"]
    row = re.search(r'<tr data-outcomes[^>]*>\s*<th scope="row"><a href="#T1.2".*?</tr>', text, re.DOTALL)[0]
    assert row.count("not asked at this scale") == 2 and row.count('<span class="sr">not run</span>') == 2
