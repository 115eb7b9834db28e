"""The linter and the type checker, where they are installed (requirements-dev.txt), and the length of files."""

import importlib.util
import subprocess
import sys
import tomllib

import pytest
from places import ROOT

FORMAT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["format"]
NARROW = sorted({str(file.relative_to(ROOT)) for pattern in FORMAT["exclude"] for file in ROOT.glob(pattern)})
TOOLS = {
    "lint": ("ruff", "check", "--no-cache", "--output-format=concise", "."),
    "format": ("ruff", "format", "--check", "--no-cache", "."),
    "format at 110 columns": ("ruff", "format", "--check", "--no-cache", "--line-length=110", *NARROW),
    "types": ("mypy",),  # pyproject.toml names the whole tree; a kept cache makes this 3 s instead of 25
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_finds_nothing(name):
    tool, *arguments = TOOLS[name]
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed; pip install -r requirements-dev.txt")
    found = subprocess.run([sys.executable, "-m", tool, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr


def test_no_file_is_long_and_no_line_of_a_narrow_file_is_wide():
    folders = [path for folder in ("core", "studies", "tools", "benchmarks", "tests") for path in (ROOT / folder).rglob("*.py")]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").splitlines() for path in [ROOT / "run_study.py", *folders]}
    assert len(texts) > 150 and not {name: len(lines) for name, lines in texts.items() if len(lines) > 400}
    wide = [f"{name}, line {n}" for name in NARROW for n, line in enumerate(texts[name], 1) if len(line) > 110]
    assert NARROW and not wide
