"""The packed encoder gives what transformers gives, values and gradients."""

import pytest
import tiny
import torch

from core.engine.encoder import packing
from core.engine.encoder.dropout import DropoutStream, give
from core.engine.encoder.packing import pack


@pytest.mark.parametrize("make,pad", [(tiny.bert, 0), (tiny.roberta, 1)])
def test_values_and_gradients_equal_transformers_on_padded_input(make, pad):
    model, arrays = make(), tiny.sentences(5)
    weights = torch.randn(5, tiny.HIDDEN, generator=torch.Generator().manual_seed(1))
    ids, mask = tiny.padded(arrays, 12, pad)
    theirs = model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
    (theirs * weights).sum().backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    ours = tiny.encoder(model)(pack(arrays))
    (ours * weights).sum().backward()
    assert torch.allclose(ours, theirs, atol=1e-5) and ours.abs().max() > 0.1 and len(gradients) > 30
    for name, p in model.named_parameters():
        assert name not in gradients or torch.allclose(p.grad, gradients[name], atol=1e-4), name


def step_of(rows, dtype, monkeypatch):
    """[CLS], each layer's rows, and all gradients, with lines of a multiple of so many rows and dropout everywhere; in training mode."""
    monkeypatch.setattr(packing, "ROWS", rows)
    model, packed = tiny.bert().to(dtype), pack(tiny.sentences(5))
    encoder = tiny.encoder(model, dropout=0.3, attention_dropout=0.3).train()
    give(encoder, DropoutStream(0))
    cls = encoder(packed)
    cls.square().sum().backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return cls, encoder.stack.every(encoder.embeddings(packed), packed), gradients


@pytest.mark.parametrize("rows", [2, 32, 64])
def test_spare_rows_change_nothing(rows, monkeypatch):
    cls, layers, gradients = step_of(1, torch.float64, monkeypatch)  # no spare row
    tokens = sum(len(array) for array in tiny.sentences(5))
    assert tokens % rows and [len(layer) for layer in layers] == [tokens] * 3
    other, others, found = step_of(rows, torch.float64, monkeypatch)
    assert torch.allclose(other, cls, atol=1e-13)
    assert all(torch.allclose(a, b, atol=1e-13) for a, b in zip(others, layers, strict=True))
    assert found.keys() == gradients.keys() and len(found) > 30
    for name in gradients:
        assert torch.allclose(found[name], gradients[name], atol=1e-12), name
