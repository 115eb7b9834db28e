"""How long runs will take: by a table of a GPU or a timing of the CPU, and as finished runs took;
and what a plan says."""

import socket
from argparse import Namespace
from dataclasses import replace

import pytest
from made_scales import cell_run
from places import ROOT

import run_study
from core.config.methods import base
from core.config.result import Result, Row
from core.config.scale import DEMO, MINI, PAPER, at_scale
from core.config.vary import vary
from core.data.sources import HIDDEN, demo_sources, unfetched_sources
from core.runner import devices, estimate
from core.runner.estimate import BERT_BASE, Shape, expectation
from core.runner.plan import cost
from core.store.store import Store
from studies import find

FOUND = demo_sources()
token_seconds = estimate.token_seconds  # which conftest.py replaces in every test


def config(name, place=0, seed=0):
    study = find(name)
    return cell_run(
        study, study.cells[place], profile="paper", scale=DEMO, sources=FOUND.sources, seed=seed
    )


def save(store, run, ratio, **recorded):
    """A stored run that took `ratio` times its estimate, a quarter of it outside training."""
    shares = {"load": 0.05, "train": 0.75, "evaluate": 0.2}
    seconds = {name: share * ratio * cost(run) for name, share in shares.items()}
    device = {"host": socket.gethostname(), "device": "cpu: x86_64", "threads": 1}
    rows = (Row("selected", "avg", "spearman_all", 1, 1.0),)
    store.save(
        run,
        Result(
            status="ok", rows=rows, pairs=(), provenance=device | {"seconds": seconds} | recorded
        ),
    )


def test_finished_runs_say_by_their_median_how_much_longer_runs_take(tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "token_seconds", lambda *_: 1.0)
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    options = Namespace(gpus=None, cluster=None, device="cpu", jobs=None)
    store = Store(tmp_path, None)
    run = config("table7")
    timed = expectation(options, DEMO, FOUND, store)
    assert (
        timed.seconds(run) == cost(run)
        and timed.where == "with 2 at once on cpu (from a timing of this CPU)"
    )
    for seed, ratio in enumerate((2.0, 3.0, 50.0)):  # one run met a busy machine
        save(store, config("table7", seed=seed), ratio)
    others = ({"host": "x"}, {"device": "cuda: big"}, {"threads": 2}, {"seconds": None})
    for seed, elsewhere in enumerate(others):
        save(store, config("table7", seed=10 + seed), 9.0, **elsewhere)  # these say nothing
    save(store, vary(run, {"scale": "mini"}), 9.0)
    known = expectation(options, DEMO, FOUND, store)
    for other in (run, config("esimcse-table11", place=2)):
        assert known.seconds(other) == pytest.approx(3.0 * cost(other))
    assert "(from 3 finished runs on this machine)" in known.where
    assert (
        expectation(Namespace(**vars(options) | {"cluster": "tcp://x"}), DEMO, FOUND, store).jobs
        == 1
    )


def paper(method, profile="paper", **changes):
    run = at_scale(
        base(method, profile), PAPER, replace(unfetched_sources(HIDDEN), corpus_rows=1_000_000)
    )
    return vary(run, {name.replace("__", "."): value for name, value in changes.items()})


# a backward pass is two; without gradients of weights it is one
def test_a_step_s_work_in_forward_passes():
    assert paper("simcse").passes == 2 * (1 + 2)
    assert paper("mocose", "released").passes == 2 * (1 + 2)
    assert paper("mocose", "repaired").passes == (1 + 2) + 1
    assert paper("mocose").passes == (1 + 2) + 1 + (1 + 1)
    assert paper("esimcse").passes == pytest.approx((1 + 2) + (1 + 0.32 / 2) * (1 + 2) + 1)
    assert paper("esimcse", queue=None, momentum=None).passes == pytest.approx(6 + 3 * 0.16)


def test_runs_that_share_a_gpu_take_turns_but_for_what_mps_was_measured_to_gain(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(devices, "visible_gpus", lambda: {"0": 80 << 30})
    monkeypatch.setattr("joblib.cpu_count", lambda: 1)
    options = Namespace(gpus=None, cluster=None, device="auto", jobs=None)
    store = Store(tmp_path, None)
    run = replace(paper("mocose"), scale="mini")
    monkeypatch.setattr(estimate, "shapes", lambda *_: {run.encoder.digest: estimate.MINI_SHAPE})
    alone = estimate.gpu_seconds(run, estimate.MINI_SHAPE)

    def expected(mps):
        monkeypatch.setattr(devices, "mps_offered", lambda _: mps)
        return expectation(options, MINI, FOUND, store)

    turns, shared = expected(False), expected(True)
    assert turns.jobs == 2 and turns.seconds(run) == pytest.approx(2 * alone)
    assert shared.jobs == 8 and "with 8 at once on cuda through NVIDIA's MPS" in shared.where
    assert 8 * alone / shared.seconds(run) == pytest.approx(955 / 600, abs=0.005)
    assert [round(estimate.mps_gain(BERT_BASE, runs), 9) for runs in (1.0, 2.0)] == [1, 1]
    assert estimate.mps_gain(estimate.MINI_SHAPE, 30.0) == estimate.mps_gain(Shape(1, 8, 8), 8.0)

    # a run that took as long as planned in turns says nothing against the plan with MPS
    spent = {"train": 2 * alone}
    save(store, run, 0.0, device="cuda: H200", seconds=spent, gpu_runs=2, mps=False)
    known = expected(True)
    assert "from 1 finished run on this machine" in known.where
    assert known.seconds(run) == pytest.approx(shared.seconds(run))


def test_a_plan_says_weeks_on_a_cpu_and_hours_on_gpus(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(estimate, "token_seconds", lambda *_: 0.014)  # of one core of an AMD EPYC
    monkeypatch.setattr("core.runner.devices.visible_gpus", dict)  # the plan is for another machine
    lines = []
    for words in (("--device", "cpu", "--jobs", "2"), ("--gpus", "4")):
        folder = ("--results-dir", str(tmp_path / "results"))
        assert run_study.main(["table7", "--plan", "--scale", "paper", *words, *folder]) == 0
        lines += [line for line in capsys.readouterr().out.splitlines() if line.startswith("About")]
    cpu, gpus = lines
    assert (
        " weeks with 2 at once on cpu (from a timing of this CPU), so this needs a GPU; --gpus 1"
        in cpu
    )
    assert "h on 4 NVIDIA H100 (from rates of one NVIDIA H100 in bf16)." in gpus
    assert f"--plan --gpus 4\n{gpus}\n" in (ROOT / "docs" / "using.md").read_text()
