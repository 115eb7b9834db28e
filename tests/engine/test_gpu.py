"""What a GPU computes beside what a CPU does: masks, losses, gradients, scores, whole runs, and runs that were cut off."""

from __future__ import annotations

import pytest
import tiny
import torch
from tiny import CUT_OFF, NO_FGSM, SHUFFLED

from core import methods
from core.data.sources import demo_sources
from core.engine import job, trainer
from core.engine.encoder.dropout import DropoutStream
from core.spec.execution import Execution
from core.spec.profiles import base
from core.spec.result import Result
from core.spec.scale import DEMO, at_scale
from core.spec.vary import vary

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: what it computes was not compared with a CPU")
VARIANTS = [
    ("simcse", "paper", {}), ("esimcse", "repaired", {}), ("esimcse", "released", {}), ("mocose", "paper", {}),
    ("mocose", "repaired", {"fgsm__gradient": "current"}), ("mocose", "released", {}),
    ("mocose", "repaired", NO_FGSM | CUT_OFF),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("spare", [0, 2])
def test_masks_are_the_same_bits(dtype, spare):
    cpu, gpu = DropoutStream(3), DropoutStream(3, "cuda")
    for rate, shape in ((0.1, (7, 5)), (0.15, (100, 33, 9)), (0.5, (3, 1))):
        masks = [made.mask(torch.Size(shape), rate, dtype, spare) for made in (cpu, gpu)]
        assert masks[1].is_cuda and torch.equal(masks[0], masks[1].cpu())
        assert 0 < int((masks[0] > 0).sum()) < masks[0].numel()
    assert int(cpu.position) == int(gpu.position)


def one_step(method, profile, changes, device):
    """The loss of a first step in float32 with dropout, and the gradient of every parameter that has one."""
    config = tiny.config(method, profile, **changes)
    model = methods.model(config.method).Model(config, tiny.encoder(tiny.bert(), dropout=0.1, attention_dropout=0.1), torch.device(device))
    model.train()
    loss = model.loss(*tiny.views(config, tiny.sentences(config.train.batch_size), device))
    loss.backward()
    return loss.item(), {name: p.grad.cpu() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("method, profile, changes", VARIANTS)
def test_a_loss_and_its_gradients_are_those_of_a_cpu(method, profile, changes):
    (loss, gradients), (wanted, others) = (one_step(method, profile, changes, device) for device in ("cuda", "cpu"))
    assert loss == pytest.approx(wanted, rel=1e-5) and gradients.keys() == others.keys() and gradients
    largest = max(float(grad.abs().max()) for grad in others.values())
    for name, grad in gradients.items():
        assert float((grad - others[name]).abs().max()) < 1e-4 * largest, name


def run(
    tmp_path, device, name, method="esimcse", profile="repaired", *, keeps=False, graphs=False, told=lambda message: None, **changes
) -> Result:
    """A short run of the demo."""
    config = vary(at_scale(base(method, profile), DEMO, demo_sources().sources), {"train.steps": 12, "eval.every": 5})
    config = vary(config, {key.replace("__", "."): value for key, value in changes.items()})
    (tmp_path / name).mkdir(exist_ok=True)
    execution = Execution(
        results_dir=str(tmp_path / name), cache_dir=str(tmp_path / "cache"), device=device, cuda_graphs=graphs,
        checkpoint_minutes=1e-9 if keeps else None,
    )  # fmt: skip
    return job.run(config, execution, told)


def scores(result: Result) -> dict[tuple, float]:
    """Every Spearman correlation of the result, curve and tests."""
    return {(r.checkpoint, r.task, r.metric, r.step): r.value for r in result.rows if r.metric.startswith("spearman")}


@pytest.mark.parametrize("method, profile, changes", [
    ("simcse", "paper", {}), ("esimcse", "repaired", {}), ("mocose", "paper", {}), ("mocose", "released", {}),
    ("mocose", "released", NO_FGSM | SHUFFLED),  # test sentences are shuffled, too (D21)
])  # fmt: skip
@pytest.mark.parametrize("precision, points", [("fp32", 0.1), ("bf16", 1.5)])
def test_a_whole_run_scores_what_it_does_on_a_cpu(method, profile, changes, precision, points, tmp_path):
    found, wanted = (
        scores(run(tmp_path, device, device, method, profile, train__precision=precision, **changes)) for device in ("cuda", "cpu")
    )
    assert found.keys() == wanted.keys() and len(found) > 5
    apart = max(abs(found[key] - wanted[key]) for key in wanted)
    print(f"{method} {profile} {changes} {precision}: scores up to {apart:.4f} points apart")
    assert apart < points


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize("method, profile", [("simcse", "paper"), ("esimcse", "repaired"), ("mocose", "released")])
def test_a_run_that_was_cut_off_ends_as_near_to_an_undisturbed_one_as_a_second_undisturbed_one(method, profile, graphs, tmp_path):
    class Cut(Exception):
        pass

    def cut(message):
        if message.get("step") == 10 and message.get("loss") is not None:
            raise Cut

    first, second = (scores(run(tmp_path, "cuda", name, method, profile, graphs=graphs)) for name in ("first", "second"))
    with pytest.raises(Cut):
        run(tmp_path, "cuda", "cut", method, profile, graphs=graphs, keeps=True, told=cut)
    resumed = run(tmp_path, "cuda", "cut", method, profile, graphs=graphs, keeps=True)
    assert resumed.provenance["resumed_at_steps"] == [9] and resumed.provenance["device"].startswith("cuda: ")
    assert resumed.provenance["device"].endswith("CUDA graphs") == graphs
    found = scores(resumed)
    spread, apart = (max(abs(first[key] - other[key]) for key in first) for other in (second, found))
    print(f"{method} {profile}, graphs {graphs}: two undisturbed runs {spread} points apart, a resumed one {apart}")
    assert found.keys() == first.keys() and apart <= max(10 * spread, 0.0 if spread == 0.0 else 0.05)


def test_a_loss_that_is_not_finite_is_found_at_its_step(monkeypatch, tmp_path):
    """A GPU is asked at checks alone, and names the step all the same."""
    config = tiny.config("simcse", train__steps=6, eval__every=4)
    model = methods.model("simcse").Model(config, tiny.encoder(tiny.bert()), torch.device("cuda"))
    losses = model.loss
    calls = iter(range(1, 7))
    monkeypatch.setattr(model, "loss", lambda *views: losses(*views) * (float("nan") if next(calls) == 3 else 1.0))
    batches = [tiny.views(config, tiny.sentences(4, seed=seed), "cuda") for seed in range(6)]
    found = trainer.train(config, model, batches, lambda step: 0.0, lambda report: None)
    assert found.diverged_at == 3 and found.selected is None
