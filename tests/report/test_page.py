"""The page: its form, its links, its numbers in the CSV files beside it, and that no name is markup."""

from dataclasses import replace
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from fake_store import SOURCES, filled, made_setup
from markdown_it import MarkdownIt
from pages import TABLE, Reader, page
from places import ROOT
from small_study import result, small

from core.report.page import CSV_FILES, page_files
from core.report.tables import markdown, md, tex
from core.report.verdicts import study_result
from core.spec.errors import shown
from core.spec.scale import DEMO

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
    assert seen.headings[0] == 1 and set(seen.headings[1:]) == {2}


@pytest.mark.parametrize("small", [False, True], ids=["one's own", "published"])
def test_every_link_leads_to_a_file_or_to_a_place_on_the_page(folder, tmp_path, small):
    folder = page(tmp_path / HERE, small=True) if small else folder
    html, kinds = Reader((folder / "index.html").read_text()), set()
    tokens = MarkdownIt("commonmark").enable("table").parse((folder / "README.md").read_text())
    inline = [child for token in tokens for child in token.children or () if child.type == "link_open"]
    for link in {*html.references, *(token.attrs["href"] for token in inline)}:
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme == "https", link
            continue
        path = folder / unquote(parts.path) if parts.path else folder / "index.html"
        assert path.is_file() and path.stat().st_size, link
        assert path.name != "index.html" or not parts.fragment or parts.fragment in html.ids, link
        assert path.resolve().is_relative_to(folder) or path.resolve().is_relative_to(ROOT), link
        kinds.add(path.suffix)
    assert {".csv", ".md", ".png", ".html"} <= kinds and (".tex" in kinds) != small


def test_numbers_on_the_page_are_those_of_the_csv_files(folder, seen):
    claims = pd.read_csv(folder / "claims.csv", keep_default_na=False)
    assert len(claims) == len(claims.drop_duplicates(["claim", "scale", "profile"]))
    row = claims.query("claim == 'X.1' and profile == 'paper' and scale == 'demo'").iloc[0]
    mean, low, high = (float(row[name]) for name in ("estimate", "ci95_low", "ci95_high"))
    estimate = f"{mean:+.2f} points [{low:+.2f}, {high:+.2f}]".replace("-", "−")
    assert estimate in seen.text and f"{row['verdict']} (3 seeds)" in seen.text
    cells = pd.read_csv(folder / "demo/paper/mocose-table3.csv")
    assert all(f"{mean:.2f} ± " in seen.text for mean in cells["mean"])
    overview = pd.read_csv(folder / "overview.csv")
    assert set(overview["profile"]) >= {"paper", "released"} and overview["claims"].sum() == len(claims)
    assert set(CSV_FILES) <= {path.name for path in folder.iterdir()}


def test_what_a_scale_cannot_judge_says_why_before_it_has_a_run(folder):
    reasons = study_result(TABLE, made_setup()).checks.no_verdict
    claims = pd.read_csv(folder / "claims.csv").query("scale == 'demo' and profile == 'paper'")
    found = claims.set_index("claim")["reason"]
    assert reasons and all(found[key].startswith(why) for key, why in reasons.items())


NAMES = (
    "a_b & 50 %",
    "a|b",
    "<b>bold</b>",
    "**bold** `code`",
    "größe",
    "模型",
    "[x](y)",
    "a\nb",
    "$x$ {y} #1",
)


def test_the_page_and_markdown_show_a_name_as_it_is(tmp_path):
    study, reader = small(), MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for name in NAMES:
        sources = replace(SOURCES, encoder_name=name, corpus_name=name, evaluation_name=name)
        one = result(study, filled(study), sources=sources)
        made = page_files((study,), {(DEMO.name, "paper"): [one]}, tmp_path, tmp_path, lambda _: 1.0)
        assert shown(name) in Reader(made["index.html"]).text, name
        inline = [child for token in reader.parse(markdown(one)) for child in token.children or ()]
        assert f"encoder {shown(name)} · text" in "".join(child.content for child in inline), name


def test_letters_of_latex_and_markdown():
    assert tex("a_b & 50 % −1") == r"a\_b \& 50 \% $-$1" and tex("größe") == "größe"
    assert tex("a--b") == "a-{-}b" and md("a|b*") == r"a\|b\*"
    assert tex("[MASK] *") == "{[}MASK{]} {*}"  # LaTeX reads [ or * behind a line break as its options
