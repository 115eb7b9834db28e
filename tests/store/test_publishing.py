"""What publishing says and keeps: one's own runs against the published ones, and ledgers that go with the runs."""

from dataclasses import replace

import pytest
from fake_jobs import made_result
from fake_store import config_of

from core.data import sources
from core.runner.compare import repeats
from core.runner.resolve.ledger import Batch, Entry, Ledger, Ledgers
from core.spec.result import Result, Row
from core.spec.scale import DEMO, MINI, PAPER
from core.store.store import Store
from studies import find

CONFIGS = [config_of(find("mocose-table3"), cell.labels, 0, scale=MINI) for cell in find("mocose-table3").cells]
NOTHING, SUPPORTED = (
    Entry(outcome="undecided", look=0, n=0, p=(1.0, 1.0, 1.0)),
    Entry(outcome="supported", look=2, n=5, p=(0.001, 1.0, 1.0)),
)
REGISTERED = {"J": 2, "claims": [{"key": "K1"}, {"key": "K2"}], "looks": [3, 5, 8], "shares": [0.02, 0.08, 0.15], "alpha": 0.05}
LATER = Entry(outcome="undecided", look=3, n=8, p=(0.2, 0.9, 0.4))


def moved(result: Result, by: float) -> Result:
    """The same scores, one of them so much higher, and a number that is no score elsewhere."""
    first, *others = result.rows
    rows = (first._replace(value=first.value + by), *others, Row("last", "dev", "mean_cosine", 10, by))
    return Result(status=result.status, rows=rows, pairs=result.pairs, provenance={"made": "anew"})


def loaded(store: Store) -> dict:
    """Provenance and rows of all runs of a store, by id."""
    runs = [store.load(run) for run in store.runs()]
    return {run.run_id: (run.provenance, run.rows) for run in runs}


@pytest.mark.parametrize(
    "by, sentence",
    [
        (0.0, "Your 5 runs repeat the published ones to the last digit."),
        (3e-5, "Your 5 runs repeat the published ones to within 0.0001 points."),
        (0.00321, "Your 5 runs repeat the published ones to within 0.0033 points."),
        (0.25, "1 of your 5 runs that are published, too, differ from those by more than 0.01 points: "),
        (float("nan"), "1 of your 5 runs that are published, too, differ from those by more than 0.01 points: "),
    ],
)
def test_one_s_own_runs_are_compared_with_the_published_ones(tmp_path, by, sentence):
    theirs = Store(tmp_path / "theirs", None)
    store = Store(tmp_path / "own", tmp_path / "published")
    for place, config in enumerate(CONFIGS):
        store.save(config, moved(made_result(config), by if place == 2 else 0.0))
        if place:  # the first is not published
            theirs.save(config, made_result(config))
    theirs.publish(theirs.runs(), tmp_path / "published")
    store = Store(tmp_path / "own", tmp_path / "published")
    own = loaded(store)
    assert repeats(store, own).startswith(sentence)
    assert repeats(Store(tmp_path / "own", None), own) == ""


def test_runs_that_were_published_themselves_repeat_nothing(tmp_path):
    store = Store(tmp_path / "own", tmp_path / "published")
    for config in CONFIGS[:2]:
        store.save(config, moved(made_result(config), 0.0))
    store.publish(store.runs(), tmp_path / "published")
    store = Store(tmp_path / "own", tmp_path / "published")
    assert repeats(store, loaded(store)) == ""
    store.save(CONFIGS[0], made_result(CONFIGS[0]))  # trained again
    assert repeats(store, loaded(store)) == "Your run repeats the published one to the last digit."


