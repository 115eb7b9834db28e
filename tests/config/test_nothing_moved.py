"""What speed must not move: the losses of the first steps, of NUMERICS 2.

Without dropout they are those kept before any work on speed (commit 9959bfa), which NUMERICS 2 has
not moved; with it they are of the stream that NUMERICS 2 brought, whose bits are the same on every
processor. The tolerance is for other processors and libraries; on one machine work on speed has
moved them by less than 3e-7 of themselves.
"""

import dataclasses

import pytest
import small_runs
import torch

from core.config import methods
from core.config.methods import base
from core.config.scale import DEMO, at_scale
from core.config.vary import vary
from core.data.sources import demo_sources
from core.training import job
from core.training.execution import Execution
from core.training.trainer import train, training_batches

TOLERANCE = 1e-4  # of a loss
KEPT = {
    ("mocose", "off"): [6.185079, 4.249185, 3.669627, 3.225016], ("esimcse", "off"): [0.845179, 0.171962, 0.108531, 0.085898],
    ("mocose", "on"): [6.116262, 5.263028, 5.303688, 4.915161], ("esimcse", "on"): [3.105351, 2.415509, 2.098747, 1.881425],
}  # fmt: skip
NO_DROPOUT = {"encoder.hidden_dropout": 0.0, "encoder.attention_dropout": 0.0}


@pytest.mark.parametrize("method, dropout", KEPT)
def test_the_first_losses_are_what_they_were(method, dropout, tmp_path):
    scale = dataclasses.replace(DEMO, steps=150)
    config = at_scale(base(method, "repaired"), scale, demo_sources())
    config = vary(config, {"train.steps": 4, "eval.every": 1, "train.warmup_fraction": 0.0})
    if dropout == "off":
        config = vary(config, NO_DROPOUT | ({"heads.dropout": 0.0} if method == "mocose" else {}))
    execution = Execution(results_dir=str(tmp_path), cache_dir=small_runs.shared_cache())
    run = job.Run(config, execution)
    encoder, tokenizer = job.load_encoder(run)
    text = job.training_text_of(run, tokenizer)
    device = torch.device("cpu")
    model = methods.model(config.method).Model(config, encoder, device)
    batches = training_batches(config, text, device)
    trained = train(config, model, batches, lambda step: 0.0, lambda report: None)
    losses = [loss for _, loss in trained.losses]
    assert losses == pytest.approx(KEPT[method, dropout], rel=TOLERANCE)
