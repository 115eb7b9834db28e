"""Watching: curves as lines of JSON, the estimate, and the table in the terminal."""

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from places import ROOT, python
from small_runs import planned, run, shared_cache
from small_runs import small as small_run

from core.runner.launch import Ending
from core.runner.progress import HEARTBEAT, Answers, Display, spoken
from core.runner.worker import Message
from core.training.execution import Execution


@pytest.fixture(scope="module")
def execution(tmp_path_factory):
    folder = tmp_path_factory.mktemp("followed")
    return Execution(results_dir=str(folder), cache_dir=shared_cache())


def test_a_run_writes_its_curve_as_it_is_stored(execution, thin):
    found = run(small_run(), execution)
    (path,) = (Path(execution.results_dir) / "logs").glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    curve = [row for row in found.rows if row.checkpoint == "curve"]
    scores = [row.value for row in curve if (row.task, row.metric[:8]) == ("dev", "spearman")]
    losses = [row.value for row in curve if row.metric == "loss"]
    assert [line["dev"] for line in lines] == pytest.approx(scores[1:], abs=1e-4)
    assert [line["loss"] for line in lines] == pytest.approx(losses, abs=1e-4)
    assert [(line["step"], line["of"]) for line in lines] == [(2, 4), (4, 4)]
    assert len({line["run"] for line in lines}) == 1 and lines[0]["seconds"] <= lines[-1]["seconds"]


def test_lines_tell_count_score_and_time_left(monkeypatch):
    monkeypatch.setattr("core.runner.progress.training_share", lambda config: 0.8)
    first, second, third = (planned(steps) for steps in (160, 161, 162))  # all cost the same
    out = io.StringIO()
    monkeypatch.setattr("core.runner.progress.time", clock := SimpleNamespace(monotonic=float))
    shown = Display([first, second, third], lambda config: 40.0, 1, Answers(), out)
    assert shown.left() == 3 * 40.0  # before any run the estimate is the plan's
    shown.hear(first.run_id, Message(started=True))
    shown.hear(first.run_id, Message(phase="train", step=40, total=160, rate=4.0, dev=61.0))
    # 160 steps take 40 s in the place of 0.8 x 40 s, so scoring takes 10 s and another run 50 s
    assert shown.left() == pytest.approx(30.0 + 10.0 + 2 * 50.0)
    clock.monotonic = lambda: HEARTBEAT + 1.0
    shown.hear(first.run_id, Message(phase="train", step=40, total=160))
    shown.ended(Ending(first.run_id, "done", 50.0, score="test average 61.20"))
    assert shown.left() == pytest.approx(100.0)  # the others take longer, too
    shown.hear(second.run_id, Message(started=True))
    shown.hear(second.run_id, Message(phase="train", step=80, total=160, rate=2.0))
    longer = (50.0 + 80.0) / (40.0 + 32.0)  # the finished run, and the steps of the running one
    assert shown.left() == pytest.approx(longer * 0.6 * 40.0 + longer * 40.0)
    shown.hear(second.run_id, Message(phase="evaluate"))
    assert shown.left() == pytest.approx(longer * 0.2 * 40.0 + longer * 40.0)
    shown.ended(Ending(second.run_id, "failed", cause="ValueError: x"))
    shown.ended(Ending(third.run_id, "elsewhere"))
    assert shown.left() == 0.0  # another command trains it
    shown.ended(Ending(third.run_id, "found"))
    assert len(out.getvalue().splitlines()) == 4  # one after the heartbeat, and one a run
    times = [spoken(seconds) for seconds in (40, 600, 9000, 13_700_000)]
    assert times == ["40 s", "10 min", "2.5 h", "23 weeks"]


SHOWING = """
from core.config.methods import base
from core.runner.progress import Answers
from core.runner.launch import Ending
from core.runner.plan import PlannedRun
from core.runner.progress import Display
from core.runner.worker import Message
run = PlannedRun(run_id="0" * 16, config=base("mocose", "paper"), cells=("made-up a",), seed=0)
answers = Answers()
answers.bar = "E7.1: for, 5 of 8 seeds"
shown = Display([run], lambda config: 40.0, 1, answers)
with shown.live:
    shown.hear(run.run_id, Message(started=True))
    at = {"step": 5, "total": 20, "rate": 2.5, "dev": 61.0}
    shown.hear(run.run_id, Message(phase="train", **at))
    shown.live.refresh()  # as its thread does, which a busy machine may keep waiting
    shown.ended(Ending(run.run_id, "done", 1.0, score="60.00"))
"""


@pytest.mark.filterwarnings("error")
def test_a_notebook_without_widgets_has_plain_lines(monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # as where it is not installed
    with Display([planned(4)], lambda config: 40.0, 1, Answers()).live as live:
        live.refresh()


def test_a_file_has_a_line_for_each_run_whatever_says_that_it_is_a_terminal():
    """Build servers set FORCE_COLOR, of which Textualize/rich#2923 makes a terminal."""
    done = python("-c", SHOWING, FORCE_COLOR="1", TTY_COMPATIBLE="1", TERM="xterm")
    assert done.stdout.count("\n") == 1 and "60.00, 1.0 s" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_a_terminal_shows_every_running_run_and_a_dumb_one_a_line_for_each(terminal):
    """With a real terminal, as `script` makes one."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": terminal, "COLUMNS": "150"}
    words = [sys.executable, "-c", SHOWING]
    text = b""
    with subprocess.Popen(words, stdout=slave, stderr=slave, env=environment, cwd=ROOT):
        os.close(slave)
        with contextlib.suppress(OSError):  # the other side is closed
            while part := os.read(master, 65_536):
                text += part
    assert b"60.00, 1.0 s" in text, text
    for words in (
        b"##........ 5/20, 2.5 steps/s, dev 61.00",
        b"0 of 1 run",
        b"E7.1: for, 5 of 8 seeds",
        b"\x1b",
    ):
        assert (words in text) == (terminal == "xterm"), text
