"""A results folder under other circumstances: two versions of the code, a clock that jumped, another place, no right to write."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from desk import SIX, Desk
from fake_jobs import made_result
from places import ROOT, SUPPORT

from core.data import sources
from core.spec.identity import NUMERICS, run_id
from core.spec.scale import MINI
from core.store.records import OtherVersion


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


def test_a_stored_file_that_another_version_wrote_is_not_taken_for_damage(desk, monkeypatch):
    fill(desk, 1)
    run = desk.six().runs[0]
    monkeypatch.setattr("core.spec.identity.NUMERICS", 99)
    monkeypatch.setattr("core.store.records.NUMERICS", 99)
    other = desk.results / "runs" / f"{run_id(run.config)}.parquet"
    shutil.copy(
        desk.results / "runs" / f"{run.run_id}.parquet", other
    )  # renamed by hand: the footer still tells
    assert not desk.store.verified(other.stem) and not other.exists()
    assert (desk.results / "runs" / f"{run.run_id}.parquet").exists()


CLOCKS = {"time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.ctime", "time.strftime"}


def wall_clock(path: Path) -> list[str]:
    """Where a file reads the clock on the wall, or when a file was changed."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            name = f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else node.attr
            if name in CLOCKS or node.attr in ("st_mtime", "st_ctime", "st_atime", "getmtime", "getctime"):
                found.append(f"{path.name}:{node.lineno} {name}")
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        module = getattr(node, "module", None)
        if (
            "datetime" in names
            or module == "datetime"
            or (module == "time" and set(names) & {"time", "time_ns"})
        ):
            found.append(f"{path.name}:{node.lineno} import")
    return found


def test_nothing_is_decided_by_the_clock_on_the_wall(tmp_path):
    files = [ROOT / "run_study.py", *(ROOT / "core").rglob("*.py"), *(ROOT / "studies").rglob("*.py")]
    assert [place for file in files for place in wall_clock(file)] == []
    (tmp_path / "sly.py").write_text(
        "import datetime\nfrom time import time\nimport time as t, os\nos.path.getmtime('x')\ntime.time()\n"
    )
    assert len(wall_clock(tmp_path / "sly.py")) == 4


@pytest.mark.parametrize("when", [0, 4_000_000_000], ids=["1970", "2096"])
def test_file_times_from_another_age_change_nothing(desk, when):
    fill(desk, 4)
    before = [run.run_id for run in desk.six().missing]
    for path in desk.folder.rglob("*"):
        os.utime(path, (when, when))
    assert [run.run_id for run in desk.six().missing] == before and len(before) == 2
    assert desk.store.claim(before[0]) is not None and desk.store.claimed(before[0])


def test_a_moved_folder_goes_on_and_a_copy_is_a_folder_of_its_own(desk):
    runs = desk.six().runs
    desk.behave(**{runs[3].run_id: "raise"})
    assert desk.do(*SIX).returncode == 1
    stray = desk.results / "runs" / f".{runs[3].run_id}.parquet.elsewhere-1-1-a.tmp"
    stray.write_text("copied while it was written")
    copy = desk.folder / "copy"
    claim = desk.store.claim(runs[4].run_id)  # somebody is at work in the original
    stray.write_text("copied while it was written")
    shutil.copytree(desk.results, copy)
    desk.results.rename(desk.folder / "gone")
    said = desk.do(*SIX, "--status", "--results-dir", str(copy)).stdout
    assert "6 runs: 5 done, 0 running, 1 failed, 0 missing" in said and "on purpose" in said
    desk.behave()
    done = desk.do(*SIX, "--results-dir", str(copy))
    assert done.returncode == 0 and "Trained 1 of 1 run." in done.stdout, done.stdout + done.stderr
    assert not (copy / "runs" / stray.name).exists() and not desk.results.exists()
    (desk.folder / "gone").rename(desk.results)
    assert desk.store.claimed(runs[4].run_id)
    os.close(claim)
    assert "Trained 1 of 1 run." in desk.do(*SIX).stdout  # what the copy did is not known here


def unprivileged(desk: Desk, *arguments: str) -> subprocess.CompletedProcess:
    """The command line as somebody whom file modes bind, whoever runs the tests."""
    drop = "import ctypes, os, sys; [ctypes.CDLL(None).prctl(24, n, 0, 0, 0) for n in (1, 2)]; os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    work = desk.folder / "work"
    work.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", drop, str(SUPPORT / "driver.py"), *arguments, "--scale", "mini"],
        env=desk.environment(REAL_REPORT="1", MPLCONFIGDIR=str(desk.folder / "tmp")), cwd=work, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


def test_a_folder_that_may_only_be_read_is_drawn_and_told_but_not_written(desk):
    fill(desk, 5)
    (desk.results / "runs" / f"{desk.six().runs[0].run_id}.parquet").write_text("torn")
    here = ("--data-dir", str(desk.folder / "data"), "--encoder", str(desk.folder / "encoder"))
    shut = [desk.folder / "home", *(p for p in desk.folder.joinpath("home").rglob("*") if p.is_dir())]
    for folder in shut:
        folder.chmod(0o555)
    before = sorted(desk.results.rglob("*"))
    try:
        told = unprivileged(desk, "table3", "--seeds", "1", "--status", *here)
        assert told.returncode == 0 and "4 done, 0 running, 0 failed, 2 missing" in told.stdout, (
            told.stdout + told.stderr
        )
        assert "damaged" in told.stdout
        drawn = unprivileged(desk, "table3", "--seeds", "1", "--regenerate-figures", *here)
        assert drawn.returncode == 0 and f"go to {desk.folder / 'work' / 'redrawn'}" in drawn.stdout, (
            drawn.stdout + drawn.stderr
        )
        assert (desk.folder / "work/redrawn/results/mini/paper/mocose-table3.csv").exists()
        assert (desk.folder / "work/redrawn/figures/mini/paper/mocose-table3.png").exists()
        trained = unprivileged(desk, "table3", "--seeds", "1", *here)
        assert (
            trained.returncode == 2
            and trained.stderr.count("\n") == 1
            and "may not be written" in trained.stderr
        ), trained.stderr
    finally:
        for folder in shut:
            folder.chmod(0o755)
    assert sorted(desk.results.rglob("*")) == before and not desk.started()
