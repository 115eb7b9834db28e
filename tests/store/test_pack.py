"""Packed runs: each as it was stored, checked as it was stored, read alone, and written whole whatever dies."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from desk import until
from fake_jobs import made_result
from fake_store import config_of
from places import ROOT, SUPPORT

from core.data import sources
from core.runner.compare import repeats
from core.spec.identity import run_id
from core.spec.result import Result, Row
from core.spec.scale import DEMO, MINI, PAPER
from core.spec.vary import vary
from core.store import published as packs
from core.store.records import CorruptRun
from core.store.store import Store
from studies import find

STUDY = find("mocose-table3")
CONFIGS = [config_of(STUDY, cell.labels, seed, scale=scale) for scale in (DEMO, MINI) for cell in STUDY.cells for seed in range(13)]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A store with 78 runs of each of two scales, more than a row group holds, published."""
    folder = tmp_path_factory.mktemp("own")
    store = Store(folder / "results", folder / "published")
    for config in CONFIGS:
        store.save(config, made_result(config))
    store.publish(store.runs(), folder / "published")
    return store


def alone(store: Store) -> Store:
    """What a fresh clone has: the published runs and none of one's own."""
    return Store(store.root / "none", store.published)


def test_a_pack_a_scale_holds_every_run_as_it_was_stored(own):
    assert sorted(str(path.relative_to(own.published)) for path in own.published.rglob("*") if path.is_file()) == [
        "demo/runs.parquet", "mini/runs.parquet",
    ]  # fmt: skip
    clone = alone(own)
    assert clone.runs() == own.runs() and len(clone.runs()) == len(CONFIGS)
    for run in own.runs():
        mine, theirs = own.load(run), clone.load(run)
        assert (mine.config, mine.status, mine.provenance) == (theirs.config, theirs.status, theirs.provenance)
        assert mine.table.equals(theirs.table) and (mine.source, theirs.source) == ("own", "published")
        assert not clone.has(run) and clone.has(run, use_published=True)


def test_the_sources_of_a_scale_are_found_without_reading_the_published_runs_of_others(own, monkeypatch):
    clone = alone(own)
    assert {clone.scale_of_pack(run) for run in clone.runs()} == {"demo", "mini"} and clone.scale_of_pack("0" * 16) is None
    monkeypatch.delattr(Store, "load")
    assert sources.recorded_sources(DEMO, clone) == sources.demo_sources() and sources.recorded_sources(PAPER, clone) is None


def test_a_run_that_is_published_again_takes_the_place_of_the_old_one(own, tmp_path):
    own.publish(own.runs(), tmp_path / "published")
    config = CONFIGS[3]
    store = Store(tmp_path / "results", tmp_path / "published")
    other = made_result(config)
    store.save(config, type(other)(status="diverged", rows=other.rows[:2], provenance={"made": "again"}))
    run = next(run for run in store.runs() if store.has(run))
    store.publish([run], tmp_path / "published")
    found = alone(store)
    assert found.load(run).status == "diverged" and found.load(run).table.num_rows == 2
    assert found.runs() == own.runs() and all(found.load(other) for other in found.runs())


def test_a_change_of_any_byte_is_never_read_as_a_number(own, tmp_path):
    content = (own.published / "demo" / "runs.parquet").read_bytes()
    runs = list(packs.Pack(own.published / "demo" / "runs.parquet").footers)
    place, draw, refused = tmp_path / "demo" / "runs.parquet", random.Random(5), 0
    place.parent.mkdir()
    for _ in range(150):
        at = draw.randrange(len(content))
        place.write_bytes(content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :])
        try:
            opened = packs.Pack(place)
        except CorruptRun:
            refused += 1
            continue
        for run in draw.sample(runs, 6):
            if run not in opened.footers:
                refused += 1
                continue
            try:
                table, footer = opened.read(run)
            except CorruptRun:
                refused += 1
                continue
            assert table.equals(own.load(run).table) and footer["run_id"] == run
    assert refused > 20


