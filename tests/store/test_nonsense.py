"""Stored files that no run wrote: a FIFO, a device, a file without end, impossible numbers. They are set aside, unread."""

from __future__ import annotations

import json
import os

import pyarrow as pa
import pytest
from desk import SIX
from fake_jobs import made_result

from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.profiles import base
from core.store import files, locks, pack, parquet
from core.store.store import Store
from core.store.stored import CorruptRun, Failure


def fifo(path):
    os.mkfifo(path)


def device(path):
    path.symlink_to("/dev/zero")


def holes(path):
    path.touch()
    os.truncate(path, 1 << 40)


def folder(path):
    path.mkdir()


HARMS = (fifo, device, holes, folder)
CONFIG = base("mocose", "paper")
RUN = run_id(CONFIG)


@pytest.fixture
def store(tmp_path) -> Store:
    made = Store(tmp_path / "results", None)
    made.prepare()
    return made


@pytest.mark.parametrize("harm", HARMS)
def test_a_run_that_is_no_file_is_set_aside_unread(store, harm, capsys):
    path = store.root / "runs" / f"{RUN}.parquet"
    harm(path)
    with pytest.raises(CorruptRun, match="was not read"):
        store.load(RUN)
    assert not store.verified(RUN) and not os.path.lexists(path)
    assert "set aside as" in capsys.readouterr().out and len(list((store.root / "damaged").iterdir())) == 1


@pytest.mark.parametrize("harm", HARMS)
def test_pairs_that_are_no_file_are_set_aside_unread_and_their_run_stays(store, harm):
    store.save(CONFIG, made_result(CONFIG))
    path = store.root / "pairs" / f"{RUN}.parquet"
    path.unlink()
    harm(path)
    assert store.verified(RUN) and not os.path.lexists(path) and store.load(RUN).status == "ok"


@pytest.mark.parametrize("harm", HARMS)
def test_a_failure_that_is_no_file_counts_as_one_of_unknown_cause(store, harm):
    harm(store.root / "failures" / f"{RUN}.json")
    assert store.failure(RUN).cause == "unknown"


@pytest.mark.parametrize("harm", (fifo, device, folder))
@pytest.mark.parametrize("place", ["logs/{}.log", "logs/{}.jsonl", "failures/{}.json", "checkpoints/{}.pt"])
def test_what_stands_where_a_run_will_write_is_set_aside_with_the_claim(store, harm, place, capsys):
    path = store.root / place.format(RUN)
    harm(path)
    locks.release(store.claim(RUN))
    assert not os.path.lexists(path) and "set aside as" in capsys.readouterr().out


def test_asking_whether_a_claim_is_held_does_not_wait_for_a_fifo(store):
    os.mkfifo(store.root / ".locks" / f"{RUN}.lock")
    assert not store.claimed(RUN)


def test_a_command_trains_through_fifos_in_every_place(desk):
    first, second, third = desk.six().runs[:3]
    desk.store.prepare()
    for path in (desk.store.log(first.run_id), desk.store.checkpoint(second.run_id), desk.results / "runs" / f"{third.run_id}.parquet",
                 desk.results / "failures" / f"{first.run_id}.json", desk.results / "pairs" / f"{second.run_id}.parquet"):  # fmt: skip
        os.mkfifo(path)
    told = desk.do(*SIX, "--status")
    assert told.returncode == 0 and "failures" in told.stdout, told.stdout + told.stderr
    done = desk.do(*SIX)
    assert done.returncode == 0 and "Trained 6 of 6 runs." in done.stdout, done.stdout + done.stderr
    assert all(desk.store.verified(run.run_id) for run in desk.six().runs)


def forged(store: Store, change_rows=None, change_provenance=None) -> None:
    """A run with a right seal, and something in it that no run can have written."""
    store.save(CONFIG, made_result(CONFIG))
    path = store.root / "runs" / f"{RUN}.parquet"
    table, footer = parquet.from_bytes(path.read_bytes(), parquet.RUN_SCHEMA)
    if change_rows is not None:
        rows = change_rows(table.to_pylist())
        table = pa.Table.from_pylist(rows, schema=parquet.RUN_SCHEMA)
    if change_provenance is not None:
        footer["provenance"] = json.dumps(change_provenance)
    path.write_bytes(parquet.to_bytes(table, footer))


def setting(name, value):
    return lambda rows: [{**rows[0], name: value}, *rows[1:]]


