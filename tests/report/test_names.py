"""Names are never markup: whatever a folder, a text or a stored provenance is called, every output shows it as it is."""

from __future__ import annotations

import itertools
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fake_store import SOURCES, FakeStore, config_of, filled
from markdown_it import MarkdownIt
from matplotlib.text import Text
from small_study import result, small

from core.report.dialects import md, tex
from core.report.figures import figure
from core.report.notes import footnotes, setting
from core.report.page.content import Section, gathered_page
from core.report.page.writing import page_files
from core.report.style import drawing, pdf_bytes, pixels, png_bytes
from core.report.tables import latex, markdown
from core.spec.errors import printable, shown
from core.spec.scale import DEMO, MINI
from studies import find

EVIL = (
    r"$\frac{", "$x$", "_x_^y^", r"\undefined{\x}", "a|b", r"a\|b", "a\nb | c", "\n\n# heading", "`code", "```", "<script>alert(1)</script>",
    "<!--", "&lt;b&gt;", "**bold**", "[text](javascript:x)", "![x](http://x)", "[*]", "*", "%comment", "#1", "{", "}}", "~", '"', "'", "--", "?`",
    "\x1b[2J", "\x00", "\r", "\u202etxet", "\u2028", "größe", "模型", "🎲", "\udcff", "a" * 255, "</style></title>", r"\[x\]", "$$", "\\",
)  # fmt: skip
STUDY = small()


def named(name: str, scale=DEMO):
    """A study's result whose encoder, text and evaluation have this name."""
    sources = replace(SOURCES, encoder_name=name, corpus_name=name, evaluation_name=name)
    return result(STUDY, filled(STUDY, scale=scale), scale=scale, sources=sources)


def pages(found) -> dict[str, str]:
    """The texts of the page over one result."""
    page = gathered_page((STUDY,), {(found.scale.name, found.profile): [Section(result=found, picture=None)]})
    return page_files(page, Path("results"), Path("figures"), {})


ids = [ascii(name[:14]) for name in EVIL]
DRAWN = (r"$\frac{", "_x_^y^", r"\undefined{\x}", "a\nb | c", "\x00", "模型", "\udcff", "a" * 255)  # drawing takes its time


