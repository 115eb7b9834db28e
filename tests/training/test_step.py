"""A GPU's step on a CPU, in float64 without dropout: padded, with copies of the weights, and
replayed, it is the packed step.

`tests/training/test_second_formulation.py` compares the packed step with a plain one.
Graphs themselves need a GPU (`test_gpu.py`); here a stand-in replays a step's operations over the
memory in which they were recorded, as a CUDA graph does.
"""

import gc
import weakref
from types import SimpleNamespace

import pytest
import tiny
import torch
from tiny import NO_FGSM
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from core.config import methods
from core.encoder.packing import pack
from core.training import trainer
from core.training.step import Step

CPU = torch.device("cpu")
STEPS = 12
TOLERANCE = 1e-10
VARIANTS = [
    ("simcse", "paper", {}),
    ("esimcse", "paper", {}),
    ("esimcse", "repaired", {}),
    ("esimcse", "released", {}),
    ("esimcse", "repaired", {"momentum__when": "after_optimizer"}),
    ("esimcse", "paper", {"momentum__head": "ema"}),
    ("mocose", "paper", {}),
    ("mocose", "repaired", {}),
    ("mocose", "released", {}),
    ("mocose", "repaired", {"fgsm__epsilon": 0.05}),
    ("mocose", "paper", {"fgsm__epsilon": 0.05, "fgsm__views": "both_same"}),
    ("mocose", "repaired", NO_FGSM),
    ("mocose", "repaired", {"target__embeddings": "ema"}),
    ("mocose", "repaired", {"queue__slice": ((0, 4), (8, 12))}),
    ("mocose", "released", {"queue__init_size": 0}),
    ("mocose", "released", {"queue__size": 21}),
    ("mocose", "repaired", {"queue__negatives": "mean"}),
    ("mocose", "repaired", {"queue__negatives": "kmeans", "queue__clusters": 2}),
]


class Recorded(TorchDispatchMode):
    """A stand-in for a CUDA graph: `replay` does the recorded operations again, over the same
    memory. The first replay after a recording does nothing, since recording has done them."""

    def __init__(self):
        super().__init__()
        self.operations = []
        self.fresh = True
        self.replays = 0
        made.append(self)

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        args, kwargs, result = (
            *tree_map_only(torch.Tensor, alias, (args, kwargs or {})),
            operation(*args, **(kwargs or {})),
        )
        self.operations.append(
            (operation, args, kwargs, tensors(tree_map_only(torch.Tensor, alias, result)))
        )
        return result

    @torch.no_grad()
    def replay(self):
        self.replays += not self.fresh
        for operation, args, kwargs, outputs in [] if self.fresh else self.operations:
            for place, value in zip(outputs, tensors(operation(*args, **kwargs)), strict=True):
                if place.data_ptr() != value.data_ptr():
                    place.copy_(value)
        self.fresh = False

    def pool(self):
        return None

    def register_generator_state(self, generator):
        raise AssertionError("nothing is dropped here")


def alias(tensor):
    """The same memory, without history."""
    return torch.empty(0, dtype=tensor.dtype).set_(
        tensor.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride()
    )


def tensors(tree):
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


made: list[Recorded] = []


@pytest.fixture
def recorded(monkeypatch):
    """Steps whose graphs are recorded, as `Recorded` does."""
    made.clear()
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Recorded)
    monkeypatch.setattr(torch.cuda, "graph", lambda graph, **others: graph)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: None)


def trained(monkeypatch, config, *, padded, copied=None, captures=False):
    """Losses of each step and the model, of a training whose batches have changing shapes, the last
    one ragged where that is allowed."""
    model = methods.model(config.method).Model(config, tiny.encoder(tiny.bert()), CPU).double()
    if config.method == "mocose":
        model.queue.entries = model.queue.entries.double()
    if captures:
        monkeypatch.setattr(trainer, "adamw", on_tensors)

    def step_for(train, model, optimiser, device):
        return Step(train, model, optimiser, copied, captures and model.capturable)

    monkeypatch.setattr(trainer, "step_for", step_for)
    ragged = not (config.method == "mocose" and config.fgsm.gradient == "stale_online")

    def batches():
        for seed in range(STEPS):
            count = 3 if ragged and seed % 5 == 4 else 4
            yield tiny.views(config, tiny.sentences(count, seed=seed), padded=padded)

    losses = trainer.train(config, model, batches(), lambda step: 0.0, lambda report: None).losses
    return [loss for _, loss in losses], model


def on_tensors(train, model, new_layers):
    """AdamW whose rates are tensors, as a GPU's are."""
    optimiser = ADAMW(train, model, new_layers)
    for group in optimiser.param_groups:
        group["lr"] = torch.full((), train.learning_rate, dtype=torch.float64)
        group["capturable"] = train.adamw == "transformers"
    return optimiser


ADAMW = trainer.adamw
FORMS = [{"copied": torch.float64, "captures": True}, {"copied": torch.float64}, {"captures": True}]


