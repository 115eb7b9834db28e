"""The linter, and the length of files. .ci/run checks types."""

import ast
import io
import tokenize
from collections import Counter

import pytest
from extras import needs
from places import ROOT, python

TOOLS = {
    "lint": ("ruff", "check", "--no-cache", "--output-format=concise", "."),
    "format": ("ruff", "format", "--check", "--no-cache", "."),
}
DEV = "requirements-dev.txt"
WORDS = {tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING}
# what every method, paper and study states, and every script
SHARED = {"main", "METHOD", "STUDY", "PAPER", "Model", "CONFIG"}


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


def words(text: str) -> int:
    """How many names, numbers, operators and strings Python code has."""
    count = 0
    inside = 0  # f-strings, which are one word; Python 3.12 and later read their parts
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        inside += (kind == "FSTRING_START") - (kind == "FSTRING_END")
        count += not inside and (token.type in WORDS or kind == "FSTRING_END")
    return count


def names(text: str) -> set[str]:
    """The names of its own that a file's statements at module level give."""
    given = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            given.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            given |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in given - SHARED if name[:2] != "__"}


def test_the_core_stays_small():
    """A bound is lowered when something goes, and raised by nobody."""
    paths = [ROOT / "run_study.py", *(ROOT / "core").rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    assert sum(map(words, texts)) <= 142_900
    assert sum(map(bool, texts)) <= 139
    files = Counter(name for text in texts[1:] for name in names(text))  # of core
    shared = [name for name, number in files.items() if number > 1]
    assert len(shared) <= 8, shared
