"""AdamW in both forms against loops over numbers, and which parameter has which rate and decay."""

import math

import pytest
import tiny
import torch

from core.engine.encoder.packing import pack
from core.engine.optimiser import TransformersAdamW, learning_rate, parameter_groups
from core.engine.trainer import train
from core.spec import methods

CPU = torch.device("cpu")
SETTINGS = {"lr": 0.05, "betas": (0.9, 0.99), "eps": 1e-2}


def drawn(seed, steps=1):
    """A matrix and a vector of random numbers for each step."""
    draw = torch.Generator().manual_seed(seed)
    return [[torch.randn(shape, generator=draw, dtype=torch.float64) for shape in ((3, 2), (4,))] for _ in range(steps)]


def start():
    return [p.requires_grad_() for p in drawn(1)[0]]


def updated(optimiser, parameters, steps=7, absent=()):
    for number, grads in enumerate(drawn(0, steps)):
        for p, g in zip(parameters, grads, strict=True):
            p.grad = g.clone()
        if number in absent:
            parameters[1].grad = None
        optimiser.step()
    return parameters


def naive(decays, eps, form, steps=7, absent=(), b1=0.9, b2=0.99, lr=0.05):
    """Every number on its own, as the formulas are written."""
    parameters = [p.detach().clone() for p in start()]
    for which, (p, wd) in enumerate(zip(parameters, decays, strict=True)):
        flat = p.view(-1)
        for i in range(len(flat)):
            x, m, v, t = float(flat[i]), 0.0, 0.0, 0
            for number, grads in enumerate(drawn(0, steps)):
                if which == 1 and number in absent:
                    continue
                g, t = float(grads[which].view(-1)[i]), t + 1
                m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
                if form == "transformers":
                    x = x - lr * math.sqrt(1 - b2**t) / (1 - b1**t) * m / (math.sqrt(v) + eps)
                    x = x - lr * wd * x
                else:
                    x = x - lr * wd * x
                    x = x - lr * (m / (1 - b1**t)) / (math.sqrt(v / (1 - b2**t)) + eps)
            flat[i] = x
    return parameters


@pytest.mark.parametrize("absent", [(), (2, 3)])
def test_the_form_of_transformers_is_that_of_the_naive_loop(absent):
    parameters = start()
    groups = [{"params": parameters[:1], "weight_decay": 0.3}, {"params": parameters[1:], "weight_decay": 0.0}]
    ours = updated(TransformersAdamW(groups, **SETTINGS), parameters, absent=absent)
    theirs = naive([0.3, 0.0], 1e-2, "transformers", absent=absent)
    assert all(torch.allclose(a, b, rtol=1e-13, atol=0) for a, b in zip(ours, theirs, strict=True))
    torch_form = naive([0.3, 0.0], 1e-2, "torch", absent=absent)
    assert not any(torch.allclose(a, b, rtol=1e-4) for a, b in zip(ours, torch_form, strict=True))


def test_torchs_own_form_is_that_of_the_naive_loop():
    parameters = start()
    ours = updated(torch.optim.AdamW(parameters, weight_decay=0.3, fused=True, **SETTINGS), parameters)
    assert all(torch.allclose(a, b, rtol=1e-12, atol=0) for a, b in zip(ours, naive([0.3, 0.3], 1e-2, "torch"), strict=True))


def model_of(method, bert=None, **changes):
    config = tiny.config(method, train__weight_decay=0.1, train__new_layer_factor=10.0, **changes)
    return methods.model(config.method).Model(config, tiny.encoder(bert or tiny.bert()), CPU)


def factors(model):
    """Factor and decay of each trained parameter, by name."""
    found = {
        id(p): (g["factor"], g["weight_decay"])
        for g in parameter_groups(model.config.train, model, model.new_layers())
        for p in g["params"]
    }
    names = {name: found.pop(id(p)) for name, p in model.named_parameters() if p.requires_grad}
    assert not found
    return names


def test_new_heads_have_their_rate_and_the_encoder_its_own():
    names = factors(model_of("mocose"))
    assert names["encoder.stack.layers.0.query.weight"] == (1.0, 0.1) and names["encoder.stack.layers.0.query.bias"] == (1.0, 0.0)
    assert names["encoder.embeddings.norm.weight"] == (1.0, 0.0) and names["encoder.embeddings.word.weight"] == (1.0, 0.1)
    assert names["pooler.weight"] == (1.0, 0.1), "the checkpoint has a pooler, so MoCoSE's is not new"
    assert names["projection.0.weight"] == (10.0, 0.1) and names["projection.1.weight"] == (10.0, 0.0)
    assert names["predictor.3.bias"] == (10.0, 0.0) and not any(name.startswith("target") for name in names)
    assert factors(model_of("simcse"))["head.linear.weight"] == (10.0, 0.1)


def test_a_pooler_that_the_checkpoint_lacks_is_new_and_so_is_a_trained_target_projection():
    bert = tiny.bert()
    bert.pooler = None
    assert factors(model_of("mocose", bert))["pooler.weight"] == (10.0, 0.1)
    trained = {"target__stop_gradient": False, "target__freeze_projection": False}
    assert factors(model_of("mocose", **trained))["target_projection.0.weight"] == (10.0, 0.1)


@pytest.mark.parametrize("form, kind", [("torch", torch.optim.AdamW), ("transformers", TransformersAdamW)])
def test_every_step_multiplies_warm_up_and_decay_alike(form, kind, monkeypatch):
    model = model_of("simcse", train__warmup_fraction=0.5, train__adamw=form)
    config, rates, original = model.config, [], kind.step

    def step(self, *arguments):
        rates.append({group["factor"]: group["lr"] for group in self.param_groups})
        return original(self, *arguments)

    monkeypatch.setattr(kind, "step", step)
    batches = [(pack(tiny.sentences(4, seed=i) * 2),) for i in range(6)]
    train(config, model, batches, lambda step: 0.0, lambda report: None)
    wanted = [learning_rate(config.train, step) for step in range(1, 7)]
    assert [found[1.0] for found in rates] == wanted and max(wanted) == 1e-3
    assert [found[10.0] for found in rates] == pytest.approx([10 * rate for rate in wanted], rel=1e-15)
