"""Each printed command trains what it says is missing: --plan says the same of it."""

import re
import shlex
import subprocess
from dataclasses import replace

from fake_store import made_setup
from forked import Forked

STATED = re.compile(r"(\d+) runs? (?:is|are) missing; train by `([^`]+)`")


def planned(desk, command: str) -> int:
    """How many runs a printed command would train."""
    process = Forked([*shlex.split(command)[1:], "--plan"], desk.environment())
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    (number,) = re.findall(r"(\d+|none) to train", out)
    return int(number.replace("none", "0"))


def hints(desk, done: subprocess.CompletedProcess) -> list[tuple[int, str]]:
    """What a command said is missing, and by what command it is trained; every printed command of
    the study plans as many runs."""
    assert done.returncode == 0, done.stdout + done.stderr
    found = [(int(number), command) for number, command in STATED.findall(done.stdout)]
    assert found
    for number, command in found:
        assert planned(desk, command) == number
    studies = {shlex.split(command)[1]: number for number, command in found}
    reasons = set(re.findall(r"has no run: `([^`]+)`", done.stdout))
    for command in reasons:
        assert planned(desk, command) == studies[shlex.split(command)[1]]
    return found


def test_a_printed_command_trains_what_is_missing(desk):
    """Made of what is missing: no --cell, no --force, and no --use-published without published
    runs; with the settings, the data and the folder of these runs."""
    folder = str(desk.folder / "x y")
    some = ("table3", "--seeds", "1", "--cell", "0.85", "--jobs", "2", "--results-dir", folder)
    own = (*some, "--set", "loss.temperature=0.1", "--force")
    ((number, command),) = hints(desk, desk.do(*own, REAL_REPORT="1"))
    assert number == 5 and "--set" in command and f"'{folder}'" in command
    assert not {"--cell", "--force", "--use-published"} & set(shlex.split(command))
    out = desk.do("show", *some[:3], *some[-2:], REAL_REPORT="1").stdout
    (command,) = re.findall(r"`([^`]+)` trains them", out)
    assert "6 runs: none done" in out and planned(desk, command) == 6


def test_a_study_s_changes_are_not_simcse_s():
    setup = replace(made_setup(), options="--seeds 2", changes="--vary a=1,2")
    assert setup.command("simcse") == "run_study.py simcse --scale demo --seeds 2"
    assert setup.command("x@by-a=1,2").endswith("x --scale demo --seeds 2 --vary a=1,2")
