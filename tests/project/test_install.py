"""`pip install -e .` in a fresh environment, used from another folder; `pip install .` is refused."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from places import ROOT, python

INSTALL = ("install", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
SCORES = "row,seed,score\na,0,76.1\na,1,75.9\na,2,76.4\nMine,0,77.0\nMine,1,77.3\nMine,2,77.1\n"


def can_install() -> bool:
    """Whether this environment has what a fresh one would fetch."""
    try:
        return bool(version("pip")) and int(version("setuptools").partition(".")[0]) > 70
    except PackageNotFoundError:
        return False


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Path:
    """An environment with the packages of this one, but not the project, beside a checkout."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    theirs = [path for path in sys.path if path.endswith("-packages")]
    (packages / "theirs.pth").write_text("\n".join(theirs))
    checkout = folder / "checkout"
    (checkout / "results").mkdir(parents=True)
    shutil.copytree(ROOT / "tools/install", checkout / "tools/install", symlinks=True)
    for name in ("core", "studies", "README.md", "LICENSE", "results/published"):
        (checkout / name).symlink_to(ROOT / name)
    for file in (ROOT / "pyproject.toml", ROOT / "run_study.py", *ROOT.glob("requirements*.txt")):
        (checkout / file.name).write_bytes(file.read_bytes())
    (folder / "away").mkdir()
    return folder


def pip(fresh: Path, *words: str) -> subprocess.CompletedProcess:
    command = ["-m", "pip", "--python", fresh / "venv" / "bin" / "python"]
    return python(*command, *INSTALL, *words, cwd=fresh / "checkout")


def away(fresh: Path, program: str, *words: str) -> str:
    """What a program of the environment prints in another folder."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    command = [fresh / "venv" / "bin" / program, *words]
    here = {"cwd": fresh / "away", "env": environment}
    done = subprocess.run(command, **here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_package_of_one_of_our_names_is_a_sentence(tmp_path):
    (tmp_path / "core.py").write_text("MINE = True\n")
    words = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import core"
    done = python("-c", f"{words}; sys.path.insert(0, '.'); import run_study")
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ImportError: core is loaded from"), last
    assert (
        python("-c", f"{words.rpartition(';')[0]}; import run_study; run_study.load()").returncode
        == 0
    )


@pytest.mark.parametrize(
    "surroundings, sentence",
    [
        ("sys.version_info = (3, 10, 13)", "This is Python 3.10; use Python 3.11 or later."),
        ("sys.modules['numpy'] = None", "The package numpy is not installed; "),
    ],
)
def test_bad_surroundings_are_one_sentence(surroundings, sentence):
    start = (
        f"import runpy, sys; {surroundings}; runpy.run_path('run_study.py', run_name='__main__')"
    )
    done = python("-c", start)
    assert done.returncode == 2
    assert done.stderr.startswith(sentence) and done.stderr.count("\n") == 1


@pytest.mark.long
@pytest.mark.skipif(not can_install(), reason="needs pip and setuptools 71 or later")
def test_an_editable_install_works_from_any_folder_and_a_copy_is_refused(fresh):
    refused = pip(fresh, ".")
    sentences = [line.strip() for line in refused.stderr.splitlines() if "pip install -e" in line]
    assert refused.returncode == 1 and "Traceback" not in refused.stderr
    assert len(sentences) == 1 and sentences[0].startswith("This project is used from its checkout")

    installed = pip(fresh, "-e", ".")
    assert installed.returncode == 0, installed.stderr
    (fresh / "away" / "scores.csv").write_text(SCORES)
    judged = away(fresh, "run-study", "judge", "scores.csv", "--claim", "Mine > a")
    assert "Mine > a " in judged
    assert "usage: run-study judge" in away(fresh, "run-study", "judge", "--help")
    away(fresh, "run-study", "show", "table6b", "--scale", "demo")
    table = fresh / "away" / "results" / "demo" / "paper" / "mocose-table6b.csv"
    assert table.is_file()
    assert (fresh / "away" / "figures" / "demo").is_dir()
    assert os.listdir(fresh / "checkout" / "results") == ["published"]
    # folders of a user's own with the names of ours are in nobody's way
    for name in ("core", "studies", "tools"):
        (fresh / "away" / name).mkdir()
        (fresh / "away" / name / "__init__.py").write_text("MINE = True\n")
    calls = "import run_study; results = run_study.load(); results.plot('table6b')"
    counts = f"{calls}; print(len(results.runs(scale='demo')))"
    assert int(away(fresh, "python", "-c", counts)) > 100
