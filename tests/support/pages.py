"""The page over a small table, and what a browser would see of it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

from fake_store import SOURCES, filled, made_setup
from made_scales import cell_run

from core.report.render import render, render_index
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


def page(folder, small=False):
    """Draw two of three studies under profile `paper`, one under `released`, and the page over them, into a folder."""
    store = filled(TABLE)
    store.runs |= filled(TABLE7).runs
    for cell in TABLE.cells:
        for seed in range(3):
            store.add(cell_run(TABLE, cell, profile="released", scale=DEMO, sources=SOURCES, seed=seed), 40.0 + seed)
    setups, drawn = [made_setup(3, profile) for profile in ("paper", "repaired", "released")], {}
    for setup, studies in ((setups[0], [TABLE, TABLE7]), (setups[2], [TABLE])):
        drawn[setup.scale.name, setup.profile] = render(studies, setup, store, folder, folder / "figures", small).results
    studies = (TABLE, TABLE7, find("esimcse-table11"))
    render_index(studies, drawn, setups, folder, folder / "figures", lambda config: 3600.0)
    return folder


class Reader(HTMLParser):
    """What a browser would see: tags that are open or closed wrongly, references, ids, headings, text."""

    VOID = frozenset({"meta", "img", "br", "link", "input"})

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.references, self.ids, self.headings = [], [], [], [], []
        self.text, self.scripts = "", 0
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
