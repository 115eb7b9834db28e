"""--resolve on studies whose truth is known: what is settled, in which order, at what price, under kills and
in company."""

import random
import re
import shutil
from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from desk import Desk
from fake_store import FakeStore, add_simcse
from fake_store import config_of as config_at
from fake_store import made_setup as setup_at
from known_jobs import ONE, TWO

from core.report.results import gather
from core.report.verdicts import judge
from core.runner import resolve as resolving
from core.runner.estimate import Expectation
from core.runner.plan import cost
from core.spec.scale import MINI
from core.store.store import Store

KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:run"}
BOTH = ("mocose-one", "mocose-two")
TRUTH = {"K1": "supported", "K2": "contradicted", "K3": "equivalent", "K4": "undecided", "L1": "supported"}
RESOLVE = ("--resolve", "--budget", "1000h", "--jobs", "3")


def resolve(desk: Desk, *words: str, **environment: str):
    done = desk.do(*(words or (*BOTH, *RESOLVE)), **KNOWN, **environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def outcomes(desk: Desk) -> dict[str, str]:
    """The verdicts on the runs that are stored."""
    results = [judge(gather(study, desk.setup(3), desk.store)) for study in (ONE, TWO)]
    return {verdict.claim.key: verdict.outcome for one in results for verdict in one.verdicts}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """One command in quiet, to its end."""
    desk = Desk(tmp_path_factory.mktemp("alone"))
    return desk, resolve(desk)


def test_what_is_true_is_found_and_no_run_is_trained_twice(alone):
    desk, done = alone
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes(desk) == TRUTH
    assert max(Counter(desk.started()).values()) == 1 and len(desk.started()) == len(desk.store.runs())
    seeds = Counter(desk.store.load(identity).config.queue.size for identity in desk.store.runs())
    assert seeds[128] <= 8 and seeds[256] <= 8 and seeds[384] == seeds[512] == 60  # K4 compares the last two
    assert "4 of 5 claims settled." in done.stdout
    assert "drew nothing" in done.stdout  # then it renders as ever
    assert {"first", "a"} == set(re.findall(r"Next: \S+ \S+ \((first|a) ch", done.stdout))


def test_nothing_is_begun_that_does_not_fit_the_budget(tmp_path):
    desk = Desk(tmp_path)
    done = resolve(desk, *BOTH, "--resolve", "--budget", "30s")
    assert done.returncode == 0 and "The shortest step left takes" in done.stdout and not desk.started()
    plan = resolve(desk, *BOTH, "--resolve", "--plan").stdout
    assert "mocose-one K1 (first check): 6 runs, about" in plan and not desk.started()
    assert "5 claims are undecided; more runs may settle 5." in plan


def test_published_runs_count_only_if_told_so_and_publishing_takes_every_seed(alone, tmp_path):
    desk = Desk(tmp_path)
    shutil.copytree(alone[0].results, desk.results, dirs_exist_ok=True)
    gone = [run for run in desk.store.runs() if desk.store.load(run).config.seed.model >= 58]
    for identity in gone:
        (desk.results / "runs" / f"{identity}.parquet").unlink()
    desk.commit()
    done = resolve(desk, "mocose-one", *RESOLVE, "--publish")
    assert done.returncode == 0 and sorted(desk.started()) == sorted(gone) and len(gone) == 4
    published = Store(tmp_path / "none", desk.results / "published").runs()
    assert published == desk.store.runs() == alone[0].store.runs()
    shutil.rmtree(desk.results / "runs")
    counted = resolve(desk, *BOTH, "--resolve", "--budget", "30s", "--use-published")
    assert counted.returncode == 0 and "4 of 5 claims settled" in counted.stdout
    assert len(desk.started()) == len(gone)


# On a store in memory: what each claim is given next.

LEVELS = {"a": 56.0, "b": 50.0, "c": 53.0, "d": 52.5}
setup = partial(setup_at, scale=MINI)
config_of = partial(config_at, scale=MINI)


def filled(seeds: dict[str, int], levels=LEVELS, sd: float = 0.5, gap=None) -> FakeStore:
    store = FakeStore()
    for label, seed in ((label, seed) for label, count in seeds.items() for seed in range(count)):
        if (label, seed) != gap:
            score = levels[label] + random.Random(f"{label} {seed}").gauss(0.0, sd)
            store.add(config_of(ONE, (label,), seed), score, scale=MINI)
    return store


@pytest.fixture
def choices():
    """What may be trained, the best first."""
    expected = Expectation(seconds=cost, jobs=2, where="", gpu=False)
    options = SimpleNamespace(use_published=True, budget=None)

    def found(store, *studies, failed=()):
        training = SimpleNamespace(options=options, store=store, setup=setup(), expected=lambda: expected)
        one = resolving.Resolving(training, studies or (ONE,))
        one.failed = set(failed)
        one.judge()
        return one.choices()

    return found


def test_each_claim_is_given_its_missing_runs_up_to_the_next_check(choices):
    found = {choice.name.split()[1]: choice for choice in choices(filled({"a": 2, "b": 3}))}
    assert [run.seed for run in found["K1"].runs] == [2]  # five are stored
    assert len(found["K3"].runs) == 6 and {choice.why for choice in found.values()} == {"first check"}
    store = filled(dict.fromkeys("abcd", 8), gap=("b", 4))
    found = {choice.name.split()[1]: choice for choice in choices(store)}
    assert [run.seed for run in found["K4"].runs] == [8, 8, 9, 9, 10, 10, 11, 11]


def test_the_best_chance_a_second_comes_first_and_a_failed_run_takes_its_claims_out(choices):
    store = filled(dict.fromkeys("bcd", 3), sd=0.8)
    found = choices(store)
    assert [choice.rate for choice in found] == sorted((choice.rate for choice in found), reverse=True)
    assert {choice.why[:11] for choice in found} == {"first check", "a chance of"}
    failed = {run.run_id for choice in found if choice.name == "mocose-one K1" for run in choice.runs}
    assert "a" not in {run.cells[0][-1] for choice in choices(store, failed=failed) for run in choice.runs}


def test_simcse_runs_before_any_check_and_a_method_that_does_not_learn_gets_nothing(choices):
    named = replace(ONE, reference=("d",), claims=tuple(replace(one, gate="learns") for one in ONE.claims))
    store = filled({"a": 2, "b": 3})
    for seed in range(3):
        store.add(config_of(ONE, ("d",), seed), 53.0 + 0.1 * seed, scale=MINI, untrained=52.0)
    (bar,) = {(choice.why, len(choice.runs)) for choice in choices(store, named)}
    assert bar == ("SimCSE, the bar of other methods", 3)
    add_simcse(store, setup(3), 66.0, 67.0, 68.0, untrained=52.0)
    assert not choices(store, named)
    add_simcse(store, setup(3), 53.0, 54.0, 55.0, untrained=52.0)
    assert {choice.why for choice in choices(store, named)} == {"first check"}
