"""The page, the claims' table and the summary: complete, escaped, self-contained, and the same numbers everywhere."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from fake_store import SOURCES, FakeStore, filled
from matplotlib.font_manager import findfont, get_font

from core.report.cells import gather
from core.report.claims import COLUMNS, MARKS, OUTCOMES, chances, claim_frame, measured, signed
from core.report.page import STYLE, Section, page, summary_markdown
from core.report.render import render_page
from core.report.tables import markdown
from core.report.verdicts import verdicts
from core.spec.claim import Claim, best, greater
from core.spec.scale import DEMO
from studies import find

EVIL = "<script>alert('x')</script> & \"quoted\""
TABLE = replace(
    find("mocose-table3"),
    claims=(
        Claim(key="X.1", text="The first is above the second.", predicate=greater(("0.5",), ("0.8",)), note=EVIL),
        Claim(key="X.2", text="0.85 is best.", predicate=best(("0.85",), [(e,) for e in ("0.5", "0.8", "0.9", "0.95", "0.99")])),
    ),
)


def result(study=TABLE, store=None, profile="paper", seeds=3):
    return gather(study, profile=profile, scale=DEMO, sources=SOURCES, seeds=seeds, store=store or filled(study))


class Reader(HTMLParser):
    """What a browser would see: tags that are open or closed wrongly, references, and text."""

    VOID = frozenset({"meta", "img", "br", "link"})

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.references, self.ids, self.text, self.scripts = [], [], [], [], "", 0

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        self.references += [value for name, value in attributes if name in ("src", "href")]
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.text += data


def read(text):
    reader = Reader()
    reader.feed(text)
    return reader


def test_the_page_is_well_formed_self_contained_and_escaped():
    text = page([Section(result=result(), picture=b"webp bytes"), Section(result=result(find("mocose-table7")), picture=None)])
    seen = read(text)
    assert (seen.wrong, seen.open, seen.scripts) == ([], [], 0)
    assert all(one.startswith(("#", "data:image/webp;base64,")) for one in seen.references)
    assert {one[1:] for one in seen.references if one.startswith("#") and one != "#"} == set(seen.ids) == {"mocose-table3", "mocose-table7"}
    assert EVIL in seen.text and "@import" not in text and "url(" not in text
    assert "demo scale" in seen.text


def test_tiles_count_what_the_verdicts_say():
    one = result()
    found = verdicts(one)
    text = page([Section(result=one, picture=None)])
    for outcome in ("supported", "contradicted", "equivalent", "undecided", "not run", "not comparable"):
        count = sum(v.outcome == outcome for v in found)
        assert re.search(rf'<div class="tile {outcome.replace(" ", "-")}"><b>{count}</b>', text)
    assert "2 claims of the papers" in text


def under(profile, score):
    """The table with three runs about a score in each cell, under a profile."""
    store = FakeStore()
    for cell in TABLE.cells:
        for seed in range(3):
            store.add(TABLE.config(cell, profile=profile, scale=DEMO, sources=SOURCES, seed=seed), score + seed)
    return result(store=store, profile=profile)


def test_the_profiles_that_exist_stand_side_by_side():
    paper, repaired, released = result(), under("repaired", 60.0), under("released", 40.0)
    alone, both, all_three = (
        page([Section(result=paper, picture=None, others=others)]) for others in ((), (released,), (repaired, released))
    )
    assert "side by side" not in alone
    (cell,) = (cell for cell in paper.cells if cell.cell.labels == ("0.85",))
    mean = cell.estimate.mean
    here = f"{mean:.2f} ± {cell.estimate.sd:.2f} (n=3)"
    gaps = {score: f"{score - mean:+.2f}".replace("-", "−") for score in (61.0, 41.0)}
    sides = {both: ["41.00 ± 1.00 (n=3)", gaps[41.0]]}
    sides[all_three] = ["61.00 ± 1.00 (n=3)", gaps[61.0], *sides[both]]
    for text, wanted in sides.items():
        table = text[text.index("side by side") :]
        row = re.search(r"<tr><th>0\.85</th>(.*?)</tr>", table).group(1)
        assert re.findall(r">([^<>]+)</td>", row) == [here, *wanted, "76.49"]
    heads = re.findall(r"<th class=number>([^<]+)</th>", all_three[all_three.index("side by side") :])
    assert heads[:6] == ["paper", "repaired", "difference", "released", "difference", "printed"]


def test_the_frame_and_the_markdown_say_the_same_as_the_verdicts():
    one = result()
    frame = claim_frame([one])
    assert list(frame["claim"]) == ["X.1", "X.2"] and list(frame["holds_as_printed"]) == ["holds", "holds"]
    for verdict, row in zip(verdicts(one), frame.itertuples(), strict=True):
        assert (row.verdict, row.n, row.look) == (verdict.outcome, 3, 1) and row.effect == pytest.approx(verdict.effect)
        assert (row.p_supported, row.p_contradicted, row.p_equivalent) == pytest.approx(tuple(verdict.p)) and row.chance == chances(verdict)
        assert measured(verdict) in markdown(one).replace("\\", "") and len(row) - 1 == len(COLUMNS)
    assert "## Claims" not in markdown(result(replace(TABLE, claims=())))


def test_what_cannot_be_compared_says_why_and_the_paper_is_quoted():
    claim = replace(TABLE.claims[0], quote="The first | is better.", place="Section 4", decided_by="0.5 against 0.8", note="")
    one = replace(result(replace(TABLE, claims=(claim,))), not_comparable="The queue never turns over.")
    text = markdown(one)
    assert "∅ not comparable: The queue never turns over." in text and "“The first \\| is better.” (Section 4). Decided by: 0.5 against 0.8." in text
    seen = read(page([Section(result=one, picture=None)]))
    assert "The queue never turns over." in seen.text and "∅ not comparable" in seen.text
    row = claim_frame([one]).iloc[0]
    assert (row["verdict"], row["reason"], row["quote"], row["chance"]) == ("not comparable", one.not_comparable, claim.quote, "")


def test_every_outcome_has_a_mark_of_its_own_that_is_in_the_font_and_a_style():
    font = get_font(findfont("DejaVu Sans")).get_charmap()
    assert set(MARKS) == set(OUTCOMES) and len(set(MARKS.values())) == len(OUTCOMES) and all(ord(mark) in font for mark in MARKS.values())
    assert all(f".{outcome.replace(' ', '-')} {{" in STYLE.read_text() for outcome in OUTCOMES)


def test_signed_numbers_keep_what_small_effects_need():
    assert [signed(v) for v in (1.234, -0.5, 0.0123, 0.0)] == ["+1.23", "−0.50", "+0.012", "+0.00"]


def test_the_summary_counts_runs_once_and_says_which_scale_it_speaks_of():
    one = result()
    text = summary_markdown([Section(result=one, picture=None), Section(result=one, picture=None)])
    assert "18 distinct runs stand behind 36 entries" in text and "They say nothing of English." in text


def test_the_pages_files_are_written_together_and_nothing_without_studies(tmp_path):
    assert render_page([], [], tmp_path) == [] and not list(tmp_path.iterdir())
    written = render_page([Section(result=result(), picture=None)], [], tmp_path)
    folder = tmp_path / "demo" / "paper"
    assert sorted(path.name for path in folder.iterdir()) == ["claims.csv", "comparability.csv", "report.html", "summary.md"] and len(written) == 4
    assert (folder / "claims.csv").read_text().startswith("study,claim,text,quote,place,decided_by,verdict,reason,effect,low,high,n,look")
