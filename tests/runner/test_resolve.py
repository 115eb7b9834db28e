"""--resolve on studies whose truth is known: what is settled, in which order, at what price, under
kills and in company."""

import math
import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import combinations, islice
from random import Random
from types import SimpleNamespace

import pytest
from fake_store import FakeStore, add_simcse, config_of, made_setup, reworded
from known_jobs import ONE, TWO

from core.config.scale import MINI
from core.report.results import gather
from core.report.verdicts import judge
from core.runner import resolve as resolving
from core.runner.estimate import Expectation
from core.runner.plan import cost
from core.runner.run_sets import Prospect, best_set
from core.study import grid

KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:run"}
BOTH = ("mocose-one", "mocose-two")
TRUTH = {
    "K1": "supported",
    "K2": "contradicted",
    "K3": "equivalent",
    "K4": "undecided",
    "L1": "supported",
}


def test_what_is_true_is_found_and_no_run_is_trained_twice(desk):
    done = desk.do(*BOTH, "--resolve", "--budget", "1000h", "--jobs", "3", **KNOWN)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = {}
    for study in (ONE, TWO):
        for verdict in judge(gather(grid.resolve(study, desk.setup(3)), desk.store)).verdicts:
            outcomes[verdict.claim.key] = verdict.outcome
    assert outcomes == TRUTH
    assert max(Counter(desk.started()).values()) == 1
    assert len(desk.started()) == len(desk.store.runs())
    seeds = Counter(desk.store.load(identity).config.queue.size for identity in desk.store.runs())
    # K4 compares the last two
    assert seeds[128] <= 8 and seeds[256] <= 8 and seeds[384] == seeds[512] == 60
    assert "4 of 5 claims settled." in done.stdout
    assert "drew nothing" in done.stdout  # then it renders as ever
    sets = re.findall(r"Next: (\d+) runs?, .*? of mocose-one ([a-d, ]+)\. May", done.stdout)
    assert sets[:2] == [("9", "b, c, d"), ("4", "c, d")]  # three claims share the first runs


def test_nothing_is_begun_that_does_not_fit_the_budget(desk):
    done = desk.do(*BOTH, "--resolve", "--budget", "30s", **KNOWN)
    assert done.returncode == 0 and not done.stderr
    assert "The shortest step left takes" in done.stdout
    plan = desk.do(*BOTH, "--resolve", "--plan", **KNOWN).stdout
    first = plan.splitlines()[1]
    short = desk.do(*BOTH, "--resolve", "--plan", "--budget", "30s", **KNOWN).stdout
    assert "The shortest step left takes" in short and "mocose-one" not in short
    assert first.startswith("9 runs, about") and not desk.started()
    assert "seed 0, 1, 2 of mocose-one b, c, d" in first
    # d is better than b: of another study
    assert {"K3", "K4", "L1"} == set(re.findall(r"[KL]\d", first))
    assert "5 claims are undecided; more runs may settle 5." in plan


# On a store in memory: what each claim is given next.

LEVELS = {"a": 56.0, "b": 50.0, "c": 53.0, "d": 52.5}
SETUP = made_setup(scale=MINI)


def filled(seeds: dict[str, int], sd: float = 0.5) -> FakeStore:
    store = FakeStore()
    for label, count in seeds.items():
        for seed in range(count):
            score = LEVELS[label] + Random(f"{label} {seed}").gauss(0.0, sd)
            store.add(config_of(ONE, (label,), seed, scale=MINI), score, scale=MINI)
    return store


@pytest.fixture
def prospects():
    """The later checks of claims, by claim, and the sets of runs that are chosen."""
    expected = Expectation(seconds=cost, jobs=2, where="", gpu=False)
    options = SimpleNamespace(use_published=True, budget=None)

    def found(store, *studies, failed=()):
        training = SimpleNamespace(
            options=options, store=store, setup=SETUP, expected=lambda: expected
        )
        one = resolving.Resolving(training, studies or (ONE,))
        one.failed = set(failed)
        one.judge()
        checks = {}
        for prospect in (every := one.prospects()):
            checks.setdefault(prospect.claim[1], []).append(prospect)
        return checks, list(islice(one.sets(every), 3)), one.planned

    return found


def test_each_claim_is_given_its_missing_runs_up_to_its_later_checks(prospects):
    checks, _, planned = prospects(filled({"a": 2, "b": 3}))
    assert [planned[run].seed for run in checks["K1"][0].runs] == [2]  # five are stored
    assert len(checks["K3"][0].runs) == 6 and checks["K3"][0].seeds == 3
    checks, _, planned = prospects(filled(dict.fromkeys("abcd", 8)))
    seeds = sorted(planned[run].seed for run in checks["K4"][0].runs)
    assert seeds == [8, 8, 9, 9, 10, 10, 11, 11] and checks["K4"][0].seeds == 12


