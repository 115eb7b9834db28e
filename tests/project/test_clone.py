"""A fresh clone: a user's commands change nothing that git tracks, and what is published is drawn
where a user's own results go."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT, python

DRIVER = "tests/support/driver.py"
TRAIN = (DRIVER, "mocose-table6b", "--scale", "demo", "--seeds", "1", "--jobs", "2")


def git(folder: Path, *words: str) -> str:
    named = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org", *words)
    return subprocess.run(named, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone of this repository as it stands, changes that are not committed yet among them."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no git checkout")
    folder = tmp_path_factory.mktemp("clone") / "project"
    git(ROOT, "clone", "-q", "--local", str(ROOT), str(folder))
    git(folder, "rm", "-rq", "--ignore-unmatch", ".")
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split(
        "\0"
    ):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "as it stands", "--allow-empty")
    (folder.parent / "cache" / "run_study").mkdir(parents=True)
    return folder


def do(clone: Path, script: str, *words: str, **more: str) -> str:
    """What a command prints."""
    places = {"FAKE_HOME": str(clone), "TMPDIR": str(clone.parent), "CUDA_VISIBLE_DEVICES": ""}
    cache = str(clone.parent / "cache")
    done = python(script, *words, cwd=clone, XDG_CACHE_HOME=cache, **places, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_commands_on_a_fresh_clone_leave_git_status_clean_and_results_hold_every_csv(clone):
    # for GPUs, since a CPU would be timed
    plan = do(clone, "run_study.py", "table4", "--plan", "--scale", "paper", "--gpus", "1")
    assert "to train" in plan
    drawn = do(clone, "run_study.py", "--all", "--regenerate-figures")
    assert "are from the published results, not from this machine" in drawn
    assert not (clone / "results/runs").exists()
    published = clone / "results/published"
    scales = ("demo/*/*.csv", "mini/*/*.csv")
    tables = [path.relative_to(published) for scale in scales for path in published.glob(scale)]
    assert len(tables) > 80
    for table in tables:  # on any Python
        assert (clone / "results" / table).read_bytes() == (published / table).read_bytes(), table
    figures = clone / "figures/published"
    for figure in figures.glob("*/*/*.png"):
        assert (clone / "figures" / figure.relative_to(figures)).is_file(), figure
    do(clone, *TRAIN, REAL_REPORT="yes")
    assert list((clone / "results/runs").glob("*.parquet"))
    assert ",own" in (clone / "results/demo/paper/mocose-table6b.csv").read_text()
    assert git(clone, "status", "--porcelain") == ""
    shutil.rmtree(clone / "results/runs")


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_publish_alone_changes_what_is_published(clone):
    commit = git(clone, "rev-parse", "HEAD").strip()
    (clone.parent / "cache" / "run_study" / "commit").write_text(commit)
    do(clone, *TRAIN)
    words = ("publish", "mocose-table6b", "--scale", "demo", "--replace")
    assert "Published 4 runs" in do(clone, DRIVER, *words)
    changed = {line[3:] for line in git(clone, "status", "--porcelain").splitlines()}
    assert changed == {"results/published/demo/runs.parquet"}  # the driver's report draws nothing


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_the_tests_pass_with_requirements_txt_and_pytest_alone(clone):
    """Nothing asks for a package that its own command does not use."""
    (pytest_pin,) = re.findall(
        "^pytest==.*", (ROOT / "requirements-dev.txt").read_text(), re.MULTILINE
    )
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=clone, check=True)
    python = ".venv/bin/python"
    pip = [python, "-m", "pip", "install", "-q", "-r", "requirements.txt", pytest_pin]
    subprocess.run(pip, cwd=clone, check=True)
    suite = [python, "-m", "pytest", "-o", "addopts=-q -m 'not long'"]
    done = subprocess.run(suite, cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
