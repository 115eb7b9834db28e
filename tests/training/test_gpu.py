"""What a GPU computes: a CPU's losses, gradients and scores without dropout, and with it the same
numbers captured and as usual."""

from __future__ import annotations

import pytest
import tiny
import torch
from extras import gpu
from test_step import STEPS, VARIANTS
from tiny import CUT_OFF, NO_FGSM, SHUFFLED

from core.config import methods
from core.config.methods import base
from core.config.result import Result
from core.config.scale import DEMO, at_scale
from core.config.vary import vary
from core.data.sources import demo_sources
from core.encoder.dropout import DeviceDropout
from core.encoder.packing import Packed, padded
from core.training import job, trainer
from core.training.execution import Execution
from core.training.step import Step, own_stream

pytestmark = gpu  # what a GPU computes is compared with a CPU
CPU = torch.device("cpu")
GPU = torch.device("cuda")
DRAWN_THERE = [
    ("mocose", "repaired", NO_FGSM | CUT_OFF),
    ("mocose", "repaired", NO_FGSM | SHUFFLED | {"data__padding": "dynamic"}),
]
CURRENT = [
    ("mocose", "paper", {"fgsm__gradient": "current", "fgsm__views": "online_only"}),
    ("mocose", "repaired", {"fgsm__gradient": "current", "fgsm__views": "both_same"}),
]
UNDROPPED = {"encoder__hidden_dropout": 0.0, "encoder__attention_dropout": 0.0}


def one_step(method, profile, changes, device):
    """The loss of a first step in float32 without dropout, and the gradient of every parameter that
    has one."""
    config = tiny.config(method, profile, **changes)
    model = methods.model(config.method).Model(config, tiny.encoder(tiny.bert()), device).train()
    model.before_step()
    batch = tiny.views(config, tiny.sentences(config.train.batch_size), device)
    parts = [part if isinstance(part, Packed) else padded(part.to(device)) for part in batch]
    loss = model.loss(*parts)
    loss.backward()
    return loss.item(), {
        name: p.grad.cpu() for name, p in model.named_parameters() if p.grad is not None
    }


@pytest.mark.parametrize("method, profile, changes", VARIANTS)
def test_a_loss_and_its_gradients_are_those_of_a_cpu(method, profile, changes):
    torch.backends.cuda.matmul.allow_tf32 = False
    loss, gradients = one_step(method, profile, changes, GPU)
    wanted, others = one_step(method, profile, changes, CPU)
    assert loss == pytest.approx(wanted, rel=1e-5)
    assert gradients.keys() == others.keys()
    assert gradients
    largest = max(float(grad.abs().max()) for grad in others.values())
    apart = max(
        float((grad - others[name]).abs().max()) / largest for name, grad in gradients.items()
    )
    assert apart < 1e-4


def trained(monkeypatch, config, *, captures=True, copied=None, watch=lambda model: None):
    """Losses of each step, the step and the model of a training on the GPU with dropout, the last
    batch of five ragged where allowed."""
    encoder = tiny.encoder(tiny.bert(), dropout=0.1, attention_dropout=0.1)
    model = methods.model(config.method).Model(config, encoder, GPU)
    watch(model)
    steps = []

    def step_for(train, model, optimiser, device):
        steps.append(Step(train, model, optimiser, copied, captures and model.capturable))
        return steps[-1]

    monkeypatch.setattr(trainer, "step_for", step_for)
    ragged = not (config.method == "mocose" and config.fgsm.gradient == "stale_online")

    def batches():
        for seed in range(config.train.steps):
            count = 3 if ragged and seed % 5 == 4 else 4
            yield tiny.views(config, tiny.sentences(count, seed=seed), GPU)

    with own_stream(GPU):
        done = trainer.train(config, model, batches(), lambda step: 0.0, lambda report: None)
    return [loss for _, loss in done.losses], steps[0], model


@pytest.mark.parametrize("copied", [None, torch.bfloat16], ids=["fp32", "bf16"])
@pytest.mark.parametrize("method, profile, changes", [*VARIANTS, *CURRENT, *DRAWN_THERE])
def test_a_captured_training_is_one_without_graphs(method, profile, changes, copied, monkeypatch):
    dropout = {"heads__dropout": 0.1} if method == "mocose" else {}
    config = tiny.config(method, profile, train__steps=STEPS, eval__every=1, **(dropout | changes))
    usual, step, _ = trained(monkeypatch, config, captures=False, copied=copied)
    assert not step._graphs and len(set(usual)) == STEPS
    found, step, model = trained(monkeypatch, config, copied=copied)
    assert bool(step._graphs) == model.capturable
    assert found == pytest.approx(usual, rel=1e-6)


def passes(monkeypatch, profile, changes, epsilon, captures):
    """Losses of the pass for FGSM's sign, and of the step's own, of each step (STEPS,) each."""
    first = []
    second = []
    latest = {}
    graphs = []
    changes = changes | {"fgsm__epsilon": epsilon, "heads__dropout": 0.1, "queue__init_size": 12}

    def watch(model):
        contrast = model._contrast
        after = model.after_step

        def watched(*arguments):
            loss, words = contrast(*arguments)
            # a graph's own tensor, which each replay fills anew
            latest.setdefault("now", []).append(loss.detach())
            return loss, words

        def after_step():
            after()
            if "now" in latest:
                latest["last"] = latest.pop("now")
            ahead, own = latest["last"]
            first.append(ahead.item())
            second.append(own.item())

        monkeypatch.setattr(model, "_contrast", watched)
        monkeypatch.setattr(model, "after_step", after_step)

    config = tiny.config("mocose", profile, train__steps=STEPS, eval__every=STEPS, **changes)
    # one shape: the last capture is what replays
    monkeypatch.setattr(tiny, "sentences", lambda count, seed=0: SENTENCES(4, seed=seed))
    graphs.extend(trained(monkeypatch, config, captures=captures, watch=watch)[1]._graphs)
    assert bool(graphs) == captures and len(set(second)) == STEPS
    return first, second


