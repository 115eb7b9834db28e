"""How the one page is made: well-formed, escaped, self-contained, linked and accessible."""

import os
import re
import shutil
import subprocess

import pytest
from matplotlib.font_manager import findfont, get_font
from pages import EVIL, Reader, made

from core.report.claims import MARKS, OUTCOMES
from core.report.page.content import slug
from studies import STUDIES


@pytest.fixture(scope="module")
def page():
    return made(D1="In-batch negatives. paper: eq. 3")


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
    assert not [one for one in beside if one.endswith(".parquet")]  # which no browser shows
    assert {
        "claims.csv",
        "demo/paper/mocose-table3_runs.csv",
        "seeds.csv",
        "demo/paper/mocose-table3.csv",
        "../figures/demo/paper/mocose-table3.png",
    } <= beside


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


def test_links_of_claims_are_unlike():
    anchors = [slug(claim.key) for study in STUDIES for claim in study.claims]
    assert len(set(anchors)) == len(anchors) and all(re.fullmatch(r"[\w.-]+", one) for one in anchors)


def test_every_outcome_has_a_mark_of_its_own_that_is_in_the_font_and_a_style(page):
    font = get_font(findfont("DejaVu Sans")).get_charmap()
    assert set(MARKS) == set(OUTCOMES) and len(set(MARKS.values())) == len(OUTCOMES) and all(ord(mark) in font for mark in MARKS.values())
    assert all(re.search(rf"\.{outcome.replace(' ', '-')}[ ,]", page[1]["index.html"]) for outcome in OUTCOMES)


BROWSER = os.environ.get("PAGE_BROWSER") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="no browser is at hand (PAGE_BROWSER names one): the page is not laid out in a real one")
@pytest.mark.parametrize("width", [390, 1440])
def test_a_real_browser_lays_the_page_out_without_scrolling_sideways(page, tmp_path, width):
    found = browsed(
        page, tmp_path, width, 900, "[document.documentElement.scrollWidth <= innerWidth, document.querySelector('.tools').hidden]"
    )
    assert found == "true false"


@pytest.mark.skipif(BROWSER is None, reason="no browser is at hand (PAGE_BROWSER names one): the page is not laid out in a real one")
def test_the_heads_of_columns_stay_while_the_matrix_is_scrolled(page, tmp_path):
    probe = """(() => { const box = document.querySelector(".tall"), head = box.querySelector("thead th"); box.scrollTop = 80;
      return [box.scrollTop === 80, Math.abs(head.getBoundingClientRect().top - box.getBoundingClientRect().top) < 2]; })()"""
    assert browsed(page, tmp_path, 1440, 300, probe) == "true true"


@pytest.mark.skipif(BROWSER is None, reason="no browser is at hand (PAGE_BROWSER names one): the page is not laid out in a real one")
def test_on_a_phone_a_figure_keeps_its_width_and_tables_their_first_column(page, tmp_path):
    probe = """(() => { document.querySelectorAll("details").forEach(one => { one.open = true; });
      const figure = document.querySelector("figure.scroll"), table = document.querySelector(".scroll:not(.tall) > table"), box = table.parentNode;
      table.style.width = "60rem"; box.scrollLeft = 100;
      const first = table.querySelector("tbody tr > :first-child").getBoundingClientRect().left - box.getBoundingClientRect().left;
      return [figure.querySelector("svg").getBoundingClientRect().width > 600, figure.clientWidth < 600, box.scrollLeft === 100, Math.abs(first) < 2]; })()"""
    assert browsed(page, tmp_path, 390, 900, probe) == "true true true true"


def test_print_leaves_out_curves_and_digests_and_forces_no_card_onto_one_page(page):
    style = page[1]["index.html"].split("@media print")[1].split("</style>")[0]
    assert ".behind { display: none; }" in style and ".standing" not in style and "break-before" not in style
    assert ':not(.behind)")' in page[1]["index.html"]  # which opens everything else


def browsed(page, tmp_path, width, height, asked):
    """What a script finds in the page in a real browser's window, joined by spaces."""
    probe = f"<script>document.title = {asked}.join(' ')</script>"
    (tmp_path / "index.html").write_text(page[1]["index.html"].replace("</body>", f"{probe}</body>"))
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},{height}",
        "--dump-dom",
        (tmp_path / "index.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return re.search("<title>(.*?)</title>", done.stdout)[1]


def test_the_printed_mark_of_a_strip_is_above_the_word_below_it(page):
    strips = re.findall(r'<svg class="strip".*?</svg>', page[1]["index.html"], re.DOTALL)
    marks = [
        (re.search(r'class="hollow"[^>]*cy="(\d+)" r="([\d.]+)"', strip), re.search(r'y="(\d+)"[^>]*>threshold', strip)) for strip in strips
    ]
    found = [(float(mark[1]) + float(mark[2]), float(word[1])) for mark, word in marks if mark and word]
    assert found and all(word - 12 > mark for mark, word in found)  # letters are 12 high at most
