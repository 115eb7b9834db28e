"""Constants that move a number or a verdict: each with the value that results were made with, and where it comes from.

Whoever changes one changes it here, too, and asks whether stored results still mean the same (`NUMERICS`).
"""

import importlib

import pytest

HELD = {
    # evaluation
    "core.engine.evaluation.metrics.BATCH": 64,  # D43: the released alignment and uniformity
    "core.engine.evaluation.metrics.POSITIVE": 4.0,  # D43
    "core.engine.evaluation.probes.FOLDS": 10,  # SentEval
    "core.engine.evaluation.probes.FOLD_SEED": 1111,  # SentEval
    "core.engine.evaluation.length_bias.GAP": 3,  # ESimCSE, Table 1
    "core.engine.evaluation.length_bias.FEWEST_PAIRS": 10,
    "core.engine.evaluation.edits.SENTENCES": 100,
    "core.engine.evaluation.edits.FEWEST_WORDS": 6,
    "core.engine.evaluation.baselines.WORD_VECTOR": 256,
    "core.engine.evaluation.rows.COLLAPSED_SPREAD": 1e-4,
    # training
    "core.methods.heads.INITIAL_SPREAD": 0.02,  # BERT's own
    "core.methods.mocose.augmentation.LLOYD_STEPS": 10,
    "core.engine.encoder.dropout.DRAWS": 2**16,
    "tools.rewriting.generation.APPENDED": 30,  # D28
    "tools.rewriting.contextual.TOP": 100,  # nlpaug
    "tools.rewriting.contextual.MOST": 10,  # nlpaug
    # what a scale may claim
    "core.report.comparability.MOST_TURNOVER": 0.05,
    "core.report.comparability.MOST_INITIAL": 0.05,
    "core.report.comparability.LEAST_GAIN": 5.0,
    "core.report.comparability.INITIAL_SPREAD": 0.02,
    # verdicts, noise and figures
    "core.report.sequential.LOOKS": (3, 5, 8, 12, 18, 27, 40, 60),
    "core.report.sequential.ALPHA": 0.05,
    "core.report.sequential.SHARES": (0.02, 0.08, 0.15, 0.20, 0.20, 0.15, 0.10, 0.10),
    "core.report.statistics.LEVEL": 0.95,
    "core.report.statistics.HOLDS_95": 1.96,
    "core.report.statistics.LEAST_SEEDS": 5,
    "core.report.signflip.LEAST_RUNS": 10,
    "core.report.signflip.LEAST_SEEDS": 6,
    "core.report.signflip.EXACT": 12,
    "core.report.signflip.DRAWS": 10_000,
    "core.report.verdicts.RESAMPLES": 10_000,
    "core.report.verdicts.LEAST_RESAMPLED": 3,
    "core.report.quantities.LATE": 2 / 3,
    "core.report.quantities.PAPER_WIDTH": 768,  # bert-base
    "core.report.cells.MOST_SEEDS": 1000,
    "core.report.cells.PAIRS_AGREE": 0.02,
    "core.report.differences.NO_DIFFERENCE": 1e-9,
    "core.report.findings.WORTH_SAYING": 1.0,
    "core.runner.compare.SAME": 0.01,
}


@pytest.mark.parametrize("name", HELD)
def test_what_moves_a_number_is_changed_knowingly(name):
    module, _, constant = name.rpartition(".")
    assert getattr(importlib.import_module(module), constant) == HELD[name]
