"""A fresh clone: a user's commands change nothing that git tracks, and what the project publishes is drawn where one's own goes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org")


def git(folder: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone of this repository as it stands, changes that are not committed yet among them."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no git checkout")
    folder = tmp_path_factory.mktemp("clone") / "project"
    git(ROOT, "clone", "-q", "--local", str(ROOT), str(folder))
    git(folder, "rm", "-rq", "--ignore-unmatch", ".")
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "as it stands", "--allow-empty")
    return folder


def do(clone: Path, script: str, *words: str, **more: str) -> subprocess.CompletedProcess:
    environment = {
        **os.environ, "CUDA_VISIBLE_DEVICES": "", "XDG_CACHE_HOME": str(clone.parent / "cache"), "TMPDIR": str(clone.parent),
        "PYTHONDONTWRITEBYTECODE": "1", **more,
    }  # fmt: skip
    return subprocess.run([sys.executable, script, *words], check=False, cwd=clone, env=environment, capture_output=True, text=True)


@pytest.mark.timeout(1500)
def test_commands_on_a_fresh_clone_leave_git_status_clean_and_results_hold_every_csv(clone):
    planned = do(clone, "run_study.py", "table4", "--plan")
    assert planned.returncode == 0 and "to train" in planned.stdout, planned.stderr
    assert git(clone, "status", "--porcelain") == ""
    git(clone, "rm", "-q", "results/published/demo/runs.parquet")  # 3,000 runs, which would be drawn in two minutes
    git(clone, "commit", "-qm", "mini alone")
    drawn = do(clone, "run_study.py", "--all", "--regenerate-figures")
    assert drawn.returncode == 0, drawn.stderr
    assert git(clone, "status", "--porcelain") == ""
    for profile in ("paper", "repaired"):
        published = {path.name for path in (clone / "results/published/mini" / profile).glob("*.csv")}
        drawn_too = {path.name for path in (clone / "results/mini" / profile).glob("*.csv")}
        assert published and published == {name for name in drawn_too if not name.endswith("_runs.csv")} != drawn_too
        pictures = {path.name for path in (clone / "figures/published/mini" / profile).iterdir()}
        assert pictures and pictures <= {path.name for path in (clone / "figures/mini" / profile).iterdir()}
    assert "are from the published results, not from this machine" in drawn.stdout and not (clone / "results/runs").exists()
    git(clone, "revert", "--no-edit", "HEAD")
    (clone / "cache").mkdir(exist_ok=True)
    home = {"FAKE_HOME": str(clone), "REAL_REPORT": "yes", "XDG_CACHE_HOME": str(clone.parent / "cache")}
    (clone.parent / "cache" / "run_study").mkdir(parents=True, exist_ok=True)
    trained = do(clone, "tests/support/driver.py", "mocose-table6b", "--scale", "demo", "--seeds", "1", "--jobs", "2", **home)
    assert trained.returncode == 0, trained.stdout + trained.stderr
    own = len(list((clone / "results/runs").glob("*.parquet")))  # the fake job's numbers are made up
    assert own
    assert ",own" in (clone / "results/demo/paper/mocose-table6b.csv").read_text()
    shutil.rmtree(clone / "cache")
    assert git(clone, "status", "--porcelain") == ""


@pytest.mark.timeout(1500)
def test_publish_alone_changes_what_is_published_and_the_published_is_drawn_from_the_packs(clone):
    home = {"FAKE_HOME": str(clone), "XDG_CACHE_HOME": str(clone.parent / "cache")}
    (clone.parent / "cache" / "run_study").mkdir(parents=True, exist_ok=True)
    done = do(clone, "tests/support/driver.py", "mocose-table4", "--scale", "demo", "--seeds", "1", "--jobs", "2", "--publish", **home)
    assert done.returncode == 0 and "Published 16 runs" in done.stdout, done.stdout + done.stderr
    changed = {line[3:] for line in git(clone, "status", "--porcelain").splitlines()}
    assert changed == {"results/published/demo/runs.parquet"}  # the driver's report draws nothing
    git(clone, "checkout", "-q", ".")
