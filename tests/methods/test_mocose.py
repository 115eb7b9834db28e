"""MoCoSE's parts: augmentations (D22 - D24), queue and what stands for it (D14 - D17), FGSM's signs
and views (D18, D19)."""

import copy

import numpy as np
import pytest
import tiny
import torch

from core.encoder.packing import pack
from core.encoder.vectors import cosines
from core.methods.mocose.augmentation import cutoff_mask, shuffled_positions
from core.methods.mocose.model import MoCoSE, changed_share
from core.methods.mocose.queue import LLOYD_STEPS, KeyQueue, spherical_kmeans, summarised
from core.methods.mocose.sections import Augmentation, NegativeQueue

CPU = torch.device("cpu")
LENGTHS = (4, 9, 6)
PACKED = pack([np.arange(n) + 5 for n in LENGTHS])
BATCH = pack(tiny.sentences(4, seed=50))


def stream(seed=0):
    return torch.Generator().manual_seed(seed)


def places():
    """Row and slot of each token of PACKED."""
    return list(zip(PACKED.row.tolist(), PACKED.slot.tolist(), strict=True))


def test_token_cutoff_of_real_tokens_spares_the_special_ones_if_told():
    aug = Augmentation(token_cutoff=0.1, token_cutoff_pool="real_tokens_no_special")
    special = torch.tensor([slot in (0, LENGTHS[row] - 1) for row, slot in places()])
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
    shuffled = shuffled_positions(aug, PACKED, 32, stream()).tolist()
    by_slot = {slot: place for (_, slot), place in zip(places(), shuffled, strict=True)}
    assert [by_slot[slot] for _, slot in places()] == shuffled
    assert len(set(by_slot.values())) == 9 and max(by_slot.values()) > 9


def test_position_shuffle_per_sentence_of_real_tokens_stays_within_each():
    aug = Augmentation(position_shuffle="per_sentence", position_shuffle_range="real_tokens")
    shuffled = shuffled_positions(aug, PACKED, 32, stream())
    orders = [shuffled[PACKED.row == row].tolist() for row in range(3)]
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
# D19: at the first step that is perturbed, padding slots left out
def test_the_share_that_fgsm_changed_is_told(gradient):
    shares = []
    for epsilon in (1e-12, 1e-8, 1e-2):
        config = tiny.config("mocose", fgsm__gradient=gradient, fgsm__epsilon=epsilon)
        model = MoCoSE(config, tiny.encoder(tiny.bert()), CPU)
        assert model.diagnostics(PACKED)["fgsm_changed_fraction"] is None
        tiny.steps(model.train(), 0, 1, shortest=9)
        shares.append(model.diagnostics(PACKED)["fgsm_changed_fraction"])
    assert shares[0] < shares[1] < shares[2] and shares[0] < 0.01 and shares[2] > 0.99
    plain = tiny.config("mocose", fgsm__gradient="none", fgsm__epsilon=0.0)
    assert MoCoSE(plain, tiny.encoder(tiny.bert()), CPU).diagnostics(PACKED) == {}


def naive(points, centres, steps):
    """Lloyd's steps point by point in float64."""
    points = points.double().numpy()
    centres = centres.double().numpy().copy()
    for _ in range(steps):
        lengths = np.linalg.norm(centres, axis=1)
        owners = [int(np.argmax(centres @ point / lengths)) for point in points]
        for k in range(len(centres)):
            mine = [point for point, owner in zip(points, owners, strict=True) if owner == k]
            if mine:
                centres[k] = np.mean(mine, axis=0)
    return centres


@pytest.mark.parametrize("k,steps", [(1, 1), (3, 1), (5, 10), (20, 10)])
def test_lloyd_steps_against_a_loop(k, steps):
    points = torch.nn.functional.normalize(torch.randn(60, 7, generator=stream()), dim=1)
    found = spherical_kmeans(points, points[:k], steps)
    assert np.allclose(found, naive(points, points[:k], steps), atol=1e-5)


def test_few_or_no_entries_are_left_as_they_are():
    config = NegativeQueue(size=40, init_size=1, negatives="kmeans", clusters=5)
    few, more, none = (torch.randn(n, 6, generator=stream()) for n in (5, 6, 0))
    assert torch.equal(summarised(config, few, stream()), few)
    assert summarised(config, more, stream()).shape == (5, 6)
    for kind in ("entries", "mean"):
        assert summarised(NegativeQueue(negatives=kind), none, stream()).shape == (0, 6)
    before = stream()
    assert torch.equal(summarised(NegativeQueue(), few, before), few)
    assert torch.equal(before.get_state(), stream().get_state())  # the plain queue draws nothing


