"""The linter and the type checker, where they are installed (requirements-dev.txt): the code is clean for both."""

import importlib.util
import subprocess
import sys

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
