"""studies/reference: every D-number that is named is explained, and the facts that it states follow from the tables beside it."""

import re
import statistics
from pathlib import Path

import pytest
from fake_store import FakeStore
from places import ROOT
from printed import TABLES, printed_rows
from small_study import result

from core.report.claims import noted
from core.report.notes import footnotes
from core.spec.fields import FILE, explained, explanations
from studies import STUDIES, find

READ = [ROOT / "README.md", ROOT / "run_study.py", *(path for folder in ("core", "studies", "tests", "benchmarks", "docs")
        for end in ("py", "md") for path in sorted((ROOT / folder).rglob(f"*.{end}")))]  # fmt: skip
RANGE = re.compile(r"\bD(\d+) ?[-–…] ?D(\d+)\b")
NOT_NAMED_ELSEWHERE = {  # entries that no code needs, and why they are there
    "D38": "how many runs the printed numbers have", "D39": "versions of libraries", "D45": "how the logs are labelled",
    "D52": "two numbers of the notebook",
}  # fmt: skip


def named(path: Path) -> set[str]:
    """The D-numbers of a file, those within a range ("D22 - D24") included."""
    text = path.read_text(encoding="utf-8")
    ranges = {f"D{n}" for first, last in RANGE.findall(text) if int(last) - int(first) < 10 for n in range(int(first), int(last) + 1)}
    return set(re.findall(r"\bD\d+\b", text)) | ranges


def test_every_number_that_is_named_is_explained_and_every_entry_is_named():
    here = {path: named(path) - set(explanations()) for path in READ if path != Path(__file__)}
    assert not {str(path): numbers for path, numbers in here.items() if numbers}
    project = [path for path in READ if FILE.parent not in path.parents and ROOT / "tests" not in path.parents]
    elsewhere = set().union(*(named(path) for path in project))
    assert set(explanations()) - elsewhere == set(NOT_NAMED_ELSEWHERE)


def test_every_entry_is_one_sentence_with_what_this_project_does():
    entries = FILE.read_text(encoding="utf-8").split("\n**D")[1:]
    assert len(entries) == len(explanations())
    for entry in entries:
        assert "\n- Here: " in entry, entry[:40]
    for number, sentence in explanations().items():
        assert sentence.endswith(".") and len(sentence) <= 130 and ". " not in sentence, number


def test_an_explanation_is_the_first_line_of_the_entry():
    assert explanations()["D23"] == "The code's feature cut-off draws columns for each sentence and view, at least one."
    assert explained("as in D23, D9", "(D23) and D999") == (f"D9: {explanations()['D9']}", f"D23: {explanations()['D23']}")
    assert "D79" not in explanations() and explained("D79") == ()


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_number_in_the_notes_of_a_table_is_explained_there(study):
    found = result(study, FakeStore())
    notes, shown = footnotes(found), found.study
    labels = [label for axis in shown.axes for label in axis.labels]
    wanted = set(re.findall(r"\bD\d+\b", " ".join([*shown.footnotes, *labels, *(claim.note for claim in shown.claims)])))
    assert {note.partition(":")[0] for note in notes if re.match(r"D\d+: ", note)} == wanted


def test_the_note_of_a_claim_in_the_csv_explains_its_numbers():
    (claim,) = [claim for claim in find("table8").claims if claim.key == "T8.3"]
    assert noted(claim) == f"{claim.note} D44: {explanations()['D44']}"


def test_every_table_is_named_in_its_readme_and_has_numbers_alone():
    text = (TABLES / "README.md").read_text()
    for path in sorted(TABLES.glob("*.csv")):
        rows = printed_rows(path.stem)
        assert rows and all(row["value"] == "" or float(row["value"]) == float(row["value"]) for row in rows)
        assert {row["paper"] for row in rows} == {path.stem.partition("_")[0]}
        assert path.name in text or "_digitised" in path.name or re.fullmatch(r"(mocose|esimcse)_table\d+[ab]?", path.stem)
        assert ("_digitised" in path.name) == all("origin" in row for row in rows)


