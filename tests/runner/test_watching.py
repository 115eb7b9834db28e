"""Watching: curves as lines of JSON, the estimate, and the table in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_runs import run
from small_runs import small as small_run
from small_study import result, small, stored

from core.engine.curve_file import CurveFile
from core.report.terminal import terminal
from core.runner.pace import Pace
from core.runner.plan import PlannedRun, cost
from core.spec.claim import Claim, greater
from core.spec.identity import run_id
from core.spec.methods import base
from core.spec.run import Execution
from core.spec.vary import vary


def planned(seed: int) -> PlannedRun:
    """A run of 160 steps; all cost the same."""
    config = vary(base("mocose", "paper"), {"scale": "mini", "train.steps": 160, "seed.model": seed})
    return PlannedRun(run_id=run_id(config), config=config, cells=("made-up a",), seed=seed)


@pytest.fixture(scope="module")
def execution(tmp_path_factory):
    folder = tmp_path_factory.mktemp("followed")
    return Execution(results_dir=str(folder), cache_dir=str(folder / "cache"))


def test_a_run_writes_its_curve_as_it_is_stored(execution, thin):
    found = run(small_run(), execution)
    (path,) = (Path(execution.results_dir) / "logs").glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    curve = {
        row.step: row.value for row in found.rows if (row.checkpoint, row.task) == ("curve", "dev") and row.metric.startswith("spearman")
    }
    losses = {row.step: row.value for row in found.rows if (row.checkpoint, row.metric) == ("curve", "loss")}
    assert {line["step"]: line["dev"] for line in lines} == {step: pytest.approx(value, abs=1e-4) for step, value in curve.items()}
    assert [line["loss"] for line in lines] == [None, *(pytest.approx(value, abs=1e-4) for value in losses.values())]
    assert (
        [line["step"] for line in lines] == [0, 2, 4]
        and {line["of"] for line in lines} == {4}
        and len({line["run"] for line in lines}) == 1
    )
    assert lines[0]["seconds"] <= lines[-1]["seconds"]


def test_a_run_that_goes_on_keeps_the_checks_before_its_checkpoint(tmp_path):
    path = tmp_path / "logs" / "a.jsonl"
    first = CurveFile(tmp_path, "a", 8)
    for step in (0, 2, 4):
        first.check(step, 50.0 + step, None if not step else 1.0)
    path.write_text(path.read_text() + '{"step": 6, "cut')
    again = CurveFile(tmp_path, "a", 8, resumed_after=2)
    again.check(4, float("nan"), 0.5)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["step"], line["dev"]) for line in lines] == [(0, 50.0), (2, 52.0), (4, None)]
    CurveFile(tmp_path, "a", 8)
    assert path.read_text() == ""


def test_a_curve_that_cannot_be_written_stops_nothing(tmp_path):
    (tmp_path / "logs").write_text("in the way")
    CurveFile(tmp_path, "a", 8).check(0, 1.0, None)
    assert (tmp_path / "logs").read_text() == "in the way" and len(list(tmp_path.iterdir())) == 1


def test_the_estimate_is_the_running_run_s_own_rate():
    one, two, three = planned(0), planned(1), planned(2)
    pace = Pace(3, 3 * cost(one.config), 1)
    pace.start(one)
    pace.report(one, {"phase": "train", "step": 40, "total": 160, "rate": 4.0})
    assert pace.seconds_left(pace.going[one.run_id]) == 30.0
    assert pace.left() == pytest.approx(30.0 + 2 * 40.0)  # the two that wait take what this one comes to at its rate
    pace.end(one, 50.0)
    assert pace.left() == pytest.approx(100.0)
    pace.start(two)
    assert pace.left() == pytest.approx(100.0)
    pace.report(two, {"phase": "train", "step": 80, "total": 160, "rate": 2.0})
    assert pace.left() == pytest.approx(40.0 + (50.0 + 80.0) / 2)
    alone = Pace(1, cost(three.config), 4)
    alone.start(three)
    alone.report(three, {"phase": "train", "step": 60, "total": 120, "rate": 6.0})
    assert alone.left() == pytest.approx(10.0)


def test_before_any_run_the_estimate_is_the_plan_s():
    one = planned(0)
    assert Pace(2, 80.0, 2, lambda config: 40.0).left() == 40.0
    pace = Pace(2, 80.0, 2, lambda config: 40.0)
    pace.start(one)
    assert pace.left() == 40.0


def test_the_estimate_counts_on_what_another_command_trains():
    first, second, third = planned(0), planned(1), planned(2)
    pace = Pace(10, 400.0, 1, lambda config: 40.0)
    pace.elsewhere(first)  # the other command has begun it
    pace.start(second)
    assert pace.left() == 40.0 + 8 * 40.0 / 2  # its own run, and half of the eight that wait
    pace.elsewhere(first)
    assert pace.left() == 200.0  # the same run is counted once
    pace.end(second, 40.0)
    pace.elsewhere(third)
    pace.elsewhere(first)
    pace.end(first, None)  # the other command has ended it
    assert pace.left() == pytest.approx(7 * 40.0 / 3)
    pace.start(third)  # the other command was stopped, and left it
    assert pace.left() == pytest.approx(40.0 + 7 * 40.0 / 2)


def test_the_table_and_its_verdicts_are_printed():
    study = small(claims=(Claim(key="K1", text="b beats a.", predicate=greater(("b",), ("a",))),))
    text = terminal(result(study, stored(study, a=[50.0, 50.5, 49.5], b=[60.0, 60.5, 59.5])))
    lines = text.splitlines()
    assert "Table 0" in text and any(line.split()[:2] == ["Size", "a"] or "a" in line.split() for line in lines)
    assert any("60.0" in line and "50.0" in line for line in lines)
    (verdict,) = [line for line in lines if line.strip().startswith("K1")]
    assert verdict.endswith(": b beats a.") and lines[lines.index(verdict) + 1].strip().startswith("measured +10")


def test_a_name_s_escape_sequences_are_not_printed():
    study = small(caption="Small \x1b[31mred\x1b[0m")
    assert "\x1b" not in terminal(result(study, stored(study, a=[50.0], b=[60.0])))
