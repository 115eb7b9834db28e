"""From a store to cells, CSV, Markdown and LaTeX: what is counted, what is marked, and what is left
out."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from claim_study import around
from fake_store import FakeStore, add_simcse, filled, made_setup
from resolved import config_at
from small_study import printed, result, small, stored

from core.config.scale import MINI
from core.report.frames import cell_frame, csv_text
from core.report.sheet import make_sheet
from core.report.tables import latex, markdown, text_table
from core.report.terminal import terminal
from core.report.words import run_notes
from core.study import variants
from core.study.claim import Claim, greater
from studies import find

TABLE3 = find("table3")
TABLE7 = find("table7")
TABLE11 = find("esimcse-table11")
SETS = find("mocose-table1")


def test_a_table_names_runs_of_two_uncommitted_states_of_one_commit():
    store = stored(small(), a=[50.0, 51.0], b=[40.0, 41.0])
    for run, state in zip(store.runs.values(), "aabb", strict=True):
        run.provenance = {"commit": "1644285d5d75+", "code": state}
    assert "The runs differ in code." in run_notes(result(small(), store, seeds=2))


def test_a_run_without_a_number_is_done_and_neither_0_nor_the_best():
    """A set of which every pair is one sentence twice has no rank correlation, whatever the run."""
    store = stored(small(), a=[50.0, 51.0], b=[40.0])
    first, *others = store.runs.values()
    first.rows = first.rows[first.rows["task"] != "Roles"]  # nor is an average without a set
    for run in others:
        run.rows.loc[run.rows["task"].isin(("Roles", "avg")), "value"] = float("nan")
    one = result(small(), store, seeds=2)
    assert [cell.status for cell in one.cells] == ["no number", "partial"]
    assert (one.count("missing"), one.count("no number")) == (1, 3)
    assert any("without the number that its cell shows" in note for note in run_notes(one))
    frame = cell_frame(one)
    assert list(frame["values"]) == [[None, None], [None, None]]
    assert frame["mean"].isna().all() and not frame["n"].any()
    assert laid_out(one).rows[0][1:] == ["no number", "no number"]
    assert "no number" in terminal(make_sheet(one))


def test_a_failed_run_stands_above_no_other_run_of_its_table():
    """A score reaches -100, so 0 is not the worst where a run has less."""
    store = stored(small(), a=[-40.0, 10.0], b=[(0.0, "diverged"), -3.0])
    below, diverged = result(small(), store, seeds=2).cells
    assert list(diverged.by_seed.values()) == [-40.0, -3.0]
    assert list(below.by_seed.values()) == [-40.0, 10.0]
    varied = variants.varied(small(), made_setup(1), (), ("train.learning_rate=3e-5,1e-3",))
    at = made_setup(1)
    store = FakeStore()
    for cell in varied.cells:
        status = "diverged" if cell.labels[1] == "1e-3" else "ok"
        store.add(config_at(at, varied, cell, 0), -40.0, status=status)
    one = result(varied, store, seeds=1)
    assert {run.value for cell in one.cells for run in cell.runs} == {-40.0}
    failed = stored(small(), a=[(0.0, "diverged")], b=[(12.0, "collapsed")])
    alone, collapsed = result(small(), failed, seeds=1).cells
    assert (alone.status, alone.by_seed) == ("diverged", {0: 0.0})
    assert (collapsed.status, collapsed.by_seed) == ("collapsed", {0: 12.0})


def laid_out(one):
    return text_table(one.study, cell_frame(one))


GOLDEN = Path(__file__).with_name("golden")
CLAIMS = (
    Claim(
        key="X.1",
        text="b is better than a.",
        predicate=greater(("b",), ("a",)),
        quote="b is best",
        place="Table 0",
    ),
    Claim(key="X.2", text="a is better than b.", predicate=greater(("a",), ("b",))),
)


def made():
    """Five seeds of two cells with printed numbers; one run of the reference diverged."""
    study = printed(claims=CLAIMS)
    store = stored(study, MINI, 0.0, a=[(0, "diverged"), *around(50, 4)], b=around(61, 5))
    add_simcse(store, made_setup(5, scale=MINI), 39.0, 40.0, 41.0)
    return result(study, store, seeds=5, scale=MINI)


@pytest.mark.parametrize(
    "ending, text",
    [
        ("md", lambda one: markdown(make_sheet(one))),
        ("tex", lambda one: latex(make_sheet(one))),
        ("csv", lambda one: csv_text(cell_frame(one))),
        ("txt", lambda one: terminal(make_sheet(one))),
    ],
)
def test_a_made_study_is_laid_out_as_it_was(ending, text):
    """`UPDATE_GOLDEN=1 pytest …` writes the files anew; look at them."""
    path = GOLDEN / f"study.{ending}"
    written = text(made())
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(written + "\n" * (not written.endswith("\n")))
    assert path.read_text().rstrip() == written.rstrip()


def test_a_table_of_two_axes_has_the_papers_rows_and_columns():
    table = laid_out(result(TABLE7, filled(TABLE7)))
    assert table.headers == ["Initial fill", "Queue size", "128", "256", "512", "1024", "4096"]
    names = ["ours", "paper", "ours − reference (paired)", "paper − reference"]
    assert [row[1] for row in table.rows] == names * 4 and table.rows[4][0] == "quarter"
    assert table.rows[5][2:] == ["75.92", "76.34", "77.30", "76.20", "50.42"]
    assert table.rows[7][2:] == ["−1.38", "−0.96", "†", "−1.10", "−26.88"]
    assert [bool(row[0]) for row in table.rows] == [True, False, False, False] * 4


def row_of(line, store, seeds):
    return laid_out(result(small(), store, seeds)).rows[line][1:]


def test_what_a_place_says():
    diverged = [(0, "diverged")] * 3
    for a, b, places in (
        ([50.0, 52.0, 51.0], [None] * 3, ["51.00 ± 2.48†", "—"]),
        ([50.0, 52.0, 51.0], diverged, ["51.00 ± 2.48†", "0.00‡"]),
        ([50.0], [(-3.0, "collapsed")], ["50.00†", "−3.00‡"]),
    ):
        assert row_of(0, stored(small(), a=a, b=b), len(a)) == places
    five = [50.0, 50.1, 50.2, 50.1, 50.0]
    for sign, mark in ((1, "▲"), (-1, "▼")):
        other = [value + sign * 10 + 0.1 * (value > 50) for value in five]
        assert row_of(2, stored(small(), a=five, b=other), 5)[1].endswith(mark)
    three = row_of(2, stored(small(), a=five[:3], b=[60.0, 60.2, 60.2]), 3)
    assert three[1] == "+10.03 ± 0.14"  # three seeds mark nothing


def test_a_difference_stands_beside_the_means_of_its_own_seeds():
    """The reference's mean lies below the row's over all seeds, and above it over the seeds that
    both have."""
    one = result(small(), stored(small(), a=[64.0, 66.0, 50.0, 40.0], b=[64.0, 65.0]), seeds=2)
    table = laid_out(one)
    by_line = {row[0]: row[1:] for row in table.rows}
    assert by_line["seeds"] == ["4", "2"]
    assert by_line["ours"] == ["55.00 ± 19.53†", "64.50 ± 6.35"]
    assert by_line["reference, same seeds"] == ["", "65.00"]
    assert by_line["ours − reference (paired)"] == ["†", "−0.50 ± 6.35"]
    assert "ours, same seeds" not in by_line  # the row has no more seeds than the difference
    row = cell_frame(one).iloc[1]
    assert row["paired_mean"] - row["paired_reference"] == row["paired_difference"]
    both = stored(small(), a=[64.0, 66.0], b=[64.0, 65.0, 90.0])
    by_line = {row[0]: row[1:] for row in laid_out(result(small(), both, seeds=2)).rows}
    assert by_line["ours, same seeds"] == ["", "64.50"]
    same = result(small(), stored(small(), a=[64.0, 66.0], b=[64.0, 65.0]), seeds=2)
    assert not {"seeds", "reference, same seeds"} & {row[0] for row in laid_out(same).rows}


def test_a_stored_run_that_cannot_be_read_is_named_on_terminal_and_in_notes():
    one = result(small(), stored(small(), a=[50.0, 51.0, 52.0], b=[60.0, 60.5, 61.0]))
    cell = one.cells[0]
    harmed = replace(cell.runs[0], status="missing", value=None, rows=None, trouble="x is damaged.")
    cells = (replace(cell, runs=(harmed, *cell.runs[1:])), *one.cells[1:])
    one = replace(one, cells=cells)
    for text in (terminal(make_sheet(one)), markdown(make_sheet(one))):
        assert text.count("Not counted: x is damaged.") == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex (texlive-latex-base)")
def test_latex_compiles_in_two_columns_within_their_width(tmp_path):
    """A table of two columns, one over both columns of the text, and averages alone, which at 8 pt
    are no wider than a column of 3.3 inches, whatever their labels."""
    wide = make_sheet(result(TABLE7, filled(TABLE7)))
    texts = [latex(make_sheet(made())), latex(wide)]
    for study in (SETS, *map(find, ("mocose-table2", "esimcse-table5", "esimcse-table7"))):
        texts.append(latex(make_sheet(result(study, filled(study))), averages=True))
    assert [r"\begin{table*}" in text for text in texts] == [False, True] + [False] * 4
    lines = [r"\documentclass[twocolumn]{article}"]
    lines += [r"\usepackage{amssymb,booktabs,graphicx,tabularx}", r"\newsavebox{\tablebox}"]
    lines += [r"\begin{document}", *texts]
    lines += [r"\fontsize{8}{9.5}\selectfont\linewidth=3.3in\hsize=3.3in"]
    for text in texts[2:]:
        assert "resizebox" not in text
        table = text[text.index(r"\begin{tabularx}") : text.index(r"\par")].strip()
        lines += [rf"\sbox{{\tablebox}}{{{table}}}", r"\typeout{width \the\wd\tablebox}"]
    lines.append(r"\end{document}")
    (tmp_path / "tables.tex").write_text("\n".join(lines))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "tables.pdf").is_file() and "Overfull" not in done.stdout
    widths = [float(width) for width in re.findall(r"width ([0-9.]+)pt", done.stdout)]
    assert len(widths) == 4 and max(widths) < 238.5  # 3.3 inches
