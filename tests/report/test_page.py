"""The page: its form, its links, its numbers in the CSV files beside it, and that no name is
markup."""

import io
import re
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from extras import BROWSER
from fake_store import SOURCES, filled, made_setup
from made_scales import cell_run
from markdown_it import MarkdownIt
from places import ROOT
from small_study import result, small

from core.config.methods import PROFILES
from core.config.scale import DEMO, MINI, PAPER
from core.formatting import shown
from core.report.drawn import Drawings
from core.report.page import _joined, page_files, readme_head
from core.report.render import write_page, write_study
from core.report.sheet import make_sheet
from core.report.tables import markdown, md, tex
from core.report.verdicts import study_result
from core.runner.best_scale import begun_at
from core.store.store import Store
from core.study.claim import Claim, best, greater
from core.study.resolution import resolve
from studies import find

HERE = "results beside a#b?c"
EVIL = "<script>alert('x')</script> & \"quoted\" D1"
TABLE = replace(
    find("mocose-table3"),
    claims=(
        Claim(
            key="X.1",
            text="The first is above the second.",
            predicate=greater(("0.5",), ("0.8",)),
            note=EVIL,
            quote="First | second.",
            place="Section 4",
        ),
        Claim(
            key="X.2 (all)",
            text="0.85 is best.",
            predicate=best(("0.85",), [(e,) for e in ("0.5", "0.8", "0.9", "0.95", "0.99")]),
        ),
    ),
)
TABLE7 = find("mocose-table7")


def page(folder, small=False):
    """Draw one of three studies under `paper` and `released`, and the page, into a folder; of a
    small page under `paper` alone."""
    store = filled(TABLE)
    for cell in TABLE.cells:
        for seed in range(3):
            at = {"profile": "released", "scale": DEMO, "sources": SOURCES}
            store.add(cell_run(TABLE, cell, **at, seed=seed), 40.0 + seed)
    studies = (TABLE, TABLE7, find("esimcse-table11"))
    drawn = {}
    every = {}
    for profile in PROFILES:
        setup = made_setup(3, profile)
        key = setup.scale.name, profile
        every[key] = [resolve(study, setup) for study in studies]
        if profile == "paper" or (profile == "released" and not small):
            drawings = Drawings(store, folder.parent / "kept", small)
            place = folder / key[0] / key[1], folder / "figures" / key[0] / key[1]
            table = drawings.made(resolve(TABLE, setup))
            write_study(table, *place)
            drawn[key] = table.sheet
    sheets = {}
    for key, of_key in every.items():
        if key in drawn or key[1] == "paper":
            printed = [make_sheet(study_result(resolved)) for resolved in of_key]
            sheets[key] = [drawn.get(key, printed[0]), *printed[1:]]
    write_page(studies, sheets, folder, folder / "figures")
    return folder


class Reader(HTMLParser):
    """What a browser would see: tags that are open or closed wrongly, references, ids, headings,
    text."""

    VOID = frozenset({"meta", "img", "br", "link", "input"})

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.wrong = []
        self.references = []
        self.ids = []
        self.headings = []
        self.text = ""
        self.scripts = 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        self.references += [value for name, value in attributes if name in ("src", "href")]
        self.ids += [value for name, value in attributes if name == "id"]
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self.open += [tag] if tag not in self.VOID else []

    def handle_endtag(self, tag):
        if tag not in self.VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data + " "  # cells stand beside each other


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return page(tmp_path_factory.mktemp("page") / HERE)


@pytest.fixture(scope="module")
def seen(folder):
    return Reader((folder / "index.html").read_text())


def test_every_tag_is_closed_every_id_is_one_of_its_kind_and_headings_skip_no_level(seen):
    assert not seen.open and not seen.wrong and seen.scripts == 1
    assert len(seen.ids) == len(set(seen.ids))
    assert seen.headings[0] == 1 and set(seen.headings[1:]) == {2, 3}


@pytest.mark.parametrize("small", [False, True], ids=["one's own", "published"])
def test_every_link_leads_to_a_file_or_to_a_place_on_the_page(folder, tmp_path, small):
    folder = page(tmp_path / HERE, small=True) if small else folder
    html = Reader((folder / "index.html").read_text())
    kinds = set()
    tokens = MarkdownIt("commonmark").enable("table").parse((folder / "README.md").read_text())
    inline = [
        child for token in tokens for child in token.children or () if child.type == "link_open"
    ]
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
    # an arrow beside a number would say that it rises or falls
    assert not set("↗↘") & set(seen.text)
    assert "?✘ undecided, points against" in " ".join(seen.text.split())
    cells = pd.read_csv(folder / "demo/paper/mocose-table3.csv")
    assert all(f"{mean:.2f} ± " in seen.text for mean in cells["mean"])
    assert set(claims["profile"]) == {"paper", "released"}  # nothing is drawn of repaired
    assert (folder / "comparability.csv").is_file()


NAMES = ("a_b & 50 %", "a|b", "<b>bold</b>", "**bold** `code`", "größe", "模型", "[x](y)", "a\nb")


