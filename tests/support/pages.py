"""The page over a small table, and what a browser would see of it."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from fake_store import SOURCES, FakeStore, edition, filled

from core.report.cells import gather
from core.report.page.content import Section, gathered_page
from core.report.page.writing import page_files
from core.spec.claim import Claim, best, greater
from core.spec.scale import DEMO
from studies import find

EVIL = "<script>alert('x')</script> & \"quoted\" D1"
TABLE = replace(
    find("mocose-table3"),
    claims=(
        Claim(key="X.1", text="The first is above the second.", predicate=greater(("0.5",), ("0.8",)), note=EVIL, quote="First | second.", place="Section 4",
              decided_by="0.5 against 0.8"),
        Claim(key="X.2 (all)", text="0.85 is best.", predicate=best(("0.85",), [(e,) for e in ("0.5", "0.8", "0.9", "0.95", "0.99")])),
    ),
)  # fmt: skip
TABLE7 = find("mocose-table7")
SVG = '<svg role="img" aria-label="a figure" viewBox="0 0 1 1" class="figure"></svg>'


def result(study=TABLE, store=None, profile="paper", seeds=3):
    return gather(study, edition(seeds, profile), store or filled(study))


def under(profile, score):
    """The table with three runs about a score in each cell, under a profile."""
    store = FakeStore()
    for cell in TABLE.cells:
        for seed in range(3):
            store.add(TABLE.config(cell, profile=profile, scale=DEMO, sources=SOURCES, seed=seed), score + seed)
    return result(store=store, profile=profile)


def made(**deviations_):
    """The page over a table under two profiles and another table, with one more study that nobody has begun."""
    sections = {
        ("demo", "paper"): [Section(result=result(), picture=SVG), Section(result=result(TABLE7), picture=None)],
        ("demo", "released"): [Section(result=under("released", 40.0), picture=None)],
    }
    page = gathered_page((TABLE, TABLE7, find("esimcse-table11")), sections)
    return page, page_files(page, Path("results"), Path("figures"), deviations_)


class Reader(HTMLParser):
    """What a browser would see: tags that are open or closed wrongly, references, headings, cells, text by section."""

    VOID = frozenset({"meta", "img", "br", "link", "input", "rect", "circle", "line", "path"})

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.references, self.ids, self.headings, self.cells = [], [], [], [], [], []
        self.text, self.scripts, self.named, self.styled = "", 0, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.scripts += tag == "script"
        self.references += [value for name, value in attributes if name in ("src", "href")]
        self.ids += [given["id"]] if "id" in given else []
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self.cells += [(tag, given.get("scope"))] if tag == "th" else []
        self.named += [(tag, given.get("role"), given.get("aria-label"))] if tag in ("svg", "input") or "tabindex" in given else []
        if tag not in self.VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if tag not in self.VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data + " "  # cells stand beside each other