def test_a_failed_run_takes_its_claims_out(prospects):
    store = filled(dict.fromkeys("bcd", 3), sd=0.8)
    checks, sets, _ = prospects(store)
    assert {"K1", "K2", "K3", "K4"} == set(checks)
    assert all(later.wall > 0 and later.claims for later in sets)
    checks, sets, _ = prospects(store, failed=checks["K1"][0].runs)
    assert set(checks) == {"K3", "K4"}
    assert not any("one a" in name for later in sets for run in later.runs for name in run.cells)


def test_simcse_runs_with_the_first_set_and_a_method_that_does_not_learn_gets_nothing(prospects):
    named = replace(
        ONE, reference=("d",), claims=tuple(replace(one, gate="learns") for one in ONE.claims)
    )
    store = filled({"a": 2, "b": 3})
    for seed in range(3):
        config = config_of(ONE, ("d",), seed, scale=MINI)
        store.add(config, 53.0 + 0.1 * seed, scale=MINI, untrained=52.0)
    for words in (nullcontext, reworded):  # no sentence decides
        with words():
            checks, sets, planned = prospects(store, named)
        bar = {run for run, its in planned.items() if its.config.method == "simcse"}
        assert len(bar) == 3
        assert all(bar <= check.runs for each in checks.values() for check in each)
        assert set(checks) == {"K1", "K2", "K3", "K4"}
        assert bar <= {run.run_id for run in sets[0].runs}
    add_simcse(store, SETUP, 66.0, 67.0, 68.0, untrained=52.0)
    assert not prospects(store, named)[0]
    add_simcse(store, SETUP, 53.0, 54.0, 55.0, untrained=52.0)
    checks, _, planned = prospects(store, named)
    assert set(checks) == {"K1", "K2", "K3", "K4"}
    assert not any(run.config.method == "simcse" for run in planned.values())


# Which set is the best: each run takes a second.


def prospect(claim, seeds, chance, *cells):
    """A check that needs the seeds of these cells."""
    runs = frozenset(f"{cell}{seed}" for cell in cells for seed in range(seeds))
    return Prospect(("study", claim), seeds, chance, runs)


SHARED = [
    prospect("X", 2, 0.5, "a", "b"),
    prospect("Y", 2, 0.5, "b", "c"),
    prospect("Z", 2, 0.5, "a", "c"),
]
ALONE = prospect("W", 2, 0.3, "d")  # more a second than each of the others alone


def chosen(prospects, done=(), left=math.inf, jobs=1, seconds=1.0):
    times = {run: seconds for each in prospects for run in each.runs}
    return best_set(prospects, frozenset(done), times, jobs, left)


def test_claims_that_share_runs_come_before_a_better_claim_alone():
    together = {f"{cell}{seed}" for cell in "abc" for seed in (0, 1)}
    assert chosen([ALONE, *SHARED]) == chosen([*SHARED, ALONE]) == together
    assert chosen([ALONE, *SHARED], done=together) == ALONE.runs
    assert chosen([ALONE, *SHARED], left=5.0) == ALONE.runs  # six seconds do not fit
    assert chosen([ALONE, *SHARED], left=5.0, jobs=2) == together
    assert chosen([ALONE, *SHARED], left=1.0) == chosen([]) == frozenset()


def test_a_set_for_a_later_check_begins_with_the_next():
    later = [prospect("V", 3, 0.01, "e"), prospect("V", 5, 0.9, "e")]
    assert chosen([ALONE, *later]) == {"e0", "e1", "e2"}  # 0.9 in five seconds, against 0.3 in two
    assert chosen([ALONE, *later], done={"e0", "e1", "e2"}) == {"e3", "e4"}
    assert chosen([ALONE, *later], done={"e0", "e1", "e2", "e3", "e4"}) == ALONE.runs


def test_no_set_of_a_few_cells_is_better_than_the_chosen():
    """Against all sets of whole cells, on made-up stores."""
    random = Random(3)
    for _ in range(20):
        pairs = [random.sample("abcdef", 2) for _ in range(7)]
        checks = [prospect(str(n), 1, random.random(), *pair) for n, pair in enumerate(pairs)]

        def rate(runs, checks=checks):
            return sum(check.chance for check in checks if check.runs <= runs) / len(runs)

        cells = [f"{cell}0" for cell in "abcdef"]
        every = [set(runs) for size in range(1, 7) for runs in combinations(cells, size)]
        assert rate(chosen(checks)) > 0.95 * max(map(rate, every))