@pytest.mark.parametrize("method, profile, changes", VARIANTS)
def test_a_gpus_step_is_the_packed_step(method, profile, changes, recorded, monkeypatch):
    """With copies and graphs together; each alone where nothing is changed."""
    config = tiny.config(
        method, profile, train__steps=STEPS, eval__every=1, train__epsilon=1e-4, **changes
    )
    packed, other = trained(monkeypatch, config, padded=False)
    sentences = pack(tiny.sentences(4, seed=98))
    for form in FORMS[: 3 if profile == "paper" and not changes else 1]:
        made.clear()
        found, model = trained(monkeypatch, config, padded=True, **form)
        assert found == pytest.approx(packed, rel=TOLERANCE, abs=TOLERANCE)
        assert len(set(packed)) == STEPS
        for (name, weight), wanted in zip(
            model.named_parameters(), other.parameters(), strict=True
        ):
            assert torch.allclose(weight, wanted, rtol=TOLERANCE, atol=TOLERANCE), name
            assert weight.requires_grad == wanted.requires_grad
            assert type(weight) is torch.nn.Parameter
        if "captures" in form and model.capturable:
            assert sum(graph.replays for graph in made) >= 2, "nothing was replayed"
        assert model.diagnostics(sentences) == pytest.approx(
            other.diagnostics(sentences), abs=TOLERANCE
        )


@pytest.mark.parametrize("method", ["simcse", "esimcse", "mocose"])
def test_a_trained_model_does_not_hold_what_trained_it(method, recorded, monkeypatch):
    """Graphs and moments take some gigabytes of a GPU, which the final scoring has need of."""
    held = []
    make = Step.__init__

    def watched(step, train, model, optimiser, *others):
        make(step, train, model, optimiser, *others)
        held.extend(map(weakref.ref, (step, optimiser)))

    monkeypatch.setattr(Step, "__init__", watched)
    gc.collect()
    gc.disable()
    try:
        config = tiny.config(method, train__steps=STEPS, eval__every=1)
        model = trained(monkeypatch, config, padded=True, copied=torch.float64, captures=True)[1]
        assert model.training and [one() for one in held] == [None, None]
    finally:
        gc.enable()


def test_a_step_that_is_not_finite_moves_nothing_on_a_cpu(monkeypatch):
    config = tiny.config("mocose", "paper")
    model = methods.model("mocose").Model(config, tiny.encoder(tiny.bert()), CPU).train()
    step = Step(config.train, model, ADAMW(config.train, model, model.new_layers()), None, False)
    step(tiny.views(config, tiny.sentences(4)), 1e-3)
    before = {name: value.clone() for name, value in model.named_parameters()}
    monkeypatch.setattr(
        model, "loss", lambda batch: model.encoder.embeddings.word.weight.sum() * float("nan")
    )
    assert not torch.isfinite(step(tiny.views(config, tiny.sentences(4)), 1e-3))
    assert all(torch.equal(value, before[name]) for name, value in model.named_parameters())


@pytest.mark.parametrize("waits", [True, False])
def test_the_first_step_whose_loss_is_not_finite_is_named(waits, monkeypatch):
    """A CPU is asked after every step, a GPU at checks alone."""
    monkeypatch.setattr(trainer, "NO_WAITING", ("cpu",) if waits else ())
    losses = iter((1.0, 1.0, 1.0, 1.0, float("nan"), 1.0))
    monkeypatch.setattr(
        trainer, "step_for", lambda *_: lambda batch, rate: torch.tensor(next(losses))
    )
    config = tiny.config("simcse", train__steps=6, eval__every=3)
    model = methods.model("simcse").Model(config, tiny.encoder(tiny.bert()), CPU)
    trained = trainer.train(config, model, range(6), float, lambda report: None)
    assert (trained.diverged_at, trained.selected.step) == (5, 3)
    assert trained.losses == [(3, 1.0)] and len(list(losses)) == waits


@pytest.mark.parametrize("waits, expected", [(True, 2.0), (False, (1.0 + 2.0 + 30.0) / 3)])
def test_a_step_s_time_has_neither_checks_nor_checkpoints_in_it(waits, expected, monkeypatch):
    now = [0.0]

    def passes(taken):
        now[0] += taken
        return 0.0

    monkeypatch.setattr(trainer, "time", SimpleNamespace(monotonic=lambda: now[0]))
    # a GPU is asked at checks alone
    monkeypatch.setattr(trainer, "NO_WAITING", ("cpu",) if waits else ())
    seconds = iter((1.0, 2.0, 30.0) * 2)

    def step(batch, rate):
        passes(next(seconds))
        return torch.tensor(1.0)

    monkeypatch.setattr(trainer, "step_for", lambda *_: step)
    config = tiny.config("simcse", train__steps=6, eval__every=3)
    model = methods.model("simcse").Model(config, tiny.encoder(tiny.bert()), CPU)
    keeper = SimpleNamespace(
        restored=lambda *_: trainer.TrainingState(),
        due=lambda: True,
        write=lambda *_: passes(700.0),
    )
    rest = (lambda step: passes(1000.0), lambda report: None, keeper if waits else None)
    trained = trainer.train(config, model, range(6), *rest)
    assert trained.step_seconds == pytest.approx(expected)
    assert [step for step, _ in trained.losses] == [3, 6]
    assert trainer.train(config, model, [], *rest[:2]).step_seconds is None
