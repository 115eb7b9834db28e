"""Steps at fixed shapes: the same losses as without padding, whatever is captured and replayed; graphs themselves where a GPU is."""

import pytest
import tiny
import torch
from tiny import CUT_OFF, NO_FGSM, SHUFFLED
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from core import methods
from core.engine import replay, trainer
from core.engine.encoder.packing import pack
from core.engine.replay import Replayed, spread
from core.methods.simcse.model import SimCSE

STEPS = 12
VARIANTS = [
    ("simcse", "repaired", {}), ("esimcse", "repaired", {}), ("esimcse", "released", {}),
    ("esimcse", "repaired", {"momentum__when": "after_optimizer"}),
    ("mocose", "repaired", {}), ("mocose", "released", {}), ("mocose", "repaired", {"fgsm__gradient": "current"}),
    ("mocose", "repaired", NO_FGSM), ("mocose", "repaired", {"target__embeddings": "ema"}),
    ("mocose", "repaired", {"queue__negatives": "kmeans", "queue__clusters": 2}),
    ("mocose", "repaired", NO_FGSM | CUT_OFF),
    ("mocose", "repaired", NO_FGSM | SHUFFLED),
]  # fmt: skip


def accumulator(weight):
    """The node that gradients of this weight arrive at: made with the first graph that reads it, and gone with the last."""
    return weight.view_as(weight).grad_fn.next_functions[0][0]


def graphed(module, samples, allow_unused_input):
    """What make_graphed_callables gives, on a CPU: inputs are copied to fixed places, and outputs and gradients are overwritten by the
    next call, which computes from those places. As on a GPU, an earlier step's graph that lives on stands in the way, and what was
    captured without a gradient has no way back."""
    assert allow_unused_input
    deriving, weights = torch.is_grad_enabled(), {name: p for name, p in module.named_parameters() if p.requires_grad}
    if deriving:
        live = [name for name, weight in weights.items() if accumulator(weight).metadata.keys() == {"step"}]
        assert not live, f"an earlier step's graph still holds {live}"
    inputs, form = tree_flatten(samples)
    surface = [*inputs, *module.parameters()]
    wanted = [i for i, tensor in enumerate(surface) if tensor.requires_grad]
    outputs, gradients, kept = [], {}, {}

    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *given):
            for place, tensor in zip(inputs, given, strict=False):
                place.copy_(tensor)
            with torch.set_grad_enabled(deriving and any(t.requires_grad for t in given)):
                found, kept["form"] = tree_flatten(module(*tree_unflatten(inputs, form)))
            kept["found"] = found
            if not outputs:
                outputs.extend(torch.empty_like(tensor.detach()) for tensor in found)
            for place, tensor in zip(outputs, found, strict=True):
                place.copy_(tensor.detach())
            return tuple(place.detach() for place in outputs)

        @staticmethod
        def backward(ctx, *incoming):
            pairs = [(out, grad) for out, grad in zip(kept["found"], incoming, strict=True) if out.requires_grad]
            if not pairs:
                raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")  # as a GPU says
            found = torch.autograd.grad(
                [out for out, _ in pairs], [surface[i] for i in wanted], [grad for _, grad in pairs], allow_unused=True
            )
            by_place = dict(zip(wanted, found, strict=True))
            for i, grad in by_place.items():
                if grad is not None:
                    gradients.setdefault(i, torch.empty_like(grad)).copy_(grad)
            return tuple(gradients[i].detach() if by_place.get(i) is not None else None for i in range(len(surface)))

    def call(*arguments):
        calls.append(len(arguments))
        return tree_unflatten(Graphed.apply(*tree_leaves(arguments), *module.parameters()), kept["form"])

    kept["captured"], kept["form"] = tree_flatten(module(*samples))  # whose graph lives as long as the replay
    if deriving:
        for weight in weights.values():
            accumulator(weight).metadata["captured"] = True
    return call


calls: list[int] = []


@pytest.fixture
def on_a_cpu(monkeypatch):
    calls.clear()
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", graphed)