@pytest.mark.parametrize("fgsm", ["stale_online", "current"])
def test_the_loss_sees_the_centres_and_draws_once_a_step(fgsm, monkeypatch):
    config = tiny.config(
        "mocose", queue__negatives="kmeans", queue__clusters=3, fgsm__gradient=fgsm
    )
    seen = []
    contrast = MoCoSE._contrast

    def watched(self, batch, other, negatives, *signs):
        seen.append(negatives)
        return contrast(self, batch, other, negatives, *signs)

    monkeypatch.setattr(MoCoSE, "_contrast", watched)
    model = MoCoSE(config, tiny.encoder(tiny.bert()), CPU).train()
    start = model.clustering.clone_state()
    entries = model.queue.visible()
    model.loss(pack(tiny.sentences(4)))
    points = torch.nn.functional.normalize(entries, dim=1)
    chosen = torch.randperm(len(points), generator=start)[:3]
    assert len(seen) == (2 if fgsm == "current" else 1)
    for negatives in seen:
        assert np.allclose(negatives, naive(points, points[chosen], LLOYD_STEPS), atol=1e-5)
    assert torch.equal(model.clustering.get_state(), start.get_state())


def trace(size, init_size, batch, steps, init):
    """(used, random among them) before each step; keys are marked by a value of 100."""
    queue = KeyQueue(NegativeQueue(size=size, init=init, init_size=init_size), 3, stream(), CPU)
    found = []
    for _ in range(steps):
        seen = queue.visible()
        found.append((len(seen), int((seen[:, 0] != 100).sum())))
        queue.push(torch.full((batch, 3), 100.0))
    return found


def test_traces_of_the_released_code():
    assert trace(512, 128, 64, 9, "released_2022") == [
        (256, 256), (320, 256), (384, 256), (448, 256), (768, 512), (832, 512), (896, 512), (512, 64), (512, 0),
    ]  # fmt: skip
    assert trace(1024, 128, 256, 5, "released_2022")[3:] == [(1792, 1024), (1024, 0)]
    assert trace(512, 128, 64, 9, "paper_grow") == [
        (128, 128), (192, 128), (256, 128), (320, 128), (384, 128), (448, 128), (512, 128), (512, 64), (512, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("init", ["paper_grow", "released_2022"])
def test_slice_applies_once_the_queue_is_full(init):
    config = NegativeQueue(size=8, init=init, init_size=1, slice=((0, 2), (6, 8)))
    queue = KeyQueue(config, 3, stream(), CPU)
    assert len(queue.visible()) == (1 if init == "paper_grow" else 2)
    for step in range(6):
        queue.push(torch.full((2, 3), float(step)))
    assert queue.visible()[:, 0].tolist() == [5, 5, 2, 2]


def trained(dropout=0.0, **changes):
    """A model after three steps, in training mode."""
    config = tiny.config("mocose", **changes)
    model = MoCoSE(config, tiny.encoder(tiny.bert(), dropout=dropout), CPU).train()
    tiny.steps(model, 0, 1, 2)
    return model


def cls(model, words):
    """[CLS] of the online encoder without dropout, (B, hidden), from word embeddings (T,
    hidden)."""
    copied = copy.deepcopy(model.encoder).eval()
    with torch.no_grad():
        return copied.stack(copied.embeddings.finish(words, BATCH.slot), BATCH).numpy()


CURRENT = {"fgsm__gradient": "current"}
STALE = {"fgsm__gradient": "stale_online"}
KMEANS = {"queue__negatives": "kmeans", "queue__clusters": 3}
ONE_VIEW = {"fgsm__views": "online_only"}


@pytest.mark.parametrize("gradient", [STALE, CURRENT])
def test_what_fgsm_makes_of_one_view_is_what_is_compared(gradient):
    """`test_second_formulation.py` has the gradients themselves."""
    model = trained(dropout=0.3, fgsm__epsilon=0.05, **ONE_VIEW, **gradient)
    found = model.diagnostics(BATCH)
    sign = model.stale.sign_for(BATCH)
    if gradient == CURRENT:
        sign = model.eval()._sign(BATCH, None, model.queue.visible(), None)
    words = model.encoder.embeddings.word.weight.detach()[BATCH.ids]  # (T, hidden)
    perturbed = words + 0.05 * sign
    cosine = cosines(cls(model, words), cls(model, perturbed)).mean()
    assert found["view_cosine"] == pytest.approx(cosine, abs=1e-6) and cosine < 0.9999
    assert found["view_cosine_plain"] == pytest.approx(1.0, abs=1e-6)
    relative = (perturbed - words).norm(dim=1) / words.norm(dim=1)
    assert found["view_input_difference"] == pytest.approx(float(relative.mean()), rel=1e-5)
    alike = trained(fgsm__epsilon=0.05, fgsm__views="both_same", **gradient).diagnostics(BATCH)
    assert alike["view_cosine"] == pytest.approx(1.0, abs=1e-6)
    assert alike["view_input_difference"] == 0.0


@pytest.mark.parametrize("changes", [STALE, CURRENT, CURRENT | KMEANS | ONE_VIEW])
def test_measuring_leaves_no_trace(changes):  # D53
    def losses(measured):
        torch.manual_seed(3)
        model = trained(dropout=0.2, fgsm__epsilon=0.01, aug__feature_cutoff=0.2, **changes)
        if measured:
            first, second = (model.diagnostics(BATCH) for _ in range(2))
            assert first == second and len(first) == 4
            assert model.training and all(p.grad is None for p in model.parameters())
        return tiny.steps(model, 7, 8)

    assert losses(True) == losses(False)
