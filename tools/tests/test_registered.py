"""Dates of rules come from the history: the first form of a claim, and the first table with a
run."""

import os
import subprocess

from tools import registered

TIMES = ("2026-01-01 10:00", "2026-01-02 11:30", "2026-01-03 12:45")
NAMES = ("-c", "user.name=a", "-c", "user.email=a@b.example")
FILES = (  # one commit each
    ("study.py", 'Claim(\n    key="X1.1",\n)\n'),
    ("results/demo/paper/x-table1.csv", "size,n\na,0\n"),
    ("results/demo/paper/x-table1.csv", "size,n\na,3\n"),
)


def test_dates_come_from_the_history(tmp_path, monkeypatch):
    monkeypatch.setattr(registered, "HOME", tmp_path)

    def git(*words, **environment):
        command = ["git", "-C", str(tmp_path), *NAMES, *words]
        subprocess.run(command, check=True, env={**os.environ, **environment}, capture_output=True)

    git("init")
    for time, (name, text) in zip(TIMES, FILES, strict=True):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        git("add", ".")
        git("commit", "-m", "A file", GIT_AUTHOR_DATE=f"{time}:00 +0000")
    assert registered.first_forms({"X1.1", "X1.2"}) == {"X1.1": TIMES[0]}
    assert registered.first_runs({"x-table1", "x-table2"}) == {"x-table1": TIMES[2]}