SENTENCES = tiny.sentences


@pytest.mark.parametrize("captures", [False, True])
@pytest.mark.parametrize("_method, profile, changes", CURRENT)
def test_both_passes_of_fgsm_have_the_same_masks(_method, profile, changes, captures, monkeypatch):
    first, second = passes(monkeypatch, profile, changes, 1e-30, captures)
    assert first == pytest.approx(second, rel=1e-6)
    first, second = passes(monkeypatch, profile, changes, 0.05, captures)
    assert all(abs(own / ahead - 1) > 1e-4 for ahead, own in zip(first, second, strict=True)), (
        "FGSM moved nothing"
    )
    # goes on, and does not repeat
    monkeypatch.setattr(DeviceDropout, "again", lambda self: self._instead(1))
    first, second = passes(monkeypatch, profile, changes, 1e-30, captures)
    assert all(abs(a / b - 1) > 1e-4 for a, b in zip(first, second, strict=True)), (
        "other masks would not be seen"
    )


def run(
    tmp_path,
    device,
    name,
    method="esimcse",
    profile="repaired",
    *,
    keeps=False,
    told=lambda message: None,
    **changes,
) -> Result:
    """A short run of the demo."""
    config = at_scale(base(method, profile), DEMO, demo_sources())
    config = vary(config, {"train.steps": 12, "eval.every": 5})
    config = vary(config, {key.replace("__", "."): value for key, value in changes.items()})
    (tmp_path / name).mkdir(exist_ok=True)
    execution = Execution(
        results_dir=str(tmp_path / name),
        cache_dir=str(tmp_path / "cache"),
        device=device,
        checkpoint_minutes=1e-9 if keeps else None,
    )
    return job.run(config, execution, told)


def scores(result: Result) -> dict[tuple, float]:
    """Every Spearman correlation of the result, curve and tests."""
    rows = [row for row in result.rows if row.metric.startswith("spearman")]
    return {row[:4]: row.value for row in rows}


@pytest.mark.parametrize(
    "method, profile, changes",
    [
        ("simcse", "paper", {}),
        ("esimcse", "repaired", {}),
        ("mocose", "paper", {}),
        ("mocose", "released", {}),
        # test sentences are shuffled, too (D21), as on a CPU; training's are drawn on the device,
        # so weights stand still
        ("mocose", "released", NO_FGSM | SHUFFLED | {"train__learning_rate": 1e-12}),
    ],
)
@pytest.mark.parametrize("precision, points", [("fp32", 0.1), ("bf16", 1.5)])
def test_a_run_without_dropout_scores_as_on_a_cpu(
    method, profile, changes, precision, points, tmp_path
):
    heads = {"heads__dropout": 0.0} if method == "mocose" else {}
    still = UNDROPPED | heads | {"train__precision": precision} | changes
    found = scores(run(tmp_path, "cuda", "cuda", method, profile, **still))
    wanted = scores(run(tmp_path, "cpu", "cpu", method, profile, **still))
    assert found.keys() == wanted.keys() and len(found) > 5
    apart = max(abs(found[key] - wanted[key]) for key in wanted)
    assert apart < points


@pytest.mark.parametrize(
    "method, profile", [("simcse", "paper"), ("esimcse", "repaired"), ("mocose", "released")]
)
def test_a_run_that_was_cut_off_ends_as_near_as_a_second_one(method, profile, tmp_path):
    class Cut(Exception):
        pass

    def cut(message):
        if message.get("step") == 10 and message.get("loss") is not None:
            raise Cut

    first = scores(run(tmp_path, "cuda", "first", method, profile))
    second = scores(run(tmp_path, "cuda", "second", method, profile))
    with pytest.raises(Cut):
        run(tmp_path, "cuda", "cut", method, profile, keeps=True, told=cut)
    resumed = run(tmp_path, "cuda", "cut", method, profile, keeps=True)
    assert resumed.provenance["resumed_at_steps"] == [9]
    assert resumed.provenance["device"].startswith("cuda: ")
    found = scores(resumed)
    spread, apart = (
        max(abs(first[key] - other[key]) for key in first) for other in (second, found)
    )
    assert found.keys() == first.keys()
    # MoCoSE's are equal; the others may have equal ranks by chance
    assert apart <= max(10 * spread, 0.0 if method == "mocose" else 0.05)


@pytest.mark.parametrize("bad", [1, 2, 3, 5])
def test_a_loss_that_is_not_finite_is_found_at_its_step(bad, monkeypatch):
    """A GPU is asked at checks alone, and names the step all the same, done as usual, captured or
    replayed."""
    config = tiny.config("simcse", train__steps=6, eval__every=6)
    model = methods.model("simcse").Model(config, tiny.encoder(tiny.bert()), GPU)
    calls = iter(range(1, 7))

    def before_step():
        if next(calls) == bad:
            with torch.no_grad():
                model.head.linear.bias.fill_(float("nan"))

    monkeypatch.setattr(model, "before_step", before_step)
    batches = [tiny.views(config, tiny.sentences(4, seed=seed), GPU) for seed in range(6)]
    with own_stream(GPU):
        found = trainer.train(config, model, batches, lambda step: 0.0, lambda report: None)
    assert found.diverged_at == bad and found.selected is None
