"""What publishing says and keeps: own runs against the published ones."""

import os
import shutil

import pytest
from fake_jobs import made_result
from fake_store import config_of

from core.data import sources
from core.runner.compare import repeats
from core.spec.identity import run_id
from core.spec.result import Result, Row
from core.spec.scale import DEMO, MINI, PAPER
from core.spec.vary import vary
from core.store.store import Store
from studies import find

CONFIGS = [config_of(find("mocose-table3"), cell.labels, 0, scale=MINI) for cell in find("mocose-table3").cells]


def moved(result: Result, by: float) -> Result:
    """The same scores, one of them so much higher, and a number that is no score elsewhere."""
    first, *others = result.rows
    rows = (first._replace(value=first.value + by), *others, Row("last", "dev", "mean_cosine", 10, by))
    return Result(status=result.status, rows=rows, pairs=result.pairs, provenance={"made": "anew"})


def loaded(store: Store) -> dict:
    """Provenance and rows of all runs of a store, by id."""
    runs = [store.load(run) for run in store.runs()]
    return {run.run_id: (run.provenance, run.rows) for run in runs}


@pytest.mark.parametrize(
    "by, sentence",
    [
        (0.0, "Your 5 runs repeat the published ones to the last digit."),
        (3e-5, "Your 5 runs repeat the published ones to within 0.0001 points."),
        (0.00321, "Your 5 runs repeat the published ones to within 0.0033 points."),
        (0.25, "1 of your 5 runs that are published, too, differ from those by more than 0.01 points: "),
        (float("nan"), "1 of your 5 runs that are published, too, differ from those by more than 0.01 points: "),
    ],
)
def test_one_s_own_runs_are_compared_with_the_published_ones(tmp_path, by, sentence):
    theirs = Store(tmp_path / "theirs", None)
    store = Store(tmp_path / "own", tmp_path / "published")
    for place, config in enumerate(CONFIGS):
        store.save(config, moved(made_result(config), by if place == 2 else 0.0))
        if place:  # the first is not published
            theirs.save(config, made_result(config))
    theirs.publish(theirs.runs(), tmp_path / "published")
    store = Store(tmp_path / "own", tmp_path / "published")
    own = loaded(store)
    assert repeats(store, own).startswith(sentence)
    assert repeats(Store(tmp_path / "own", None), own) == ""


def test_runs_that_were_published_themselves_repeat_nothing(tmp_path):
    store = Store(tmp_path / "own", tmp_path / "published")
    for config in CONFIGS[:2]:
        store.save(config, moved(made_result(config), 0.0))
    store.publish(store.runs(), tmp_path / "published")
    store = Store(tmp_path / "own", tmp_path / "published")
    assert repeats(store, loaded(store)) == ""
    store.save(CONFIGS[0], made_result(CONFIGS[0]))  # trained again
    assert repeats(store, loaded(store)) == "Your run repeats the published one to the last digit."


def test_the_sources_of_a_scale_are_found_without_reading_the_published_runs_of_others(tmp_path, monkeypatch):
    store = Store(tmp_path / "own", tmp_path / "published")
    for config in CONFIGS:
        store.save(config, made_result(config))
    store.publish(store.runs(), tmp_path / "published")
    store = Store(tmp_path / "other", tmp_path / "published")
    assert {store.scale_of_pack(run) for run in store.runs()} == {"mini"} and store.scale_of_pack("0" * 16) is None
    read, load = [], Store.load
    monkeypatch.setattr(Store, "load", lambda self, run: read.append(run) or load(self, run))
    assert sources.recorded_sources(DEMO, store) == sources.demo_sources() and sources.recorded_sources(PAPER, store) is None and not read
    sources.recorded_sources(MINI, store)
    assert read


def test_plain_names_stay_those_of_the_first_run_when_files_get_other_times(tmp_path):
    """A copied folder, or the first run trained again: the encoder of a later run takes no plain names."""
    store = Store(tmp_path / "own", None)
    first, other = CONFIGS[0], vary(CONFIGS[0], {"encoder.digest": "another"})
    for config, name in ((first, "mine"), (other, "another")):
        provenance = {"encoder_hidden": 384, "encoder": name}
        store.save(config, Result(status="ok", rows=made_result(config).rows, provenance=provenance))
    shutil.copytree(store.root, tmp_path / "copy")
    copy = Store(tmp_path / "copy", None)
    os.utime(copy.root / "runs" / f"{run_id(other)}.parquet", ns=(1, 1))
    assert sources.recorded_sources(MINI, copy).sources.encoder_name == "mine"
    (copy.root / "runs" / f"{run_id(first)}.parquet").unlink()
    assert sources.recorded_sources(MINI, copy).sources.encoder_name == "another"
