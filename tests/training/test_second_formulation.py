"""Trainings of several steps, dropout included, against a second formulation in float64: losses
agree to 1e-12 of themselves. `test_step.py` compares the padded step with this packed one."""

import pytest
import second_formulation as second
import tiny
import torch

from core.encoder.dropout import DropoutStream
from core.encoder.packing import pack
from core.methods.esimcse.model import ESimCSE
from core.methods.mocose.model import MoCoSE
from core.training.trainer import train

CPU = torch.device("cpu")
STEPS = 5
BOTH = {
    "train__weight_decay": 0.1,
    "train__new_layer_factor": 3.0,
    "train__steps": STEPS,
    "eval__every": 1,
    "train__epsilon": 1e-4,
}
CURRENT = {"fgsm__gradient": "current", "fgsm__epsilon": 0.05}
MOCOSE = [
    ("repaired", {}),
    ("repaired", {"fgsm__epsilon": 0.05}),
    ("repaired", {"loss__in_batch_negatives": False}),
    ("repaired", CURRENT | {"fgsm__views": "online_only", "loss__in_batch_negatives": False}),
    ("repaired", CURRENT),
    ("repaired", {"train__adamw": "transformers"}),
    ("repaired", {"target__embeddings": "ema", "ema__start": 0.3}),
    ("repaired", {"ema__when": "before_forward", "ema__total_updates": 4}),
    ("repaired", {"train__clip_norm": 0.05}),
    ("paper", {}),
    ("paper", {"fgsm__epsilon": 0.05, "train__clip_norm": 0.05}),
    ("paper", {"ema__schedule": "cosine_to_end", "ema__start": 0.75, "ema__end": 0.95}),
    ("released", {"fgsm__epsilon": 0.05}),
    ("released", {"queue__init_size": 0, "train__adamw": "transformers"}),
]
ESIMCSE = [
    ("repaired", {}),
    ("repaired", {"momentum__when": "after_optimizer"}),
    ("repaired", {"momentum__head": "ema"}),
    ("repaired", {"momentum__dropout": "on"}),
    ("repaired", {"queue__size": 3}),
    ("released", {}),
]


@pytest.fixture
def drawn(monkeypatch):
    """The masks of the step, by position, over what is real: what is drawn again at a position is
    the same mask."""
    found = {}
    original = DropoutStream.mask

    def mask(self, shape, rate, dtype, spare=0):
        at = int(self.position)
        whole = original(self, shape, rate, dtype, spare)
        found[at] = whole[: len(whole) - spare]
        return whole

    monkeypatch.setattr(DropoutStream, "mask", mask)
    return found


def started(kind, config):
    encoder = tiny.encoder(tiny.bert(), dropout=0.1, attention_dropout=0.2)
    model = kind(config, encoder, CPU).double()
    weights = {
        name: p.detach().clone().requires_grad_(p.requires_grad)
        for name, p in model.named_parameters()
    }
    return model, weights, [name for name, p in model.named_parameters() if p.requires_grad]


def compared(model, config, batches, plain, theirs, drawn):
    """Losses of both, step by step, and what they leave: the second formulation gets the masks that
    the first has drawn."""
    found = []

    def fed():
        for number, batch in enumerate(batches):
            drawn.clear()
            yield batch
            found.append(theirs(number, [drawn[at] for at in sorted(drawn)]))

    losses = [
        loss
        for _, loss in train(config, model, fed(), lambda step: 0.0, lambda report: None).losses
    ]
    assert losses == pytest.approx(found, rel=1e-12, abs=0.0) and len(set(losses)) == STEPS
    assert not model.dropping._kept  # masks drawn ahead, which take memory
    for name, p in model.named_parameters():
        assert torch.allclose(p, plain.w[name], rtol=1e-9, atol=1e-12), name
    assert torch.allclose(model.queue.entries, plain.entries, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("profile, changes", MOCOSE)
def test_mocose_is_the_second_formulation(profile, changes, drawn):
    config = tiny.config("mocose", profile, **({"heads__dropout": 0.15} | BOTH | changes))
    model, weights, trained = started(MoCoSE, config)
    model.queue.entries = model.queue.entries.double()
    arrays = [tiny.sentences(4, seed=step) for step in range(STEPS)]
    plain = second.SecondMoCoSE(config, weights, trained, model.queue.entries.clone())
    batches = [(pack(a),) for a in arrays]

    def theirs(step, masks):
        return plain.step(arrays[step], masks)

    compared(model, config, batches, plain, theirs, drawn)


@pytest.mark.parametrize("profile, changes", ESIMCSE)
def test_esimcse_is_the_second_formulation(profile, changes, drawn):
    config = tiny.config("esimcse", profile, **(BOTH | changes))
    model, weights, trained = started(ESimCSE, config)
    views = [
        (tiny.sentences(4, seed=step), tiny.sentences(4, seed=step + 50, longest=12))
        for step in range(STEPS)
    ]
    plain = second.SecondESimCSE(config, weights, trained)
    batches = [(pack(a + b), pack(a)) for a, b in views]

    def theirs(step, masks):
        return plain.step(*views[step], views[step][0], masks)

    compared(model, config, batches, plain, theirs, drawn)
