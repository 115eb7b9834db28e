"""InfoNCE against a case computed by hand, and in float32; test_second_formulation.py has its
gradients."""

import importlib
import math

import pytest
import torch

from core.methods.losses import info_nce
from core.methods.simcse.model import SimCSE
from tests.support import tiny


def test_hand_computed_case():
    query = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    key = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    queue = torch.tensor([[0.0, -1.0]])
    # Row 0: logits 1, 0, 0; row 1: 1, 0, -1 (temperature 1).
    expected = (math.log(1 + 2 * math.exp(-1)) + math.log(1 + math.exp(-1) + math.exp(-2))) / 2
    assert float(info_nce(query, key, queue, temperature=1.0)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", ["simcse", "esimcse", "mocose"])
@pytest.mark.parametrize("half", [False, True], ids=["fp32", "bf16"])
def test_the_loss_of_a_step_is_in_float32_with_bf16_too(method, half, monkeypatch):
    """A step's loss against the formula in float64 on the vectors that it compared; a bf16 logit
    would be wrong by up to 0.05."""
    config = tiny.config(method, "paper")
    compared = []
    module = importlib.import_module(f"core.methods.{method}.model")
    model = module.Model(config, tiny.encoder(tiny.bert()), torch.device("cpu"))

    def watched(query, key, negatives, **settings):
        loss = info_nce(query, key, negatives, **settings)
        compared.append((query, key, negatives, settings, loss))
        return loss

    monkeypatch.setattr(module, "info_nce", watched)
    for seed in range(2):  # the second step has a queue and, in MoCoSE, a gradient of the first
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            loss = model.loss(*tiny.views(config, tiny.sentences(4, seed)))
        loss.backward()
        model.after_update()
    assert len(compared) >= 2
    assert any(negatives is not None for _, _, negatives, _, _ in compared) == (method != "simcse")
    for query, key, negatives, settings, loss in compared:
        assert query.dtype == (torch.bfloat16 if half and method == "mocose" else torch.float32)
        assert loss.dtype == torch.float32
        exact = [
            part if part is None else part.detach().double() for part in (query, key, negatives)
        ]
        assert float(loss.detach()) == pytest.approx(float(info_nce(*exact, **settings)), abs=3e-6)


def test_a_simcse_without_a_head_contrasts_cls_itself():
    """SimCSE's Table 6, [CLS] without the layer: with dropout off both views are one, and the loss
    follows from the encoder alone."""
    config = tiny.config("simcse", eval__head="never")
    model = SimCSE(config, tiny.encoder(tiny.bert()), torch.device("cpu"))
    (views,) = tiny.views(config, tiny.sentences(4))
    with torch.no_grad():
        first, second = model.encoder(views).chunk(2)
        loss = float(info_nce(first, second, None, temperature=0.05))
        assert model.loss(views) == pytest.approx(loss, abs=1e-6)
    assert not [layer for layer in model.new_layers() if list(layer.parameters())]
