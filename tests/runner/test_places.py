"""Results folders under other circumstances: full, read-only, moved, shared, of two versions of the code, and
killed while they are written. One sentence, nothing torn, nothing lost."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from desk import Desk
from fake_jobs import made_result
from places import ROOT
from refusals import check, here, refusing_desk
from storm import planned

import run_study
from core.data import sources
from core.runner.train import Training
from core.spec.identity import NUMERICS, run_id
from core.spec.methods import base
from core.spec.scale import MINI
from core.store.records import CorruptRun, MissingRun, OtherVersion
from core.store.store import Store


@pytest.fixture
def closed(tmp_path, monkeypatch) -> Desk:
    return refusing_desk(tmp_path, monkeypatch)


RESULTS = {
    "a file": (lambda p: p.write_text("mine"), "results is no folder; give another"),
    "below a file": (
        lambda p: (p.parent.rmdir(), p.parent.write_text("mine")),
        "other is no folder; give another",
    ),
    "a file for runs": (
        lambda p: (p.mkdir(), (p / "runs").write_text("mine")),
        "results/runs could not be written",
    ),
    "a loop": (lambda p: p.symlink_to(p), "could not be written|can be no folder"),
}


def test_results_folders_that_cannot_be_written(closed, capsys):
    desk = closed
    for case, (change, sentence) in RESULTS.items():
        place = desk.folder / case / "other" / "results"
        place.parent.mkdir(parents=True)
        change(place)
        check(desk, capsys, ["table3", *here(desk, results_dir=str(place))], sentence)
    for mode in ("--status", "--plan", "--regenerate-figures"):
        place = desk.folder / "a file" / "other" / "results"
        check(
            desk,
            capsys,
            ["table3", mode, *here(desk, results_dir=str(place / "mine"))],
            "results is no folder",
        )


def test_a_results_folder_of_somebody_else(closed, capfd, monkeypatch):
    desk = closed
    place = desk.folder / "other"
    place.mkdir(mode=0o500)
    sound = Training.check

    def drop(*arguments):
        sound(*arguments)
        if os.getuid() == 0:
            os.seteuid(65534)  # nobody: from here on the folder may not be written

    monkeypatch.setattr(Training, "check", drop)
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = run_study.main(["table3", *here(desk, results_dir=str(place / "results"))])
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    said = capfd.readouterr().err
    assert (
        re.search("may not be written .Permission denied.; choose a folder of yours", said)
        and said.count("\n") == 1
    )
    assert not list(place.iterdir())


def fill(desk: Desk, count: int) -> None:
    desk.store.prepare()
    for run in desk.six().runs[:count]:
        result = made_result(run.config)
        result.provenance.update(desk.found().provenance())
        desk.store.save(run.config, result)


def test_two_versions_of_the_code_work_side_by_side_on_one_folder(desk, monkeypatch):
    fill(desk, 6)
    old = desk.six()
    assert not old.missing
    for module in ("core.spec.identity", "core.store.records"):
        monkeypatch.setattr(f"{module}.NUMERICS", 99)
    new = desk.six()
    assert len(new.missing) == 6 and not {run.run_id for run in old.runs} & {run.run_id for run in new.runs}
    assert sources.recorded_sources(MINI, desk.store) is None  # another version's runs say nothing here
    with pytest.raises(OtherVersion, match=f"NUMERICS {NUMERICS}, here 99"):
        desk.store.load(old.runs[0].run_id)
    fill(desk, 2)
    desk.store.sweep_checkpoints()
    assert (
        len(desk.six().missing) == 4
        and len(desk.store.runs()) == 8
        and sources.recorded_sources(MINI, desk.store) is not None
    )
    monkeypatch.undo()
    assert not desk.six().missing and desk.store.load(old.runs[0].run_id).config == old.runs[0].config
    assert not (desk.results / "damaged").exists()


def test_two_studies_that_share_runs_under_two_commands_one_of_them_with_force(desk):
    one, other = (
        {run.run_id for run in planned(desk, 1, name)} for name in ("mocose-table3", "mocose-table7")
    )
    assert one & other and other - one
    assert desk.do("mocose-table3", "--seeds", "1", "--jobs", "2").returncode == 0
    desk.behave_all("sleep 0.2")
    commands = [
        desk.start("mocose-table3", "--seeds", "1", "--jobs", "2", "--force"),
        desk.start("mocose-table7", "--seeds", "1", "--jobs", "3"),
    ]
    for command in commands:
        out, err = command.communicate(timeout=200)
        assert command.returncode == 0 and "FAILED" not in out, out + err
    started = Counter(desk.started())
    assert {run: started[run] for run in one} == dict.fromkeys(one, 2)  # once before, once by force
    assert {run: started[run] for run in other - one} == dict.fromkeys(other - one, 1)
    assert all(desk.store.verified(run) for run in one | other) and not (desk.results / "damaged").exists()


CONFIG = base("mocose", "paper")


RUN = run_id(CONFIG)


def killed_at(root: Path, call: int, value: float) -> None:
    """Save a run in this process, which ends by SIGKILL just before its `call`-th call of the system."""
    left = call

    def count(frame, event, argument):
        nonlocal left
        if event == "c_call" and getattr(argument, "__module__", None) in ("posix", "_io", "fcntl", None):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    result = made_result(CONFIG)
    sys.setprofile(count)
    Store(root, None).save(CONFIG, result)
    sys.setprofile(None)
    os._exit(0)


@pytest.mark.parametrize("before", [False, True], ids=["first", "again"])
def test_a_kill_before_any_call_of_a_write_leaves_the_old_the_new_or_nothing(tmp_path, before):
    store, context, survived = Store(tmp_path / "results", None), multiprocessing.get_context("fork"), 0
    whole = Store(tmp_path / "whole", None)
    whole.save(CONFIG, made_result(CONFIG))
    rows = whole.load(RUN).rows
    store.prepare()
    if before:
        store.save(CONFIG, made_result(CONFIG))
    for call in range(0, 4000, 13):
        writer = context.Process(target=killed_at, args=(store.root, call, 0.0))
        writer.start()
        writer.join()
        try:
            assert store.load(RUN).rows.equals(rows)
        except MissingRun:
            assert not before
        try:
            store.load_pairs(RUN)
        except CorruptRun as error:
            assert "belongs to another attempt" in str(error)
        if writer.exitcode == 0:
            survived += 1
            break
        assert writer.exitcode == -signal.SIGKILL
    assert survived and call > 20, "no kill came"
    os.close(store.claim(RUN))
    assert not [
        p for kind in ("runs", "pairs") for p in (store.root / kind).iterdir() if p.name.startswith(".")
    ]


DRAW = ("esimcse-table11", "--seeds", "1", "--regenerate-figures")


def drawn(desk: Desk) -> dict[str, bytes]:
    folders = (desk.results / "mini", desk.folder / "home" / "figures")
    return {
        str(p.relative_to(desk.folder)): p.read_bytes()
        for folder in folders
        for p in folder.rglob("*")
        if p.is_file()
    }


def test_kills_while_drawing_leave_whole_files_and_the_next_drawing_sweeps(desk):
    for run in planned(desk, 1, "esimcse-table11"):
        desk.store.save(run.config, made_result(run.config))
    rng = random.Random(3)
    done = desk.do(*DRAW, REAL_REPORT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    expected = drawn(desk)
    assert any(name.endswith(".pdf") for name in expected)
    for _ in range(2):
        for name in expected:
            (desk.folder / name).write_bytes(b"old")
        driver = desk.start(*DRAW, REAL_REPORT="1")
        time.sleep(rng.uniform(1.0, 4.0))
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        assert all(
            content in (b"old", expected[name]) for name, content in drawn(desk).items() if name in expected
        )
    for folder in (desk.results / "mini" / "paper", desk.folder / "home" / "figures" / "mini" / "paper"):
        (folder / ".esimcse-table11.md.0123.tmp").write_text("half")  # what a kill between two calls leaves
    assert desk.do(*DRAW, REAL_REPORT="1").returncode == 0
    assert drawn(desk) == expected


def listing(redirection: str, **environment: str) -> subprocess.CompletedProcess:
    words = shlex.join([sys.executable, str(ROOT / "run_study.py"), "--list"])
    return subprocess.run(["sh", "-c", f"{words} {redirection}"], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment}, timeout=60)  # fmt: skip


def test_a_reader_who_has_had_enough_is_no_error():
    found = listing("| true; echo done")
    assert (found.stdout, found.stderr) == ("done\n", "")


def test_an_output_that_is_full_is_a_sentence_and_status_2():
    found = listing(">/dev/full")
    assert found.returncode == 2 and found.stderr.count("\n") == 1 and "disk is full" in found.stderr, (
        found.stderr
    )
