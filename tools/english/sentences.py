"""Plain sentences out of the files of a source.

The rules are what the text is: every edit of a rule changes the digest of the result.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

CNXML = "{http://cnx.rice.edu/cnxml}"
FORMULA = "{http://www.w3.org/1998/Math/MathML}"
# Parts of a module that are no running text.
LEFT_OUT = {
    "code",
    "equation",
    "exercise",
    "figure",
    "glossary",
    "media",
    "metadata",
    "table",
}
# Parts of a paragraph that are not read, and parts that only separate words.
SILENT = {"code", "figure", "footnote", "media", "table"}
SEPARATING = {"equation", "list", "newline", "note", "space"}
# Stands where a paragraph has a formula or a reference; a sentence with a hole is no sentence.
HOLE = "\0"

SENTENCE_END = re.compile(r"[.!?][\"”’)]*\s+(?=[\"“‘(]?[A-Z0-9])")
ABBREVIATED = re.compile(
    r"\b(?:[A-Z]|Dr|Mr|Mrs|Ms|Prof|St|vs|etc|e\.g|i\.e|al|Fig|No|U\.S|U\.K|Inc|Co|Ltd|Jr|Sr|ca"
    r"|approx|Gen|Sen|Rep|Gov|Capt|Col|Lt|Msgr|Rev|Hon|Mt|Ph|Vol|pp|cf)\.$"
)
CLOSED = re.compile(r"[.!?][\"”’)]*$")
# Blanks where English has none: a part of the sentence was left out.
TORN = re.compile(r"\s[,.;:]|\(\s")
FOREIGN = (HOLE, "http", "www.", "\\", "()")
FEWEST_WORDS = 5
MOST_WORDS = 60
LETTERS = 0.85  # letters and blanks among the characters of a sentence are more than this


def sentences_of(file: Path) -> Iterator[str]:
    """The plain sentences of a file in running order: a CNXML module, or a table whose first column
    is a sentence in tokens."""
    if file.suffix == ".cnxml":
        found = _module(file.read_bytes())
    else:
        found = _first_column(file.read_text(encoding="utf-8"))
    yield from filter(is_plain, found)


def is_plain(sentence: str) -> bool:
    """Whether this is a sentence of 5 to 60 words, mostly of letters, whole from its capital to its
    end."""
    if any(part in sentence for part in FOREIGN) or TORN.search(sentence):
        return False
    if not FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS:
        return False
    if not CLOSED.search(sentence):
        return False
    if not (sentence[0].isupper() or sentence[0] in '"“'):
        return False
    letters = sum(letter.isalpha() or letter == " " for letter in sentence)
    return letters / len(sentence) > LETTERS


def _module(content: bytes) -> Iterator[str]:
    """The sentences of a CNXML module: of its paragraphs and of its lists' items."""
    body = ET.fromstring(content).find(f"{CNXML}content")
    if body is None:
        return
    for paragraph in _paragraphs(body):
        yield from split(paragraph)


def _paragraphs(element: ET.Element) -> Iterator[str]:
    """The texts of paragraphs and items in running order. A list within a paragraph stands once
    more by itself, since its items may be sentences."""
    for child in element:
        kind = _kind(child)
        if kind in LEFT_OUT:
            continue
        if kind not in ("item", "para"):
            yield from _paragraphs(child)
            continue
        yield _text(child)
        if kind == "para":
            for part in child:
                if part.tag == f"{CNXML}list":
                    yield from map(_text, part)


def _text(element: ET.Element) -> str:
    """The text of an element, with a hole for each formula and each reference without words."""
    parts = [element.text or ""]
    for child in element:
        kind = _kind(child)
        reference = kind == "link" and not child.text and not len(child)
        if reference or child.tag.startswith(FORMULA):
            parts.append(f" {HOLE} ")
        elif kind in SEPARATING:
            parts.append(" ")
        elif kind not in SILENT:
            parts.append(_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _kind(element: ET.Element) -> str:
    """An element's tag without its namespace."""
    return element.tag.rpartition("}")[2]


def split(paragraph: str) -> Iterator[str]:
    """A paragraph's sentences. A sentence ends before a capital or a digit, and behind no
    abbreviation."""
    paragraph = re.sub(r"\s+", " ", paragraph).strip()
    start = 0
    for end in SENTENCE_END.finditer(paragraph):
        sentence = paragraph[start : end.end()].strip()
        if not ABBREVIATED.search(sentence):
            yield sentence
            start = end.end()
    yield paragraph[start:].strip()


def _first_column(table: str) -> Iterator[str]:
    """The first column of a table with tabs, whose punctuation stands apart, as English sets it."""
    for line in table.splitlines():
        sentence = line.split("\t")[0]
        if sentence.count('"') % 2:
            # An odd mark has lost its partner, or its partner is written `` or ''.
            sentence = re.sub(r"``\s*|\s*''|\s*\"\s*", '"', sentence)
        sentence = re.sub(r"\s+(n't\b|[,.;:!?%)']+)", r"\1", sentence)
        yield re.sub(r"\(\s+", "(", sentence)
