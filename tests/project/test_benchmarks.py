"""The benchmarks measure what they say: the plain step is the same step, the floor counts by hand, turns are taken."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch

from benchmarks import floor, gpu_step, parts, plain, slots, spending
from benchmarks.setting import Setting
from benchmarks.timing import alternated
from core.data.sources import demo_sources
from core.engine.encoder.packing import pack
from core.methods.mocose.model import MoCoSE
from core.runner.devices import cores

CPU = torch.device("cpu")


@pytest.mark.parametrize("target_gradient", [True, False])
def test_the_plain_steps_lose_what_ours_lose(target_gradient):
    """Four steps with dropout off, an FGSM that is felt, and weights that move: the same losses."""
    config = tiny.config("mocose", "repaired", fgsm__epsilon=0.05, target__stop_gradient=not target_gradient, ema__total_updates=9)
    ours = MoCoSE(config, tiny.encoder(tiny.bert()), CPU).train()
    theirs = plain.PlainMoCoSE(config, tiny.bert(), CPU, target_gradient=target_gradient).train()
    optimisers = [torch.optim.SGD([p for p in m.parameters() if p.requires_grad], lr=0.05) for m in (ours, theirs)]
    seen = []
    for step in range(4):
        arrays = tiny.sentences(4, seed=step)
        losses = ours.loss(pack(arrays)), theirs.loss(*plain.padded(arrays, config.data.max_length, CPU))
        for model, loss, optimiser in zip((ours, theirs), losses, optimisers, strict=True):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            model.after_step()
        ours.after_update()
        seen.append([loss.item() for loss in losses])
    assert [a for a, _ in seen] == pytest.approx([b for _, b in seen], rel=1e-4)
    assert len({round(a, 4) for a, _ in seen}) == 4


def test_the_plain_step_drops_out_as_the_run_says():
    config = tiny.config("mocose", encoder__hidden_dropout=0.5)
    model = plain.PlainMoCoSE(config, tiny.bert(), CPU).train()
    batch = plain.padded(tiny.sentences(4), 10, CPU)
    assert model.loss(*batch).item() != model.loss(*batch).item()


def test_the_floor_counts_a_forward_pass_by_hand():
    """One sentence of 3 and one of 5 tokens, two layers of 4 with 8 inside, two heads."""
    products = floor.forward_products(floor.Shape(layers=2, hidden=4, inner=8, heads=2), [np.array([3, 5])])
    first_layer = 8 * (4 * 4 * 4 + 2 * 4 * 8) + 2 * (9 + 25) * 4  # multiplications: tokens x weights, then pairs x hidden twice
    last_layer = 8 * 2 * 4 * 4 + 2 * (2 * 4 * 4 + 2 * 4 * 8) + 2 * 8 * 4  # keys and values of all, the rest of [CLS] alone
    assert floor.operations(products) == 2 * (first_layer + last_layer)


def test_a_step_is_one_forward_three_times_a_target_and_the_heads():
    config = tiny.config("mocose")  # hidden 16, one projection, two predictors, batch 4
    shape, lengths = floor.Shape(2, 16, 32, 2), [np.array([3, 4, 5, 9])]
    forward = floor.operations(floor.forward_products(shape, lengths))
    heads = 2 * 4 * 16 * 16  # one of them
    logits = 2 * 4 * 16 * (4 + 12)
    wanted = 4 * forward + 3 * 4 * heads + 2 * heads + 2 * logits
    assert floor.operations(floor.step_products(config, shape, lengths, 12)) == wanted


def test_the_floor_adds_products_and_bytes():
    products = [floor.Product(2, 3, 4, 1, 100.0), floor.Product(2, 3, 4, 1, 100.0), floor.Product(5, 6, 7, 8, 50.0)]
    rates = {(2, 3, 4, 1): 100.0, (5, 6, 7, 8): 10.0}
    assert floor.floor_seconds(products, rates, 30, 10.0) == pytest.approx(2 + 5 + 3)


def test_state_bytes_count_what_is_trained_and_what_follows():
    model = MoCoSE(tiny.config("mocose"), tiny.encoder(tiny.bert()), CPU)
    followed = list(model.target_stack.parameters()) + list(model.target_pooler.parameters()) + list(model.target_projection.parameters())
    trained = sum(p.numel() for p in model.parameters()) - sum(p.numel() for p in followed)
    assert floor.state_bytes(model) == 28 * trained + 12 * sum(p.numel() for p in followed)


def test_rates_are_those_of_the_shape():
    rate = floor.rates([floor.Product(64, 64, 64, 1, 1.0), floor.Product(4, 8, 4, 6, 1.0)], CPU, torch.float32)
    assert set(rate) == {(64, 64, 64, 1), (4, 8, 4, 6)} and all(1e6 < value < 1e15 for value in rate.values())


def test_turns_are_taken_and_the_first_round_is_not_counted():
    order = []

    def block(name, seconds):
        def run(steps):
            order.append((name, steps))
            return [seconds if len(order) > 2 else 99.0] * steps

        return run

    assert alternated({"a": block("a", 1.0), "b": block("b", 2.0)}, rounds=2, steps=3) == {"a": 1.0, "b": 2.0}
    assert order == [("a", 2), ("b", 2), ("a", 3), ("b", 3), ("a", 3), ("b", 3)]


def test_every_kind_of_operation_is_counted_and_adds_up_to_the_step(tmp_path):
    names = ("aten::addmm", "mkldnn::_linear_pointwise", "aten::bernoulli_", "aten::native_layer_norm_backward", "aten::gelu",
             "aten::_fused_adamw_", "aten::_softmax", "aten::index_select", "aten::add_")  # fmt: skip
    wanted = list(spending.KINDS)
    kinds = [spending.kind(name) for name in names]
    assert kinds[0] == kinds[1] == wanted[0] and set(kinds[:-1]) == set(wanted) and kinds[-1] == spending.OTHER
    setting = Setting("demo 2x128", "demo", demo_sources(), tmp_path, CPU, 1)
    *parts, whole = spending.rows(setting, 3)
    assert sum(row.value for row in parts) == pytest.approx(whole.value) and whole.value > 0
    assert next(row.value for row in parts if row.what == "matrix products") > 0.1 * whole.value


def test_what_is_called_float32_is_float32_at_every_scale(tmp_path):
    """Scale mini trains in bf16; a step in bf16 beside the floor of float32 lay below it."""
    setting = Setting("bert", "mini", demo_sources(), tmp_path, CPU, 1)
    assert setting.config("mocose").train.precision == "bf16"
    assert setting.mocose().train.precision == replace(setting, scale="demo").mocose().train.precision == "fp32"


def test_crowds_are_of_one_machine(tmp_path):
    setting = Setting("bert", "mini", demo_sources(), tmp_path, CPU, 2)
    for place, threads in ((setting, {cores()}), (replace(setting, scale="demo"), {1, 2})):
        assert {crowd.runs * crowd.threads for crowd in slots.crowds_of(place)} == threads
    found = slots.crowds_of(replace(setting, device=torch.device("cuda")))
    assert [crowd.runs for crowd in found] == [1, 2, 4, 8]


def test_parts_are_timed_on_the_runs_of_table_6(tmp_path, monkeypatch):
    """The times are those of the claim's own cells, and ratios are to SimCSE; the clock is replaced by the queue's part."""
    setting = Setting("demo", "demo", demo_sources(), tmp_path, CPU, 1)
    monkeypatch.setattr(parts.OurTraining, "block", lambda self, steps: [2.0 + (getattr(self.model, "queue", None) is not None)] * steps)
    found = {row.what: row.value for row in parts.rows(setting, 1, 2)}
    assert found == {
        "unsup-SimCSE": 2000.0, "+word repetition": 2000.0, "+momentum contrast": 3000.0, "ESimCSE": 3000.0,
        "+word repetition / unsup-SimCSE": 1.0, "+momentum contrast / unsup-SimCSE": 1.5, "ESimCSE / unsup-SimCSE": 1.5,
    }  # fmt: skip


def test_a_part_is_a_real_step(tmp_path):
    setting = Setting("demo", "demo", demo_sources(), tmp_path, CPU, 1)
    assert all(row.value > 0 for row in parts.rows(setting, 1, 1))


def test_a_gpus_step_is_measured_for_four_runs(capsys):
    assert gpu_step.main(["--tiny"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [tuple(line[1:3]) for line in lines] == list(gpu_step.RUNS)
    assert all(0 < float(number) for line in lines for number in line[3:6])


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU: it would be measured")
def test_a_step_of_a_gpu_that_is_not_there_is_refused(capsys):
    assert gpu_step.main([]) == 2 and "There is no GPU here" in capsys.readouterr().err
