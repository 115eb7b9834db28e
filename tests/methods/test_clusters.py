"""What stands for the queue's negatives: against a numpy loop, against the mean, at the edges, and in the loss."""

import numpy as np
import pytest
import tiny
import torch

from core.engine.encoder.packing import pack
from core.methods.mocose import augmentation as clusters
from core.methods.mocose.augmentation import spherical_kmeans, summarised
from core.methods.mocose.model import MoCoSE
from core.methods.mocose.settings import NegativeQueue


def drawn(width, dim, seed=0):
    return torch.randn(width, dim, generator=torch.Generator().manual_seed(seed))


def stream(seed=0):
    return torch.Generator().manual_seed(seed)


def naive(points, centres, steps):
    """Lloyd's steps point by point in float64."""
    points, centres = points.double().numpy(), centres.double().numpy().copy()
    for _ in range(steps):
        owners = []
        for point in points:
            cosines = [point @ centre / np.linalg.norm(centre) for centre in centres]
            owners.append(int(np.argmax(cosines)))
        for k in range(len(centres)):
            mine = [point for point, owner in zip(points, owners, strict=True) if owner == k]
            if mine:
                centres[k] = np.mean(mine, axis=0)
    return centres


@pytest.mark.parametrize("k,steps", [(1, 1), (3, 1), (5, 10), (20, 10)])
def test_lloyd_steps_against_a_loop(k, steps):
    points = torch.nn.functional.normalize(drawn(60, 7), dim=1)
    assert np.allclose(spherical_kmeans(points, points[:k], steps), naive(points, points[:k], steps), atol=1e-5)


def test_few_or_no_entries_are_left_as_they_are():
    config = NegativeQueue(size=40, init_size=1, negatives="kmeans", clusters=5)
    few, none = drawn(5, 6), drawn(0, 6)
    assert torch.equal(summarised(config, few, stream()), few)
    assert summarised(config, drawn(6, 6), stream()).shape == (5, 6)
    for negatives in ("entries", "mean"):
        assert summarised(NegativeQueue(negatives=negatives), none, stream()).shape == (0, 6)
    before = stream()
    assert torch.equal(summarised(NegativeQueue(), few, before), few)
    assert torch.equal(before.get_state(), stream().get_state())  # the plain queue draws nothing


@pytest.mark.parametrize("fgsm", ["stale_online", "current"])
def test_the_loss_sees_the_centres_and_draws_once_a_step(fgsm, monkeypatch):
    config = tiny.config("mocose", queue__negatives="kmeans", queue__clusters=3, fgsm__gradient=fgsm)
    seen, contrast = [], MoCoSE._contrast

    def watched(self, batch, other, negatives, *signs):
        seen.append(negatives)
        return contrast(self, batch, other, negatives, *signs)

    monkeypatch.setattr(MoCoSE, "_contrast", watched)
    model = MoCoSE(config, tiny.encoder(tiny.bert()), torch.device("cpu")).train()
    start = torch.Generator()
    start.set_state(model.clustering.get_state())
    entries = model.queue.visible()
    model.loss(pack(tiny.sentences(4)))
    points = torch.nn.functional.normalize(entries, dim=1)
    chosen = torch.randperm(len(points), generator=start)[:3]
    assert len(seen) == (2 if fgsm == "current" else 1)
    for negatives in seen:
        assert np.allclose(negatives, naive(points, points[chosen], clusters.LLOYD_STEPS), atol=1e-5)
    assert torch.equal(model.clustering.get_state(), start.get_state())
