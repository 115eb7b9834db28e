"""What finished runs say about those to come."""

import socket

import pytest
from fake_store import SOURCES

from core.runner.estimate import History, history
from core.runner.plan import cost
from core.spec.result import Result, Row
from core.spec.scale import DEMO
from core.spec.vary import vary
from core.store.store import Store
from studies import find


def config(name, place=0, seed=0):
    study = find(name)
    return study.config(study.cells[place], profile="paper", scale=DEMO, sources=SOURCES, seed=seed)


def save(store, run, ratio, **recorded):
    """A stored run that took `ratio` times its estimate, a quarter of it outside training."""
    seconds = {"load": 0.05, "train": 0.75, "evaluate": 0.2}
    found = {name: share * ratio * cost(run) for name, share in seconds.items()}
    here = {"host": socket.gethostname(), "device": "cpu: x86_64", "threads": 1, "seconds": found, **recorded}
    rows = (Row("selected", "avg", "spearman_all", 1, 1.0),)
    store.save(run, Result(status="ok", rows=rows, pairs=(), provenance=here))


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, None)
    store.prepare()
    return store


def test_without_runs_the_estimate_stands(store):
    run = config("table7")
    assert history(store, "cpu", 1).of("demo") == 0 and History().seconds(run) == cost(run)


def test_the_method_s_own_median_decides(store):
    for seed, ratio in enumerate((2.0, 3.0, 50.0)):  # one run met a busy machine
        save(store, config("table7", seed=seed), ratio)
    save(store, config("esimcse-table11"), 7.0)
    known = history(store, "cpu", 1)
    assert known.of("demo") == 4 and known.of("mini") == 0
    other = config("table7", place=3, seed=9)
    longer = vary(other, {"train.steps": 2 * other.train.steps})
    assert known.seconds(other) == pytest.approx(3.0 * cost(other)) and known.seconds(
        longer
    ) > 1.5 * known.seconds(other)
    assert known.seconds(config("esimcse-table11", place=2)) == pytest.approx(
        7.0 * cost(config("esimcse-table11", place=2))
    )


def test_transfer_tasks_are_reckoned_with(store):
    plain = config("mocose-table1")
    probed = vary(plain, {"eval.transfer": True})
    assert cost(probed) == pytest.approx(cost(plain) + 13 * 2_000)
    assert cost(vary(probed, {"scale": "mini"})) == pytest.approx(
        cost(vary(plain, {"scale": "mini"})) + 25 * 250_000
    )
    save(store, plain, 2.0)
    save(store, probed, 3.0)
    known = history(store, "cpu", 1, lambda config: 1.5)
    assert known.seconds(plain) == pytest.approx(2.0 * cost(plain)) and known.seconds(
        probed
    ) == pytest.approx(3.0 * cost(probed))
    assert known.seconds(vary(plain, {"scale": "mini"})) == 1.5  # of which no run has ended


def test_the_work_of_a_demo_run():
    run = config(
        "table7"
    )  # FGSM's own gradient makes MoCoSE's step as long as SimCSE's; 160 // 32 checks, one before and one behind
    assert cost(run) == pytest.approx(13 * (160 * 64 + 0.25 * (7 * 800 + 1.5 * 4_797)))
    repaired = vary(run, {"fgsm.gradient": "stale_online", "fgsm.views": "both_same"})
    assert cost(run) - cost(repaired) == pytest.approx(13 * 160 * 64 / 3)


def test_runs_with_the_same_batch_size_decide_where_there_are_any(store):  # fewer, larger steps cost less
    save(store, config("table7"), 2.0)
    large = vary(config("table7", seed=1), {"train.batch_size": 256, "train.steps": 38})
    assert history(store, "cpu", 1).seconds(large) == pytest.approx(2.0 * cost(large))
    save(store, large, 1.0)
    known = history(store, "cpu", 1)
    assert known.seconds(vary(large, {"seed.data": 5})) == pytest.approx(cost(large))
    assert known.seconds(config("table7", seed=2)) == pytest.approx(2.0 * cost(config("table7")))


def test_another_method_of_the_scale_is_better_than_nothing_and_another_scale_is_not(store):
    save(store, config("table7"), 4.0)
    run = config("esimcse-table11")
    known = history(store, "cpu", 1)
    assert known.seconds(run) == pytest.approx(4.0 * cost(run))
    mini = vary(run, {"scale": "mini"})
    assert known.seconds(mini) == cost(mini)


@pytest.mark.parametrize(
    "recorded", [{"host": "elsewhere"}, {"device": "cuda: big"}, {"threads": 2}, {"seconds": None}]
)
def test_runs_from_elsewhere_say_nothing(store, recorded):
    save(store, config("table7"), 4.0, **recorded)
    assert history(store, "cpu", 1).of("demo") == 0
