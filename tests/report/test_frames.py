"""The CSV files: what their rows are, and that docs/using.md explains every column."""

import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fake_store import SOURCES, filled
from scipy import stats
from small_study import result

from core.api import load
from core.config.scale import DEMO
from core.report import frames
from core.report.frames import (
    cell_frame,
    claim_frame,
    csv_text,
    curve_frame,
    run_frame,
    summary_frame,
)
from studies import find

TABLE7 = find("mocose-table7")
TABLE11 = find("esimcse-table11")
FIGURE5 = find("mocose-figure5")
ALONG = find("along")
USING = Path(__file__).parents[2] / "docs" / "using.md"


def read(frame):
    return pd.read_csv(io.StringIO(csv_text(frame)))


def test_cells_csv_has_one_row_a_cell_and_differences_to_the_reference():
    skip = {(("all", "4096"), seed) for seed in range(3)}
    back = read(cell_frame(result(TABLE7, filled(TABLE7, skip=skip))))
    labels = [(row.initial_fill, str(row.queue_size)) for row in back.itertuples()]
    assert labels == [cell.labels for cell in TABLE7.cells]
    gone = back[back["status"] == "missing"].iloc[0]
    assert (gone["n"], gone["printed"], gone["values"]) == (0, 45.8, "- - -")
    whole = back[back["status"] == "ok"]
    assert len(whole) == 19 and set(whole["reference"]) == {"quarter/512"}
    differences = (whole["printed"] - 77.3).to_numpy()
    assert whole["printed_difference"].to_numpy() == pytest.approx(differences, abs=2e-4)


def test_runs_csv_has_every_task_aggregate_and_checkpoint_and_a_row_for_what_is_missing():
    store = filled(TABLE11, skip={(("3",), 2)})
    for run in store.runs.values():
        run.rows.loc[len(run.rows)] = ("selected", "dev", "singular_value_0", 300, 9.0)
    back = read(run_frame(result(TABLE11, store)))
    missing = back[back["status"] == "missing"]
    assert len(missing) == 1 and missing["value"].isna().all() and missing.iloc[0]["seed"] == 2
    per_run = back[back["status"] == "ok"].groupby("run_id").size()
    # checkpoints x aggregates x (tests, avg, dev)
    assert len(per_run) == 14 and set(per_run) == {2 * 3 * (len(DEMO.tests) + 2)}


def made():
    """Every kind of CSV file, by the name that the dictionary has for it."""
    one = result(TABLE7, filled(TABLE7))
    curved = result(FIGURE5, filled(FIGURE5))
    both = [one, curved]
    return {
        "STUDY.csv": cell_frame(one),
        "STUDY_runs.csv": run_frame(one),
        "STUDY_curves.csv": curve_frame(curved),
        "along_curves.csv": curve_frame(result(ALONG, filled(ALONG))),
        "runs.csv": summary_frame(one),
        "claims.csv": claim_frame(both),
        "comparisons.csv": frames.comparison_frame(both),
        "comparability.csv": frames.check_frame(one),
    }


def test_the_data_dictionary_has_every_column_of_every_file_and_no_other():
    section = USING.read_text().partition("## CSV columns")[2]
    axes = {axis.name for study in (TABLE7, FIGURE5, ALONG) for axis in study.axes}
    told: dict[str, set[str]] = {}
    for files, columns in re.findall(r"^\| (`.+?) \| (`.+?) \|", section, re.MULTILINE):
        for file in re.findall(r"`(.+?)`", files):
            told.setdefault(file, set()).update(re.findall(r"`(.+?)`", columns))
    everywhere = told.pop("every file")
    for name, frame in made().items():
        assert list(frame.columns[:3]) == list(frames.SETTING), name
        # trained_rate is there only where the scale changes a stated rate, singular_value of a
        # spectrum
        rare = {"trained_rate", "singular_value"}
        assert set(frame.columns) - axes - everywhere == told[name] - rare, name
    assert told.keys() == made().keys()


def test_a_published_table_is_what_pandas_and_scipy_make_of_the_runs():
    results = load()
    table = results.table("esimcse-table6", scale="mini")

    def score(run):
        rows = results.store.load(run).rows.set_index(["checkpoint", "task", "metric"])["value"]
        return rows["selected", "dev", "spearman_all"]

    ids = table["run_ids"].apply(pd.Series)
    # (cells, seeds)
    values = ids.map(score, na_action="ignore").astype(float)
    reference = values[table["components"] == table["reference"].iloc[0]].iloc[0]
    for name, cells in (("", values), ("paired_", values - reference)):
        shown = cells.std(axis=1) > 0  # the reference has no difference to itself
        mean = cells.mean(axis=1)[shown]
        error = cells.sem(axis=1)[shown]
        middle = f"{name}difference" if name else "mean"
        ours = table[shown][[middle, f"{name}ci95_low", f"{name}ci95_high"]]
        interval = stats.t.interval(0.95, cells.count(axis=1)[shown] - 1, mean, error)
        assert len(ours) >= 3
        assert ours.to_numpy().T == pytest.approx(np.array([mean, *interval]), abs=1e-4)


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@a"])
def test_no_encoder_s_name_is_a_formula(name):
    sources = replace(SOURCES, encoders=(SOURCES.encoder._replace(name=name),))
    one = result(TABLE11, filled(TABLE11), sources=sources)
    for frame in (cell_frame(one), run_frame(one), summary_frame(one)):
        assert set(read(frame)["encoder"]) == {f"'{name}"} and set(frame["encoder"]) == {name}
