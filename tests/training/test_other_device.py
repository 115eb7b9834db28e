"""Training steps on a device whose tensors hold no numbers: what a GPU would have to wait for, or
could not do, fails there.

Nothing of the loop may be read back between checks, and no operation may get tensors of two
devices.
"""

import pytest
import tiny
import torch
from tiny import CUT_OFF, NO_FGSM, SHUFFLED
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from core.config import methods
from core.training import trainer
from core.training.optimiser import parameter_groups
from core.training.step import Step

META = torch.device("meta")
MOVES = ("_to_copy", "copy_")


class OneDevice(TorchDispatchMode):
    """Refuses an operation on tensors of two devices; a scalar of the CPU goes with any other
    device, as on a GPU."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        devices = {
            x.device.type
            for x in tree_leaves((args, kwargs))
            if isinstance(x, torch.Tensor) and (x.ndim or x.device == META)
        }
        if len(devices) > 1 and operation.__name__.partition(".")[0] not in MOVES:
            raise AssertionError(f"{operation} got tensors of {' and '.join(sorted(devices))}")
        return operation(*args, **(kwargs or {}))


def trained(method, steps=3, **changes):
    config = tiny.config(method, **changes)
    encoder = tiny.encoder(tiny.bert(), dropout=0.1, attention_dropout=0.1)
    model = methods.model(config.method).Model(config, encoder, META)
    if method == "mocose":
        model.changed_share = 0.0  # measured at the first step alone, which waits

    def batches():
        for seed in range(steps):
            texts = tiny.sentences(4, seed=seed)
            yield tiny.views(config, texts, META)

    return trainer.train(config, model, batches(), lambda step: 0.0, lambda report: None)


@pytest.fixture(autouse=True)
def optimiser(monkeypatch):
    """The same optimiser, not fused: fused kernels exist for real devices alone."""

    def plain(train, model, new_layers):
        return torch.optim.AdamW(
            parameter_groups(train, model, new_layers),
            lr=train.learning_rate,
            fused=False,
            foreach=False,
        )

    monkeypatch.setattr(trainer, "adamw", plain)


@pytest.mark.parametrize(
    "method, changes",
    [
        ("simcse", {}),
        ("esimcse", {}),
        ("mocose", {}),
        ("mocose", {"fgsm__gradient": "current", "target__embeddings": "ema"}),
        ("mocose", NO_FGSM | SHUFFLED | CUT_OFF | {"aug__feature_cutoff": 0.2}),
        ("mocose", {"queue__slice": ((0, 4), (8, 12)), "ema__when": "before_forward"}),
        ("mocose", {"queue__negatives": "kmeans", "queue__clusters": 2}),
    ],
)
def test_steps_read_nothing_back_and_stay_on_their_device(method, changes, monkeypatch):
    for copied in (None, torch.bfloat16)[bool(changes) :]:
        monkeypatch.setattr(
            trainer, "step_for", lambda *given, copied=copied: Step(*given[:3], copied, False)
        )
        with OneDevice():
            assert trained(method, steps=2, **changes).losses == []


def test_the_watch_would_see_a_wait_and_a_stray_tensor(monkeypatch):
    monkeypatch.setattr(trainer, "NO_WAITING", ("meta",))  # as on a CPU, where every step is asked
    with pytest.raises(RuntimeError, match="meta tensor"):
        trained("simcse")
    with pytest.raises(AssertionError, match="tensors of cpu and meta"), OneDevice():
        torch.ones(2, 2, device=META) @ torch.ones(2, 2)
