"""Augmentations of embeddings (D22 - D24), FGSM's stale signs (D18, D19), and what stands for the queue's negatives."""

import numpy as np
import pytest
import tiny
import torch

from core.engine.encoder.packing import pack
from core.methods.mocose.augmentation import cutoff_mask, shuffled_positions
from core.methods.mocose.model import MoCoSE, changed_share
from core.methods.mocose.queue import LLOYD_STEPS, spherical_kmeans, summarised
from core.methods.mocose.settings import Augmentation, NegativeQueue

LENGTHS = (4, 9, 6)
PACKED = pack([np.arange(n) + 5 for n in LENGTHS])


def stream(seed=0):
    return torch.Generator().manual_seed(seed)


def test_token_cutoff_of_real_tokens_spares_the_special_ones_if_told():
    aug = Augmentation(token_cutoff=0.1, token_cutoff_pool="real_tokens_no_special")
    special = torch.tensor([slot in (0, LENGTHS[row] - 1) for row, slot in zip(PACKED.row.tolist(), PACKED.slot.tolist(), strict=True)])
    for seed in range(50):
        mask = cutoff_mask(aug, PACKED, 32, 8, stream(seed))[:, 0]
        assert mask[special].min() == 1
        assert [int((mask[PACKED.row == row] == 0).sum()) for row in range(3)] == [1, 1, 1]
    everything = Augmentation(token_cutoff=0.3, token_cutoff_pool="real_tokens")
    mask = cutoff_mask(everything, PACKED, 32, 8, stream())[:, 0]
    assert [int((mask[PACKED.row == row] == 0).sum()) for row in range(3)] == [1, 2, 1]


def test_feature_cutoff_takes_the_same_columns_at_all_slots_of_a_sentence():
    mask = cutoff_mask(Augmentation(feature_cutoff=0.1), PACKED, 32, 76, stream())
    for row in range(3):
        rows = mask[PACKED.row == row]
        assert torch.equal(rows, rows[:1].expand_as(rows))
        assert int((rows[0] == 0).sum()) == 7
    assert not torch.equal(mask[0], mask[5])


def test_position_shuffle_per_batch_is_one_permutation_over_the_padded_range():
    aug = Augmentation(position_shuffle="per_batch", position_shuffle_range="padded")
    places = shuffled_positions(aug, PACKED, 32, stream())
    first = {slot: place for slot, place in zip(PACKED.slot.tolist(), places.tolist(), strict=True)}
    assert all(first[slot] == place for slot, place in zip(PACKED.slot.tolist(), places.tolist(), strict=True))
    assert len(set(first.values())) == 9 and max(first.values()) > 9


def test_position_shuffle_per_sentence_of_real_tokens_stays_within_each():
    aug = Augmentation(position_shuffle="per_sentence", position_shuffle_range="real_tokens")
    places = shuffled_positions(aug, PACKED, 32, stream())
    orders = [places[PACKED.row == row].tolist() for row in range(3)]
    assert [sorted(order) for order in orders] == [list(range(n)) for n in LENGTHS]
    assert orders[1][:4] != orders[0]


@pytest.mark.parametrize("epsilon,expected", [(1e-9, 0.566), (5e-9, 0.998), (1e-8, 1.0)])
def test_share_of_entries_that_an_epsilon_changes(epsilon, expected):
    # D19: float32 draws from N(0, 0.04^2) and random signs.
    words = torch.randn(500, 400, generator=stream(1)) * 0.04
    sign = torch.randn(500, 400, generator=stream(2)).sign()
    batch = pack([np.arange(10)] * 50)
    assert changed_share(words, epsilon, sign, batch) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("gradient", ["stale_online", "current"])
def test_the_share_that_fgsm_changed_is_told(gradient):  # D19: at the first step that is perturbed, padding slots left out
    shares = []
    for epsilon in (1e-12, 1e-8, 1e-2):
        config = tiny.config("mocose", fgsm__gradient=gradient, fgsm__epsilon=epsilon)
        model = MoCoSE(config, tiny.encoder(tiny.bert()), torch.device("cpu"))
        assert model.diagnostics(PACKED)["fgsm_changed_fraction"] is None
        tiny.steps(model.train(), 0, 1, shortest=9)
        shares.append(model.diagnostics(PACKED)["fgsm_changed_fraction"])
    assert shares[0] < shares[1] < shares[2] and shares[0] < 0.01 and shares[2] > 0.99
    plain = tiny.config("mocose", fgsm__gradient="none", fgsm__epsilon=0.0)
    assert MoCoSE(plain, tiny.encoder(tiny.bert()), torch.device("cpu")).diagnostics(PACKED) == {}


def drawn(width, dim):
    return torch.randn(width, dim, generator=stream())


def naive(points, centres, steps):
    """Lloyd's steps point by point in float64."""
    points, centres = points.double().numpy(), centres.double().numpy().copy()
    for _ in range(steps):
        owners = [int(np.argmax([point @ centre / np.linalg.norm(centre) for centre in centres])) for point in points]
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
    start, entries = model.clustering.clone_state(), model.queue.visible()
    model.loss(pack(tiny.sentences(4)))
    points = torch.nn.functional.normalize(entries, dim=1)
    chosen = torch.randperm(len(points), generator=start)[:3]
    assert len(seen) == (2 if fgsm == "current" else 1)
    for negatives in seen:
        assert np.allclose(negatives, naive(points, points[chosen], LLOYD_STEPS), atol=1e-5)
    assert torch.equal(model.clustering.get_state(), start.get_state())