def test_the_page_and_markdown_show_a_name_as_it_is(tmp_path):
    study = small()
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    (tmp_path / "demo/paper").mkdir(parents=True)
    (tmp_path / f"demo/paper/{study.name}.md").touch()
    for name in NAMES:
        encoders = (SOURCES.encoder._replace(name=name),)
        sources = replace(SOURCES, encoders=encoders, corpus_name=name, evaluation_name=name)
        one = result(study, filled(study), sources=sources)
        made = page_files((study,), {(DEMO.name, "paper"): [make_sheet(one)]}, tmp_path, tmp_path)
        assert shown(name) in Reader(made["index.html"]).text, name
        inline = [
            child
            for token in reader.parse(markdown(make_sheet(one)))
            for child in token.children or ()
        ]
        assert f"encoder: {shown(name)} · text" in "".join(child.content for child in inline), name


def test_letters_of_latex_and_markdown():
    assert tex("a_b & 50 % −1") == r"a\_b \& 50 \% $-$1" and tex("größe") == "größe"
    assert tex("a--b") == "a-{-}b" and md("a|b*") == r"a\|b\*"
    # LaTeX reads [ or * behind a line break as its options
    assert tex("[MASK] *") == "{[}MASK{]} {*}"


def test_a_table_without_runs_shows_and_writes_what_the_paper_prints(tmp_path):
    """Against the numbers of its cells: every printed number."""
    at = made_setup(3, scale=PAPER, sources=replace(SOURCES, corpus_rows=1_000_000))
    mini = made_setup(3, scale=MINI)
    results = {
        ("paper", "paper"): [make_sheet(study_result(resolve(TABLE7, at)))],
        ("mini", "paper"): [make_sheet(study_result(resolve(TABLE7, mini)))],
    }
    files = page_files([TABLE7], results, tmp_path, tmp_path)
    numbers = [cell.published for cell in TABLE7.cells if cell.published is not None]
    text = Reader(files["index.html"]).text
    assert all(f" {value:.2f} " in text for value in numbers)
    written = pd.read_csv(io.StringIO(files["printed/mocose-table7.csv"]))
    assert sorted(written["printed"]) == sorted(numbers)


def test_the_page_says_why_a_claim_has_no_verdict_and_names_each_comparison(folder, seen):
    """As text, and not where only a mouse leads; of a claim of several comparisons, each."""
    text = " ".join(seen.text.split())
    claims = pd.read_csv(folder / "claims.csv", keep_default_na=False)
    for reason in {*claims["reason"]} - {""}:
        assert " ".join(reason.split()) in text
    several = claims.query("claim == 'X.2 (all)' and profile == 'paper' and scale == 'demo'").iloc[
        0
    ]
    comparisons = pd.read_csv(folder / "comparisons.csv", keep_default_na=False)
    of_claim = comparisons.query("claim == 'X.2 (all)' and profile == 'paper' and scale == 'demo'")
    assert several["n"] and len(of_claim) == 5
    assert all(f"0.85 minus {row.right}" in text for row in of_claim.iloc[:3].itertuples())


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize(
    "words, claims",
    [("does the first help?", "X.1"), ("above, first the", "X.1"), ("X.2 first", ""), ("zzz", "")],
)
def test_the_search_finds_a_plain_question(folder, tmp_path, words, claims):
    """In any order, without the words that say nothing; a number is never left out."""
    ask = f"""<script>const field = document.getElementById("search"); field.value = "{words}";
    field.dispatchEvent(new Event("input"));
    document.title = [...document.querySelectorAll("details:not([hidden]) > .scroll tr[id]")]
      .filter(row => !row.hidden && row.id.startsWith("X")).map(row => row.id).join()</script>"""
    text = (folder / "index.html").read_text().replace("</body>", f"{ask}</body>")
    (tmp_path / "page.html").write_text(text)
    options = "--headless --no-sandbox --disable-gpu --disable-background-networking --dump-dom"
    command = [BROWSER, *options.split(), f"--user-data-dir={tmp_path}/profile"]
    command.append(f"file://{tmp_path}/page.html")
    shown = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True).stdout
    assert f"<title>{claims}</title>" in shown


def test_the_published_page_begins_with_the_readmes_sentences_and_picture(tmp_path):
    """Of other runs than the published ones it does not speak."""
    published = ROOT / "results" / "published"
    store = Store("none", published)
    along = find("along")
    of_study = make_sheet(study_result(begun_at(MINI, along, store, "paper"), store))
    assert not readme_head([of_study], published, tmp_path)
    (tmp_path / "mini" / "paper").mkdir(parents=True)
    (tmp_path / "mini" / "paper" / "along.png").touch()
    head = readme_head([of_study], published, tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")
    first = Reader(head["html"]).text
    assert first.split()[:5] == readme[1].split()[:5] and head["picture"].endswith("along.png")
    assert not set("[]*") & set(first)
    for source in ("own", "own+published"):
        other = replace(of_study, cells=of_study.cells.assign(source=source))
        assert not readme_head([other], published, tmp_path)


def test_a_table_says_which_encoders_its_numbers_are_of_even_without_claims():
    store = Store("none", ROOT / "results" / "published")
    words = {}
    for name in ("start", "along"):
        result = study_result(begun_at(MINI, find(name), store, "paper"), store)
        words[name] = markdown(make_sheet(result))
    assert "of these encoders" in words["start"] and "The plain encoder was" in words["start"]
    assert "encoder: mini encoder, plain encoder ·" in words["start"]
    assert "of this encoder" in words["along"] and "## Claims" not in words["along"]


def test_a_study_without_rows_leaves_the_types_of_the_page_s_frames():
    empty = pd.DataFrame(columns=["number", "text"])
    filled = pd.DataFrame({"number": [1.5], "text": ["x"]})
    pd.testing.assert_frame_equal(_joined([empty, filled, empty]), filled)
