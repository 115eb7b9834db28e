"""Results as DataFrames: what they hold, that nothing heavy is loaded, and that the page's example runs."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from fake_jobs import made_result
from places import ROOT

import studies
from core import api
from core.api import load
from core.data.sources import demo_sources
from core.spec.conditions import Edition
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.result import Row
from core.spec.scale import DEMO
from core.store.store import Store


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A checkout with the runs of a table: the first seed published, the second one's own."""
    results = tmp_path / "results"
    study, sources = studies.find("table6b"), demo_sources().sources
    for cell in study.cells:
        for seed, store in enumerate((Store(tmp_path / "theirs", None), Store(results, None))):
            store.prepare()
            config = study.config(cell, profile="paper", scale=DEMO, sources=sources, seed=seed)
            made, sts = made_result(config), f"spearman_{config.sts.aggregate}"
            curve = (
                Row("curve", "dev", sts, 0, 40.0),
                Row("curve", "dev", sts, 2, 50.0),
                Row("curve", "train", "loss", 2, 1.5),
            )
            store.save(config, replace(made, rows=(*made.rows, *curve)))
    theirs = Store(tmp_path / "theirs", None)
    theirs.publish(theirs.runs(), results / "published")
    other = Store(tmp_path / "other", None)
    other.publish(other.runs(), results / "published")
    monkeypatch.setattr(api, "HOME", tmp_path)
    return tmp_path


def test_frames_hold_what_is_stored(home):
    results = load()
    runs, cells = results.runs(), studies.find("table6b").cells
    assert len(runs) == 2 * len(cells) == runs["run"].nunique() and set(runs["source"]) == {
        "own",
        "published",
    }
    one = runs.iloc[0]
    stored = results.store.load(one["run"])
    assert run_id(stored.config) == one["run"] and one["train.batch_size"] == stored.config.train.batch_size
    scores, curves, pairs = results.scores(), results.curves(), results.pairs()
    mine = scores[
        (scores["run"] == one["run"]) & (scores["checkpoint"] == "selected") & (scores["task"] == "avg")
    ]
    assert one["score"] in set(mine["value"]) and list(scores.columns[:2]) == ["run", "checkpoint"]
    assert set(curves["run"]) == set(runs["run"]) and list(curves.columns) == ["run", "step", "dev", "loss"]
    assert curves[curves["run"] == one["run"]].fillna(-1).values[:, 1:].tolist() == [
        [0, 40.0, -1],
        [2, 50.0, 1.5],
    ]
    assert set(pairs["run"]) == set(runs.loc[runs["source"] == "own", "run"]) and {"gold", "cosine"} <= set(
        pairs.columns
    )
    assert len(load(published=False).runs()) == len(cells)


def test_a_comparison_is_that_of_the_table_and_seeds_are_those_of_its_cells(home):
    results = load()
    table = results.table("table6b", seeds=2).set_index("batch_size")
    (row,) = results.compare("table6b", "32", "64", seeds=2).to_dict("records")
    assert (row["difference"], row["n"]) == (table.loc["32"]["paired_difference"], 2)
    values = results.seeds("table6b", seeds=2)
    assert list(values[values["batch_size"] == "32"]["value"].round(4)) == [
        float(v) for v in table.loc["32"]["values"].split()
    ]
    with pytest.raises(UserError, match="has no cells that differ in '33' and '64' alone"):
        results.compare("table6b", "33", "64")


def test_runs_of_one_scale_have_study_cell_and_profile_once_they_are_drawn(home):
    results = load()
    runs = results.runs(scale="demo")
    assert (
        len(runs) == len(results.runs())
        and not len(results.runs(scale="mini"))
        and runs["study"].isna().all()
    )
    folder = home / "results" / "demo" / "paper"
    folder.mkdir(parents=True)
    drawn = {
        "run_id": [runs["run"][0]],
        "study": ["mocose-table6b"],
        "cell": ["32"],
        "profile": ["paper"],
        "seed": [1],
    }
    pd.DataFrame(drawn).to_csv(folder / "runs.csv", index=False)
    first = results.runs(scale="demo").iloc[0]
    assert (first["study"], first["cell"], first["profile"], first["seed"]) == (
        "mocose-table6b",
        "32",
        "paper",
        1,
    )
    with pytest.raises(UserError, match="There is no scale 'huge'"):
        results.runs(scale="huge")