def runs(name: str, *keys: str) -> dict[tuple[str, ...], list[float]]:
    """The three runs of each cell of a digitised figure."""
    found: dict[tuple[str, ...], list[float]] = {}
    for row in printed_rows(name):
        if row["metric"].startswith("run_"):
            found.setdefault(tuple(row[key] for key in keys), []).append(float(row["value"]))
    return found


def test_runs_read_off_the_figures_average_to_the_printed_tables():
    wide = {(row["predictor_dim"],): float(row["value"]) for row in printed_rows("mocose_table6a")}
    assert {cell: statistics.mean(values) for cell, values in runs("mocose_fig10_digitised", "predictor_dim").items()} == pytest.approx(
        wide, abs=0.06
    )
    queues = {(row["queue_size"], row["init_size"]): float(row["value"]) for row in printed_rows("mocose_table7")}
    found = runs("mocose_fig12_digitised", "queue_size", "init_size")
    assert set(found) - set(queues) == {("4096", "128")} and set(queues) <= set(found)
    assert {cell: statistics.mean(found[cell]) for cell in queues} == pytest.approx(queues, abs=0.06)
    decays = {float(row["ema_decay"]): float(row["value"]) for row in printed_rows("mocose_table3")}
    drawn = {float(row["ema_decay"]): float(row["value"]) for row in printed_rows("mocose_fig8_digitised") if row["metric"] == "mean"}
    assert drawn == pytest.approx({decay: decays[decay] for decay in drawn}, abs=0.011) and set(decays) - set(drawn) == {0.5}


def test_the_line_of_figure_2_is_the_mean_of_figure_3s():
    lines: dict[str, list[float]] = {}
    for row in printed_rows("mocose_fig3_digitised"):
        if row["metric"] == "mean_of_3_runs":
            lines.setdefault(row["mtd"], []).append(float(row["value"]))
    line = {row["mtd"]: float(row["value"]) for row in printed_rows("mocose_fig2_digitised") if row["metric"].startswith("mean_of_9")}
    assert {mtd: statistics.mean(values) for mtd, values in lines.items()} == pytest.approx(line, abs=0.01)  # of two decimals each


def test_what_the_entries_say_of_the_logs():
    """D40: best minus last check. D44: a second 76.53. D74: peaks at 14 to 18 % of the run, 2 to 4 points above its end."""
    averages: dict[str, list[tuple[int, float]]] = {}
    for row in printed_rows("mocose_notebook_logs"):
        if row["task"] == "avg":
            averages.setdefault(row["run"], []).append((int(row["step"]), float(row["value"])))
    lost = {run: max(value for _, value in curve) - curve[-1][1] for run, curve in averages.items() if curve[-1][0] == 3850}
    assert sorted(lost.values(), reverse=True) == pytest.approx([0.39, 0.29, 0.03])
    curve = [value for _, value in averages["run_d_age_test"]]
    assert (max(curve), curve[-1]) == (76.53, 76.24)
    for backbone in ("BERT-base", "BERT-large", "RoBERTa-base", "RoBERTa-large"):
        checks = [(float(row["value"]), int(row["step"])) for row in printed_rows("esimcse_log_dev_curves")
                  if row["backbone"] == backbone and row["metric"] == "stsb_dev_spearman_x100"]  # fmt: skip
        best, step = max(checks)
        assert len(checks) == 125 and 0.135 < step / 15_626 < 0.185 and 2 < best - checks[-1][0] < 4
        (row,) = [row for row in printed_rows("esimcse_table4") if (row["backbone"], row["method"]) == (backbone, "ESimCSE")]
        assert float(row["value"]) == pytest.approx(best, abs=0.0051)


@pytest.mark.parametrize("table, sd", [("esimcse_table9", 0.87), ("esimcse_table11", 0.85)])
def test_tables_9_and_11_of_esimcse_move_as_d76_says(table, sd):
    assert statistics.stdev(float(row["value"]) for row in printed_rows(table)) == pytest.approx(sd, abs=0.005)
