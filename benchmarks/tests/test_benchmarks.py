"""The benchmarks measure what they say: the plain step is the same step, and turns are taken."""

import numpy as np
import pytest
import tiny
import torch
from scipy import stats

from benchmarks import gpu_step, plain, pointing, step, together
from benchmarks.step import Setting, alternated
from core.data.sources import demo_sources
from core.encoder.packing import pack
from core.methods.mocose.model import MoCoSE

CPU = torch.device("cpu")


def test_the_plain_step_loses_what_ours_loses():
    """Four steps with dropout off, an FGSM that is felt, and weights that move: the same losses."""
    config = tiny.config(
        "mocose", "repaired", fgsm__epsilon=0.05, target__stop_gradient=False, ema__total_updates=9
    )
    ours = MoCoSE(config, tiny.encoder(tiny.bert()), CPU).train()
    theirs = plain.PlainMoCoSE(config, tiny.bert(), CPU).train()
    optimisers = [
        torch.optim.SGD([p for p in m.parameters() if p.requires_grad], lr=0.05)
        for m in (ours, theirs)
    ]
    seen = []
    for seed in range(4):
        arrays = tiny.sentences(4, seed=seed)
        losses = (
            ours.loss(pack(arrays)),
            theirs.loss(*plain.padded(arrays, config.data.max_length, CPU)),
        )
        for model, loss, optimiser in zip((ours, theirs), losses, optimisers, strict=True):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            model.after_step()
        ours.after_update()
        seen.append([loss.item() for loss in losses])
    assert [a for a, _ in seen] == pytest.approx([b for _, b in seen], rel=1e-4)
    assert len({round(a, 4) for a, _ in seen}) == 4


def test_turns_are_taken_and_the_first_round_is_not_counted():
    order = []

    def block(name, seconds):
        def run(steps):
            order.append((name, steps))
            return [seconds if len(order) > 2 else 99.0] * steps

        return run

    assert alternated({"a": block("a", 1.0), "b": block("b", 2.0)}, rounds=2, steps=3) == {
        "a": 1.0,
        "b": 2.0,
    }
    assert order == [("a", 2), ("b", 2), ("a", 3), ("b", 3), ("a", 3), ("b", 3)]


def test_a_step_is_a_real_step(tmp_path):
    rows = {
        what: value for what, value, _ in step.rows(Setting("demo", demo_sources(), tmp_path), 1, 1)
    }
    assert len(rows) == 5 and all(value > 0 for value in rows.values())


def test_a_gpus_step_is_measured_for_four_runs(capsys):
    assert gpu_step.main(["--tiny"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [tuple(line[1:3]) for line in lines] == list(gpu_step.RUNS)
    assert all(0 < float(number) for line in lines for number in line[3:6])


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU: it would be measured")
def test_a_step_of_a_gpu_that_is_not_there_is_refused(capsys):
    assert gpu_step.main([]) == 2 and "There is no GPU here" in capsys.readouterr().err


def test_draws_point_as_scipy_says_and_are_wrong_on_the_other_side():
    rng = np.random.default_rng(0)
    values = rng.normal(0.8, 1.0, (50, 6))
    p = stats.ttest_1samp(values, 0, axis=1).pvalue
    assert pointing.side(values).tolist() == (np.sign(values.mean(1)) * (p < 0.05)).tolist()
    apart = np.concatenate([np.full(20, 5.0), np.full(4, -5.0)]) + 0.01 * np.arange(24)
    shares = pointing.shares_pointing([apart], 3, 5000, rng)
    draws = [rng.permutation(apart)[:3] for _ in range(5000)]
    below = np.mean([set(np.sign(draw)) == {-1.0} for draw in draws])
    above = np.mean([set(np.sign(draw)) == {1.0} for draw in draws])
    assert shares == pytest.approx((above + below, below / (above + below)), abs=0.02)


def test_a_run_beside_others_waits_until_all_are_warm(monkeypatch, capsys):
    waited = []

    class Line:
        def readline(self):
            waited.append(capsys.readouterr().out)

    monkeypatch.setattr("sys.stdin", Line())
    assert together.one_run("tiny", "simcse", 0.01, 8, 1, 1) > 0 and waited == ["warm\n"]