ROWS = {
    "1e308 everywhere": lambda rows: [{**row, "value": 1e308} for row in rows],
    "a score of 101": setting("value", 101.0),
    "a score of -inf": setting("value", float("-inf")),
    "an accuracy below 0": lambda rows: [{**rows[0], "metric": "accuracy_test", "value": -1.0}],
    "a cosine of 2": lambda rows: [{**rows[0], "metric": "mean_cosine", "value": 2.0}],
    "a loss beyond floats": lambda rows: [{**rows[0], "metric": "loss", "value": -1e39}],
    "a step before the first": setting("step", -1),
    "a step beyond any run": setting("step", 2**62),
    "no value": setting("value", None),
    "no metric": setting("metric", None),
}
PROVENANCE = {
    "seconds as text": {"seconds": "long"},
    "a phase as text": {"seconds": {"train": "long"}},
    "endless seconds": {"seconds": {"train": float("inf")}},
    "seconds below 0": {"step_seconds": -1},
    "a list for a name": {"encoder": ["bert"]},
    "a number for a name": {"corpus": 5},
    "a name of a megabyte": {"evaluation": "x" * (1 << 20)},
    "width in words": {"encoder_hidden": "wide"},
    "threads as true": {"threads": True},
    "encoders as text": {"encoders": "bert-base"},
    "an encoder cut short": {"encoders": [["bert-base", "abc"]]},
    "an encoder's width as a list": {"encoders": [["bert-base", "abc", [1], "x"]]},
    "versions as a list": {"versions": ["2.0"]},
    "a list": ["x"],
    "a number": 5,
}


@pytest.mark.parametrize("case", [*ROWS, *PROVENANCE])
def test_sealed_nonsense_is_set_aside(store, case, capsys):
    forged(store, ROWS.get(case), PROVENANCE.get(case, {}) if case in PROVENANCE else None)
    with pytest.raises(CorruptRun, match="what no run can have written|a provenance that cannot be read"):
        store.load(RUN)
    assert not store.verified(RUN) and "set aside as" in capsys.readouterr().out


def test_what_runs_do_write_is_believed(store):
    rows = [("last", "train", "mtd_mean_over_run", 3, float("inf")), ("last", "train", "diverged_at", 2, float("nan")),
            ("selected", "STS12", "spearman_all", 3, float("nan")), ("curve", "train", "loss", 1, 3e38),
            ("selected", "dev", "mean_cosine", 3, 1.0000002), ("selected", "avg", "spearman_all", 3, -100.00001)]  # fmt: skip
    known = {"seconds": {"train": 3}, "encoders": [["bert-base", "abc", 128, "demo"]], "transfer_digest": None, "new": {"any": [1]}}
    forged(store, lambda _: [dict(zip(parquet.RUN_SCHEMA.names, row, strict=True)) for row in rows], known)
    assert len(store.load(RUN).rows) == len(rows) and store.verified(RUN)


def test_a_few_bytes_that_claim_a_billion_rows_are_not_opened_up(store, monkeypatch):
    store.save(CONFIG, made_result(CONFIG))
    monkeypatch.setattr(parquet, "MOST_ROWS", 5)
    with pytest.raises(CorruptRun, match=r"it says that it has \d+ rows"):
        store.load(RUN)


def test_a_nonsensical_run_of_the_projects_own_is_named_and_left(tmp_path, store, capsys):
    forged(store, ROWS["1e308 everywhere"])
    content = (store.root / "runs" / f"{RUN}.parquet").read_bytes()
    packed = tmp_path / "published" / CONFIG.scale / pack.NAME
    pack.write(packed, {RUN: parquet.from_bytes(content, parquet.RUN_SCHEMA)})
    elsewhere = Store(tmp_path / "other", tmp_path / "published")
    assert RUN in elsewhere.runs() and not elsewhere.verified_published(RUN) and packed.exists()
    assert "counts as missing" in capsys.readouterr().out


def test_control_characters_of_a_failure_are_shown_as_escapes(desk):
    first = desk.six().runs[0]
    desk.store.prepare()
    desk.store.record_failure(first.run_id, Failure(cause="\x1b[2J\x1b]0;owned\x07", detail="a\nfailed  0000 b\r\u202e"))
    told = desk.do(*SIX, "--status").stdout
    line = next(line for line in told.splitlines() if line.startswith("failed"))
    assert r"\x1b[2J\x1b]0;owned\x07: a\nfailed  0000 b\r\u202e" in line
    assert not set(told) & set("\x1b\x07\r\u202e") and sum(line.startswith("failed") for line in told.splitlines()) == 1


def test_a_file_is_read_as_it_is_and_nothing_else(tmp_path):
    place = tmp_path / "file"
    place.write_bytes(b"abc")
    assert files.content(place, 3) == b"abc"
    with pytest.raises(files.NotAFile, match="it has 3 bytes, where 2 are the most"):
        files.content(place, 2)
    with pytest.raises(FileNotFoundError):
        files.content(tmp_path / "none", 3)
    with pytest.raises(files.NotAFile, match="it is a folder"):
        files.content(tmp_path, 3)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(files.NotAFile, match="it is a FIFO"):
        files.content(place, 3)


def test_a_slot_folder_that_is_a_link_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / f"run-study-slots-{os.getuid()}").symlink_to(tmp_path / "mine")
    with pytest.raises(UserError, match="is a link or belongs to another user"):
        locks.slot_folder()
