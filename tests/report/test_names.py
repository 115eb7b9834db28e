"""Names are never markup: what a folder or a text is called, tables and the page show as it is."""

import itertools
from dataclasses import replace

from fake_store import SOURCES, filled
from markdown_it import MarkdownIt
from pages import Reader
from small_study import result, small

from core.report.page import page_files
from core.report.tables import latex, markdown, md, tex
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
    assert tex("größe") == r"gr\"{o}\ss{}e" and tex("模") == "U+6A21" and tex("[x]") == "{[}x{]}"
    assert tex("a--b") == "a-{-}b" and tex("a\nb") == r"a\textbackslash{}nb" and md("a|b*") == r"a\|b\*"


def test_no_row_of_a_latex_table_begins_as_an_option():
    """LaTeX reads [ or * behind the line break or the rule of a row as its options, even on the next line."""
    names = ("[MASK]", "*")
    cells = tuple(replace(cell, labels=(label,)) for cell, label in zip(STUDY.cells, names, strict=True))
    axes = (replace(STUDY.axes[0], labels=names),)
    study = small(axes=axes, rows="size", columns=None, reference=("[MASK]",), cells=cells)
    lines = latex(result(study, filled(study))).splitlines()
    rules = (r"\toprule", r"\midrule", r"\addlinespace")
    rows = [line for before, line in itertools.pairwise(lines) if before.endswith(r"\\") or before in rules]
    assert any(row.startswith("{[}MASK{]}") for row in rows) and any(row.startswith("{*}") for row in rows)
    assert not [row for row in rows if row.lstrip()[0] in "[*"]
