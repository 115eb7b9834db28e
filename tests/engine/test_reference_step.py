"""Whole training steps under `released`, dropout 0 and given weights, against a second formulation (tests/support/plain.py)."""

import copy

import plain
import pytest
import tiny
import torch

from core.engine.encoder.packing import pack
from core.engine.optimiser import adamw
from core.methods.esimcse.model import ESimCSE
from core.methods.mocose.model import MoCoSE

CPU = torch.device("cpu")


def linear_and_norm_states(model):
    modules = [*model.projection, *model.predictor]
    return [copy.deepcopy(m.state_dict()) for m in modules if list(m.parameters())]


def assert_close(ours, theirs, what):
    scale = max(float(theirs.abs().max()), 1e-6)
    assert float((ours - theirs).abs().max()) <= 2e-4 * scale, what


@pytest.mark.parametrize("epsilon", [5e-9, 0.05])
def test_mocose_released_steps(epsilon):
    config = tiny.config("mocose", "released", fgsm__epsilon=epsilon, ema__total_updates=4)
    bert = tiny.bert()
    other = copy.deepcopy(bert)
    model = MoCoSE(config, tiny.encoder(bert), CPU).train()
    reference = plain.PlainMoCoSE(config, other, linear_and_norm_states(model))
    optimiser = adamw(config.train, model, model.new_layers())
    their_modules = [
        other.embeddings,
        other.encoder,
        reference.pooler,
        *reference.projection,
        *reference.predictor,
        *reference.target_projection,
    ]
    theirs = torch.optim.AdamW([p for m in their_modules for p in m.parameters()], lr=1e-3, weight_decay=0.0)
    for group in optimiser.param_groups:
        group["weight_decay"] = 0.0
    queue = model.queue.visible().clone()
    assert len(queue) == 12  # 2 * init_size random vectors are visible at once
    for step in range(4):
        arrays = tiny.sentences(4, seed=step)
        queue = model.queue.visible().clone()
        model.before_step()
        loss = model.loss(pack(arrays))
        loss.backward()
        their_loss, their_keys = reference.step(arrays, queue)
        their_loss.backward()
        assert loss.item() == pytest.approx(their_loss.item(), rel=1e-5), step
        pairs = [
            (model.encoder.embeddings.word.weight, other.embeddings.word_embeddings.weight),
            (model.encoder.embeddings.position.weight, other.embeddings.position_embeddings.weight),
            (model.encoder.stack.layers[0].query.weight, other.encoder.layer[0].attention.self.query.weight),
            (model.encoder.stack.layers[1].down.weight, other.encoder.layer[1].output.dense.weight),
            (model.pooler.weight, reference.pooler.weight),
            (model.projection[0].weight, reference.projection[0].weight),
            (model.predictor[0].weight, reference.predictor[0].weight),
            (model.predictor[3].weight, reference.predictor[2].weight),
            (model.target_projection[0].weight, reference.target_projection[0].weight),  # D7: it has a gradient
        ]
        for number, (ours, their) in enumerate(pairs):
            assert float(their.grad.abs().max()) > 0
            assert_close(ours.grad, their.grad, f"step {step}, gradient {number}")
        assert_close(model.queue.entries[:4], their_keys.detach(), "keys in the queue, newest first")
        for o in (optimiser, theirs):
            o.step()
            o.zero_grad()
        model.after_update()
        model.after_step()
        reference.after()
    assert model.updates == 4


@pytest.mark.parametrize("init", ["random", "pretrained_copy"])
def test_esimcse_released_steps(init):
    config = tiny.config("esimcse", "released", momentum__init=init)
    bert = tiny.bert()
    model = ESimCSE(config, tiny.encoder(bert), CPU).train()
    other = copy.deepcopy(bert)
    momentum = copy.deepcopy(bert)
    copy_encoder(model.momentum_encoder, momentum)
    head = copy.deepcopy(model.head.linear)
    difference = (momentum.embeddings.word_embeddings.weight - bert.embeddings.word_embeddings.weight).abs().max()
    assert (difference.item() > 0) == (init == "random")  # D60
    optimiser = torch.optim.SGD([*model.encoder.parameters(), *model.head.parameters()], lr=0.05)
    theirs = torch.optim.SGD([*other.parameters(), *head.parameters()], lr=0.05)
    queue = []
    for step in range(4):
        first, second = tiny.sentences(4, seed=step), tiny.sentences(4, seed=step + 100, longest=12)
        model.before_step()
        loss = model.loss(pack(first + second), pack(first))
        loss.backward()
        their_loss, pushed = plain.plain_esimcse_step(other, momentum, head, first, second, queue, 0.995)
        their_loss.backward()
        assert loss.item() == pytest.approx(their_loss.item(), rel=1e-5), step
        assert_close(model.head.linear.weight.grad, head.weight.grad, "head")
        assert_close(model.encoder.embeddings.word.weight.grad, other.embeddings.word_embeddings.weight.grad, "words")
        assert_close(model.encoder.stack.layers[0].up.weight.grad, other.encoder.layer[0].intermediate.dense.weight.grad, "layer")
        queue = [*queue, *pushed][-10:]
        assert_close(model.queue.entries, torch.stack(queue), "oldest first, the newest ten")
        for o in (optimiser, theirs):
            o.step()
            o.zero_grad()
        model.after_update()
        model.after_step()


def copy_encoder(packed, model):
    """Write the packed encoder's weights into a BertModel."""
    twin = tiny.encoder(model)
    twin.load_state_dict(packed.state_dict())
