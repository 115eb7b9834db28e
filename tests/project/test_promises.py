"""Each promise of docs/survival.md names a test that is there and asserts something."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"\| (?P<promise>[^|]+) \| `(?P<file>[\w/]+\.py)::(?P<test>\w+)` \|")


def table(text: str) -> list[tuple[str, str, str]]:
    """Promise, file and test of each row."""
    part = text.split("## Each promise and the test that holds it")[1]
    rows = [line for line in part.splitlines() if line.startswith("| ") and not line.startswith(("| promise", "| :--"))]
    found = [ROW.fullmatch(row) for row in rows]
    assert rows and all(found), [row for row, match in zip(rows, found, strict=True) if not match]
    return [(match["promise"], match["file"], match["test"]) for match in found]


def holds(file: Path, name: str) -> bool:
    """Whether a file has a test of that name that can fail: it asserts, expects an error, or hands over to `check`, which asserts."""
    tree = ast.parse(file.read_text())
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    inside = [node for test in tests for node in ast.walk(test)]
    called = {ast.unparse(node.func) for node in inside if isinstance(node, ast.Call)}
    return any(isinstance(node, ast.Assert) for node in inside) or bool(called & {"pytest.raises", "check"})


def test_each_promise_names_a_test_that_is_there():
    rows = table((ROOT / "docs" / "survival.md").read_text())
    places = {path.name: path for folder in ("tests", "tools") for path in (ROOT / folder).rglob("test_*.py")}
    missing = [(promise, file, test) for promise, file, test in rows if not (file in places and holds(places[file], test))]
    assert len(rows) > 50 and not missing
    assert len({promise for promise, _, _ in rows}) == len(rows)


def test_a_test_that_is_not_there_is_missed(tmp_path):
    file = tmp_path / "test_x.py"
    file.write_text("def test_empty():\n    pass\n\n\ndef test_full():\n    assert 1\n\n\ndef test_idle():\n    print(1)\n")
    assert holds(file, "test_full")
    assert not any(holds(file, name) for name in ("test_empty", "test_idle", "test_none"))
