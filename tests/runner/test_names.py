"""The command that a message tells to give again."""

import sys

import pytest

from core.runner.train import typed_command


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ([".venv/bin/python", "run_study.py", "table7"], [".venv/bin/python", "run_study.py"]),
        (["python3", "../run_study.py"], ["python3", "../run_study.py"]),
        (["python", "/opt/bin/run-study", "table7"], ["run-study"]),
    ],
)
def test_a_command_is_named_as_it_was_typed(monkeypatch, typed, words):
    monkeypatch.setattr(sys, "orig_argv", typed)
    monkeypatch.setattr(sys, "argv", typed[1:])
    assert typed_command() == words
