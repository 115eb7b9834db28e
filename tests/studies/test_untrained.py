"""Every claim on one model's property says what the encoder shows before training, or has no
verdict."""

from made_scales import SHIPPED_STUDIES

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


def of_one_model(study, contrast):
    """Whether a contrast says something of a trained model beside no other training; times are no
    property."""
    timed = all(metric.checkpoint == "time" for _, _, metric in read(study, contrast))
    return not timed and not differs_by_training(study, contrast)


def asks_the_untrained(study, contrast):
    return any(
        metric.quantity in COMPARES or not from_training(run, metric)
        for _, run, metric in read(study, contrast)
    )


CLAIMS = [(study, claim) for study in SHIPPED_STUDIES for claim in study.claims]


def test_every_claim_on_one_models_property_asks_what_the_untrained_encoder_shows():
    for study, claim in CLAIMS:
        contrasts = claim.predicate.contrasts()
        if claim.untrained is None and any(of_one_model(study, each) for each in contrasts):
            assert any(asks_the_untrained(study, each) for each in contrasts), claim.key


def test_what_is_asked_of_the_untrained_encoder_is_read_before_training():
    for study, claim in CLAIMS:
        if claim.untrained is not None:
            for contrast in claim.untrained.contrasts():
                assert not any(
                    from_training(run, metric) for _, run, metric in read(study, contrast)
                ), claim.key
