"""The one page: complete, escaped, self-contained and accessible, and no number on it that no CSV holds."""

import io
import os
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fake_store import SOURCES, FakeStore, edition, filled
from matplotlib.font_manager import findfont, get_font

from core.report.cells import gather
from core.report.claims import COLUMNS, MARKS, OUTCOMES, chances, claim_frame, measured, signed
from core.report.comparability import comparability_frame
from core.report.contrasts import Readings
from core.report.frames import cell_frame
from core.report.next_runs import next_runs
from core.report.page import Section, gathered_page, page_files
from core.report.page.content import answer, slug
from core.report.render import render_index
from core.report.tables import markdown
from core.report.verdicts import verdicts
from core.spec.claim import Claim, best, greater
from core.spec.scale import DEMO
from studies import STUDIES, find

EVIL = "<script>alert('x')</script> & \"quoted\" D1"
TABLE = replace(
    find("mocose-table3"),
    claims=(
        Claim(key="X.1", text="The first is above the second.", predicate=greater(("0.5",), ("0.8",)), note=EVIL, quote="First | second.", place="Section 4",
              decided_by="0.5 against 0.8"),
        Claim(key="X.2 (all)", text="0.85 is best.", predicate=best(("0.85",), [(e,) for e in ("0.5", "0.8", "0.9", "0.95", "0.99")])),
    ),
)  # fmt: skip
TABLE7 = find("mocose-table7")
SVG = '<svg role="img" aria-label="a figure" viewBox="0 0 1 1" class="figure"></svg>'


def result(study=TABLE, store=None, profile="paper", seeds=3):
    return gather(study, edition(seeds, profile), store or filled(study))


def under(profile, score):
    """The table with three runs about a score in each cell, under a profile."""
    store = FakeStore()
    for cell in TABLE.cells:
        for seed in range(3):
            store.add(TABLE.config(cell, profile=profile, scale=DEMO, sources=SOURCES, seed=seed), score + seed)
    return result(store=store, profile=profile)


def made(**deviations_):
    """The page over a table under two profiles and another table, with one more study that nobody has begun."""
    sections = {
        ("demo", "paper"): [Section(result=result(), picture=SVG), Section(result=result(TABLE7), picture=None)],
        ("demo", "released"): [Section(result=under("released", 40.0), picture=None)],
    }
    page = gathered_page((TABLE, TABLE7, find("esimcse-table11")), sections)
    return page, page_files(
        page, Path("results"), Path("figures"), lambda run, scale: Path(f"results/runs/{run.run_id}.parquet"), deviations_
    )


@pytest.fixture(scope="module")
def page():
    return made(D1="In-batch negatives. paper: eq. 3")


class Reader(HTMLParser):
    """What a browser would see: tags that are open or closed wrongly, references, headings, cells, text by section."""

    VOID = frozenset({"meta", "img", "br", "link", "input", "rect", "circle", "line", "path"})

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.references, self.ids, self.headings, self.cells = [], [], [], [], [], []
        self.text, self.scripts, self.named, self.styled = "", 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.scripts += tag == "script"
        self.references += [value for name, value in attributes if name in ("src", "href")]
        self.ids += [given["id"]] if "id" in given else []
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self.cells += [(tag, given.get("scope"))] if tag == "th" else []
        self.named += [(tag, given.get("role"), given.get("aria-label"))] if tag in ("svg", "input") or "tabindex" in given else []
        if tag not in self.VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if tag not in self.VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data + " "  # cells stand beside each other


def test_the_page_is_well_formed_self_contained_and_escaped(page):
    text = page[1]["index.html"]
    seen = Reader(text)
    assert (seen.wrong, seen.open, seen.scripts) == ([], [], 1)
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    assert "<script>alert" not in text and EVIL.replace(" D1", "") in seen.text


