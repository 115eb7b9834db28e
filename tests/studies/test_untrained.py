"""Every claim on one model's property says what the encoder shows before training, or has no
verdict."""

import dataclasses

import pytest

from core.study.claim import above, greater, weighted
from studies import STUDIES, find

TRAINED = ("selected", "last", "curve")  # checkpoints of a number that comes from training
# quantities that hold the untrained encoder's number
COMPARES = ("like_length_excess_learnt", "curve_start")


def read(study, contrast):
    """The numbers of a contrast: weight, run, metric and whether the run is trained."""
    for term in contrast.terms:
        cells = study.matching(term.cell)
        for cell in cells:
            run = study.paper_config(cell, "paper") if not cell.copied else None
            yield term.weight / len(cells), run, contrast.metric or study.metric_of(cell)


def from_training(run, metric):
    later = metric.checkpoint in TRAINED and metric.quantity != "curve_start"
    return run is not None and run.trains and later


def differs_by_training(study, contrast):
    """Whether a contrast is a difference between configurations that are trained: its weights
    cancel out."""
    weights = {}
    for weight, run, metric in read(study, contrast):
        if from_training(run, metric):
            key = run.method, run.encoder.digest, repr(run)
            weights[key] = weights.get(key, 0.0) + weight
    return len(weights) > 1 and abs(sum(weights.values())) < 1e-9


def of_one_model(study, claim):
    """Whether a claim says something of a trained model beside no other training; times are no
    property."""
    for contrast in claim.predicate.contrasts():
        metrics = [metric for _, _, metric in read(study, contrast)]
        timed = all(metric.checkpoint == "time" for metric in metrics)
        if not timed and not differs_by_training(study, contrast):
            return True
    return False


def asks_the_untrained(study, claim):
    if claim.untrained is not None:
        return True
    for contrast in claim.predicate.contrasts():
        for _, run, metric in read(study, contrast):
            if metric.quantity in COMPARES or not from_training(run, metric):
                return True
    return False


CLAIMS = [(study, claim) for study in STUDIES for claim in study.claims]


def test_every_claim_on_one_models_property_asks_what_the_untrained_encoder_shows():
    silent = {
        claim.key
        for study, claim in CLAIMS
        if of_one_model(study, claim) and not asks_the_untrained(study, claim)
    }
    assert not silent, f"Compare these claims with the untrained encoder: {silent}"


@pytest.mark.parametrize(
    "name, predicate",
    [
        # two numbers of one model
        ("esimcse-table1", greater(("at most 3", None), ("more than 3", None))),
        ("esimcse-table7", above(("ESimCSE", "avg"), 70.0)),  # a level
        (
            "esimcse-table7",
            weighted([("ESimCSE", "avg"), ("unsup-SimCSE", "avg")], [0.5, 0.5], 70.0),
        ),
    ],
)
def test_a_claim_on_a_property_without_the_untrained_encoder_is_noticed(name, predicate):
    study = find(name)
    claim = dataclasses.replace(study.claims[0], predicate=predicate, untrained=None)
    assert of_one_model(study, claim) and not asks_the_untrained(study, claim)
    difference = dataclasses.replace(claim, predicate=find("esimcse-table7").claims[0].predicate)
    assert not of_one_model(find("esimcse-table7"), difference)


def test_what_is_asked_of_the_untrained_encoder_is_read_before_training():
    for study, claim in CLAIMS:
        if claim.untrained is not None:
            for contrast in claim.untrained.contrasts():
                assert not any(
                    from_training(run, metric) for _, run, metric in read(study, contrast)
                ), claim.key
