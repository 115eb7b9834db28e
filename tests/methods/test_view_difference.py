"""What FGSM does to the two views: against a naive computation, at its ends, and without a trace in the training."""

import copy

import pytest
import tiny
import torch

from core.engine.encoder.packing import pack
from core.engine.evaluation.metrics import cosines
from core.methods.mocose.model import MoCoSE

BATCH = pack(tiny.sentences(4, seed=50))


def trained(dropout=0.0, **changes):
    """A model after three steps, in training mode."""
    config = tiny.config("mocose", **changes)
    model = MoCoSE(config, tiny.encoder(tiny.bert(), dropout=dropout), torch.device("cpu")).train()
    tiny.steps(model, 0, 1, 2)
    return model


def cls(model, words):
    """[CLS] of the online encoder without dropout, (B, hidden), from word embeddings (T, hidden)."""
    copied = copy.deepcopy(model.encoder).eval()
    with torch.no_grad():
        return copied.stack(copied.embeddings.finish(words, BATCH.slot), BATCH).numpy()


def test_the_stale_gradient_in_one_view_is_what_is_compared():
    model = trained(dropout=0.3, fgsm__gradient="stale_online", fgsm__views="online_only", fgsm__epsilon=0.05)
    found = model.diagnostics(BATCH)
    words = model.encoder.embeddings.word.weight.detach()[BATCH.ids]  # (T, hidden)
    perturbed = words.clone()
    for place, (row, slot) in enumerate(zip(BATCH.row.tolist(), BATCH.slot.tolist(), strict=True)):
        if slot < model.stale.signs.shape[1]:
            perturbed[place] += 0.05 * model.stale.signs[row, slot]
    assert not torch.equal(perturbed, words)
    assert found["view_cosine"] == pytest.approx(cosines(cls(model, words), cls(model, perturbed)).mean(), abs=1e-6)
    assert found["view_cosine"] < 0.9999 and found["view_cosine_plain"] == pytest.approx(1.0, abs=1e-6)
    relative = (perturbed - words).norm(dim=1) / words.norm(dim=1)
    assert found["view_input_difference"] == pytest.approx(float(relative.mean()), rel=1e-5)
    alike = trained(fgsm__gradient="stale_online", fgsm__views="both_same", fgsm__epsilon=0.05).diagnostics(BATCH)
    assert alike["view_cosine"] == pytest.approx(1.0, abs=1e-6) and alike["view_input_difference"] == 0.0


def test_the_current_gradient_is_that_of_the_loss_at_these_sentences():
    model = trained(dropout=0.3, fgsm__gradient="current", fgsm__views="online_only", fgsm__epsilon=0.05)
    found, sign = model.diagnostics(BATCH), model.eval()._sign(BATCH, None, model.queue.visible(), None)

    def loss(change):  # (T, hidden), without dropout and augmentation
        keys, negatives = model._keys(BATCH, None, None), model.queue.visible()
        return model._contrast(BATCH, keys, negatives, change / 0.05, None)[0].item()

    step = 1e-4 * sign
    assert set(sign.unique().tolist()) <= {-1.0, 0.0, 1.0} and loss(step) > loss(0 * step) > loss(-step)
    worse = [loss(1e-4 * torch.randn(sign.shape, generator=torch.Generator().manual_seed(seed)).sign()) for seed in range(5)]
    assert loss(step) > max(worse)  # no other change of this size raises the loss as much, to first order
    words = model.encoder.embeddings.lookup(BATCH).detach()
    assert found["view_cosine"] == pytest.approx(cosines(cls(model, words), cls(model, words + 0.05 * sign)).mean(), abs=1e-6)
    assert found["view_cosine"] < 0.9999


@pytest.mark.parametrize("changes", [
    {"fgsm__gradient": "stale_online"},
    {"fgsm__gradient": "current", "fgsm__views": "online_only"},
    {"fgsm__gradient": "current", "fgsm__views": "online_only", "queue__negatives": "kmeans", "queue__clusters": 3},
])  # fmt: skip
def test_measuring_leaves_no_trace(changes):  # D53
    def losses(measured):
        torch.manual_seed(3)
        model = trained(dropout=0.2, fgsm__epsilon=0.01, aug__feature_cutoff=0.2, **changes)
        if measured:
            found = [model.diagnostics(BATCH) for _ in range(2)]
            assert found[0] == found[1] and len(found[0]) == 4
            assert model.training and all(p.grad is None for p in model.parameters())
        return tiny.steps(model, 7, 8)

    assert losses(True) == losses(False)
