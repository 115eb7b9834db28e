"""The store keeps what it was given, believes nothing that was changed, and is never
half-written."""

from __future__ import annotations

import itertools
import os
import random
import resource
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from fake_jobs import made_result

from core.config.identity import NUMERICS, run_id
from core.config.methods import base
from core.config.result import Measurement, PairBlock, Result
from core.config.scale import MINI, EncoderSource
from core.config.vary import vary
from core.data import sources
from core.data.encoders import PLAIN
from core.errors import UserError
from core.store import files, locks
from core.store.records import RUN_SCHEMA, CorruptRun, OtherVersion, read_file, seal, to_bytes
from core.store.store import Store
from core.training import checkpoint

CONFIG = vary(base("mocose", "repaired"), {"scale": "mini", "train.steps": 5})
RUN = run_id(CONFIG)
ROWS = (
    Measurement("selected", "STS12", "spearman_all", 300, 0.1 + 0.2),
    Measurement("selected", "avg", "spearman_all", 300, float("nan")),
    Measurement("curve", "train", "loss", 1, 1e-308),
)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "results", tmp_path / "published")


def path(store: Store, kind: str = "runs") -> Path:
    return store.root / kind / f"{RUN}.parquet"


def test_what_is_saved_is_what_is_loaded(store):
    about = {"seconds": {"train": 1.5}}
    store.save(CONFIG, Result(status="collapsed", rows=ROWS, provenance=about))
    stored = store.load(RUN)
    assert (stored.run_id, stored.config) == (RUN, CONFIG)
    assert (stored.status, stored.source, stored.provenance) == ("collapsed", "own", about)
    assert list(stored.rows.columns) == list(Measurement._fields)
    values = np.array([row.value for row in ROWS])
    assert stored.rows["value"].to_numpy().tobytes() == values.tobytes()
    for name in ("..parquet", "0123456789abcdeF.parquet"):  # no run's
        (store.root / "runs" / name).write_text("x")
    assert store.has(RUN) and store.verified(RUN) and store.runs() == (RUN,)


def saved_with(store: Store, config, **changes) -> sources.Sources:
    """Store a run whose sources are the demo's with these changes, and return them."""
    about = {"stands_for": "bert-base", "hidden": 128, "name": "demo encoder"}
    digest = changes.pop("encoder_digest", "first")
    encoder = EncoderSource(digest=digest, masked_words=True, **about)
    found = replace(sources.demo_sources(), encoders=(encoder,), **changes)
    config = vary(
        config, {"encoder.digest": found.encoder.digest, "data.digest": found.corpus_digest}
    )
    store.save(config, Result(status="ok", rows=ROWS, provenance=sources.provenance(found)))
    return found


@pytest.mark.parametrize("part", ("encoder_digest", "corpus_digest", "evaluation_digest"))
def test_plain_names_are_not_those_of_runs_that_stand_in_tables_named_after_their_data(store, part):
    """Whatever the order of the runs' ids."""
    another = [vary(CONFIG, {"seed.data": seed}) for seed in range(3, 9)]
    for config in another:
        saved_with(store, config, in_names=True, **{part: "another"})
    assert sources.recorded_sources(MINI, store) is None
    mine = saved_with(store, vary(CONFIG, {"seed.data": 2}))
    assert sources.recorded_sources(MINI, store) == mine.with_encoders(PLAIN)
    other = saved_with(store, another[0], in_names=True, **{part: "another"})
    assert not sources.other_data(mine, mine) and "~another" in sources.other_data(other, mine)


def test_a_run_from_the_plain_encoder_does_not_say_what_the_scale_s_own_is(store):
    saved_with(store, CONFIG, encoder_digest=PLAIN.digest)
    assert sources.recorded_sources(MINI, store) is None


def test_what_a_link_names_is_written_and_the_link_stays(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "file")
    for content in (b"first", b"second"):
        files.write_whole(link, content)
        assert link.is_symlink() and (tmp_path / "there" / "file").read_bytes() == content


def test_what_is_no_file_is_read_as_none(store):
    """A FIFO would never end."""
    store.save(CONFIG, made_result(CONFIG))
    for kind, make in itertools.product(("runs", "pairs"), (os.mkfifo, os.mkdir)):
        store.save(CONFIG, made_result(CONFIG))
        path(store, kind).unlink()
        make(path(store, kind))
        with pytest.raises(CorruptRun, match="it is no file"):
            store.load(RUN) if kind == "runs" else store.load_pairs(RUN)
        assert bool(store.verified(RUN)) == (kind == "pairs")
        assert not path(store, kind).exists()
    store.prepare()
    os.mkfifo(store.path("failures", RUN))
    store.path(".locks", RUN).unlink()
    os.mkfifo(store.path(".locks", RUN))
    assert store.failure(RUN) == "" and not store.claimed(RUN)
    os.mkfifo(store.path("checkpoints", RUN))
    with pytest.raises(OSError, match="it is no file"):
        checkpoint.read_checkpoint(store.path("checkpoints", RUN))


def test_a_run_of_another_version_of_the_code_is_kept_and_not_read(store, monkeypatch):
    store.save(CONFIG, made_result(CONFIG))
    for module in ("core.config.identity", "core.store.records"):
        monkeypatch.setattr(f"{module}.NUMERICS", 99)
    run_id.cache_clear()
    with pytest.raises(OtherVersion, match=f"NUMERICS {NUMERICS}, here 99"):
        store.load(RUN)
    assert sources.recorded_sources(MINI, store) is None  # another version's runs say nothing here
    store.save(CONFIG, made_result(CONFIG))
    monkeypatch.undo(), run_id.cache_clear()
    assert len(store.runs()) == 2 and store.load(RUN).config == CONFIG