def test_a_table_is_that_of_its_csv_file_and_claims_those_of_theirs(home):
    table = load().table("table6b", seeds=2)
    assert len(table) == len(studies.find("table6b").cells) and set(table["n"]) == {2} and "printed" in table
    varied = load().table("table6b", seeds=2, vary="train.learning_rate=1e-3,3e-3")
    assert list(varied["n"]) == [2] * len(table) + [0] * len(table) and set(
        varied["train.learning_rate"]
    ) == {"1e-3", "3e-3"}
    assert set(load().claims("table6b", seeds=2)["claim"]) == {
        claim.key for claim in studies.find("table6b").claims
    }


def test_a_variant_is_read_by_its_settings_and_is_no_other_s(home):
    study, sources, store = studies.find("table6b"), demo_sources().sources, Store(home / "results", None)
    edition = Edition(profile="paper", scale=DEMO, sources=sources, seeds=1)
    for cell in study.cells:
        config = edition.config(edition.varied(study, ("loss.temperature=0.1",)), cell, 0)
        store.save(config, made_result(config))
    assert config.loss.temperature == 0.1
    mine = load().table("table6b", "demo", "paper", 1, "loss.temperature=0.1")
    assert mine.equals(load().table("table6b", seeds=1, settings=["loss.temperature=0.1"]))
    assert set(mine["n"]) == {1} and "printed" not in mine.dropna(axis=1, how="all")
    assert set(load().table("table6b", settings=["loss.temperature=0.2"])["n"]) == {0} and set(
        load().table("table6b")["n"]
    ) == {2}
    with pytest.raises(UserError, match="is what mocose-table6b varies"):
        load().table("table6b", settings=["train.batch_size=8"])


def test_claims_are_those_of_claims_csv(home):
    from core.report.frames import claim_frame, csv_text
    from core.report.render import gathered

    store = Store(home / "results", home / "results" / "published")
    edition = Edition(profile="paper", scale=DEMO, sources=demo_sources().sources, seeds=2)
    (found,) = gathered([studies.find("table6b")], edition, store)
    assert csv_text(load().claims("table6b", seeds=2)) == csv_text(claim_frame([found]))


def test_a_damaged_run_is_passed_over(home):
    (path, *_) = sorted((home / "results/runs").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-20])
    assert path.stem not in set(load().runs()["run"])


def test_damaged_pairs_and_pairs_of_another_attempt_are_passed_over_and_the_others_read(home):
    first, second, *others = sorted((home / "results/pairs").glob("*.parquet"))
    first.write_bytes(first.read_bytes()[:-20])
    second.write_bytes(others[0].read_bytes())
    assert set(load().pairs()["run"]) == {path.stem for path in others}


def test_a_run_that_goes_while_runs_are_read_is_passed_over(home, monkeypatch):
    results = load(published=False)
    (path, *others) = sorted((home / "results/runs").glob("*.parquet"))
    listed = results.store.runs()
    monkeypatch.setattr(Store, "runs", lambda self: listed)
    path.unlink()
    assert set(results.runs()["run"]) == {path.stem for path in others}


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: load("/nowhere"), "is no results folder"), (lambda: load().table("tabel6b"), "did you mean"),
        (lambda: load().table("table6b", scale="huge"), "There is no scale 'huge'"),
        (lambda: load().table("table6b", scale="paper"), "No run of scale paper is stored"),
        (lambda: load().table("table6b", seeds=0), "0 is no number of seeds"),
        (lambda: load().claims("table6b", seeds=-1), "-1 is no number"),
        (lambda: load().table("table6b", seeds="3"), "'3' is no number of seeds"),
        (lambda: load(""), "is no results folder"),
        (lambda: load("~nobody-of-that-name/x"), "is no results folder"),
        (lambda: load("a\0b"), "is no results folder"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_one_sentence(call, sentence, home):
    with pytest.raises(UserError, match=sentence):
        call()


def test_the_example_of_the_docs_runs_on_the_published_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "using.md").read_text(), re.DOTALL)
    exec(compile(example, "docs/using.md", "exec"), {})  # noqa: S102  (the page's own code)
    out = capsys.readouterr().out
    assert "mocose" in out and "unsup-SimCSE" in out and "tested_n" in out


def test_neither_torch_nor_the_engine_is_loaded():
    code = "import sys, core.api; print([m for m in sys.modules if m.startswith(('torch', 'core.engine'))])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True
        ).stdout
        == "[]\n"
    )
