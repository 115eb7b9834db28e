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

from core.report.drawing import drawing, image
from core.report.figures import figures
from core.report.frames import cell_frame, curve_frame
from core.report.page import page_files
from core.report.tables import latex, markdown, md, tex
from core.report.words import of_runs, setting
from core.spec.errors import printable, shown
from core.spec.scale import DEMO, MINI

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
    results = {(found.scale.name, found.profile): [found]}
    return page_files((STUDY,), results, Path("results"), Path("figures"), lambda config: 1.0)


DRAWN = (r"$\frac{", "_x_^y^", r"\undefined{\x}", "a\nb | c", "\x00", "模型", "\udcff", "a" * 255)  # drawing takes its time


@pytest.mark.parametrize("name", DRAWN, ids=[ascii(name[:14]) for name in DRAWN])
def test_a_figure_shows_the_name_as_it_is(name):
    found = named(name, MINI)
    with drawing(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # DejaVu Sans has no dice
        (made,) = figures(STUDY, cell_frame(found), curve_frame(found)).values()
        assert image(made, "png")[:4] == b"\x89PNG" and image(made, "pdf")[:5] == b"%PDF-"
    texts = [text for text in made.findobj(Text) if text.get_text()]
    assert any(f"scale mini ({shown(name)})" in text.get_text() for text in texts)
    assert not any(text.get_parse_math() for text in texts)


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


def test_the_page_shows_the_name_and_has_the_same_tags():
    plain = Seen(pages(named("plain"))["index.html"]).tags
    for name in EVIL:
        seen = Seen(pages(named(name))["index.html"])
        assert seen.tags == plain and shown(name) in seen.text, name


READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def words(text: str) -> tuple[list[str], str]:
    """The blocks of a Markdown text, and its words as a reader sees them."""
    tokens = READER.parse(text)
    inline = [child for token in tokens if token.type == "inline" for child in token.children]
    assert {child.type for child in inline} <= {"text", "softbreak", "strong_open", "strong_close", "em_open", "em_close", "text_special"}
    return [token.type for token in tokens], "".join(child.content if child.type != "softbreak" else "\n" for child in inline)


def test_markdown_shows_the_name_and_has_the_same_blocks():
    plain = words(markdown(named("plain")))[0]
    for name in EVIL:
        blocks, text = words(markdown(named(name)))
        assert blocks == plain, name
        assert f"encoder {shown(name)} · text {shown(name)} · evaluation {shown(name)}" in text
        blocks, text = words(f"| a | b |\n| - | - |\n| {md(name)} | x |\n")
        assert blocks.count("td_open") == 2 and text == f"ab{printable(name).strip()}x"


SYNTAX = re.compile(
    r"\\[a-zA-Z]+(?:\{\})?|\\[\\{}$&%#_]|\\[`'^\"~]\{[A-Za-z]\}|\{[\[\]*`-]\}|\$[<>|]\$|\$[+-]?\$|\$\^\{\\[a-zA-Z]+\}\$|\$\\[a-zA-Z]+\$|[^\\{}$&%#_^~\[\]*`\"]"
)


def test_latex_is_text_alone():
    plain = latex(named("plain")).count("\n")
    for name in EVIL:
        written, whole = tex(name), latex(named(name))
        assert written.isascii() and "\n" not in written
        assert SYNTAX.sub("", written) == "", f"syntax is left in {written!r}"
        assert whole.count("\n") == plain and f"encoder {tex(shown(name))} " in whole


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


def test_a_stored_provenance_is_shown_as_it_is():
    for name in EVIL[::3]:
        store = FakeStore()
        for seed, version in enumerate(["1.0", name, name]):
            for label in ("a", "b"):
                store.add(config_of(STUDY, (label,), seed), 50.0 + seed, provenance={"versions": {"torch": version}})
        found = result(STUDY, store)
        made = pages(found)
        note = next(note for note in of_runs(found) if "differ in torch" in note)
        assert note in Seen(made["index.html"]).text and words(markdown(found)) and "\x1b" not in made["environment.csv"]
        assert SYNTAX.sub("", tex(note)) == "" and tex(note) in latex(found)


def test_names_are_printable_everywhere_and_unchanged_where_they_were():
    assert printable("a b_ö模") == "a b_ö模" and printable("a\x1b\n\u202e\udcff") == r"a\x1b\n\u202e\udcff"
    assert setting(named("demo encoder")).startswith("scale demo · profile paper · encoder demo encoder · text demo encoder")
