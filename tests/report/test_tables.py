"""From a store to cells, CSV, Markdown and LaTeX: what is counted, what is marked, and what is left out."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fake_store import SOURCES, FakeStore, as_table, config_of, filled
from small_study import result, small, stored

from core.report.frames import CELL_COLUMNS, cell_frame, csv_text, run_frame
from core.report.grids import Entry, number
from core.report.naming import label_here
from core.report.notes import footnotes, reading
from core.report.quantities import value as value_of
from core.report.rows import Rows
from core.report.statistics import spearman
from core.report.tables import grid, markdown
from core.spec.errors import UserError
from core.spec.scale import DEMO
from core.spec.table import Cell, Metric
from studies import find

TABLE3, TABLE7, TABLE11 = find("table3"), find("table7"), find("esimcse-table11")


def test_a_cell_is_the_mean_over_seeds_of_the_studys_metric_beside_the_papers_number():
    one = result(small(), stored(small(), a=[50.0, 52.0, 51.0], b=[60.0, 61.0, 62.0]))
    a, b = one.cells
    assert (a.estimate.mean, a.estimate.n, a.interval, a.status, a.difference) == (51.0, 3, "seeds", "ok", 1.0)
    assert b.difference is None and b.comparison.difference == 10.0 and b.comparison.n == 3
    assert a.is_reference and not b.is_reference
    assert (one.missing, one.published, one.aggregate) == (0, 0, "all")


def test_a_diverged_run_counts_as_the_worst_and_a_collapsed_one_as_what_it_scored():
    one = result(small(), stored(small(), a=[50.0, (0.0, "diverged"), 52.0], b=[60.0, (20.0, "collapsed"), 61.0]))
    a, b = one.cells
    assert (a.estimate.mean, a.estimate.n, a.status, a.count("diverged")) == (34.0, 3, "diverged", 1)
    assert (b.estimate.mean, b.estimate.n, b.status, b.count("collapsed")) == (47.0, 3, "collapsed", 1)
    assert b.comparison.n == 3 and b.comparison.difference == pytest.approx(13.0)
    assert any("1 of 6 runs diverged (‡), counted as 0, the worst (a: 1)." == note for note in footnotes(one))
    spread = replace(small(), metric=Metric(task="dev", title="", quantity="curve_late_range", checkpoint="curve"))
    lost = result(spread, stored(spread, a=[50.0, (0.0, "diverged"), 52.0]))
    assert lost.cells[0].estimate.n == 2 and any("missing: the metric has no worst value" in note for note in footnotes(lost))


def test_status_of_a_cell():
    one = result(small(), stored(small(), a=[None, None, None], b=[(0, "diverged")] * 3))
    assert [cell.status for cell in one.cells] == ["missing", "diverged"]
    two = result(small(), stored(small(), a=[50.0, None, None], b=[50.0, (9.0, "collapsed"), None]))
    assert [cell.status for cell in two.cells] == ["partial", "partial"] and two.missing == 3


def test_a_collapsed_run_without_any_score_is_still_a_result():
    nan = float("nan")
    one = result(small(), stored(small(), a=[50.0, 51.0], b=[(nan, "collapsed"), (nan, "collapsed")]), seeds=2)
    assert (one.cells[1].status, one.missing, one.cells[1].estimate.n) == ("collapsed", 0, 2)
    assert texts(grid(one))[0][2] == "0.00‡"
    assert result(small(), stored(small(), a=[nan]), seeds=1).cells[0].status == "missing"  # an average of nothing, and no reason why


def test_an_average_with_a_test_set_missing_is_no_average():
    store = stored(small(), a=[50.0, 51.0], b=[50.0, 50.0])
    run = store.runs[result(small(), store, seeds=2).cells[0].runs[0].run_id]
    run.rows = run.rows[~((run.rows["task"] == "Roles") & (run.rows["metric"] == "spearman_all"))]
    one = result(small(), store, seeds=2)
    assert [r.status for r in one.cells[0].runs] == ["incomplete", "ok"]
    assert one.cells[0].estimate.n == 1 and one.missing == 1
    assert any("without the number that its cell shows" in note for note in footnotes(one))
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
    assert any("runs/x.parquet is damaged" in note for note in footnotes(one))


def test_cells_csv_reads_back_with_one_row_a_cell():
    skip = {(("all", "4096"), seed) for seed in range(3)}
    frame = cell_frame(result(TABLE7, filled(TABLE7, skip=skip)))
    back = pd.read_csv(io.StringIO(csv_text(frame)))
    assert tuple(back.columns) == ("initial_fill", "queue_size", *CELL_COLUMNS)
    assert not {"published", "interval", "vs_reference"} & set(back.columns)  # each meant two things
    assert [(r.initial_fill, str(r.queue_size)) for r in back.itertuples()] == [cell.labels for cell in TABLE7.cells]
    gone = back[back["status"] == "missing"].iloc[0]
    assert (gone["initial_fill"], gone["queue_size"], gone["n"], gone["missing"], gone["printed"]) == ("all", 4096, 0, 3, 45.80)
    assert np.isnan(gone["mean"]) and np.isnan(gone["minus_printed"])
    whole = back[back["status"] == "ok"]
    assert (
        len(whole) == 19
        and (whole["n"] == 3).all()
        and (whole["interval_over"] == "seeds").all()
        and set(whole["reference"]) == {"quarter/512"}
    )
    assert whole["minus_printed"].to_numpy() == pytest.approx((whole["mean"] - whole["printed"]).to_numpy(), abs=2e-4)
    base = whole[(whole["initial_fill"] == "quarter") & (whole["queue_size"] == 512)]["mean"].iloc[0]
    assert whole["difference"].to_numpy() == pytest.approx((whole["mean"] - base).to_numpy(), abs=2e-4)
    assert (whole["mean"] == whole["mean"].round(4)).all()  # people read it
    assert whole["run_ids"].str.split().map(len).eq(3).all()


def test_runs_csv_has_every_task_aggregate_and_checkpoint_and_a_row_for_what_is_missing():
    store = filled(TABLE11, skip={(("3",), 2)})
    for run in store.runs.values():
        run.rows.loc[len(run.rows)] = ("selected", "dev", "singular_value_0", 300, 9.0)
    back = pd.read_csv(io.StringIO(csv_text(run_frame(result(TABLE11, store)))))
    missing = back[back["status"] == "missing"]
    assert len(missing) == 1 and missing["value"].isna().all() and missing.iloc[0]["seed"] == 2
    per_run = back[back["status"] == "ok"].groupby("run_id").size()
    assert len(per_run) == 14 and set(per_run) == {2 * 3 * (len(DEMO.tests) + 2)}  # checkpoints x aggregates x (tests, avg, dev)
    assert set(back["checkpoint"].dropna()) == {"selected", "last"}  # the curve stays in the run's own file
    run = next(iter(store.runs.values()))
    kept = run.rows[(run.rows["checkpoint"] == "last") & (run.rows["task"] == "avg") & (run.rows["metric"] == "spearman_mean")][
        "value"
    ].iloc[0]
    row = back[
        (back["run_id"] == run.run_id) & (back["checkpoint"] == "last") & (back["task"] == "avg") & (back["metric"] == "spearman_mean")
    ]
    assert row["value"].iloc[0] == pytest.approx(kept, rel=1e-7)


def test_a_run_that_is_read_before_and_after_training_stands_under_the_cell_that_reads_it_after():
    before = Cell(labels=("a",), changes={"queue.size": 256}, metric=Metric(task="avg", title="Untrained", checkpoint="untrained"))
    study = small(cells=(before, Cell(labels=("b",), changes={"queue.size": 256})), reference=None)
    frame = run_frame(result(study, stored(study, b=(60.0, 61.0, 62.0))))
    assert frame["run_id"].nunique() == 3 and set(frame["size"]) == {"b"}


def texts(table):
    return [[entry.text for entry in row] for row in table.rows]


def test_a_table_of_two_axes_has_the_papers_rows_and_columns():
    table = grid(result(TABLE7, filled(TABLE7)))
    assert table.headers == ("Initial fill", "Queue size", "128", "256", "512", "1024", "4096")
    assert [row[:2] for row in texts(table)][:6] == [
        ["none", "ours"], ["", "paper"], ["", "ours − paper"], ["quarter", "ours"], ["", "paper"], ["", "ours − paper"],
    ]  # fmt: skip
    assert texts(table)[4][2:] == ["75.92", "76.34", "77.30", "76.20", "50.42"]
    assert table.breaks == (3, 6, 9) and len(table.rows) == 12


def test_a_table_of_one_axis_across_or_down():
    across = grid(result(TABLE3, filled(TABLE3)))
    assert across.headers == ("EMA decay η", "0.5", "0.8", "0.85", "0.9", "0.95", "0.99")
    assert [row[0] for row in texts(across)] == ["ours", "paper", "ours − paper"]
    study = small(rows="size", columns=None)
    down = grid(result(study, stored(study, a=[50.0, 51.0], b=[60.0, 61.0]), seeds=2))
    assert down.headers == ("Size", "ours", "paper", "ours − paper")
    assert [row[0] for row in texts(down)] == ["a", "b"] and texts(down)[0][2:] == ["50.00", "+0.50"] and texts(down)[1][2:] == ["", ""]


def test_a_study_without_the_papers_numbers_shows_ours_alone():
    sample = config_of(TABLE3, ("0.5",), 0)
    own = TABLE3.with_settings(("loss.temperature=0.1",), {(): sample})
    table = grid(result(own, filled(own)))
    assert [row[0] for row in texts(table)] == ["ours"]
    assert "Table 3 with loss.temperature=0.1" in markdown(result(own, filled(own))).replace("\\_", "_")


def ours(study, store, seeds=3):
    return texts(grid(result(study, store, seeds)))[0][1:]


def test_what_a_place_says():
    assert ours(small(), stored(small(), a=[50.0, 52.0, 51.0], b=[None] * 3)) == ["51.00 ± 2.48†", "—"]
    assert ours(small(), stored(small(), a=[50.0, 52.0, None], b=[(0, "diverged")] * 3)) == ["51.00 ± 12.71† (n=2)", "0.00‡"]
    assert ours(small(), stored(small(), a=[50.0], b=[(-3.0, "collapsed")]), seeds=1) == ["50.00†§", "−3.00‡§"]
    five = [50.0, 50.1, 50.2, 50.1, 50.0]
    assert ours(small(), stored(small(), a=five, b=[v + 10 + 0.1 * (v > 50) for v in five]), seeds=5)[1].endswith("▲")
    assert ours(small(), stored(small(), a=five, b=[v - 10 + 0.1 * (v > 50) for v in five]), seeds=5)[1].endswith("▼")
    assert ours(small(), stored(small(), a=five[:3], b=[60.0, 60.2, 60.2]))[1] == "60.13 ± 0.29"  # three seeds mark nothing
    assert number(-0.5, signed=True) == "−0.50" and number(0.5, signed=True) == "+0.50"


def bold(study, store, seeds=3):
    return [entry.bold for entry in grid(result(study, store, seeds)).rows[0][1:]]


def test_nothing_is_bold_that_cannot_be_told_from_the_others():
    far = stored(small(), a=[50.0, 50.1, 50.2, 50.1, 50.0], b=[60.0, 60.2, 60.2, 60.1, 60.1])
    few = stored(small(), a=[50.0, 50.1, 50.2], b=[60.0, 60.2, 60.2])
    assert bold(small(), far, seeds=5) == [False, True] and bold(small(), few, seeds=3) == [False, False]
    assert bold(small(), stored(small(), a=[50.0, 55.0, 51.0], b=[51.0, 54.0, 53.0])) == [False, False]
    assert bold(small(), stored(small(), a=[50.0], b=[90.0]), seeds=1) == [False, False]
    assert bold(small(), stored(small(), a=[50.0, 50.1, 50.2], b=[60.0, 60.2, None])) == [False, False]  # a run is still to come
    assert "**60.12 ± 0.10 ▲**" in markdown(result(small(), far, seeds=5))


def test_noise_over_twenty_cells_makes_nothing_bold_and_no_arrows():
    rng = np.random.default_rng(1)
    store = FakeStore()
    for cell in TABLE7.cells:
        for seed in range(3):
            store.add(config_of(TABLE7, cell.labels, seed), 50 + rng.normal(0, 1))
    text = markdown(result(TABLE7, store))
    assert "▲" not in text and "▼" not in text and "± " in text
    assert not any(entry.bold for row in grid(result(TABLE7, store)).rows for entry in row)


def test_markdown_escapes_what_would_break_a_table():
    sources = replace(SOURCES, encoder_name="a|b*c<d")
    assert r"encoder a\|b\*c\<d" in markdown(result(TABLE3, filled(TABLE3), sources=sources))


def test_an_entry_that_the_study_lacks_is_blank():
    ragged = replace(TABLE7, cells=tuple(cell for cell in TABLE7.cells if cell.labels != ("all", "4096")), claims=())
    table = grid(result(ragged, filled(ragged)))
    assert table.rows[9][-1] == Entry() and table.rows[10][-1] == Entry()


def test_rows_are_named_by_the_encoder_that_was_run_and_sets_are_counted():
    study = find("mocose-table1")
    demo = markdown(result(study, filled(study)))
    assert (
        "MoCoSE-demo\\_bert 2x128" in demo
        and "MoCoSE-BERT-base |" not in demo
        and "four test sets" in demo
        and "seven STS" not in demo.split("## Claims")[0]
    )
    assert "the paper's numbers in them are of BERT-base" in demo and "RoBERTa-large" in demo
    assert label_here("SimCSE-RoBERTa-base", result(study, filled(study))) == "SimCSE-RoBERTa-base"


def test_what_is_said_of_the_paper_stands_apart_from_what_is_said_of_these_runs():
    text = markdown(result(TABLE3, filled(TABLE3)))
    runs, paper = text.split("On the paper and its code, at their own scale:")
    first = TABLE3.footnotes[1].split(".")[0]
    assert first in paper and first not in runs and "comparable" in runs.lower()
