"""The packed encoder gives what transformers gives, values and gradients."""

import numpy as np
import pytest
import tiny
import torch

from core.engine.encoder import packing, products
from core.engine.encoder.dropout import DropoutStream, give
from core.engine.encoder.packing import pack


def hugging_face_cls(model, arrays, width, pad):
    ids, mask = tiny.padded(arrays, width, pad)
    return model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]


@pytest.mark.parametrize("make,pad", [(tiny.bert, 0), (tiny.roberta, 1)])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_values_equal_transformers_on_padded_input(make, pad, attention):
    model, arrays = make(), tiny.sentences(5)
    ours = tiny.encoder(model, attention=attention)(pack(arrays))
    theirs = hugging_face_cls(model, arrays, 12, pad)
    assert torch.allclose(ours, theirs, atol=1e-5)
    assert ours.abs().max() > 0.1


def test_gradients_equal_transformers():
    model, arrays = tiny.bert(), tiny.sentences(5)
    weights = torch.randn(5, tiny.HIDDEN, generator=torch.Generator().manual_seed(1))
    (hugging_face_cls(model, arrays, 12, 0) * weights).sum().backward()
    theirs = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    (tiny.encoder(model)(pack(arrays)) * weights).sum().backward()
    for name, p in model.named_parameters():
        if name in theirs:
            assert torch.allclose(p.grad, theirs[name], atol=1e-4), name
    assert len(theirs) > 30


def test_packing_layout_by_hand():
    packed = pack([np.array([7, 8]), np.array([9, 4, 5])])
    assert packed.ids.tolist() == [7, 8, 9, 4, 5]
    assert packed.row.tolist() == [0, 0, 1, 1, 1]
    assert packed.slot.tolist() == [0, 1, 0, 1, 2]
    assert packed.first.tolist() == [0, 2]
    assert packed.cells.tolist() == [0, 1, 3, 4, 5]
    assert packed.lengths.tolist() == [2, 3]
    assert packed.mask.tolist() == [[True, True, False], [True, True, True]]


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


def step_with_dropout(half):
    """[CLS] of thirty sentences and every gradient of its product with one random direction."""
    model = tiny.bert()
    encoder = tiny.encoder(model, dropout=0.3, attention_dropout=0.3).train()
    give(encoder, DropoutStream(0))
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        cls = encoder(pack(tiny.sentences(30)))
    (cls * torch.randn(cls.shape, generator=torch.Generator().manual_seed(7))).sum().backward()
    return cls, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def agree(ours, theirs, near):
    (cls, found), (other, gradients) = ours, theirs
    assert cls.dtype == other.dtype and torch.allclose(cls, other, atol=near) and found.keys() == gradients.keys()
    for name in gradients:
        assert bool(torch.isfinite(found[name]).all()), name
        if not name.endswith("key.bias"):  # softmax takes away what is the same for all keys: nothing but rounding
            assert torch.allclose(found[name], gradients[name], rtol=near, atol=near * float(gradients[name].abs().max())), name
    assert sum(float(gradient.abs().max()) > 0.01 for gradient in gradients.values()) > 30


@pytest.mark.parametrize("half", [False, True])
def test_spare_rows_change_nothing_but_rounding_in_the_products_of_training(half, monkeypatch):
    """Float32 with lines long enough for oneDNN, and bf16 as scale mini has it."""

    def step(rows):
        monkeypatch.setattr(packing, "ROWS", rows)
        return step_with_dropout(half)

    agree(step(32), step(1), 3e-2 if half else 1e-5)


def test_bf16_in_float32_is_the_same_step_to_its_rounding(monkeypatch):
    def step(in_float32):
        monkeypatch.setattr(products, "BF16_IN_FLOAT32", in_float32)
        monkeypatch.setattr(products, "SMALL_BF16_IN_FLOAT32", in_float32)
        return step_with_dropout(half=True)

    agree(step(True), step(False), 3e-2)
