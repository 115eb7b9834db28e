"""What the one page says: every claim, its card, and no number that no CSV holds."""

import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fake_store import FakeStore, edition
from pages import TABLE, Reader, made, result

from core.report.claims import COLUMNS, claim_frame, measured, signed
from core.report.frames import cell_frame, comparability_frame
from core.report.page import lede
from core.report.page.content import Section, gathered_page
from core.report.page.writing import page_files
from core.report.render import render_index
from core.report.tables import markdown
from core.report.verdicts import verdicts
from core.spec.scale import SCALES
from studies import find


@pytest.fixture(scope="module")
def page():
    return made(D1="In-batch negatives. paper: eq. 3")


def numbers(text):
    return [float(found.replace("−", "-")) for found in re.findall(r"(?<![\w.])[+−-]?\d+\.\d+", text)]


def test_every_number_of_cards_and_tables_is_in_a_csv(page):
    """Numbers with decimals, of all that is not a quotation, a label or a command."""
    given, files = page
    held = []
    for name, text in files.items():
        if name.endswith(".csv"):
            frame = pd.read_csv(io.StringIO(text))
            held += [float(v) for column in frame for v in pd.to_numeric(frame[column], errors="coerce") if np.isfinite(v)]
            held += [v for column in frame for text_ in frame[column].dropna().astype(str) for v in numbers(text_)]
    for shown in given.begun:
        checks = comparability_frame([section.result for section in shown.sections])  # <edition>/comparability.csv
        held += [float(v) for v in checks.select_dtypes("number").to_numpy().ravel() if np.isfinite(v)]
        held += [v for reason in checks["reasons"] for v in numbers(reason)]
        for section in shown.sections:
            frame = cell_frame(section.result)
            half = frame["interval_high"] - frame["mean"]  # what stands behind a ±
            held += [float(v) for v in (*frame.select_dtypes("number").to_numpy().ravel(), *half) if np.isfinite(v)]
    labels = {float(label) for study in given.studies for axis in study.axes for label in axis.labels if re.fullmatch(r"[\d.]+", label)}
    html = re.sub(r"<(code|blockquote|style|script|h[1-6]|dl|summary)\b.*?</\1>", "", files["index.html"], flags=re.DOTALL)
    html = re.sub(r"<p class=\"small\"><b>On the paper.*?</ul>|<th scope.*?</th>", "", html, flags=re.DOTALL)
    shown = re.findall(r"(?<![\w.])[+−]?\d+\.\d+(?![\w.])", Reader(html).text)
    assert len(shown) > 60
    known = np.array(sorted({abs(v) for v in held} | {abs(100 * v) for v in held} | labels))
    for text in shown:
        places = len(text.partition(".")[2])
        value = abs(float(text.replace("−", "-")))
        assert np.abs(known - value).min() <= 0.51 * 10**-places, text


def test_bars_count_what_the_verdicts_say(page):
    given, files = page
    demo = given.editions[0]
    found = [one.outcome for section in demo.sections for one in verdicts(section.result)]
    waiting = len(find("esimcse-table11").claims)
    assert demo.counts == {name: found.count(name) + waiting * (name == "not run") for name in set(found) | {"not run"}}
    table = pd.read_csv(io.StringIO(files["editions.csv"]))
    assert [(row.scale, row.profile) for row in table.itertuples()] == [
        ("demo", "paper"),
        ("demo", "released"),
        ("long", "paper"),
        ("mini", "paper"),
        ("paper", "paper"),
    ]
    assert table["claims"].tolist()[0] == sum(demo.counts.values()) and table["runs"].tolist() == [len(demo.runs), 18, 0, 0, 0]


def test_a_card_has_quotation_place_decision_and_points(page):
    text = page[1]["index.html"]
    card = text[text.index('id="X.1"') : text.index('id="X.2-all"')]
    assert "First | second." in card and "Section 4" in card and "0.5 against 0.8" in card and "In-batch negatives. paper: eq. 3" in card
    assert "It turns on whether “0.5” is above “0.8”." in card
    assert card.count('class="seed"') == 6  # three seeds under two profiles
    seeds = pd.read_csv(io.StringIO(page[1]["seeds.csv"]))
    one = result()
    first = verdicts(one)[0]
    mine = seeds[(seeds["claim"] == "X.1") & (seeds["profile"] == "paper")]["above_the_claim"]
    assert mine.mean() == pytest.approx(first.effect, abs=1e-4) and len(mine) == 3


def test_every_scale_has_its_weight_in_the_answer():
    assert set(lede.TELLING) == set(SCALES)