@pytest.mark.parametrize("name", DRAWN, ids=[ascii(name[:14]) for name in DRAWN])
def test_a_figure_shows_the_name_as_it_is(name):
    with drawing(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the figures' letters have no dice
        made = figure(named(name, MINI))
        assert png_bytes(pixels(made))[:4] == b"\x89PNG" and pdf_bytes(made)[:5] == b"%PDF-"
        texts = [text for text in made.findobj(Text) if text.get_text()]
        wide = [text.get_window_extent().x1 for text in texts if shown(name) in text.get_text()]
    assert any(f"scale mini ({shown(name)})" in text.get_text() for text in texts)
    assert wide and max(wide) <= made.bbox.x1, "the name leaves the sheet"
    assert not any(text.get_parse_math() for text in texts)


@pytest.mark.parametrize("study", ["mocose-figure7", "mocose-table7", "mocose-figure5"])
def test_no_label_of_a_figure_needs_mathematics(study):
    found = find(study)
    with drawing():
        made = figure(result(found, filled(found)))
        made.canvas.draw()
        assert not [text.get_text() for text in made.findobj(Text) if "$" in text.get_text()]


class Seen(HTMLParser):
    """Tags and text, as a browser reads them."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", EVIL, ids=ids)
def test_the_page_shows_the_name_and_has_the_same_tags(name):
    plain, seen = (Seen(pages(named(one))["index.html"]) for one in ("plain", name))
    assert seen.tags == plain.tags and f"{shown(name)}, {shown(name)}" in seen.text


READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def words(text: str) -> tuple[list[str], str]:
    """The blocks of a Markdown text, and its words as a reader sees them."""
    tokens = READER.parse(text)
    inline = [child for token in tokens if token.type == "inline" for child in token.children]
    assert {child.type for child in inline} <= {"text", "softbreak", "strong_open", "strong_close", "em_open", "em_close", "text_special"}
    return [token.type for token in tokens], "".join(child.content if child.type != "softbreak" else "\n" for child in inline)


@pytest.mark.parametrize("name", EVIL, ids=ids)
def test_markdown_shows_the_name_and_has_the_same_blocks(name):
    blocks, text = words(markdown(named(name)))
    assert blocks == words(markdown(named("plain")))[0]
    assert f"encoder {shown(name)} · text {shown(name)} · evaluation {shown(name)}" in text


@pytest.mark.parametrize("name", EVIL, ids=ids)
def test_markdown_in_a_table_keeps_its_columns(name):
    blocks, text = words(f"| a | b |\n| - | - |\n| {md(name)} | x |\n")
    assert blocks.count("td_open") == 2 and text == f"ab{printable(name).strip()}x"


SYNTAX = re.compile(
    r"\\[a-zA-Z]+(?:\{\})?|\\[\\{}$&%#_]|\\[`'^\"~]\{[A-Za-z]\}|\{[\[\]*`-]\}|\$[<>|]\$|\$[+-]?\$|\$\^\{\\[a-zA-Z]+\}\$|\$\\[a-zA-Z]+\$|[^\\{}$&%#_^~\[\]*`\"]"
)


@pytest.mark.parametrize("name", EVIL, ids=ids)
def test_latex_is_text_alone(name):
    written = tex(name)
    assert written.isascii() and "\n" not in written
    assert SYNTAX.sub("", written) == "", f"syntax is left in {written!r}"
    whole = latex(named(name))
    plain = latex(named("plain"))
    assert whole.count("\n") == plain.count("\n") and f"encoder {tex(shown(name))} " in whole


def test_no_row_of_a_latex_table_begins_as_an_option():
    """LaTeX reads [ or * behind the line break or the rule of a row as its options, even on the next line."""
    study = small(axes=(replace(STUDY.axes[0], labels=("[MASK]", "*")),), rows="size", columns=None, reference=("[MASK]",),
                  cells=tuple(replace(cell, labels=(label,)) for cell, label in zip(STUDY.cells, ("[MASK]", "*"), strict=True)))  # fmt: skip
    lines = latex(result(study, filled(study))).splitlines()
    rows = [
        line
        for before, line in itertools.pairwise(lines)
        if before.endswith(r"\\") or before in (r"\toprule", r"\midrule", r"\addlinespace")
    ]
    assert len(rows) > 3 and not [row for row in rows if row.lstrip()[0] in "[*"]
    assert any(row.startswith("{[}MASK{]}") for row in rows) and any(row.startswith("{*}") for row in rows)


def test_latex_letters_by_hand():
    assert tex("größe") == r"gr\"{o}\ss{}e" and tex("模") == "U+6A21" and tex("[x]") == "{[}x{]}" and tex("a\nb") == r"a\textbackslash{}nb"
    assert tex("a--b---c-d – e") == "a-{-}b-{-}{-}c-d -- e"


@pytest.mark.parametrize("name", EVIL, ids=ids)
def test_a_stored_provenance_is_shown_as_it_is(name):
    store = FakeStore()
    for seed, version in enumerate(["1.0", name, name]):
        for label in ("a", "b"):
            store.add(config_of(STUDY, (label,), seed), 50.0 + seed, provenance={"versions": {"torch": version}})
    found = result(STUDY, store)
    note = next(note for note in footnotes(found) if "differ in torch" in note)
    assert note in Seen(pages(found)["index.html"]).text and words(markdown(found))
    assert shown(name) in Seen(pages(found)["index.html"]).text and "\x1b" not in pages(found)["environment.csv"]
    assert SYNTAX.sub("", tex(note)) == "" and tex(note) in latex(found)


def test_names_are_printable_everywhere_and_unchanged_where_they_were():
    assert printable("a b_ö模") == "a b_ö模" and printable("a\x1b\n\u202e\udcff") == r"a\x1b\n\u202e\udcff"
    assert setting(named("demo encoder")).startswith("scale demo · profile paper · encoder demo encoder · text demo encoder")