def test_a_renamed_file_is_refused_by_name_and_set_aside(store, capsys):
    store.save(CONFIG, made_result(CONFIG))
    wrong = "0" * 16
    os.rename(path(store), path(store).with_stem(wrong))
    with pytest.raises(CorruptRun, match=f"{wrong}.parquet is damaged .it holds run {RUN}"):
        store.load(wrong)
    assert not store.verified(wrong) and not store.has(wrong)
    assert len([*store.root.glob(f"damaged/runs-{wrong}.*")]) == 1
    assert "set aside" in capsys.readouterr().out


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_seal_holds_every_value_of_every_column(row):
    columns = {"task": ["a", "b", "c"], "step": [1, 2, 3], "value": [1.0, 2.0, 3.0]}
    seals = {seal(pa.table(columns), {})}
    for name, value in {"task": "d", "step": 4, "value": 4.0}.items():
        values = [*columns[name][:row], value, *columns[name][row + 1 :]]
        seals.add(seal(pa.table({**columns, name: values}), {}))
    assert len(seals) == 4


@pytest.mark.parametrize("kind", ["runs", "pairs"])
def test_no_damage_is_ever_read_as_a_number(store, kind):
    store.save(CONFIG, made_result(CONFIG))
    whole = path(store, kind).read_bytes()
    sound = store.load(RUN)
    rng = random.Random(0)
    refused = 0
    for _ in range(100):
        broken = bytearray(whole)
        at = rng.randrange(len(broken))
        length = rng.randrange(64)
        if length:  # longer, shorter or as long as before; else a single bit
            broken[at : at + length] = rng.choice((b"", bytes(length), rng.randbytes(9)))
        else:
            broken[at] ^= 1 << rng.randrange(8)
        path(store, kind).write_bytes(bytes(broken))
        try:
            store.load_pairs(RUN)
            read = store.load(RUN)
        except CorruptRun as error:
            assert str(path(store, kind)) in str(error) and "\n" not in str(error)
            refused += 1
        else:  # the flip hit what carries nothing, such as the name of the writing library
            assert read.rows.equals(sound.rows) and read.provenance == sound.provenance
            assert read.config == sound.config
    assert refused > 65


def test_a_footer_that_says_something_else_is_damage(store):
    store.save(CONFIG, made_result(CONFIG))
    table, footer, _ = read_file(path(store), RUN_SCHEMA)
    whole = path(store).read_bytes()
    for content in (
        whole.replace(b'{"made": "up"}', b'{"made": "by"}'),
        to_bytes(table, footer | {"provenance": "[]"}),
    ):
        assert content != whole
        path(store).write_bytes(content)
        with pytest.raises(CorruptRun):
            store.load(RUN)


def test_a_file_that_cannot_be_written_to_its_end_leaves_nothing(store):
    """As on a full disk."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most))
    try:
        with pytest.raises(UserError, match="cannot be used .File too large.; mend that"):
            store.save(CONFIG, made_result(CONFIG))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert not [entry for entry in store.root.rglob("*") if entry.is_file()]


def test_pairs_of_another_attempt_are_refused(store):
    store.save(CONFIG, made_result(CONFIG))
    first = path(store, "pairs").read_bytes()
    block = PairBlock("STS12", "MSRpar", [0.0], [0.5], [3], [4])
    store.save(CONFIG, Result(status="ok", rows=ROWS, pairs=(block,)))
    path(store, "pairs").write_bytes(first)
    with pytest.raises(CorruptRun, match="another attempt"):
        store.load_pairs(RUN)


def test_a_lock_whose_file_a_cleaner_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    path = tmp_path / "a.lock"
    real = locks._locked

    def removed(descriptor, kind):
        monkeypatch.setattr(locks, "_locked", real)
        path.unlink()
        return real(descriptor, kind)

    monkeypatch.setattr(locks, "_locked", removed)
    first = locks.hold(path)
    assert locks.held(path) and locks.hold(path) is None
    os.close(first)


@pytest.mark.parametrize("seconds, lines", [(8, 0), (60, 1)])
def test_a_long_wait_is_said_once(tmp_path, monkeypatch, capsys, seconds, lines):
    lock = tmp_path / "a.lock"
    held = locks.hold(lock)
    waits = itertools.count(1)

    def sleep(_):
        if next(waits) == seconds:
            os.close(held)

    clock = SimpleNamespace(sleep=sleep, monotonic=itertools.count().__next__)
    monkeypatch.setattr(locks, "time", clock)
    with locks.waiting(lock, "the files of x"):
        assert locks.held(lock)
    assert capsys.readouterr().out.count("the files of x") == lines
    assert not locks.held(lock)


def test_a_folder_that_is_written_anew_keeps_the_files_of_others(tmp_path):
    for content in ("old", "new"):
        with files.whole(tmp_path / "model", folder=True) as folder:
            (folder / "weights").write_text(content)
        (tmp_path / "model" / "notes.md").write_text("mine")
    assert {path.name: path.read_text() for path in (tmp_path / "model").iterdir()} == {
        "weights": "new",
        "notes.md": "mine",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_file_may_have_the_longest_legal_name(tmp_path):
    path = tmp_path / ("é" * 127)  # of 254 bytes
    files.write_whole(path, b"x")
    assert [*tmp_path.iterdir()] == [path]
