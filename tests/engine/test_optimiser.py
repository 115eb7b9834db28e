"""Which parameter has which rate and decay; tests/engine/test_second_formulation.py has AdamW's arithmetic, in both forms."""

import pytest
import tiny
import torch

from core.engine.encoder.packing import pack
from core.engine.optimiser import TransformersAdamW, learning_rate, parameter_groups
from core.engine.trainer import train
from core.spec import methods

CPU = torch.device("cpu")


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
    bert = tiny.bert()
    bert.pooler = None  # a pooler that the checkpoint lacks is new, and so is a trained target projection
    names = factors(model_of("mocose", bert, target__stop_gradient=False, target__freeze_projection=False))
    assert names["pooler.weight"] == names["target_projection.0.weight"] == (10.0, 0.1)


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
