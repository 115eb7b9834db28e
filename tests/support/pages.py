"""The page over a small table, and what a browser would see of it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

from fake_store import SOURCES, FakeStore, filled, made_setup
from made_scales import cell_run

from core.report.render import render, render_index
from core.spec.claim import Claim, best, greater
from core.spec.identity import run_id
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
STUDIES = (TABLE, TABLE7, find("esimcse-table11"))


class StoreOnDisk(FakeStore):
    """A store in memory that says where its files would lie."""

    root = published = None


def page(folder, setups=None, studies=STUDIES, store=None, small=False):
    """Draw two of three studies under profile `paper`, one under `released`, and the page over them, into a folder."""
    store = store or StoreOnDisk(filled(TABLE).runs | filled(TABLE7).runs)
    for cell in TABLE.cells:
        for seed in range(3):
            config = cell_run(TABLE, cell, profile="released", scale=DEMO, sources=SOURCES, seed=seed)
            store.add(config, 40.0 + seed)
    setups = setups or [made_setup(3, profile) for profile in ("paper", "repaired", "released")]
    drawn = {}
    for one in setups:
        begun = [study for study in studies if run_of(study, one) in store.runs]
        if begun:
            drawn[one.scale.name, one.profile] = render(begun, one, store, folder, folder / "figures", small).results
    render_index(studies, drawn, setups, folder, folder / "figures", lambda config: 3600.0)
    return folder


def run_of(study, one):
    """The id of a study's first run."""
    return run_id(one.config(study.at(one.scale), study.at(one.scale).cells[0], 0))


class Reader(HTMLParser):
    """What a browser would see: tags that are open or closed wrongly, references, ids, searched words, text."""

    VOID = frozenset({"meta", "img", "br", "link", "input"})

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.references, self.ids, self.headings, self.words = [], [], [], [], [], []
        self.text, self.scripts = "", 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.scripts += tag == "script"
        self.references += [value for name, value in attributes if name in ("src", "href")]
        self.ids += [given["id"]] if "id" in given else []
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        self.words += [given["data-words"]] if tag == "tr" and "data-words" in given else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data + " "  # cells stand beside each other
