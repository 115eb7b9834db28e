"""Plan, schedule and survive: with real processes, the real command line and a job without
torch."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import psutil
import pytest
from desk import SIX, Desk, until
from fake_jobs import made_result
from places import ROOT

import studies
from core.config.method_code import code_digest
from core.runner.estimate import cost
from core.runner.plan import plan
from core.study.resolution import resolve
from tools import publish


def planned(desk: Desk, *names: str, **options):
    return plan(
        [resolve(studies.find(name), desk.setup(1)) for name in names], desk.store, **options
    )


def fill(desk: Desk, runs) -> None:
    for run in runs:
        desk.store.save(run.config, made_result(run.config))


def test_a_shared_run_is_planned_once_and_the_longest_goes_first(desk):
    table3 = planned(desk, "table3")
    table7 = planned(desk, "table7")
    both = planned(desk, "table3", "table7")
    shared = {run.run_id for run in table3.runs} & {run.run_id for run in table7.runs}
    entries = [sum(len(run.cells) for run in plan.runs) for plan in (table3, table7, both)]
    assert entries[2] == entries[0] + entries[1] and len(both.runs) == entries[2] - len(shared)
    costs = [cost(run.config) for run in planned(desk, "table3", "esimcse-table11").missing]
    assert costs == sorted(costs, reverse=True)


def test_done_is_not_planned_and_damaged_is_set_aside(desk, capsys):
    def missing(**options) -> int:
        return len(planned(desk, "table3", **options).missing)

    first, second, *_ = planned(desk, "table3").runs
    fill(desk, (first, second))
    assert (missing(), missing(force=True)) == (4, 6)
    file, other = (desk.results / "runs" / f"{run.run_id}.parquet" for run in (first, second))
    file.write_bytes(file.read_bytes()[:-20])
    pairs = desk.store.path("pairs", second.run_id)
    pairs.write_bytes(pairs.read_bytes()[:-20])  # a run without its pairs is done
    assert missing() == 5
    out = capsys.readouterr().out
    assert str(file) in out and str(pairs) in out
    for name in (f"runs-{first.run_id}", f"pairs-{second.run_id}"):
        assert list((desk.results / "damaged").glob(f"{name}.*.parquet"))
    publish.pack(desk.store, [second.run_id], desk.results / "published")
    other.unlink()
    assert (missing(), missing(use_published=True)) == (6, 5)


def test_a_plan_counts_stored_runs_that_another_code_of_their_method_made(desk, capsys):
    first, second, *_ = planned(desk, "table3").runs
    for run, code in ((first, code_digest("mocose")), (second, "another")):
        about = {"method_digest": code}
        desk.store.save(run.config, replace(made_result(run.config), provenance=about))
    assert len(planned(desk, "table3").missing) == 4
    out = capsys.readouterr().out
    assert "1 stored run is made by another core/methods/mocose; --force trains again" in out


def test_one_failure_leaves_the_others_is_told_at_the_end_and_is_trained_again(desk):
    runs = planned(desk, "table3").runs
    desk.behave(**{runs[1].run_id: "raise", runs[2].run_id: "kill 9", runs[3].run_id: "cuda"})
    done = desk.do(*SIX)
    assert done.returncode == 1 and "Trained 3 of 6 runs." in done.stdout
    for text in (
        f"FAILED {runs[1].run_id}: ValueError: the job broke on purpose",
        f"cells: {runs[1].cells[0]}; seed 0",
        f"FAILED {runs[2].run_id}: killed by signal 9 (SIGKILL): Use --jobs 1",
        f"logs/{runs[1].run_id}.log",
        f"FAILED {runs[3].run_id}: out of memory: Use --jobs 1, or a smaller train.batch_size",
        "--seeds 1 --jobs 2\n",
    ):
        assert text in done.stdout
    plan = desk.do(*SIX, "--plan").stdout
    assert "6 runs: 3 done, 3 to train." in plan and "killed by signal 9" in plan
    assert plan.count("\nfailed  ") == 3
    desk.behave()
    assert "Trained 3 of 3 runs." in desk.do(*SIX).stdout and len(desk.started()) == 9
    assert "6 done, none to train" in desk.do(*SIX).stdout and len(desk.started()) == 9


def test_a_killed_driver_leaves_its_children_to_finish(desk):
    gate = desk.folder / "gate"
    desk.behave_all(f"hold {gate}")
    driver = desk.start(*SIX)
    until(lambda: len(desk.started()) == 2)
    driver.kill()
    driver.communicate()
    orphans = desk.started()
    assert all(desk.store.claimed(run) for run in orphans)
    desk.behave_all("")
    again = desk.start("mocose-table3", "--seeds", "1", "--jobs", "3")  # the orphans keep two slots
    until(lambda: len(desk.store.runs()) == 4)
    gate.touch()
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0 and "2 were trained by another command" in out, out + err
    assert len(desk.store.runs()) == 6 and set(Counter(desk.started()).values()) == {1}


def test_a_results_folder_that_is_moved_under_way_is_not_split_in_two(desk):
    gate = desk.folder / "gate"
    moved = desk.folder / "moved"
    desk.behave_all(f"hold {gate}")
    driver = desk.start(*SIX)
    until(lambda: len(desk.started()) == 2)
    desk.results.rename(moved)
    gate.touch()
    out, err = driver.communicate(timeout=60)
    assert driver.returncode == 2 and not desk.results.exists(), out + err
    assert (
        f"{desk.results} is not there any more; move it back and give the same command again.\n"
        == err
    )
    assert "6 runs are still to be trained" in out
    moved.rename(desk.results)
    again = desk.do(*SIX)
    assert again.returncode == 0 and len(desk.store.runs()) == 6, again.stdout + again.stderr


def held(desk: Desk) -> list[int]:
    """The processes of two runs that go on, once the first two runs of SIX are stored."""
    until(lambda: len(desk.started()) == 4 and len(desk.store.runs()) == 2)
    return [pid for run, pid in desk.pids().items() if not desk.store.has(run)]


def test_killing_everything_at_once_leaves_nothing_torn(desk):
    gate = desk.folder / "gate"
    runs = planned(desk, "table3").runs
    desk.behave(**{run.run_id: f"hold {gate}" for run in runs[2:]})
    driver = desk.start(*SIX)
    for pid in (driver.pid, *held(desk)):
        os.kill(pid, signal.SIGKILL)
    driver.communicate()
    gate.touch()
    last = desk.do(*SIX)
    assert last.returncode == 0 and "Trained 4 of 4" in last.stdout, last.stdout + last.stderr
    assert {desk.store.load(run.run_id).status for run in runs} == {"ok"}
    assert not [p for p in (desk.results / "runs").iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize(
    "number, status, to_all", [(signal.SIGINT, 130, False), (signal.SIGTERM, 143, True)]
)
def test_a_stopped_command_says_how_to_go_on(desk, number, status, to_all):
    """A batch system warns all processes at once; that is no failure of a run."""
    runs = planned(desk, "table3").runs
    desk.behave(**{run.run_id: "sleep 60" for run in runs[2:]})
    driver = desk.start(*SIX)
    pids = held(desk)
    for pid in pids if to_all else ():
        os.kill(pid, number)
    driver.send_signal(number)
    out, err = driver.communicate(timeout=50)
    assert driver.returncode == status and "4 runs are still to be trained" in out, out + err
    again = r"run_study.py mocose-table3 --scale mini .* --seeds 1 --jobs 2\n"
    assert re.search(again, out) and "FAILED" not in out
    assert not any(desk.store.claimed(run.run_id) for run in runs) and len(desk.store.runs()) == 2
    assert not any(desk.store.failure(run.run_id) for run in runs)


def test_a_signal_that_was_ignored_at_the_start_stays_ignored(desk):
    """As `nohup` and `&` in a script leave them."""
    gate = desk.folder / "gate"
    desk.behave_all(f"hold {gate}")
    driver = desk.start(*SIX, IGNORED_SIGNALS=f"{signal.SIGINT:d} {signal.SIGHUP:d}")
    until(lambda: len(desk.started()) == 2)
    driver.send_signal(signal.SIGINT)
    driver.send_signal(signal.SIGHUP)
    gate.touch()
    out, err = driver.communicate(timeout=60)
    assert driver.returncode == 0 and "Trained 6 of 6 runs." in out, out + err


def test_a_redo_that_fails_is_not_forgotten(desk):
    runs = planned(desk, "table3").runs
    fill(desk, runs)
    desk.behave(**{runs[1].run_id: "raise"})
    out = desk.do(*SIX, "--force").stdout
    assert len(desk.started()) == 6
    assert "Of 1 run an older result is stored, which tables show." in out
    assert "--force trains finished runs again, too." in out  # the command that is printed has it
    (again,) = [line for line in out.splitlines() if " run_study.py " in line]
    assert again.endswith(" --force")
    assert f"failed  {runs[1].run_id}" in desk.do(*SIX, "--plan").stdout
    desk.behave()
    assert "Trained 6 of 6 runs." in desk.do(*SIX, "--force").stdout
    assert not desk.store.failure(runs[1].run_id)


def test_a_checkpoint_left_behind_is_told_kept_forced_away_or_swept(desk):
    first, second = desk.six().runs[:2]
    desk.store.prepare()
    desk.store.save(second.config, made_result(second.config))
    desk.behave(**{first.run_id: "raise"})
    for run in (first, second):
        desk.store.path("checkpoints", run.run_id).write_text("made up")
    done = desk.do(*SIX)
    assert "1 run is still to be trained, 1 of them from a checkpoint. Go on with:" in done.stdout
    assert desk.store.path("checkpoints", first.run_id).exists()
    assert not desk.store.path("checkpoints", second.run_id).exists()  # swept: the run is stored
    assert desk.do(*SIX, "--force").returncode == 1
    assert not desk.store.path("checkpoints", first.run_id).exists()  # --force starts from nothing


def test_a_stop_with_closed_streams_keeps_what_is_finished(desk):
    """Its message must not reach the process that trains, by a number that a stream had."""
    runs = planned(desk, "table3").runs
    desk.behave(**{run.run_id: "sleep 60" for run in runs[2:]})
    words = [sys.executable, ROOT / "tests/support/driver.py", *desk.words(*SIX)]
    driver = subprocess.Popen(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "", *words],
        env=desk.environment(REAL_WORKER="yes"),
    )
    held(desk)
    driver.send_signal(signal.SIGINT)
    driver.communicate(timeout=50)
    assert driver.returncode == 130 and len(desk.store.runs()) == 2
    assert not any(desk.store.failure(run.run_id) for run in runs)
    assert "Traceback" not in (desk.cache / "worker.log").read_text()


@pytest.mark.parametrize("words", ["--plan", "--regenerate-figures"])
def test_a_stop_at_any_moment_of_planning_and_drawing_ends_with_130(desk, words):
    """It comes while modules are imported, runs are planned, or figures are drawn."""
    command = [sys.executable, ROOT / "run_study.py", "esimcse-table2", "--scale", "demo", words]
    command += ["--results-dir", desk.results]
    stopped = 0
    for due in (0.2, 0.7):  # seconds of a processor: a busy machine may begin late by the clock
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, env=desk.environment(), text=True, **streams)
        spent = 0.0
        while process.poll() is None and spent < due:
            spent = sum(psutil.Process(process.pid).cpu_times()[:2])
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (0, 130) and "Traceback" not in err, err
        stopped += process.returncode == 130
    assert stopped >= 1
