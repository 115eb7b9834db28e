"""Studies that a scale cannot carry by their configuration alone say so before they have a run, and nothing else does."""

import csv
from dataclasses import replace
from pathlib import Path

import pandas as pd
from fake_store import FakeStore, edition, filled

from core.report.cells import gather
from core.report.comparability import by_configuration
from core.report.page.content import Section, gathered_page
from core.report.page.writing import page_files
from core.report.render import render, render_index
from core.spec.scale import DEMO, MINI
from studies import find

TABLE3, TABLE4, TABLE9 = find("mocose-table3"), find("mocose-table4"), find("mocose-table9")  # of which the demo cannot carry the first
FIGURE5 = find("mocose-figure5")
UNREAD = len(TABLE9.claims) + 1  # T4.4 reads the uniformity of vectors, which made-up runs lack
STUDIES = (TABLE3, TABLE4, TABLE9)
BEGUN = {("demo", "paper"): [Section(result=gather(TABLE4, edition(), filled(TABLE4)), picture=None)]}


def counts(page, name="demo · paper"):
    return next(one.counts for one in page.editions if one.name == name)


def test_the_configuration_alone_rules_a_study_out():
    reason = by_configuration(TABLE3, edition()).not_comparable
    assert reason == "at half of the run 44.8 % of the momentum branch are still initial weights (0.99; at most 5 %)"
    assert f"{100 * 0.99 ** (DEMO.steps // 2):.1f}" == "44.8"  # the share by hand: 80 updates
    assert by_configuration(TABLE9, edition()).not_comparable == ""
    longer = replace(DEMO, steps=1280)
    assert by_configuration(TABLE3, edition(scale=longer)).not_comparable == ""  # 0.99 ** 640 = 0.0016


def files(page):
    return page_files(page, Path("results"), Path("figures"), {})


def test_claims_are_counted_as_not_comparable_only_where_the_configuration_says_so():
    page = gathered_page(STUDIES, BEGUN, [edition(), edition(scale=MINI)])
    found = counts(page)
    assert found["not comparable"] == len(TABLE3.claims) and found["not run"] == UNREAD
    assert sum(found.values()) == sum(len(study.claims) for study in STUDIES)
    assert counts(page, "mini · paper") == {"not run": sum(found.values())}  # long enough for all three
    assert counts(page, "paper · paper") == {"not run": sum(found.values())}  # of which no edition is given
    blind = counts(gathered_page(STUDIES, BEGUN))
    assert blind["not run"] == len(TABLE3.claims) + UNREAD and "not comparable" not in blind


def test_what_no_run_can_answer_here_says_why_and_is_counted():
    table1 = find("mocose-table1")
    page = gathered_page([table1], {}, [edition()])
    claims = {card.claim.key: one.verdict for card in page.cards["mocose-table1"] for one in card.standings.values()}
    beyond = {key for key, one in claims.items() if one.reason}
    assert {claims[key].outcome for key in beyond} == {"not run"} and claims[
        "T1.4"
    ].reason == "scale demo has no encoder in the place of bert-large"
    assert claims["T1.1"].outcome == "not run" and not claims["T1.1"].reason  # BERT-base has its stand-in
    (demo,) = [one for one in page.editions if one.scale == "demo"]
    assert demo.out_of_reach == len(beyond) > 0
    said, silent = (files(gathered_page([one, TABLE4], BEGUN, [edition()]))["index.html"] for one in (table1, TABLE9))
    assert f"{len(beyond)} for want of a model or of data" in said and "for want of" not in silent


