"""What a card says to run next, where stored runs lack the number that the claim asks for."""

from dataclasses import replace

from fake_store import filled
from pages import TABLE, result

from core.report.contrasts import Readings
from core.report.next_runs import next_runs
from core.report.verdicts import verdicts
from core.spec.claim import greater, of_metric
from core.spec.table import Metric

EXCESS = Metric(task="avg", quantity="like_length_excess", title="like-length excess")
(CLAIM,) = [claim for claim in TABLE.claims if claim.key == "X.1"]
LATER = replace(TABLE, claims=(replace(CLAIM, predicate=of_metric(greater(("0.5",), ("0.8",)), EXCESS)),))


def next_of(store):
    one = result(LATER, store)
    return next_runs(verdicts(one)[0], Readings(one))


def test_runs_without_the_number_are_missing_though_they_are_stored():
    assert next_runs(verdicts(result(store=filled(TABLE)))[0], Readings(result(store=filled(TABLE)))).runs == 4  # two cells, seeds 3 and 4
    found = next_of(filled(TABLE))
    assert (found.seeds, found.runs) == (3, 6)


def test_published_runs_without_the_number_are_trained_anew():
    store = filled(TABLE)
    for run in store.runs.values():
        run.source = "published"
    found = next_of(store)
    assert (found.seeds, found.runs) == (3, 6) and "--use-published" not in found.command
    assert found.command.endswith("--seeds 3 --cell 0.5 --cell 0.8")
