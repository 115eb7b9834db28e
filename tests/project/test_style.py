"""The linter and the type checker, where they are installed (requirements-dev.txt), and the length of files."""

import importlib.util
import subprocess
import sys
import tomllib

import pytest
from places import ROOT


def run(tool: str, *arguments: str) -> subprocess.CompletedProcess:
    """A tool over the whole project."""
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed; pip install -r requirements-dev.txt")
    return subprocess.run([sys.executable, "-m", tool, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_ruff_finds_nothing():
    found = run("ruff", "check", "--no-cache", "--output-format=concise", ".")
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr


def test_every_file_is_as_ruff_formats_it():
    found = run("ruff", "format", "--check", "--no-cache", ".")
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr


def test_narrow_files_have_lines_of_110_columns():
    """pyproject.toml lists them; ruff passes comments, docstrings and texts over."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = settings["tool"]["ruff"]["format"]["exclude"]
    names = sorted({str(file.relative_to(ROOT)) for pattern in patterns for file in ROOT.glob(pattern)})
    wide = {
        f"{name}, line {number}"
        for name in names
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > 110
    }
    assert names and not wide
    found = run("ruff", "format", "--check", "--no-cache", "--line-length=110", *names)
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr


@pytest.mark.timeout(900)
def test_mypy_finds_nothing():
    found = run("mypy", "--cache-dir", "/dev/null")  # pyproject.toml names the whole tree
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr


def test_no_file_is_long():
    files = [path for folder in ("core", "studies", "tools", "benchmarks", "tests") for path in (ROOT / folder).rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in [ROOT / "run_study.py", *files]}
    assert len(lengths) > 200 and not {name: length for name, length in lengths.items() if length > 400}
