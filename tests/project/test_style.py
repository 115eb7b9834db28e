"""The linter, and the length of files. .ci/run checks types."""

import pytest
from extras import needs
from places import ROOT, python
from sizes import size

TOOLS = {
    "lint": ("ruff", "check", "--no-cache", "--output-format=concise", "."),
    "format": ("ruff", "format", "--check", "--no-cache", "."),
}
DEV = "requirements-dev.txt"


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs(words[0], DEV)) for name, words in TOOLS.items()]
)
def test_a_tool_finds_nothing(name):
    done = python("-m", *TOOLS[name])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_no_file_is_long_and_no_line_of_core_is_wide():
    """The formatter leaves long words and comments as they are."""
    folders = ("core", "studies", "tools", "benchmarks", "tests")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert len(paths) > 150
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 400, path
        if path.is_relative_to(ROOT / "core"):
            assert max(map(len, lines), default=0) <= 104, path  # a digest of 64 digits


def test_the_core_stays_small():
    """A bound is lowered when something goes, and raised by nobody."""
    core = size(ROOT / "core")
    assert core.tokens <= 140_000
    assert core.files <= 135
    assert core.longest <= 400
    assert len(core.shared_names) <= 15, core.shared_names
