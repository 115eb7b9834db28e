"""The command that a message tells to give again."""

import sys
from pathlib import Path

import pytest

from core.runner.train import typed_command


@pytest.mark.parametrize(
    ("python", "script", "path", "words"),
    [
        ("{here}/.venv/bin/python", "run_study.py", "", [".venv/bin/python", "run_study.py"]),
        ("{here}/bin/python3", "run_study.py", "{here}/bin", ["python3", "run_study.py"]),
        ("/opt/bin/python", "../run_study.py", "", ["/opt/bin/python", "../run_study.py"]),
        ("/opt/bin/python", "{here}/.venv/bin/run-study", "", [".venv/bin/run-study"]),
    ],
)
def test_a_command_is_named_as_it_works_from_the_current_folder(
    tmp_path, monkeypatch, python, script, path, words
):
    program = Path(python.format(here=tmp_path))
    if program.is_relative_to(tmp_path):
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path.format(here=tmp_path))
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(sys, "argv", [script.format(here=tmp_path), "table", "7"])
    assert typed_command() == words