def test_every_internal_link_resolves_and_no_id_is_there_twice(page):
    seen = Reader(page[1]["index.html"])
    assert len(seen.ids) == len(set(seen.ids))
    assert {one[1:] for one in seen.references if one.startswith("#") and len(one) > 1} <= set(seen.ids)
    assert {"X.1", "X.2-all", "mocose-table3", "mocose-table7"} <= set(seen.ids)
    beside = {one for one in seen.references if not one.startswith("#")}
    runs = {one for one in beside if one.startswith("runs/")}
    assert runs and all(re.fullmatch(r"runs/[0-9a-f]{16}\.parquet", one) for one in runs)
    assert {"claims.csv", "seeds.csv", "demo/paper/mocose-table3.csv", "../figures/demo/paper/mocose-table3.png"} <= beside


def test_headings_are_nested_cells_have_a_scope_and_everything_that_is_no_text_has_words(page):
    seen = Reader(page[1]["index.html"])
    assert seen.headings[0] == 1 and seen.headings.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(seen.headings, seen.headings[1:], strict=False))
    assert seen.cells and all(scope in ("col", "row", "rowgroup") for _, scope in seen.cells)
    assert seen.named and all(label for _, _, label in seen.named)
    assert not re.search(r"<th[^>]*></th>", page[1]["index.html"])


def luminance(colour):
    parts = (
        [int((colour * 2 if len(colour) == 3 else colour)[n : n + 2], 16) / 255 for n in (0, 2, 4)]
        if len(colour) == 6
        else [int(c * 2, 16) / 255 for c in colour]
    )
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    a, b = sorted((luminance(one.strip("#")), luminance(other.strip("#"))), reverse=True)
    return (a + 0.05) / (b + 0.05)


def test_text_has_a_contrast_of_four_and_a_half_in_light_and_dark(page):
    style = page[1]["index.html"].split("<style>")[1].split("</style>")[0]
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]+)", part)) for part in re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2])
    assert contrast("#000", "#fff") == pytest.approx(21.0) and contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    for theme in (light, dark):
        assert set(light) == set(dark)
        for ink, ground in [
            *((name, "bg") for name in ("ink", "soft", "link", "ours", "told", "yes", "no", "same", "open")),
            ("yes", "yes-bg"),
            ("no", "no-bg"),
            ("same", "same-bg"),
            ("open", "open-bg"),
            ("ink", "band"),
            ("soft", "band"),
        ]:
            assert contrast(theme[ink], theme[ground]) >= 4.5, (ink, ground)


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


def test_bars_and_answer_count_what_the_verdicts_say(page):
    given, files = page
    demo = given.editions[0]
    found = [one.outcome for section in demo.sections for one in verdicts(section.result)]
    waiting = len(find("esimcse-table11").claims)
    assert demo.counts == {name: found.count(name) + waiting * (name == "not run") for name in set(found) | {"not run"}}
    assert answer(given).startswith(f"None of {2 + len(TABLE7.claims) + waiting} claims has been tested at the papers' own scale yet.")
    table = pd.read_csv(io.StringIO(files["editions.csv"]))
    assert [(row.scale, row.profile) for row in table.itertuples()] == [
        ("demo", "paper"),
        ("demo", "released"),
        ("mini", "paper"),
        ("paper", "paper"),
    ]
    assert table["claims"].tolist()[0] == sum(demo.counts.values()) and table["runs"].tolist() == [len(demo.runs), 18, 0, 0]


def test_a_card_has_quotation_place_decision_points_and_what_to_run_next(page):
    text = page[1]["index.html"]
    card = text[text.index('id="X.1"') : text.index('id="X.2-all"')]
    assert "First | second." in card and "Section 4" in card and "0.5 against 0.8" in card and "In-batch negatives. paper: eq. 3" in card
    assert "It turns on 0.5 minus 0.8, above 0." in card
    assert card.count('class="seed"') == 6  # three seeds under two profiles
    assert "python run_study.py mocose-table3 --scale demo --profile paper --seeds 5 --cell 0.5 --cell 0.8" in card
    seeds = pd.read_csv(io.StringIO(page[1]["seeds.csv"]))
    one = result()
    first = verdicts(one)[0]
    mine = seeds[(seeds["claim"] == "X.1") & (seeds["profile"] == "paper")]["above_the_claim"]
    assert mine.mean() == pytest.approx(first.effect, abs=1e-4) and len(mine) == 3


