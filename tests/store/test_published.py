"""Packed runs: each as it was stored, checked as it was stored, and written whole whatever dies."""

import itertools
import multiprocessing
import random
import signal
import time
from dataclasses import replace

import pytest
from desk import until
from fake_jobs import made_result
from fake_store import config_of

from core.config.identity import run_id
from core.config.scale import DEMO, MINI, PAPER
from core.data import sources
from core.errors import UserError
from core.store.published import Pack
from core.store.records import CorruptRun
from core.store.store import Store
from studies import find
from tools import publish

STUDY = find("mocose-table3")
CONFIGS = [
    config_of(STUDY, cell.labels, seed, scale=scale)
    for scale in (DEMO, MINI)
    for cell in STUDY.cells
    for seed in range(4)
]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A store with 24 runs of each of two scales, published."""
    folder = tmp_path_factory.mktemp("own")
    store = Store(folder / "results", folder / "published")
    for config in CONFIGS:
        store.save(config, made_result(config))
    publish.pack(store, store.runs(), folder / "published")
    return store


def alone(store: Store) -> Store:
    """What a fresh clone has: the published runs and none of one's own."""
    return Store(store.root / "none", store.published)


def pack(folder, scale="demo"):
    return folder / scale / "runs.parquet"


def test_a_pack_a_scale_holds_every_run_as_it_was_stored(own, monkeypatch):
    assert {path for path in own.published.rglob("*") if path.is_file()} == {
        pack(own.published),
        pack(own.published, "mini"),
    }
    clone = alone(own)
    assert clone.runs() == own.runs() and len(clone.runs()) == len(CONFIGS)
    for run in own.runs():
        mine = own.load(run)
        theirs = clone.load(run)
        for part in ("config", "status", "provenance"):
            assert getattr(mine, part) == getattr(theirs, part)
        assert mine.table.equals(theirs.table)
        assert (mine.source, theirs.source) == ("own", "published")
        assert not clone.has(run) and clone.has(run, use_published=True)
    assert {clone.scale_of_pack(run) for run in clone.runs()} == {"demo", "mini"}
    assert clone.scale_of_pack("0" * 16) is None
    monkeypatch.delattr(Store, "load")  # the sources of a scale need no run of other scales
    assert sources.recorded_sources(DEMO, clone) == sources.demo_sources()
    assert sources.recorded_sources(PAPER, clone) is None


def test_a_published_run_is_replaced_by_other_numbers_with_consent_alone(own, tmp_path):
    publish.pack(own, own.runs(), tmp_path)
    store = Store(tmp_path / "results", tmp_path)
    run = run_id(CONFIGS[3])
    before = pack(tmp_path).read_bytes()
    again = replace(made_result(CONFIGS[3]), provenance={"made": "again"})
    store.save(CONFIGS[3], again)
    publish.pack(store, [run], tmp_path)
    assert pack(tmp_path).read_bytes() == before  # it has the same numbers
    store.save(CONFIGS[3], replace(again, status="diverged", rows=again.rows[:2]))
    with pytest.raises(UserError, match=f"other numbers than yours: {run}; add --replace"):
        publish.pack(store, [run], tmp_path)
    assert pack(tmp_path).read_bytes() == before
    publish.pack(store, [run], tmp_path, replace=True)
    clone = alone(store)
    assert clone.load(run).status == "diverged" and clone.load(run).table.num_rows == 2
    assert clone.runs() == own.runs() and all(map(clone.load, clone.runs()))


def test_a_change_of_any_byte_is_never_read_as_a_number(own, tmp_path):
    content = pack(own.published).read_bytes()
    place = tmp_path / "runs.parquet"
    runs = list(Pack(pack(own.published)).footers)
    draw = random.Random(5)
    refused = 0
    for _ in range(75):
        at = draw.randrange(len(content))
        place.write_bytes(
            content[:at] + bytes([content[at] ^ (1 << draw.randrange(8))]) + content[at + 1 :]
        )
        try:
            opened = Pack(place)
            for run in draw.sample(runs, 6):
                if run in opened.footers:
                    table, footer = opened.read(run)
                    assert table.equals(own.load(run).table) and footer["run_id"] == run
        except CorruptRun:
            refused += 1
    assert refused > 10


def test_a_pack_that_does_not_open_is_named(own, tmp_path, capsys):
    content = b"x" * 5000
    publish.pack(own, own.runs(), tmp_path)
    for place in (tmp_path / "nowhere", tmp_path):  # a link to nothing, and a folder
        pack(tmp_path).unlink()
        pack(tmp_path).symlink_to(place)
        assert len(Store(tmp_path / "results", tmp_path).runs()) == len(CONFIGS) // 2
        assert f"{pack(tmp_path)} is damaged (" in capsys.readouterr().out
    pack(tmp_path).unlink()
    pack(tmp_path).write_bytes(content)
    assert len(Store(tmp_path / "results", tmp_path).runs()) == len(CONFIGS) // 2
    assert f"{pack(tmp_path)} is damaged (" in capsys.readouterr().out
    with pytest.raises(CorruptRun, match="get the file anew"):
        publish.pack(own, own.runs(), tmp_path)
    assert pack(tmp_path).read_bytes() == content  # nothing is lost by trying


def test_a_claim_in_readme_that_no_study_has_is_a_sentence_before_anything_is_packed(tmp_path):
    file = tmp_path / "README.md"
    file.write_text("<!-- results T3.1 -->\n<!-- end -->\n")
    publish.check_readme(file, [STUDY])
    file.write_text("<!-- results T3.1 E99.9 -->\n<!-- end -->\n")
    with pytest.raises(UserError, match="lists claim E99.9, which no study has"):
        publish.check_readme(file, [STUDY])


def publishing(own, target):
    """Publish more and more runs, again and again."""
    runs = own.runs()
    for count in itertools.cycle(range(5, len(runs), 5)):
        publish.pack(own, runs[:count], target)


def test_a_kill_at_any_moment_leaves_whole_packs_and_the_next_one_goes_on(own, tmp_path):
    draw = random.Random(11)
    target = tmp_path / "home" / "published"
    for _ in range(4):
        process = multiprocessing.get_context("fork").Process(target=publishing, args=(own, target))
        process.start()
        until(lambda: list(target.rglob("runs.parquet")), 60.0)
        time.sleep(draw.uniform(0.0, 0.3))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        for path in target.rglob("runs.parquet"):
            opened = Pack(path)
            assert all(opened.read(run)[0].equals(own.load(run).table) for run in opened.footers)
    publish.pack(own, own.runs(), target)
    assert pack(target).read_bytes() == pack(own.published).read_bytes()
    assert {path.name for path in target.rglob("*") if path.is_file()} == {"runs.parquet"}
