"""Results folders under other circumstances: full, read-only, moved, shared, of two versions of the
code, and killed while they are written. One sentence, nothing torn, nothing lost."""

import itertools
import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from desk import Desk, check, here, refusing_desk
from fake_jobs import made_result
from places import ROOT, python

import run_study
from core.config.identity import run_id
from core.config.methods import base
from core.runner.devices import cache_folder
from core.store.records import CorruptRun, MissingRun
from core.store.store import Store


@pytest.fixture
def closed(tmp_path, monkeypatch) -> Desk:
    return refusing_desk(tmp_path, monkeypatch)


def test_results_folders_that_cannot_be_written(closed, capsys):
    (closed.folder / "file").write_text("mine")
    (closed.folder / "full").mkdir()
    (closed.folder / "full" / "runs").write_text("mine")
    (closed.folder / "loop").symlink_to(closed.folder / "loop")
    for name, sentence in (
        ("file", "file is no folder"),
        ("full", r"full/runs may not be written \(File exists\); choose a folder of yours"),
        ("loop", "loop/runs may not be written"),
    ):
        words = here(closed, results_dir=str(closed.folder / name))
        check(closed, capsys, ["table3", *words], sentence)


def test_without_a_home_the_cache_is_a_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine" / "run_study"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "new"))
    assert cache_folder() == tmp_path / "new" / ".cache" / "run_study"
    for home in ("/dev/null", "~"):  # as for a user without a home
        monkeypatch.setenv("HOME", home)
        assert cache_folder() == tmp_path / f"run_study-{os.getuid()}"
    assert cache_folder().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["another user", "group", "link", "file"])
def test_a_temporary_cache_that_others_may_write_is_refused(closed, capsys, monkeypatch, kind):
    if kind == "another user" and os.getuid() != 0:
        pytest.skip("only root can make a folder of another user")
    monkeypatch.setattr(tempfile, "tempdir", str(closed.folder))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/dev/null")
    mine = closed.folder / "mine"
    mine.mkdir(mode=0o700)
    folder = closed.folder / f"run_study-{os.getuid()}"
    if kind == "file":
        folder.touch(mode=0o700)
    elif kind == "link":
        folder.symlink_to(mine)
    else:
        mine.rename(folder)
        folder.chmod(0o770 if kind == "group" else 0o700)
        os.chown(folder, 65534 if kind == "another user" else -1, -1)
    sentence = "is no folder of yours with mode 700; set XDG_CACHE_HOME to a"
    check(closed, capsys, ["table3", *here(closed)], sentence)


@pytest.mark.parametrize("name", ["README.md", "index.html"])
def test_no_page_is_drawn_over_a_file_of_somebody_else(tmp_path, capsys, name):
    (tmp_path / name).write_text("# Which ablations hold? This is mine.\n")
    words = ["--all", "--regenerate-figures", "--scale", "demo", "--results-dir", str(tmp_path)]
    assert run_study.main(words) == 2
    assert f"{tmp_path / name} was not drawn by this command" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


CONFIG = base("mocose", "paper")
RUN = run_id(CONFIG)


def killed_at(root: Path, calls: int) -> None:
    """Save a run in this process, which ends by SIGKILL after so many calls of the system."""
    left = itertools.count(calls, -1)

    def count(frame, event, argument):
        module = getattr(argument, "__module__", None)
        if event == "c_call" and module in ("posix", "_io", "fcntl", None) and next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    result = made_result(CONFIG)
    sys.setprofile(count)
    Store(root, None).save(CONFIG, result)
    os._exit(0)


@pytest.mark.parametrize("before", [False, True], ids=["first", "again"])
def test_a_kill_before_any_call_of_a_write_leaves_the_old_the_new_or_nothing(tmp_path, before):
    store = Store(tmp_path / "results", None)
    whole = Store(tmp_path / "whole", None)
    whole.save(CONFIG, made_result(CONFIG))
    rows = whole.load(RUN).rows
    store.prepare()
    if before:
        store.save(CONFIG, made_result(CONFIG))
    for kills in itertools.count():
        writer = multiprocessing.get_context("fork").Process(
            target=killed_at, args=(store.root, 41 * kills)
        )
        writer.start()
        writer.join()
        try:
            assert store.load(RUN).rows.equals(rows)
            store.load_pairs(RUN)
        except MissingRun:
            assert not before
        except CorruptRun as error:
            assert "belongs to another attempt" in str(error)
        if writer.exitcode == 0:
            break
        assert writer.exitcode == -signal.SIGKILL
    assert kills > 5
    os.close(store.claim(RUN))
    assert not [*store.root.glob("runs/.*"), *store.root.glob("pairs/.*")]


def test_an_isolated_python_finds_the_project():
    done = python("-I", ROOT / "run_study.py", "--fields", "loss", cwd="/")
    assert done.returncode == 0 and "loss.temperature" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "end, status, out, wrong",
    [
        ("| true; echo done", 0, "done\n", ""),  # a reader who has had enough
        (">&-", 0, "", ""),  # closed before the start
        (">/dev/full", 2, "", "disk is full"),
    ],
)
def test_an_output_that_nobody_reads_is_no_error_and_a_full_one_a_sentence(end, status, out, wrong):
    words = shlex.join([sys.executable, str(ROOT / "run_study.py"), "--fields"])
    done = subprocess.run(
        ["sh", "-c", f"{words} {end}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (status, out)
    assert wrong in done.stderr and done.stderr.count("\n") == bool(wrong)
