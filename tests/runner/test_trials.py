"""When methods are tried, and what a command does with their faults."""

from desk import SIX, Desk

TRIED = {"FAKE_TRIAL": "tests.support.fake_jobs:trial"}


def tried(desk: Desk) -> list[str]:
    file = desk.cache / "tried"
    return file.read_text().split() if file.exists() else []


def test_a_fault_stops_a_command_before_training_and_passing_is_remembered(desk):
    refused = desk.do(*SIX, **TRIED, FAKE_FAULT="model.py, line 9: it forgets.")
    assert refused.returncode == 2 and desk.started() == [] and not desk.store.runs()
    assert refused.stderr.startswith("model.py, line 9: it forgets.\nNothing is trained; correct")
    plan = desk.do(*SIX, "--plan", "--trial", **TRIED, FAKE_FAULT="it forgets.")
    assert (plan.returncode, plan.stderr) == (2, "it forgets.\n")
    assert "Trial: 1 fault." in plan.stdout
    assert tried(desk) == ["mocose"] * 2
    done = desk.do(*SIX, **TRIED)
    assert done.returncode == 0 and len(desk.started()) == 6 and len(tried(desk)) == 3
    again = desk.do(*SIX, "--force", **TRIED)
    assert again.returncode == 0 and len(desk.started()) == 12 and len(tried(desk)) == 3
    columns = desk.do("simcse-hardnegatives", "--plan", "--trial", **TRIED)  # made up by the trial
    assert columns.returncode == 0 and "Trial: no fault." in columns.stdout
    # once without hard negatives
    assert sorted(tried(desk)[3:]) == ["simcse", "supervised", "supervised"]


def test_no_trial_and_a_trial_that_is_not_possible_go_on_with_the_training(desk):
    crashed = desk.do(*SIX, **TRIED, FAKE_FAULT="crash")
    assert crashed.returncode == 0 and "mocose was not possible: no memory" in crashed.stdout
    asked = desk.do(*SIX, "--plan", "--trial", **TRIED, FAKE_FAULT="crash")
    assert asked.returncode == 2 and "mocose could not be tried" in asked.stdout
    left_out = desk.do(*SIX, "--force", "--no-trial", **TRIED, FAKE_FAULT="it forgets.")
    assert left_out.returncode == 0 and len(desk.started()) == 12 and tried(desk) == ["mocose"] * 2
