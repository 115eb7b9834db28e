"""--resolve on studies whose truth is known: what is settled, in which order, at what price, under kills and in company."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections import Counter

import known_jobs
import pytest
from desk import Desk, until

from core.spec.identity import run_id
from core.spec.profiles import PROFILES
from core.spec.scale import MINI
from core.store.store import Store

KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:run"}
RESOLVE = ("--resolve", "--budget", "1000h", "--jobs", "3")
BOTH = ("mocose-one", "mocose-two")
TRUTH = {"K1": "supported", "K2": "contradicted", "K3": "equivalent", "L1": "supported"}  # K4 says nothing that runs can tell


def resolve(desk: Desk, *words: str, **environment: str):
    done = desk.do(*(words or (*BOTH, *RESOLVE)), **KNOWN, **environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def ledgers(desk: Desk) -> dict[str, bytes]:
    folder = desk.results / "mini" / PROFILES[0] / "ledger"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def entries(desk: Desk) -> dict[str, dict]:
    return {key: one for content in ledgers(desk).values() for key, one in json.loads(content)["ledger"]["claims"].items()}


def seeds(desk: Desk) -> Counter:
    """Stored seeds of each cell."""
    found = Counter()
    for identity in desk.store.runs():
        found[{size: label for label, size in known_jobs.NAMES.items()}[desk.store.load(identity).config.queue.size]] += 1
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """One command in quiet, to its end."""
    desk = Desk(tmp_path_factory.mktemp("alone"))
    return desk, resolve(desk)


def test_what_is_true_is_found_and_no_run_is_wasted(alone):
    desk, done = alone
    assert done.returncode == 0, done.stdout + done.stderr
    found = entries(desk)
    assert {key: found[key]["outcome"] for key in TRUTH} == TRUTH
    assert all(found[key]["n"] in (3, 5, 8, 12, 18, 27, 40, 60) for key in TRUTH)
    assert found["K1"]["n"] <= 8 and found["K1"]["p"][0] <= 0.05 * 0.15 / 4
    assert max(Counter(desk.started()).values()) == 1 and len(desk.started()) == len(desk.store.runs())
    counts = seeds(desk)
    assert counts["a"] <= max(found["K1"]["n"], found["K2"]["n"])  # a speaks in K1 and K2 alone, and in no open claim
    assert counts["c"] >= found["K3"]["n"] and counts["d"] == counts["c"]
    for text in ("whose first look is due", "whose chance to be", "K1 is supported with", "4 of 5 claims are settled"):
        assert text in done.stdout
    futile = re.search(r"mocose-one K4 +undecided +n = (\d+) +futile: a chance of [\d.]+% at best at every look left", done.stdout)
    assert futile, done.stdout[-1500:]
    assert counts["d"] == int(futile[1]) < 60  # passed over from there on, with seeds left to the last look
    assert "drew nothing" in done.stdout  # then it renders as ever


def test_first_looks_come_first_the_cheapest_before_the_others(alone):
    _, done = alone
    begun = re.findall(r"Next: (\S+ \S+), (whose first look is due|which)", done.stdout)
    dues = [why == "whose first look is due" for _, why in begun]
    assert dues == sorted(dues, reverse=True) and any(dues)
    assert begun[0][0] in ("mocose-one K1", "mocose-one K3", "mocose-two L1")  # of two cells; K2 speaks of three


def test_a_second_command_finds_nothing_to_do_and_writes_nothing(alone):
    desk, _ = alone
    before, started = ledgers(desk), len(desk.started())
    again = resolve(desk)
    assert again.returncode == 0 and "Next:" not in again.stdout and "is supported with" not in again.stdout
    assert ledgers(desk) == before and len(desk.started()) == started


def test_deleted_runs_are_said_and_the_ledger_stands(alone, tmp_path):
    desk, _ = alone
    copy = Desk(tmp_path)
    shutil.copytree(desk.results, copy.results, dirs_exist_ok=True)
    before = entries(copy)
    for identity in copy.store.runs():
        if copy.store.load(identity).config.seed.model >= 2:
            (copy.results / "runs" / f"{identity}.parquet").unlink()
    done = resolve(copy, *BOTH, "--resolve", "--budget", "1s")
    assert done.returncode == 0 and "mocose-one K1: the ledger says supported with" in done.stdout, done.stdout
    assert entries(copy) == before and not copy.started()


@pytest.mark.long
def test_kills_cost_no_run_and_end_with_the_same_ledger(alone, tmp_path):
    desk = Desk(tmp_path)
    desk.behave_all("sleep 0.3")
    for kill in range(3):
        driver = desk.start(*BOTH, *RESOLVE, **KNOWN)
        count = len(desk.started())
        until(lambda driver=driver, wanted=count + 2 + kill: driver.poll() is not None or len(desk.started()) >= wanted, 120)
        if driver.poll() is None:
            os.kill(driver.pid, signal.SIGKILL)
        driver.communicate(timeout=60)
        for content in ledgers(desk).values():
            assert json.loads(content)["checksum"]
    desk.behave()
    done = resolve(desk)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ledgers(desk) == ledgers(alone[0]) and desk.store.runs() == alone[0].store.runs()
    assert all(desk.store.verified(run) for run in desk.store.runs())


def test_two_commands_at_once_share_the_work_and_leave_the_ledger_of_one(alone, tmp_path):
    desk = Desk(tmp_path)
    desk.behave_all("sleep 0.1")
    drivers = [desk.start(*BOTH, *RESOLVE, **KNOWN) for _ in range(2)]
    ends = [driver.communicate(timeout=300) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], ends
    assert max(Counter(desk.started()).values()) == 1
    trained = [sum(map(int, re.findall(r"Trained (\d+) of", out))) for out, _ in ends]
    assert sum(trained) == len(desk.store.runs()) and min(trained) > 0, trained
    assert ledgers(desk) == ledgers(alone[0]) and desk.store.runs() == alone[0].store.runs()


def test_a_run_that_fails_is_told_and_the_other_claims_are_settled(tmp_path):
    desk = Desk(tmp_path)
    config = known_jobs.ONE.config(known_jobs.ONE.cells[0], profile=PROFILES[0], scale=MINI, sources=desk.found().sources, seed=1)
    desk.behave(**{run_id(config): "raise"})
    done = resolve(desk)
    assert done.returncode == 1 and "the job broke on purpose" in done.stdout
    found = entries(desk)
    assert (found["K1"]["outcome"], found["K3"]["outcome"], found["L1"]["outcome"]) == ("undecided", "equivalent", "supported")
    assert desk.started().count(run_id(config)) <= 2


def test_nothing_is_begun_that_does_not_fit_the_budget_but_it_is_registered(tmp_path):
    desk = Desk(tmp_path)
    done = resolve(desk, *BOTH, "--resolve", "--budget", "30s")
    assert done.returncode == 0 and "The shortest of what is left takes" in done.stdout and not desk.started()
    assert set(ledgers(desk)) == {"mocose-one.json", "mocose-two.json"} and entries(desk)["K1"]["n"] == 0
    plan = resolve(desk, *BOTH, "--resolve", "--plan")
    assert plan.returncode == 0 and "mocose-one K1, whose study's reference has not run: 1 run to 1 seed" in plan.stdout
    assert "5 claims are open; 5 of these" in plan.stdout and not desk.started()


def test_published_runs_count_only_if_told_so(alone, tmp_path):
    desk = Desk(tmp_path)
    alone[0].store.publish(alone[0].store.runs(), desk.results / "published")
    done = resolve(desk, *BOTH, "--resolve", "--budget", "30s", "--use-published")
    assert done.returncode == 0 and {key: entries(desk)[key]["outcome"] for key in TRUTH} == TRUTH and not desk.started()
    other = resolve(desk, *BOTH, "--resolve", "--budget", "30s")
    assert "the ledger says supported" in other.stdout and "count published ones with --use-published" in other.stdout


def test_publish_takes_every_seed_that_was_added(alone, tmp_path):
    """By this command or before it: the last seeds of two cells are trained anew."""
    desk = Desk(tmp_path)
    shutil.copytree(alone[0].results, desk.results, dirs_exist_ok=True)
    gone = [run for run in desk.store.runs() if desk.store.load(run).config.seed.model >= 10]
    for identity in gone:
        (desk.results / "runs" / f"{identity}.parquet").unlink()
    shutil.rmtree(desk.results / "mini")  # the ledgers, which would have nothing left to do
    done = resolve(desk, "mocose-one", *RESOLVE, "--publish")
    assert done.returncode == 0 and sorted(desk.started()) == sorted(gone) and len(gone) == 4
    assert desk.store.runs() == alone[0].store.runs()
    published = Store(tmp_path / "none", desk.results / "published").runs()
    assert published == desk.store.runs() and len(published) > 4 * MINI.seeds
    ledger = "mini/paper/ledger/mocose-one.json"
    assert (desk.results / "published" / ledger).read_bytes() == (desk.results / ledger).read_bytes()


def test_a_ledger_is_published_with_the_runs_that_it_rests_on(alone, tmp_path):
    """Though fewer seeds are asked for, or a verdict would be published that no published run bears out."""
    desk = Desk(tmp_path)
    shutil.copytree(alone[0].results, desk.results, dirs_exist_ok=True)
    done = resolve(desk, "mocose-one", "--seeds", "1", "--jobs", "1", "--publish")
    assert done.returncode == 0 and not desk.started()
    published = Store(tmp_path / "none", desk.results / "published").runs()
    assert published == desk.store.runs() and len(published) > 4 * MINI.seeds
    ledger = "mini/paper/ledger/mocose-one.json"
    assert (desk.results / "published" / ledger).read_bytes() == (desk.results / ledger).read_bytes()