def test_the_band_of_a_card_is_what_the_noise_study_gives_the_claims_contrast():
    quiet, noisy = replace(result(), noise=None), replace(result(), noise=2.0)
    card = gathered_page((TABLE,), {("demo", "paper"): [Section(result=noisy, picture=None)]}).cards
    bands = [standing.band for cards in card.values() for one in cards for standing in one.standings.values() if one.claim.key == "X.1"]
    assert bands == [pytest.approx(1.96 * 2.0 * np.sqrt(2) / np.sqrt(3))]  # a difference of two cells over three seeds
    card = gathered_page((TABLE,), {("demo", "paper"): [Section(result=quiet, picture=None)]}).cards
    assert {standing.band for cards in card.values() for one in cards for standing in one.standings.values()} == {None}


def test_the_short_page_has_every_claim_with_a_link(page):
    text = page[1]["README.md"]
    assert "](index.html#X.1)" in text and "[X.2 (all)](index.html#X.2-all)" in text and "[table](demo/paper/mocose-table3.md)" in text
    tables = [block.splitlines() for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
    assert len(tables) == 1 + 3 and all(len({line.replace(r"\|", "").count("|") for line in block}) == 1 for block in tables)
    assert all(len(block) >= 3 and re.fullmatch(r"[|: -]+", block[1]) for block in tables)


def test_the_frame_and_the_markdown_say_the_same_as_the_verdicts():
    one = result()
    frame = claim_frame([one])
    assert list(frame["claim"]) == ["X.1", "X.2 (all)"] and list(frame["holds_as_printed"]) == ["holds", "holds"]
    for verdict, row in zip(verdicts(one), frame.itertuples(), strict=False):
        assert (row.verdict, row.n, row.look) == (verdict.outcome, 3, 1) and row.effect == pytest.approx(verdict.effect)
        assert (row.p_supported, row.p_contradicted, row.p_equivalent) == pytest.approx(tuple(verdict.p))
        assert measured(verdict) in markdown(one).replace("\\", "") and len(row) - 1 == len(COLUMNS)
    assert "## Claims" not in markdown(result(replace(TABLE, claims=())))


def test_what_cannot_be_compared_says_why_and_the_paper_is_quoted():
    one = replace(result(), not_comparable="The queue never turns over.")
    text = markdown(one)
    assert (
        "∅ not comparable: The queue never turns over." in text and "“First \\| second.” (Section 4). Decided by: 0.5 against 0.8." in text
    )
    page = gathered_page((TABLE,), {("demo", "paper"): [Section(result=one, picture=None)]})
    seen = Reader(page_files(page, Path("r"), Path("f"), {})["index.html"])
    assert "The queue never turns over." in seen.text and "∅ not comparable" in seen.text
    row = claim_frame([one]).iloc[0]
    assert (row["verdict"], row["reason"]) == ("not comparable", one.not_comparable)


def test_comparability_is_told_of_studies_without_claims_too():
    """Begun or not, where the sources are known."""
    silent = replace(TABLE, name="mocose-table30", claims=())
    page = gathered_page((TABLE, silent), {("demo", "paper"): [Section(result=result(), picture=None)]}, (edition(3),))
    told = comparability_frame(page.begun[0].results).set_index("study")["comparable"]
    assert set(told.index) == {"mocose-table3", "mocose-table30"} and told["mocose-table30"] != "yes"


def test_signed_numbers_keep_what_small_effects_need():
    assert [signed(v) for v in (1.234, -0.5, 0.0123, 0.0, -0.0002)] == ["+1.23", "−0.50", "+0.012", "+0.00", "−2e−04"]


def test_the_pages_files_are_written_together_and_nothing_without_studies(tmp_path):
    store = FakeStore()
    store.root, store.published = tmp_path, None
    assert render_index((TABLE,), {}, (), store, tmp_path, tmp_path / "figures") == [] and not list(tmp_path.iterdir())
    render_index((TABLE,), {("demo", "paper"): [Section(result=result(), picture=None)]}, (), store, tmp_path, tmp_path / "figures")
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {
        "index.html",
        "README.md",
        "claims.csv",
        "editions.csv",
        "seeds.csv",
        "curves.csv",
        "noise.csv",
        "not_tested.csv",
        "environment.csv",
        "demo/paper/claims.csv",
        "demo/paper/comparability.csv",
        *(f"demo/paper/mocose-table3{end}" for end in (".csv", "_runs.csv", ".md", ".tex")),  # the page links to them
    }


def test_a_card_says_what_the_papers_own_runs_say(page):
    _, files = page
    said = "On the single runs that the paper shows, taken as independent, it is supported."
    card = files["index.html"][files["index.html"].index('id="T7.2"') :]
    assert said in " ".join(card[: card.index("</details>")].split()) and "holds; on its runs supported |" in files["README.md"]