def trained(method, profile, changes, *, fixed, device="cpu", dropout=0.0, steps=STEPS):
    """Losses of each step and the model, of a training whose batches have changing shapes."""
    config = tiny.config(method, profile, train__steps=steps, eval__every=1, **changes)
    encoder = tiny.encoder(tiny.bert(), dropout=dropout, attention_dropout=dropout)
    model = methods.model(config.method).Model(config, encoder, torch.device(device))
    if fixed:
        model.replay()
    loss_of = model.loss

    def loss(*views):
        found = loss_of(*views)
        for weight in model.parameters():
            if weight.requires_grad:
                accumulator(weight).metadata["step"] = True
        return found

    model.loss = loss

    def batches():
        for seed in range(steps):
            texts = tiny.sentences(config.train.batch_size, seed=seed)
            yield tiny.views(config, texts, device)

    with replay.aside(torch.device(device), fixed):
        losses = trainer.train(config, model, batches(), lambda step: 0.0, lambda report: None).losses
    return [loss for _, loss in losses], model


@pytest.mark.parametrize("method, profile, changes", VARIANTS)
def test_a_replayed_training_is_that_of_packed_batches(method, profile, changes, on_a_cpu):
    packed, other = trained(method, profile, changes, fixed=False)
    assert not calls
    replayed, model = trained(method, profile, changes, fixed=True)
    assert len(calls) >= STEPS - 7, "nothing was replayed"
    assert replayed == pytest.approx(packed, rel=2e-5, abs=1e-6) and len(set(packed)) == STEPS
    scored = [one.eval().sentence_vectors(pack(tiny.sentences(7, seed=99))) for one in (model, other)]  # (7, hidden) each
    assert torch.allclose(*scored, atol=1e-4)
    sentences = pack(tiny.sentences(4, seed=98))
    assert model.diagnostics(sentences) == pytest.approx(other.diagnostics(sentences), abs=1e-5)


def test_capturing_draws_nothing_and_a_batch_of_another_shape_is_computed_as_usual(on_a_cpu):
    config = tiny.config("simcse")
    model = SimCSE(config, tiny.encoder(tiny.bert(), dropout=0.3), torch.device("cpu")).train()
    model.replay()

    def losses(sizes):
        model.dropping.position.zero_()
        return [model.loss(pack(tiny.sentences(size, seed=3) * 2)).item() for size in sizes]

    first = losses([4, 4, 4, 3, 4])
    assert calls == [1, 1] and len(set(first)) == 5  # steps 3 and 5; dropout differs from step to step
    assert losses([4, 4, 4, 3, 4]) == pytest.approx(first, rel=1e-6)  # the first call of all is replayed now, and draws the same
    assert calls == [1] * 6


def test_spread_batches_hold_the_same_tokens():
    arrays = tiny.sentences(5)
    batch = pack(arrays)
    wide = spread(batch, 12)
    ids, mask = tiny.padded(arrays, 12)
    assert torch.equal(wide.ids.view(5, 12), ids) and torch.equal(wide.mask, mask.bool())
    assert wide.width == 12 and wide.batch == 5 and torch.equal(wide.ids[wide.first], batch.ids[batch.first])
    assert torch.equal(wide.row * 12 + wide.slot, wide.cells) and spread(batch, 2).width == batch.width


@pytest.mark.parametrize("method, changes, width", [
    ("mocose", {}, 10), ("simcse", {}, 10), ("esimcse", {}, 13), ("esimcse", {"dup__rate": 0.9, "dup__cap": 5}, 15),
    ("esimcse", {"dup__recut": True}, 10), ("esimcse", {"dup__unit": "word"}, 10),
])  # fmt: skip
def test_slots_are_enough_for_the_longest_sentence(method, changes, width):
    assert tiny.config(method, **changes).longest == width


def test_a_function_without_gradients_is_replayed_too(on_a_cpu):
    layer = torch.nn.Linear(2, 2)
    doubled = Replayed(lambda x: 2 * layer(x), layer)
    with torch.no_grad():
        found = [doubled(torch.full((1, 2), float(i))).clone() for i in range(4)]
    assert len(calls) == 2
    assert all(torch.allclose(one, 2 * layer(torch.full((1, 2), float(i)))) for i, one in enumerate(found))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: what CUDA graphs give was not compared")
@pytest.mark.parametrize("method, profile, changes", VARIANTS)
def test_graphs_give_what_the_same_shapes_give_without_them(method, profile, changes, monkeypatch):
    captured, captures = replay._captured, []
    monkeypatch.setattr(replay, "_captured", lambda *given: captures.append(given[0].__name__) or captured(*given))
    replayed, _ = trained(method, profile, changes, fixed=True, device="cuda", dropout=0.1)
    assert "_compared" in captures
    monkeypatch.setattr(replay, "_captured", lambda compute, module, arguments, dropping: compute)
    usual, _ = trained(method, profile, changes, fixed=True, device="cuda", dropout=0.1)
    assert replayed == pytest.approx(usual, rel=1e-4)
