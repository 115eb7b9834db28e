"""What a GPU scores with, on a CPU: padded batches looked up in a table, and metrics of tensors, beside those of arrays."""

import numpy as np
import pytest
import tiny
import torch

from core.engine.encoder.packing import looked_up, pack, padded, rows
from core.engine.evaluation import metrics
from core.engine.evaluation.baselines import FirstLast
from core.engine.tokens import TokenTable


def table(arrays):
    return TokenTable(np.concatenate(arrays), np.cumsum([0, *map(len, arrays)], dtype=np.int64))


def test_a_looked_up_matrix_is_that_of_rows():
    arrays = tiny.sentences(7)
    chosen = [5, 0, 6]
    width = max(len(arrays[i]) for i in chosen)
    found = looked_up(*table(arrays).on(torch.device("cpu")), torch.tensor(chosen), width)
    assert torch.equal(found, rows([arrays[i] for i in chosen]))
    batch, wanted = padded(found), pack([arrays[i] for i in chosen])
    assert torch.equal(batch.ids[batch.mask.flatten()], wanted.ids) and torch.equal(batch.mask, wanted.mask)
    assert torch.equal(batch.ids[batch.first], wanted.ids[wanted.first]) and torch.equal(batch.row * width + batch.slot, batch.cells)


@pytest.mark.parametrize("make", [tiny.bert, tiny.roberta])
def test_padded_vectors_are_the_packed_ones(make):
    encoder = tiny.encoder(make()).double().eval()
    arrays = tiny.sentences(9, seed=4)
    for model in (encoder, FirstLast(encoder).sentence_vectors):
        found, wanted = model(padded(rows(arrays, 12))), model(pack(arrays))
        assert torch.allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_metrics_of_tensors_are_those_of_arrays():
    draw = np.random.default_rng(0)
    x, y = (draw.standard_normal((600, 24)).astype(np.float32) for _ in range(2))
    gold = draw.uniform(0, 5, 600)
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    assert np.allclose(metrics.cosines(a, b), metrics.cosines(x, y), rtol=1e-6, atol=0)
    for mode in ("global", "batched64"):
        for pairs in ("gold>4", "all"):
            assert metrics.alignment(a, b, gold, mode, pairs) == pytest.approx(metrics.alignment(x, y, gold, mode, pairs), rel=1e-12)
        assert metrics.uniformity(a, mode) == pytest.approx(metrics.uniformity(x, mode), rel=1e-6)
    assert metrics.mean_cosine(a) == pytest.approx(metrics.mean_cosine(x), rel=1e-9)


def test_a_tensor_without_a_direction_has_no_number():
    x = torch.ones(4, 3)
    x[1] = 0.0
    assert np.isnan(metrics.cosines(x, x)[1]) and np.isnan(metrics.uniformity(x, "global")) and np.isnan(metrics.mean_cosine(x))
