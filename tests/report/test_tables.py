"""From a store to cells, CSV, Markdown and LaTeX: what is counted, what is marked, and what is left out."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from claim_study import around
from fake_store import FakeStore, add_simcse, as_table, config_of, edition, filled
from small_study import printed, result, small, stored

from core.report.frames import cell_frame, csv_text
from core.report.quantities import Rows
from core.report.quantities import value as value_of
from core.report.statistics import spearman
from core.report.tables import Entry, grid, latex, markdown, md, number, terminal, tex
from core.report.words import of_runs, reading
from core.spec.claim import Claim, greater
from core.spec.errors import UserError
from core.spec.scale import DEMO, MINI
from core.spec.table import Metric
from studies import find

TABLE3, TABLE7, TABLE11 = find("table3"), find("table7"), find("esimcse-table11")


def test_a_cell_is_the_mean_over_seeds_of_the_studys_metric_beside_the_papers_number():
    one = result(small(), stored(small(), a=[50.0, 52.0, 51.0], b=[60.0, 61.0, 62.0]))
    a, b = one.cells
    assert (a.estimate.mean, a.estimate.n, a.interval, a.status) == (51.0, 3, "seeds", "ok")
    assert b.estimate.mean == 61.0
    assert (one.missing, one.published, one.aggregate) == (0, 0, "all")


def test_a_diverged_run_counts_as_the_worst_and_a_collapsed_one_as_what_it_scored():
    one = result(small(), stored(small(), a=[50.0, (0.0, "diverged"), 52.0], b=[60.0, (20.0, "collapsed"), 61.0]))
    a, b = one.cells
    assert (a.estimate.mean, a.estimate.n, a.status, a.count("diverged")) == (34.0, 3, "diverged", 1)
    assert (b.estimate.mean, b.estimate.n, b.status, b.count("collapsed")) == (47.0, 3, "collapsed", 1)
    assert any("1 of 6 runs diverged (‡), counted as 0, the worst (a: 1)." == note for note in of_runs(one))
    spread = replace(small(), metric=Metric(task="dev", title="", quantity="curve_late_range", checkpoint="curve"))
    lost = result(spread, stored(spread, a=[50.0, (0.0, "diverged"), 52.0]))
    assert lost.cells[0].estimate.n == 2 and any("missing: the metric has no worst value" in note for note in of_runs(lost))


def test_status_of_a_cell():
    one = result(small(), stored(small(), a=[None, None, None], b=[(0, "diverged")] * 3))
    assert [cell.status for cell in one.cells] == ["missing", "diverged"]
    two = result(small(), stored(small(), a=[50.0, None, None], b=[50.0, (9.0, "collapsed"), None]))
    assert [cell.status for cell in two.cells] == ["partial", "partial"] and two.missing == 3


def test_a_collapsed_run_without_any_score_is_still_a_result():
    nan = float("nan")
    one = result(small(), stored(small(), a=[50.0, 51.0], b=[(nan, "collapsed"), (nan, "collapsed")]), seeds=2)
    assert (one.cells[1].status, one.missing, one.cells[1].estimate.n) == ("collapsed", 0, 2)
    assert texts(laid_out(one))[0][2] == "0.00‡"
    assert result(small(), stored(small(), a=[nan]), seeds=1).cells[0].status == "missing"  # an average of nothing, and no reason why


def test_an_average_with_a_test_set_missing_is_no_average():
    store = stored(small(), a=[50.0, 51.0], b=[50.0, 50.0])
    run = store.runs[result(small(), store, seeds=2).cells[0].runs[0].run_id]
    run.rows = run.rows[~((run.rows["task"] == "Roles") & (run.rows["metric"] == "spearman_all"))]
    one = result(small(), store, seeds=2)
    assert [r.status for r in one.cells[0].runs] == ["incomplete", "ok"]
    assert one.cells[0].estimate.n == 1 and one.missing == 1
    assert any("without the number that its cell shows" in note for note in of_runs(one))
    assert value_of(Rows(run.table, {}), Metric(task="avg", title=""), "mean", DEMO) == pytest.approx(50.0)  # the other aggregate is whole
    assert value_of(Rows(run.table, {}), Metric(task="avg", title=""), "all", DEMO) is None
    assert value_of(Rows(run.table, {}), Metric(task="dev", title=""), "all", DEMO) == 50.0


def test_the_score_is_of_the_selected_checkpoint_and_the_asked_aggregate():
    rows = pd.DataFrame(
        [("selected", "dev", "spearman_all", 1, 70.0), ("last", "dev", "spearman_all", 9, 60.0), ("selected", "dev", "spearman_mean", 1, 50.0),
         ("curve", "dev", "spearman_all", 3, 10.0)],
        columns=["checkpoint", "task", "metric", "step", "value"],
    )  # fmt: skip
    assert value_of(Rows(as_table(rows), {}), Metric(task="dev", title=""), "all", DEMO) == 70.0
    assert value_of(Rows(as_table(rows), {}), Metric(task="dev", title=""), "mean", DEMO) == 50.0
    assert value_of(Rows(as_table(rows), {}), Metric(task="dev", title="", checkpoint="last"), "all", DEMO) == 60.0
    assert value_of(Rows(as_table(rows), {}), Metric(task="dev", title=""), "wmean", DEMO) is None


def test_another_aggregate_of_the_study_is_followed():
    study = small(base_changes={"sts.aggregate": "wmean"})
    store = stored(study, a=[50.0, 51.0])
    for run in store.runs.values():
        run.rows.loc[run.rows["metric"] == "spearman_wmean", "value"] += 7
    one = result(study, store, seeds=2)
    assert (one.aggregate, one.cells[0].estimate.mean) == ("wmean", 57.5)
    assert "(wmean)" in reading(one)


def pair_frame(tasks, seed=0):
    rng = np.random.default_rng(seed)
    frames = []
    for task in tasks:
        gold = rng.uniform(0, 5, 120)
        frames.append(pd.DataFrame({"task": task, "subset": "all", "gold": gold, "cosine": gold / 5 + rng.normal(0, 0.5, 120)}))
    return pd.concat(frames, ignore_index=True).assign(words_a=5, words_b=5)


def single(value_offset=0.0, tasks=DEMO.tests):
    frame = pair_frame(tasks)
    value = np.mean([spearman(*(part[c].to_numpy() for c in ("gold", "cosine"))) for _, part in frame.groupby("task")])
    study = small()
    store = stored(study, a=[float(value) + value_offset])
    store.pairs = {run: frame for run in store.runs}
    return result(study, store, seeds=1).cells[0]


def test_one_run_carries_the_interval_over_its_pairs():
    cell = single()
    assert cell.interval == "pairs" and cell.estimate.n == 1
    assert cell.estimate.low < cell.estimate.mean < cell.estimate.high
    assert single().estimate[:4] == cell.estimate[:4]  # its generator follows from the run


def test_pairs_that_do_not_belong_to_the_score_give_no_interval():
    assert single(value_offset=0.5).interval == "none"
    assert single(tasks=DEMO.tests[:2]).interval == "none"
    bare = result(small(), stored(small(), a=[50.0]), seeds=1).cells[0]
    assert bare.interval == "none" and np.isnan(bare.estimate.low)


def test_a_run_that_cannot_be_read_counts_as_missing_and_is_named():
    class Damaged(FakeStore):
        def load(self, run_id):
            if run_id == bad:
                raise UserError("runs/x.parquet is damaged; delete it.")
            return super().load(run_id)

    plain = stored(small(), a=[50.0, 51.0], b=[50.0, 51.0])
    bad = result(small(), plain, seeds=2).cells[0].runs[1].run_id
    one = result(small(), Damaged(plain.runs), seeds=2)
    assert one.missing == 1 and one.cells[0].estimate.n == 1
    assert any("runs/x.parquet is damaged" in note for note in of_runs(one))


def laid_out(one):
    return grid(one.study, cell_frame(one))


def texts(table):
    return [[entry.text for entry in row] for row in table.rows]


GOLDEN = Path(__file__).with_name("golden")
CLAIMS = (
    Claim(
        key="X.1",
        text="b is better than a.",
        predicate=greater(("b",), ("a",)),
        quote="b is best",
        place="Table 0",
        decided_by="b against a",
    ),
    Claim(key="X.2", text="a is better than b.", predicate=greater(("a",), ("b",))),
)


def made():
    """Five seeds of two cells with printed numbers; one run of the reference diverged."""
    study = printed(claims=CLAIMS)
    store = stored(study, MINI, 0.0, a=[(0, "diverged"), *around(50, 4)], b=around(61, 5))
    add_simcse(store, edition(5, scale=MINI), 39.0, 40.0, 41.0)
    return result(study, store, seeds=5, scale=MINI)


@pytest.mark.parametrize(
    "ending, text", [("md", markdown), ("tex", latex), ("csv", lambda one: csv_text(cell_frame(one))), ("txt", terminal)]
)
def test_a_made_study_is_laid_out_as_it_was(ending, text):
    """`UPDATE_GOLDEN=1 pytest …` writes the files anew; look at them."""
    path, written = GOLDEN / f"study.{ending}", text(made())
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(written + "\n" * (not written.endswith("\n")))
    assert path.read_text().rstrip() == written.rstrip()


def test_a_table_of_two_axes_has_the_papers_rows_and_columns():
    table = laid_out(result(TABLE7, filled(TABLE7)))
    assert table.headers == ("Initial fill", "Queue size", "128", "256", "512", "1024", "4096")
    assert [row[:2] for row in texts(table)][:5] == [
        ["none", "ours"], ["", "paper"], ["", "ours − reference (paired)"], ["", "paper − reference"], ["quarter", "ours"],
    ]  # fmt: skip
    assert texts(table)[5][2:] == ["75.92", "76.34", "77.30", "76.20", "50.42"]
    assert texts(table)[7][2:] == ["−1.38", "−0.96", "†", "−1.10", "−26.88"]
    assert table.breaks == (4, 8, 12) and len(table.rows) == 16


def test_a_table_of_one_axis_across_or_down():
    across = laid_out(result(TABLE3, filled(TABLE3)))
    assert across.headers == ("EMA decay η", "0.5", "0.8", "0.85", "0.9", "0.95", "0.99")
    assert [row[0] for row in texts(across)] == ["ours", "paper", "ours − reference (paired)", "paper − reference"]
    study = small(rows="size", columns=None)
    down = laid_out(result(study, stored(study, a=[50.0, 51.0], b=[60.0, 61.0]), seeds=2))
    assert [row[0] for row in texts(down)] == ["a", "b"] and texts(down)[1][2:] == ["", "+10.00", ""]


def test_the_difference_is_of_the_seeds_that_both_cells_have():
    """Whoever subtracts the means of unequal seeds gets another number, so the seeds stand beside it."""
    one = result(small(), stored(small(), a=[50.0, 52.0, 51.0], b=[60.0, 61.0, 62.5, 90.0]), seeds=4)
    ours, _, paired = (row[1:] for row in texts(laid_out(one))[:3])
    assert ours[1].startswith("68.38") and paired == ["†", "+10.17 ± 3.16 (n=3)"] or paired[1].startswith("+10.17")
    row = cell_frame(one).iloc[1]
    assert (row["n"], row["paired_n"], row["paired_difference"]) == (4, 3, pytest.approx(10.1667, abs=1e-4))


def test_a_study_without_the_papers_numbers_shows_ours_alone():
    own = TABLE3.with_settings(("loss.temperature=0.1",), {(): config_of(TABLE3, ("0.5",), 0)})
    assert [row[0] for row in texts(laid_out(result(own, filled(own))))] == ["ours", "ours − reference (paired)"]
    assert "Table 3 with loss.temperature=0.1" in markdown(result(own, filled(own))).replace("\\_", "_")


def row_of(line, store, seeds):
    return texts(laid_out(result(small(), store, seeds)))[line][1:]


def test_what_a_place_says():
    assert row_of(0, stored(small(), a=[50.0, 52.0, 51.0], b=[None] * 3), 3) == ["51.00 ± 2.48†", "—"]
    assert row_of(0, stored(small(), a=[50.0, 52.0, None], b=[(0, "diverged")] * 3), 3) == ["51.00 ± 12.71†", "0.00‡ (n=3)"]
    assert row_of(0, stored(small(), a=[50.0], b=[(-3.0, "collapsed")]), 1) == ["50.00†§", "−3.00‡§"]
    five = [50.0, 50.1, 50.2, 50.1, 50.0]
    for sign, mark in ((1, "▲"), (-1, "▼")):
        other = [value + sign * 10 + 0.1 * (value > 50) for value in five]
        assert row_of(2, stored(small(), a=five, b=other), 5)[1].endswith(mark)
    assert row_of(2, stored(small(), a=five[:3], b=[60.0, 60.2, 60.2]), 3)[1] == "+10.03 ± 0.14"  # three seeds mark nothing
    assert number(-0.5, signed=True) == "−0.50" and number(-0.001) == "0.00"


def bold(store, seeds):
    return [entry.bold for entry in laid_out(result(small(), store, seeds)).rows[0][1:]]


def test_nothing_is_bold_that_cannot_be_distinguished_from_the_others():
    far = stored(small(), a=[50.0, 50.1, 50.2, 50.1, 50.0], b=[60.0, 60.2, 60.2, 60.1, 60.1])
    assert bold(far, 5) == [False, True] and bold(stored(small(), a=[50.0, 50.1, 50.2], b=[60.0, 60.2, 60.2]), 3) == [False] * 2
    assert bold(stored(small(), a=[50.0, 50.1, 50.2], b=[60.0, 60.2, None]), 3) == [False] * 2  # a run is still to come
    assert "**60.12 ± 0.10**" in markdown(result(small(), far, seeds=5))


def test_noise_over_twenty_cells_makes_nothing_bold_and_no_arrows():
    rng, store = np.random.default_rng(1), FakeStore()
    for cell in TABLE7.cells:
        for seed in range(3):
            store.add(config_of(TABLE7, cell.labels, seed), 50 + rng.normal(0, 1))
    table = laid_out(result(TABLE7, store))
    assert not {"▲", "▼"} & set(table.text) and "± " in table.text
    assert not any(entry.bold for row in table.rows for entry in row)


def test_an_entry_that_the_study_lacks_is_blank():
    ragged = replace(TABLE7, cells=tuple(cell for cell in TABLE7.cells if cell.labels != ("all", "4096")), claims=())
    table = laid_out(result(ragged, filled(ragged)))
    assert table.rows[12][-1] == Entry() and table.rows[13][-1] == Entry()


def test_a_row_named_by_the_papers_encoder_names_the_one_that_was_run():
    study = find("mocose-table1")
    table = laid_out(result(study, filled(study)))
    names = [row[0].text for row in table.rows if row[0].text]
    assert "MoCoSE-BERT-base (demo_bert 2x128)" in names and "GloVe (avg.)" in names


def test_verdicts_are_sentences_of_at_most_twenty_words():
    lines = [line.strip() for line in terminal(made()).splitlines() if "X." in line]
    assert lines[0].startswith("? X.1 undecided (5 seeds): +21.02 points, 95 % interval ") and lines[0].endswith("; printed +1.00.")
    assert len(lines) == 2 and all(len(line.split()) <= 22 for line in lines)  # with its mark


def test_letters_of_latex_and_markdown():
    assert tex("größe") == r"gr\"{o}\ss{}e" and tex("模") == "U+6A21" and tex("[x]") == "{[}x{]}"
    assert tex("a--b") == "a-{-}b" and tex("a\nb") == r"a\textbackslash{}nb" and md("a|b*") == r"a\|b\*"
