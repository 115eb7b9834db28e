"""A table appears as soon as its last run is stored, while the runs of other studies train; what cannot be drawn stops no training."""

from __future__ import annotations

import threading

import pytest
from desk import Desk, until

import studies
from core.runner.early import Early
from core.runner.launch import Outcome
from core.runner.plan import Plan, plan
from core.store.store import Store

FIRST, SECOND = "esimcse-table11", "mocose-table3"
BOTH = (FIRST, SECOND, "--seeds", "1", "--jobs", "2")


def planned(desk: Desk) -> Plan:
    """What the command with both studies plans; each run is asked for by one of them."""
    found = plan([studies.find(FIRST), studies.find(SECOND)], desk.edition(1), desk.store)
    assert not found.by_study[FIRST] & found.by_study[SECOND] and len(found.missing) == sum(map(len, found.by_study.values()))
    return found


class Drawings:
    """Draws nothing, and keeps what was asked for and said."""

    def __init__(self, broken: str = ""):
        self.asked, self.said, self.broken, self.again = [], [], broken, threading.Event()

    def draw(self, study):
        self.asked.append(study.name)
        if study.name == self.broken:
            raise RuntimeError("no ink")
        return [f"table of {study.name}"]

    def note(self, *lines):
        self.said += lines
        self.again.set()


def told(early: Early, found: Plan, *names: str, state: str = "done", leave: int = 0) -> None:
    """Outcomes of the runs of these studies, but for the last few."""
    runs = [run for name in names for run in found.missing if run.run_id in found.by_study[name]]
    for run in runs[: len(runs) - leave]:
        early.settled(Outcome(run=run, state=state))


def early_of(found: Plan, drawings: Drawings) -> Early:
    return Early([studies.find(FIRST), studies.find(SECOND)], found, drawings.draw)


def test_a_study_is_drawn_with_its_last_run_and_the_last_study_is_left_to_the_end(desk):
    found, drawings = planned(desk), Drawings()
    early = early_of(found, drawings)
    with early.beside(drawings.note):
        told(early, found, FIRST, leave=1)
        assert not drawings.again.wait(0.3) and not drawings.asked
        told(early, found, FIRST, state="elsewhere")  # another command is at them: nothing is known yet
        assert not drawings.again.wait(0.3)
        told(early, found, FIRST, state="found")
        assert drawings.again.wait(10) and drawings.said == [f"table of {FIRST}"]
        told(early, found, SECOND)
    assert drawings.asked == [FIRST]


@pytest.mark.parametrize("state", ["failed", "stopped"])
def test_a_study_whose_run_failed_is_left_to_the_end(desk, state):
    found, drawings = planned(desk), Drawings()
    early = early_of(found, drawings)
    with early.beside(drawings.note):
        told(early, found, FIRST, leave=1)
        last = [run for run in found.missing if run.run_id in found.by_study[FIRST]][-1]
        early.settled(Outcome(run=last, state=state))
        assert not drawings.again.wait(0.3)
    assert not drawings.asked


def test_what_cannot_be_drawn_is_said_and_the_next_is_drawn_all_the_same(desk):
    found, drawings = planned(desk), Drawings(broken=FIRST)
    early = early_of(found, drawings)
    with early.beside(drawings.note):
        told(early, found, FIRST)
        assert drawings.again.wait(10)
        assert drawings.said == [f"{FIRST} cannot be drawn now (no ink); it is tried again when training ends."]
        drawings.again.clear()
        early._due.put(studies.find(SECOND))
        assert drawings.again.wait(10) and drawings.said[1:] == [f"table of {SECOND}"]


def held(desk: Desk) -> str:
    """Have the last run of the second study wait for a file; its id."""
    identity = [run.run_id for run in planned(desk).missing if SECOND in run.cells[0]][-1]
    desk.behave(**{identity: f"hold {desk.folder / 'go'}"})
    return identity


def test_the_first_table_is_there_before_the_second_studys_runs_are_done(desk):
    identity = held(desk)
    driver = desk.start(*BOTH, REAL_REPORT="1")
    files = [desk.results / "mini" / "paper" / f"{FIRST}{end}" for end in (".csv", ".md", ".tex")]
    figure = desk.folder / "home" / "figures" / "mini" / "paper" / f"{FIRST}.png"
    until(lambda: all(file.exists() for file in (*files, figure)), 150)
    assert not (desk.folder / "go").exists() and not desk.store.has(identity)
    before = files[0].read_bytes()
    assert not (desk.results / "mini" / "paper" / f"{SECOND}.csv").exists()
    (desk.folder / "go").touch()
    out, err = driver.communicate(timeout=200)
    assert driver.returncode == 0, out + err
    lines = out.splitlines()
    title = next(n for n, line in enumerate(lines) if line.startswith("ESimCSE Table 11"))
    last = next(n for n, line in enumerate(lines) if f" {identity} " in line and line.startswith("["))
    other = next(n for n, line in enumerate(lines) if line.startswith("MoCoSE Table 3"))
    assert title < last < other  # its table is on the screen before the last run, and the other study's after it
    assert sum(line.startswith("ESimCSE Table 11") for line in lines) == 1 and files[0].read_bytes() == before


def test_a_table_that_cannot_be_written_stops_no_training(desk):
    identity, count = held(desk), len(planned(desk).runs)
    (desk.results / "mini" / "paper" / f"{FIRST}.csv").mkdir(parents=True)  # where a file should go
    driver = desk.start(*BOTH, REAL_REPORT="1")
    until(lambda: len(Store(desk.results, None).runs()) == count - 1, 150)
    (desk.folder / "go").touch()
    out, err = driver.communicate(timeout=200)
    assert desk.store.has(identity) and "Traceback" not in out + err
    assert f"{FIRST} cannot be drawn now" in out and driver.returncode == 2 and f"{FIRST}.csv" in err