def test_the_reason_stands_in_every_file_of_the_page(tmp_path):
    render_index(STUDIES, BEGUN, [edition()], FakeStoreOnDisk(tmp_path), tmp_path, tmp_path / "figures")
    reason = by_configuration(TABLE3, edition()).not_comparable
    for name in ("claims.csv", "demo/paper/claims.csv"):
        rows = {
            row["claim"]: row for row in csv.DictReader((tmp_path / name).open()) if (row["scale"], row["profile"]) == ("demo", "paper")
        }
        assert {(rows[one.key]["verdict"], rows[one.key]["reason"]) for one in TABLE3.claims} == {("not comparable", reason)}
        assert {(rows[one.key]["verdict"], rows[one.key]["reason"]) for one in TABLE9.claims} == {("not run", "")}
    (edition_row,) = [row for row in csv.DictReader((tmp_path / "editions.csv").open()) if row["scale"] == "demo"]
    assert (edition_row["not_comparable"], edition_row["not_run"]) == (str(len(TABLE3.claims)), str(UNREAD))
    compared = {row["study"]: row["comparable"] for row in csv.DictReader((tmp_path / "demo/paper/comparability.csv").open())}
    assert compared == {"mocose-table4": compared["mocose-table4"], "mocose-table3": "no", "mocose-table9": "not known"}
    ruled_out = next(row for row in csv.DictReader((tmp_path / "not_tested.csv").open()) if row["study"] == "mocose-table3")
    assert (ruled_out["what"], ruled_out["why"]) == ("not comparable", reason)
    readme = (tmp_path / "README.md").read_text()
    assert f"Not comparable (demo · paper): {reason}." in readme
    (line,) = [line for line in readme.splitlines() if line.startswith(f"| [{TABLE3.claims[0].key}]")]
    assert "∅ not comparable" in line
    page = (tmp_path / "index.html").read_text()
    assert f"<p>{reason}.</p>" in page and f'title="not comparable: {reason}"' in page


def test_a_withheld_claim_has_its_reason_wherever_a_study_has_one(tmp_path):
    render_index([*STUDIES, FIGURE5], BEGUN, [edition()], FakeStoreOnDisk(tmp_path), tmp_path, tmp_path / "figures")
    reason = "F6.2, F6.2 (schedule): the last third of the run has 2 development checks, too few for a range (at least 4)"
    rows = [(row["what"], row["why"]) for row in csv.DictReader((tmp_path / "not_tested.csv").open()) if row["study"] == FIGURE5.name]
    assert rows == [("not comparable", reason), ("not begun", "no run of its own is stored")]
    text = (tmp_path / "README.md").read_text().replace("\\", "")
    assert f"Not comparable (demo · paper): {reason}." in text


def test_a_reference_that_has_run_for_another_study_rules_a_study_out_on_every_page(tmp_path):
    store = FakeStoreOnDisk(tmp_path)
    reference = next(cell for cell in TABLE9.cells if cell.labels == TABLE9.reference)
    run = store.add(edition().config(TABLE9, reference, 0), 52.0)
    untrained = pd.DataFrame([("untrained", "avg", "spearman_all", 0, 50.0)], columns=run.rows.columns)
    run.rows = pd.concat([run.rows, untrained], ignore_index=True)
    render_index(STUDIES, BEGUN, [edition()], store, tmp_path, tmp_path / "figures")
    reason = "the trained reference (5e-9) is +2.00 points from the untrained [CLS] (at least +5; n = 1)"
    rows = {row["claim"]: row for row in csv.DictReader((tmp_path / "claims.csv").open()) if row["scale"] == "demo"}
    assert {(rows[one.key]["verdict"], rows[one.key]["reason"]) for one in TABLE9.claims} == {("not comparable", reason)}
    checks = {row["study"]: row for row in csv.DictReader((tmp_path / "demo/paper/comparability.csv").open())}
    assert (checks["mocose-table9"]["comparable"], checks["mocose-table9"]["gain"]) == ("no", "2")
    assert f"Not comparable (demo · paper): {reason}." in (tmp_path / "README.md").read_text()


class FakeStoreOnDisk(FakeStore):
    """A store in memory that says where its files would lie."""

    def __init__(self, root):
        super().__init__()
        self.root, self.published = root, None


def test_a_study_without_a_run_says_in_the_terminal_that_its_scale_cannot_carry_it(tmp_path):
    lines = render([TABLE3, TABLE9], edition(), FakeStore(), tmp_path / "results", tmp_path / "figures").lines
    assert "nothing to draw yet; not comparable at this scale: at half of the run 44.8 %" in lines[0]
    assert lines[1].endswith("nothing to draw yet") and not list(tmp_path.iterdir())
