"""studies/reference: every D-number that is named is explained, and what its entries say of logs and tables follows from the tables."""

import re
import statistics
from pathlib import Path

import pytest
from fake_store import FakeStore
from places import ROOT
from printed import TABLES, printed_rows
from small_study import result

from core.report.words import meanings
from core.spec.fields import FILE, explained, explanations
from studies import STUDIES

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
    assert set(explanations()) - set().union(*(named(path) for path in project)) <= set(NOT_NAMED_ELSEWHERE)


def test_every_entry_is_one_sentence_with_what_this_project_does():
    entries = FILE.read_text(encoding="utf-8").split("\n**D")[1:]
    assert len(entries) == len(explanations()) and all("\n- Here: " in entry for entry in entries)
    for number, sentence in explanations().items():
        assert sentence.endswith(".") and len(sentence) <= 130 and ". " not in sentence, number
    assert explanations()["D23"] == "The code's feature cut-off draws columns for each sentence and view, at least one."
    assert explained("as in D23, D9", "(D23) and D999") == (f"D9: {explanations()['D9']}", f"D23: {explanations()['D23']}")


def test_every_number_in_the_notes_of_a_table_or_claim_is_explained_there():
    for study in STUDIES:
        made = result(study, FakeStore())
        labels = [label for axis in made.study.axes for label in axis.labels]
        wanted = set(re.findall(r"\bD\d+\b", " ".join([*made.study.footnotes, *labels, *(claim.note for claim in made.study.claims)])))
        explained_there = {note.partition(":")[0] for note in meanings(made) if re.match(r"D\d+: ", note)}
        assert explained_there == wanted, study.name


def test_every_table_is_named_in_its_readme_and_has_numbers_alone():
    text = (TABLES / "README.md").read_text()
    for path in sorted(TABLES.glob("*.csv")):
        rows = printed_rows(path.stem)
        assert rows and all(row["value"] == "" or float(row["value"]) == float(row["value"]) for row in rows)
        assert {row["paper"] for row in rows} == {path.stem.partition("_")[0]}
        assert path.name in text or "_digitised" in path.name or re.fullmatch(r"(mocose|esimcse|simcse)_tabled?\d+[ab]?", path.stem)
        assert ("_digitised" in path.name) == all("origin" in row for row in rows)


def test_what_the_entries_say_of_the_logs():
    """D40: best minus last check. D44: a second 76.53. D74: peaks at 14 to 18 % of the run, 2 to 4 points above its end. D76: spreads."""
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
    for table, sd in (("esimcse_table9", 0.87), ("esimcse_table11", 0.85)):
        assert statistics.stdev(float(row["value"]) for row in printed_rows(table)) == pytest.approx(sd, abs=0.005)
