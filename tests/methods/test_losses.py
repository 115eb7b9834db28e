"""InfoNCE against a hand-computed case, a naive double loop, and finite differences."""

import importlib
import math

import pytest
import torch

from core.methods.losses import info_nce
from tests.support import tiny


def naive(query, key, negatives, temperature, in_batch):
    total = 0.0
    for i in range(len(query)):

        def cos(a, b):
            return float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))

        positive = math.exp(cos(query[i], key[i]) / temperature)
        others = [math.exp(cos(query[i], key[j]) / temperature) for j in range(len(key)) if j != i] if in_batch else []
        others += [math.exp(cos(query[i], n) / temperature) for n in negatives]
        total += -math.log(positive / (positive + sum(others)))
    return total / len(query)


def test_hand_computed_case():
    query = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    key = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    queue = torch.tensor([[0.0, -1.0]])
    # Row 0: logits 1, 0, 0; row 1: 1, 0, -1 (temperature 1).
    expected = (math.log(1 + 2 * math.exp(-1)) + math.log(1 + math.exp(-1) + math.exp(-2))) / 2
    assert float(info_nce(query, key, queue, temperature=1.0)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("in_batch", [True, False])
@pytest.mark.parametrize("width", [0, 5])
def test_naive_double_loop(in_batch, width):
    g = torch.Generator().manual_seed(3)
    query, key, queue = (torch.randn(n, 6, generator=g) for n in (4, 4, width))
    ours = info_nce(query, key, queue, temperature=0.2, in_batch_negatives=in_batch)
    assert float(ours) == pytest.approx(naive(query, key, queue, 0.2, in_batch), rel=1e-5, abs=1e-6)


def test_gradient_against_finite_differences():
    g = torch.Generator().manual_seed(4)
    query, key, queue = (torch.randn(n, 5, generator=g) for n in (3, 3, 4))
    query.requires_grad_(True)
    info_nce(query, key, queue, temperature=0.5).backward()
    for i, j in [(0, 0), (1, 3), (2, 4)]:
        shift = torch.zeros_like(query)
        shift[i, j] = 1e-3
        with torch.no_grad():
            up, down = (naive(query + s * shift, key, queue, 0.5, True) for s in (1, -1))
        assert float(query.grad[i, j]) == pytest.approx((up - down) / 2e-3, abs=1e-4)


@pytest.mark.parametrize("method, profile", [("simcse", "paper"), ("esimcse", "paper"), ("mocose", "paper")])
@pytest.mark.parametrize("half", [False, True], ids=["fp32", "bf16"])
def test_the_loss_of_a_step_is_in_float32_with_bf16_too(method, profile, half, monkeypatch):
    """A step's loss against the formula in float64 on the vectors that it compared; a bf16 logit would be wrong by up to 0.05."""
    config, compared = tiny.config(method, profile), []
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
    assert len(compared) >= 2 and any(negatives is not None for _, _, negatives, _, _ in compared) == (method != "simcse")
    for query, key, negatives, settings, loss in compared:
        assert query.dtype == (torch.bfloat16 if half and method == "mocose" else torch.float32) and loss.dtype == torch.float32
        exact = [part if part is None else part.detach().double() for part in (query, key, negatives)]
        assert float(loss.detach()) == pytest.approx(float(info_nce(*exact, **settings)), abs=3e-6)


def test_autocast_changes_no_bit_of_the_loss_and_its_gradient():
    g = torch.Generator().manual_seed(6)
    query, key, queue = (torch.randn(n, 16, generator=g) for n in (8, 8, 12))
    query.requires_grad_(True)
    plain = info_nce(query, key, queue, temperature=0.05)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = info_nce(query, key, queue, temperature=0.05)
    gradients = [torch.autograd.grad(loss, query)[0] for loss in (plain, half)]
    assert torch.equal(plain, half) and torch.equal(*gradients)


def test_a_simcse_without_a_head_contrasts_cls_itself():
    """SimCSE's Table 6, [CLS] without the layer: with dropout off both views are one, and the loss follows from the encoder alone."""
    from core.methods.simcse.model import SimCSE

    config = tiny.config("simcse", eval__head="never")
    model = SimCSE(config, tiny.encoder(tiny.bert()), torch.device("cpu"))
    (views,) = tiny.views(config, tiny.sentences(4))
    with torch.no_grad():
        first, second = model.encoder(views).chunk(2)
        assert model.loss(views) == pytest.approx(float(info_nce(first, second, None, temperature=0.05)), abs=1e-6)
    assert not [layer for layer in model.new_layers() if list(layer.parameters())]
