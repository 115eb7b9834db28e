"""The page: its form, its links, and that its numbers stand in the CSV files beside it."""

import csv
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from fake_store import made_setup
from markdown_it import MarkdownIt
from pages import TABLE, Reader, page
from places import ROOT

from core.report.page import CSV_FILES
from core.report.verdicts import study_result

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


def links(folder):
    html = Reader((folder / "index.html").read_text()).references
    tokens = MarkdownIt("commonmark").enable("table").parse((folder / "README.md").read_text())
    inline = [child for token in tokens for child in token.children or ()]
    return {*html, *(token.attrs["href"] for token in inline if token.type == "link_open")}


@pytest.mark.parametrize("small", [False, True], ids=["one's own", "published"])
def test_every_link_leads_to_a_file_or_to_a_place_on_the_page(folder, tmp_path, small):
    folder = page(tmp_path / HERE, small=True) if small else folder
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
    assert len(claims.columns) <= 18
    assert len(claims) == len(claims.drop_duplicates(["claim", "scale", "profile"]))
    row = claims.query("claim == 'X.1' and profile == 'paper' and scale == 'demo'").iloc[0]
    mean, low, high = (float(row[name]) for name in ("estimate", "ci95_low", "ci95_high"))
    estimate = f"{mean:+.2f} points [{low:+.2f}, {high:+.2f}]".replace("-", "−")
    assert estimate in seen.text and f"{row['verdict']} (3 seeds)" in seen.text
    cells = pd.read_csv(folder / "demo/paper/mocose-table3.csv")
    assert all(f"{mean:.2f} ± " in seen.text for mean in cells["mean"])
    overview = list(csv.DictReader((folder / "overview.csv").open()))
    assert {(one["scale"], one["profile"]) for one in overview} >= {("demo", "paper"), ("demo", "released")}
    assert sum(int(one["claims"]) for one in overview) == len(claims)
    assert set(CSV_FILES) <= {path.name for path in folder.iterdir()}


def test_what_a_scale_cannot_judge_says_why_before_it_has_a_run(folder):
    reasons = study_result(TABLE, made_setup()).checks.no_verdict
    rows = csv.DictReader((folder / "claims.csv").open())
    claims = {row["claim"]: row for row in rows if (row["scale"], row["profile"]) == ("demo", "paper")}
    found = {key: claims[key]["reason"] for key in claims if claims[key]["verdict"] == "no verdict"}
    assert reasons and all(found[key].startswith(why) for key, why in reasons.items())