def test_runs_of_another_kind_of_device_repeat_nothing(tmp_path):
    store = Store(tmp_path / "own", tmp_path / "published")
    store.save(CONFIGS[0], replace(made_result(CONFIGS[0]), provenance={"device": "cpu: x86_64"}))
    store.publish(store.runs(), tmp_path / "published")
    store = Store(tmp_path / "own", tmp_path / "published")
    for device, sentence in (("cuda: H100", ""), ("cpu: aarch64", "Your run repeats the published one to the last digit.")):
        store.save(CONFIGS[0], replace(made_result(CONFIGS[0]), provenance={"device": device}))
        assert repeats(store, loaded(store)) == sentence


def ledger(**claims: Entry) -> Ledger:
    return Ledger(study="mocose-one", registered=REGISTERED, cells={"a": "0" * 16}, claims=claims)


def places(tmp_path) -> tuple[Ledgers, Ledgers]:
    """One's own ledgers, which know the published ones, and the published ones."""
    published = tmp_path / "results" / "published"
    return Ledgers(tmp_path / "results", "mini", "paper", published), Ledgers(published, "mini", "paper")


def read(ledgers: Ledgers, registered: dict | None = None) -> Ledger | None:
    return ledgers.read("mocose-one", registered or REGISTERED, {"a": "0" * 16})


def test_a_ledger_goes_with_the_runs_and_counts_where_there_is_none_of_one_s_own(tmp_path):
    own, published = places(tmp_path)
    assert not own.publish("mocose-one", tmp_path / "results" / "published") and read(own) is None
    own.write(ledger(K1=SUPPORTED, K2=NOTHING))
    assert own.publish("mocose-one", tmp_path / "results" / "published")
    assert read(published) == read(own)
    own.path("mocose-one").unlink()
    assert read(own).claims == {"K1": SUPPORTED, "K2": NOTHING}
    assert read(Ledgers(tmp_path / "results", "mini", "paper")) is None  # published runs do not count, and so neither does their ledger
    own.write(ledger(K1=NOTHING))
    assert read(own).claims == {"K1": NOTHING}


def test_a_published_verdict_stays_and_so_does_what_was_found_with_more_seeds(tmp_path):
    own, published = places(tmp_path)
    published.write(ledger(K1=SUPPORTED, K2=LATER))
    own.write(ledger(K1=LATER, K2=NOTHING))
    own.publish("mocose-one", tmp_path / "results" / "published")
    assert read(published).claims == {"K1": SUPPORTED, "K2": LATER} and read(own).claims == {"K1": LATER, "K2": NOTHING}
    published.write(ledger(K1=NOTHING, K2=NOTHING))
    own.publish("mocose-one", tmp_path / "results" / "published")
    assert read(published).claims == {"K1": LATER, "K2": NOTHING}


def test_other_claims_are_another_experiment_and_take_the_place_of_the_old(tmp_path):
    own, published = places(tmp_path)
    published.write(ledger(K1=SUPPORTED))
    mine = Ledger(
        study="mocose-one",
        registered=REGISTERED | {"J": 3},
        cells={"a": "0" * 16},
        claims={"K1": NOTHING},
        batch=Batch(claim="K1", n=3, runs=("x",)),
    )
    own.write(mine)
    own.publish("mocose-one", tmp_path / "results" / "published")
    assert read(published, REGISTERED | {"J": 3}) == mine


def test_the_sources_of_a_scale_are_found_without_reading_the_published_runs_of_others(tmp_path, monkeypatch):
    store = Store(tmp_path / "own", tmp_path / "published")
    for config in CONFIGS:
        store.save(config, made_result(config))
    store.publish(store.runs(), tmp_path / "published")
    store = Store(tmp_path / "other", tmp_path / "published")
    assert {store.scale_of_pack(run) for run in store.runs()} == {"mini"} and store.scale_of_pack("0" * 16) is None
    read, load = [], Store.load
    monkeypatch.setattr(Store, "load", lambda self, run: read.append(run) or load(self, run))
    assert sources.recorded_sources(DEMO, store) == sources.demo_sources() and sources.recorded_sources(PAPER, store) is None and not read
    sources.recorded_sources(MINI, store)
    assert read
