"""Plan, schedule and survive: with real processes, the real command line and a job without torch."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest
from desk import SIX, Desk, until

import studies
from core.runner.plan import cost, plan
from core.spec.vary import vary


def planned(desk: Desk, *names: str, seeds: int = 1, force: bool = False, use_published: bool = False):
    return plan(
        [studies.find(name) for name in names],
        desk.edition(seeds),
        desk.store,
        force=force,
        use_published=use_published,
    )


def test_a_run_that_studies_share_is_planned_once(desk):
    table3, table7, both = planned(desk, "table3"), planned(desk, "table7"), planned(desk, "table3", "table7")
    shared = {run.run_id for run in table3.runs} & {run.run_id for run in table7.runs}
    assert both.entries == table3.entries + table7.entries and len(both.runs) == both.entries - len(shared)
    twice = planned(desk, "table3", "table3")
    assert len(twice.runs) == len(table3.runs) and twice.entries == 2 * table3.entries


def test_the_longest_run_goes_first(desk):
    costs = [cost(run.config) for run in planned(desk, "table3", "esimcse-table11").missing]
    assert costs == sorted(costs, reverse=True)
    config = planned(desk, "table3").runs[0].config
    assert cost(vary(config, {"train.steps": 2 * config.train.steps})) > 1.5 * cost(config)


def test_done_is_not_planned_and_damaged_is_set_aside(desk, capsys):
    from fake_jobs import made_result

    runs = planned(desk, "table3").runs
    for run in runs[:2]:
        desk.store.save(run.config, made_result(run.config))
    assert len(planned(desk, "table3").missing) == 4 and len(planned(desk, "table3", force=True).missing) == 6
    file = desk.results / "runs" / f"{runs[0].run_id}.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    assert len(planned(desk, "table3").missing) == 5
    assert (
        str(file) in capsys.readouterr().out
        and (desk.results / "damaged" / f"runs-{runs[0].run_id}.0.parquet").exists()
    )
    desk.store.publish([runs[1].run_id], desk.results / "published")
    (desk.results / "runs" / f"{runs[1].run_id}.parquet").unlink()
    assert (
        len(planned(desk, "table3").missing) == 6
        and len(planned(desk, "table3", use_published=True).missing) == 5
    )


def test_a_table_is_trained_once_and_a_deleted_run_again(desk):
    first = desk.do(*SIX)
    assert first.returncode == 0 and "Trained 6 of 6" in first.stdout, first.stderr
    assert "6 done, 0 to train" in desk.do(*SIX).stdout and len(desk.started()) == 6
    victim = desk.started()[3]
    (desk.results / "runs" / f"{victim}.parquet").unlink()
    assert "Trained 1 of 1" in desk.do(*SIX).stdout and desk.started()[6:] == [victim]


def test_force_trains_again_what_is_there(desk):
    from fake_jobs import made_result

    for run in planned(desk, "table3").runs:
        desk.store.save(run.config, made_result(run.config))
    done = desk.do(*SIX, "--force")
    assert done.returncode == 0 and "Trained 6 of 6" in done.stdout and len(desk.started()) == 6


def test_one_failure_leaves_the_others_and_is_told_at_the_end(desk):
    runs = planned(desk, "table3").runs
    desk.behave(**{runs[1].run_id: "raise", runs[2].run_id: "kill 9", runs[3].run_id: "cuda"})
    done = desk.do(*SIX)
    assert done.returncode == 1 and "Trained 3 of 6 runs." in done.stdout
    for text in (
        f"FAILED {runs[1].run_id}: exception. ValueError: the job broke on purpose",
        f"cells: {runs[1].cells[0]}; seed 0",
        f"FAILED {runs[2].run_id}: killed by signal 9 (out of memory?). Use --jobs 1",
        f"logs/{runs[1].run_id}.log",
        f"FAILED {runs[3].run_id}: out of memory. Use --jobs 1, or a smaller train.batch_size",
        "python run_study.py mocose-table3 --seeds 1 --jobs 2",
    ):  # fmt: skip
        assert text in done.stdout
    status = desk.do(*SIX, "--status").stdout
    assert "3 done, 0 running, 3 failed, 0 missing" in status and "killed by signal 9" in status


def test_two_drivers_share_the_work_and_train_nothing_twice(desk):
    desk.behave_all("sleep 0.1")
    drivers = [desk.start("table7", "--seeds", "1", "--jobs", "2") for _ in range(2)]
    ends = [driver.communicate(timeout=60) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], ends
    counted = Counter(desk.started())
    assert len(counted) == 20 and set(counted.values()) == {1}
    assert len(desk.store.runs()) == 20


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


def test_killing_everything_at_once_leaves_nothing_torn(desk):
    desk.behave_all("sleep 0.05")
    for started in (1, 4):
        driver = desk.start("table7", "--seeds", "1", "--jobs", "2")
        until(lambda started=started: len(desk.started()) >= started)
        driver.kill()
        for pid in desk.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        driver.communicate()
    last = desk.do("table7", "--seeds", "1", "--jobs", "2")
    assert last.returncode == 0, last.stdout + last.stderr
    assert len(desk.store.runs()) == 20 and all(
        desk.store.load(run).status == "ok" for run in desk.store.runs()
    )
    assert not [p for p in (desk.results / "runs").iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize(
    "number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_stopped_command_says_how_to_go_on(desk, number, status):
    runs = planned(desk, "table3").runs
    desk.behave(**{run.run_id: "sleep 60" for run in runs[2:]})
    driver = desk.start(*SIX)
    until(lambda: len(desk.started()) == 4)
    driver.send_signal(number)
    out, err = driver.communicate(timeout=20)
    assert driver.returncode == status and "4 runs are still to be trained" in out, out + err
    assert "python run_study.py mocose-table3 --seeds 1 --jobs 2" in out and "FAILED" not in out
    assert not any(desk.store.claimed(run.run_id) for run in runs) and len(desk.store.runs()) == 2
    assert not any(desk.store.failure(run.run_id) for run in runs)


def test_a_warning_to_all_processes_at_once_is_a_stop_and_no_failure(desk):
    desk.behave_all("sleep 60")
    driver = desk.start(*SIX)
    until(lambda: len(desk.started()) == 2)
    for pid in desk.pids():
        os.kill(pid, signal.SIGTERM)
    driver.send_signal(signal.SIGTERM)
    out, err = driver.communicate(timeout=20)
    assert driver.returncode == 143 and "6 runs are still to be trained" in out and "FAILED" not in out, (
        out + err
    )


def test_a_signal_that_was_ignored_at_the_start_stays_ignored(desk):
    """As `nohup` and `&` in a script leave them."""

    def ignoring() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    desk.behave_all("sleep 0.5")
    driver = desk.start(*SIX, preexec_fn=ignoring)
    until(lambda: len(desk.started()) == 2)
    driver.send_signal(signal.SIGINT)
    driver.send_signal(signal.SIGHUP)
    out, err = driver.communicate(timeout=60)
    assert driver.returncode == 0 and "Trained 6 of 6 runs." in out, out + err


def test_a_redo_that_fails_is_not_forgotten(desk):
    runs = planned(desk, "table3").runs
    assert desk.do(*SIX).returncode == 0
    desk.behave(**{runs[1].run_id: "raise"})
    out = desk.do(*SIX, "--force").stdout
    assert "1 run failed; finished ones are kept. To train just those again:" in out
    assert "Of 1 run an older result is stored, which tables show." in out
    (again,) = [line for line in out.splitlines() if line.startswith("  python run_study.py")]
    assert " --force " in again and again.endswith(f" --cell {runs[1].cells[0].split()[1]}")
    status = desk.do(*SIX, "--status").stdout
    assert "1 done run failed when trained again; tables show the older result." in status
    assert f"failed  {runs[1].run_id}" in status
    desk.behave()
    before = len(desk.started())
    assert "Trained 1 of 1 run." in desk.do(*again.split()[2:8], *again.split()[-2:]).stdout
    assert (
        desk.started()[before:] == [runs[1].run_id]
        and "failed" not in desk.do(*SIX, "--status").stdout.split("0 failed")[1]
    )