@pytest.mark.parametrize("content", [b"", b"x" * 5000], ids=["empty", "noise"])
def test_a_pack_that_does_not_open_is_named_and_its_runs_are_missing(own, tmp_path, capsys, content):
    own.publish(own.runs(), tmp_path / "published")
    (tmp_path / "published" / "demo" / "runs.parquet").write_bytes(content)
    store = Store(tmp_path / "results", tmp_path / "published")
    assert len(store.runs()) == len(CONFIGS) // 2
    assert f"{tmp_path / 'published' / 'demo' / 'runs.parquet'} is damaged (" in capsys.readouterr().out
    with pytest.raises(CorruptRun, match="get the file anew"):
        own.publish(own.runs(), tmp_path / "published")
    assert (tmp_path / "published" / "demo" / "runs.parquet").read_bytes() == content  # nothing is lost by trying


PUBLISH = """
import sys
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from core.store.store import Store
own, target = Store(Path(sys.argv[3]), None), Path(sys.argv[4])
runs = own.runs()
print("ready", flush=True)
for count in range(10, len(runs), 10):
    own.publish(runs[:count], target)
"""


def test_a_kill_at_any_moment_leaves_whole_packs_and_the_next_one_goes_on(own, tmp_path):
    draw, target, held = random.Random(11), tmp_path / "home" / "published", 0
    for attempt in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", PUBLISH, str(ROOT), str(SUPPORT), str(own.root), str(target)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "ready\n"
        if attempt == 0:
            until(lambda: list(target.rglob("runs.parquet")), 60.0)
        time.sleep(draw.uniform(0.0, 0.8))
        process.send_signal(signal.SIGKILL)
        process.wait()
        for path in target.rglob("runs.parquet"):
            opened = packs.Pack(path)
            held = max(held, len(opened.footers))
            assert all(opened.read(run)[0].equals(own.load(run).table) for run in opened.footers)
    own.publish(own.runs(), target)
    assert held and (target / "demo" / "runs.parquet").read_bytes() == (own.published / "demo" / "runs.parquet").read_bytes()
    assert not [path for path in target.rglob("*") if path.is_file() and path.name != "runs.parquet"]


@pytest.mark.parametrize("by, sentence", [
    (0.0, "Of 4 runs of yours that are published, too, 0 differ by more than 0.01 points; the largest difference is 0.0000 ("),
    (0.00321, "Of 4 runs of yours that are published, too, 0 differ by more than 0.01 points; the largest difference is 0.0032 ("),
    (float("nan"), "Of 4 runs of yours that are published, too, 1 differ by more than 0.01 points; the largest difference is inf ("),
])  # fmt: skip
def test_own_runs_are_compared_with_the_published_ones(by, sentence, own, tmp_path):
    """Scores alone, and not where the published run is the own one."""
    store = Store(tmp_path / "own", own.published)
    for place, config in enumerate(CONFIGS[:4]):
        result = made_result(config)
        first, *others = result.rows
        rows = (first._replace(value=first.value + (by if place == 2 else 0.0)), *others, Row("last", "dev", "mean_cosine", 10, by))
        store.save(config, Result(status=result.status, rows=rows, pairs=result.pairs, provenance={"made": "anew"}))
    runs = [store.load(run) for run in store.runs() if store.has(run)]
    compared = {run.run_id: (run.provenance, run.rows) for run in runs}
    assert repeats(store, compared).startswith(sentence) and repeats(Store(tmp_path / "own", None), compared) == ""
    same = [own.load(run) for run in own.runs()]
    assert repeats(own, {run.run_id: (run.provenance, run.rows) for run in same}) == ""


def test_plain_names_stay_those_of_the_first_run_when_files_get_other_times(tmp_path):
    """A copied folder, or the first run trained again: the encoder of a later run takes no plain names."""
    store, first = Store(tmp_path / "own", None), CONFIGS[-1]
    other = vary(first, {"encoder.digest": "another"})
    for config, name in ((first, "mine"), (other, "another")):
        provenance = {"encoder_hidden": 384, "encoder": name}
        store.save(config, Result(status="ok", rows=made_result(config).rows, provenance=provenance))
    shutil.copytree(store.root, tmp_path / "copy")
    copy = Store(tmp_path / "copy", None)
    os.utime(copy.root / "runs" / f"{run_id(other)}.parquet", ns=(1, 1))
    assert sources.recorded_sources(MINI, copy).sources.encoder_name == "mine"
    (copy.root / "runs" / f"{run_id(first)}.parquet").unlink()
    assert sources.recorded_sources(MINI, copy).sources.encoder_name == "another"
