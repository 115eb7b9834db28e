"""Names are never markup: what a folder or a text is called, tables and the page show as it is."""

from dataclasses import replace

from fake_store import SOURCES, filled
from markdown_it import MarkdownIt
from pages import Reader
from small_study import result, small

from core.report.page import page_files
from core.report.tables import markdown, md, tex
from core.spec.errors import shown
from core.spec.scale import DEMO

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
STUDY = small()


def named(name: str):
    """A study's result whose encoder, text and evaluation have this name."""
    sources = replace(SOURCES, encoder_name=name, corpus_name=name, evaluation_name=name)
    return result(STUDY, filled(STUDY, scale=DEMO), scale=DEMO, sources=sources)


def test_the_page_and_markdown_show_the_name(tmp_path):
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for name in NAMES:
        one = named(name)
        text = page_files((STUDY,), {("demo", "paper"): [one]}, tmp_path, tmp_path, lambda _: 1.0)[
            "index.html"
        ]
        assert shown(name) in Reader(text).text, name
        inline = [child for token in reader.parse(markdown(one)) for child in token.children or ()]
        assert f"encoder {shown(name)} · text" in "".join(child.content for child in inline), name


def test_letters_of_latex_and_markdown():
    assert tex("a_b & 50 % −1") == r"a\_b \& 50 \% $-$1" and tex("größe") == "größe"
    assert tex("a--b") == "a-{-}b" and md("a|b*") == r"a\|b\*"
    assert tex("[MASK] *") == "{[}MASK{]} {*}"  # LaTeX reads [ or * behind a line break as its options
