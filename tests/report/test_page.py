"""The page: its form, its links, and that its numbers stand in the CSV files beside it."""

import csv
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from fake_store import edition, filled
from markdown_it import MarkdownIt
from pages import EVIL, TABLE, TABLE7, Reader, StoreOnDisk, page
from places import ROOT

from core.report.page import CSV_FILES
from core.report.render import render
from core.report.verdicts import not_begun
from core.spec.scale import PAPER
from studies import find

HERE = "results beside a#b?c"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return page(tmp_path_factory.mktemp("page") / HERE)


@pytest.fixture(scope="module")
def seen(folder):
    return Reader((folder / "index.html").read_text())


def test_every_tag_is_closed_every_id_is_one_of_its_kind_and_headings_skip_no_level(seen):
    assert not seen.open and not seen.wrong and seen.scripts == 1
    assert len(seen.ids) == len(set(seen.ids))
    assert seen.headings[0] == 1 and seen.headings.count(1) == 1 and set(seen.headings[1:]) == {2}
    assert EVIL.split(" D1")[0] in seen.text and "<script>alert" not in seen.text.replace(EVIL.split(" D1")[0], "")


def links(folder):
    html = Reader((folder / "index.html").read_text()).references
    tokens = MarkdownIt("commonmark").enable("table").parse((folder / "README.md").read_text())
    inline = [child for token in tokens for child in token.children or ()]
    return {*html, *(token.attrs["href"] for token in inline if token.type == "link_open")}


@pytest.mark.parametrize("small", [False, True], ids=["one's own", "published"])
def test_every_link_leads_to_a_file_or_to_a_place_on_the_page(tmp_path, small):
    """Before, 38 links of the published page led to files that are not published."""
    folder = page(tmp_path / HERE, small=small)
    ids = set(Reader((folder / "index.html").read_text()).ids)
    kinds = set()
    for link in links(folder):
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme == "https", link
            continue
        path = folder / unquote(parts.path) if parts.path else folder / "index.html"
        assert path.is_file() and path.stat().st_size, link
        assert path.name != "index.html" or not parts.fragment or parts.fragment in ids, link
        assert path.resolve().is_relative_to(folder) or path.resolve().is_relative_to(ROOT), link
        kinds.add("".join(path.suffixes[-1:]))
    assert {".csv", ".md", ".png", ".html"} <= kinds and (".tex" in kinds) != small


def test_numbers_on_the_page_are_those_of_the_csv_files(folder, seen):
    claims = pd.read_csv(folder / "claims.csv", keep_default_na=False)
    assert len(claims.columns) <= 18 and len(claims) == len(claims.drop_duplicates(["claim", "scale", "profile"]))
    row = claims.query("claim == 'X.1' and profile == 'paper' and scale == 'demo'").iloc[0]
    estimate = f"{float(row['estimate']):+.2f} points [{float(row['ci95_low']):+.2f}, {float(row['ci95_high']):+.2f}]".replace("-", "−")
    assert estimate in seen.text and f"{row['verdict']} (3 seeds)" in seen.text
    cells = pd.read_csv(folder / "demo/paper/mocose-table3.csv")
    assert all(f"{mean:.2f} ± " in seen.text for mean in cells["mean"])
    overview = list(csv.DictReader((folder / "overview.csv").open()))
    assert {(one["scale"], one["profile"]) for one in overview} >= {("demo", "paper"), ("demo", "released")}
    assert sum(int(one["claims"]) for one in overview) == len(claims)
    assert set(CSV_FILES) <= {path.name for path in folder.iterdir()}


def test_a_search_finds_what_a_reader_of_the_papers_types(tmp_path):
    """Study, claim, quotation and the names of axes are searched."""
    studies = [find(name) for name in ("mocose-table7", "esimcse-table9", "mocose-table4", "mocose-figure5")]
    words = Reader((page(tmp_path, studies=studies, store=StoreOnDisk(filled(studies[0]).runs)) / "index.html").read_text()).words
    for wanted, count in (("Table 7", 6), ("queue", 6), ("dup_rate", 3), ("predictor", 3)):
        assert sum(wanted.lower() in text.lower() for text in words) >= count, wanted
    script = (ROOT / "core/report/templates/page.js").read_text()
    assert "dataset.words" in script and "textContent" in script


def test_the_first_screen_says_what_is_tested_and_what_the_papers_scale_would_take(seen):
    first = seen.text.partition("claims under profile")[0]
    assert "No claim has been tested at the papers’ own scale yet." in first
    assert "Queue size" in first and "too short to judge" in first


def test_the_cost_at_the_papers_scale_is_in_runs_and_hours(tmp_path):
    folder = page(tmp_path, editions=[edition(3), edition(3, scale=PAPER)])
    text = Reader((folder / "index.html").read_text()).text
    assert "paper scale: 5 seeds are 100 runs, 100 H100 hours" in text


def test_profiles_that_agree_share_a_line_and_one_that_disagrees_is_named(folder, seen):
    claims = pd.read_csv(folder / "claims.csv", keep_default_na=False).query("claim == 'X.1' and scale == 'demo'")
    by_profile = dict(zip(claims["profile"], claims["verdict"], strict=True))
    assert set(by_profile) == {"paper", "released"}
    assert ("≠ released" in seen.text) == (by_profile["paper"] != by_profile["released"])


def test_what_a_scale_cannot_judge_says_why_before_it_has_a_run(folder):
    reasons = not_begun(TABLE, edition()).checks.no_verdict
    claims = {
        row["claim"]: row for row in csv.DictReader((folder / "claims.csv").open()) if (row["scale"], row["profile"]) == ("demo", "paper")
    }
    found = {key: claims[key]["reason"] for key in claims if claims[key]["verdict"] == "no verdict"}
    assert reasons and all(found[key].startswith(why) for key, why in reasons.items())
    lines = render([TABLE7], edition(), StoreOnDisk(), folder / "none", folder / "none").lines
    assert "nothing to draw yet; No verdict: too short to judge: " in lines[0] and not (folder / "none").exists()


def test_the_page_is_small_and_names_no_place_of_the_machine(folder):
    text = (folder / "index.html").read_text()
    assert len(text) < 2_000_000 and str(Path(folder).parent) not in text
    assert not re.search(r"<svg|base64", text)