def test_the_next_look_counts_the_runs_that_are_missing():
    one = result(store=filled(TABLE, skip={(("0.5",), 2)}))
    first = verdicts(one)[0]
    found = next_runs(first, Readings(one))
    assert (found.seeds, found.runs) == (3, 1) and np.isnan(found.minutes) and found.command.endswith("--seeds 3 --cell 0.5 --cell 0.8")
    assert next_runs(replace(first, outcome="supported"), Readings(one)) is None


def test_the_short_page_has_every_claim_with_a_link(page):
    text = page[1]["README.md"]
    assert "](index.html#X.1)" in text and "[X.2 (all)](index.html#X.2-all)" in text and "[table](demo/paper/mocose-table3.md)" in text
    tables = [block.splitlines() for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
    assert len(tables) == 1 + 3 and all(len({line.replace(r"\|", "").count("|") for line in block}) == 1 for block in tables)
    assert all(len(block) >= 3 and re.fullmatch(r"[|: -]+", block[1]) for block in tables)


def test_links_of_claims_are_unlike():
    anchors = [slug(claim.key) for study in STUDIES for claim in study.claims]
    assert len(set(anchors)) == len(anchors) and all(re.fullmatch(r"[\w.-]+", one) for one in anchors)


def test_the_frame_and_the_markdown_say_the_same_as_the_verdicts():
    one = result()
    frame = claim_frame([one])
    assert list(frame["claim"]) == ["X.1", "X.2 (all)"] and list(frame["holds_as_printed"]) == ["holds", "holds"]
    for verdict, row in zip(verdicts(one), frame.itertuples(), strict=False):
        assert (row.verdict, row.n, row.look) == (verdict.outcome, 3, 1) and row.effect == pytest.approx(verdict.effect)
        assert (row.p_supported, row.p_contradicted, row.p_equivalent) == pytest.approx(tuple(verdict.p)) and row.chance == chances(verdict)
        assert measured(verdict) in markdown(one).replace("\\", "") and len(row) - 1 == len(COLUMNS)
    assert "## Claims" not in markdown(result(replace(TABLE, claims=())))


def test_what_cannot_be_compared_says_why_and_the_paper_is_quoted():
    one = replace(result(), not_comparable="The queue never turns over.")
    text = markdown(one)
    assert (
        "∅ not comparable: The queue never turns over." in text and "“First \\| second.” (Section 4). Decided by: 0.5 against 0.8." in text
    )
    page = gathered_page((TABLE,), {("demo", "paper"): [Section(result=one, picture=None)]})
    seen = Reader(page_files(page, Path("r"), Path("f"), lambda run, scale: None, {})["index.html"])
    assert "The queue never turns over." in seen.text and "∅ not comparable" in seen.text
    row = claim_frame([one]).iloc[0]
    assert (row["verdict"], row["reason"], row["chance"]) == ("not comparable", one.not_comparable, "")


def test_every_outcome_has_a_mark_of_its_own_that_is_in_the_font_and_a_style(page):
    font = get_font(findfont("DejaVu Sans")).get_charmap()
    assert set(MARKS) == set(OUTCOMES) and len(set(MARKS.values())) == len(OUTCOMES) and all(ord(mark) in font for mark in MARKS.values())
    assert all(re.search(rf"\.{outcome.replace(' ', '-')}[ ,]", page[1]["index.html"]) for outcome in OUTCOMES)


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
    }


BROWSER = os.environ.get("PAGE_BROWSER") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="no browser is at hand (PAGE_BROWSER names one): the page is not laid out in a real one")
@pytest.mark.parametrize("width", [390, 1440])
def test_a_real_browser_lays_the_page_out_without_scrolling_sideways(page, tmp_path, width):
    probe = "<script>document.title = [document.documentElement.scrollWidth <= innerWidth, document.querySelector('.tools').hidden].join(' ')</script>"
    (tmp_path / "index.html").write_text(page[1]["index.html"].replace("</body>", f"{probe}</body>"))
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},900",
        "--dump-dom",
        (tmp_path / "index.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "<title>true false</title>" in done.stdout
