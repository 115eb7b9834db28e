"""How long runs will take: by a table of a GPU, by what a core did, and as finished runs took; and
what a plan says."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from made_scales import cell_run

import run_study
from core.config.methods import base
from core.config.result import Measurement, Result
from core.config.scale import DEMO, PAPER, at_scale
from core.config.vary import vary
from core.data.sources import HIDDEN, demo_sources, unfetched_sources
from core.runner import devices
from core.runner.estimate import CPU_TOKENS, cost, expectation, gpu_seconds, size
from core.runner.orders import Machine
from core.store.store import Store
from studies import find

CPU = (Machine(device="cpu"), DEMO, demo_sources())


def config(name, place=0, seed=0):
    study = find(name)
    cell = study.cells[place]
    return cell_run(study, cell, profile="paper", scale=DEMO, sources=demo_sources(), seed=seed)


def save(store, run, took, **recorded):
    """A stored run that took so many seconds, a quarter of them outside training."""
    parts = {"load": 0.05 * took, "train": 0.75 * took, "evaluate": 0.2 * took}
    about = {"host": socket.gethostname(), "device": "cpu: x86_64", "threads": 1, "seconds": parts}
    rows = (Measurement("selected", "avg", "spearman_all", 1, 1.0),)
    store.save(run, Result(status="ok", rows=rows, pairs=(), provenance=about | recorded))


def test_finished_runs_say_by_their_median_how_much_longer_runs_take(tmp_path, monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    store = Store(tmp_path, None)
    run = config("table7")
    by_rate = cost(run) / CPU_TOKENS["demo"]
    timed = expectation(*CPU, store)
    assert timed.seconds(run) == pytest.approx(by_rate)
    assert timed.where == "with 2 at once on cpu (from rates of another CPU)"
    for seed, ratio in enumerate((2.0, 3.0, 50.0)):  # one run met a busy machine
        save(store, config("table7", seed=seed), ratio * by_rate)
    others = ({"host": "x"}, {"device": "cuda: big"}, {"threads": 2}, {"seconds": None})
    for seed, elsewhere in enumerate(others):
        save(store, config("table7", seed=10 + seed), 9.0 * by_rate, **elsewhere)  # say nothing
    save(store, vary(run, {"scale": "mini"}), 9.0)
    known = expectation(*CPU, store)
    for other in (run, config("esimcse-table11", place=2)):
        assert known.seconds(other) == pytest.approx(3.0 * cost(other) / CPU_TOKENS["demo"])
    assert "(from 3 finished runs on this machine)" in known.where


SOURCES = replace(unfetched_sources(HIDDEN), corpus_rows=1_000_000)


def paper(method, profile="paper", encoder="bert-base", **changes):
    run = at_scale(base(method, profile), PAPER, SOURCES, encoder)
    return vary(run, {name.replace("__", "."): value for name, value in changes.items()})


# a backward pass is two; without gradients of weights it is one
def test_a_step_s_work_in_forward_passes():
    assert paper("simcse").passes == 2 * (1 + 2)
    assert paper("mocose", "released").passes == 2 * (1 + 2)
    assert paper("mocose", "repaired").passes == (1 + 2) + 1
    assert paper("mocose").passes == (1 + 2) + 1 + (1 + 1)
    assert paper("esimcse").passes == pytest.approx((1 + 2) + (1 + 0.32 / 2) * (1 + 2) + 1)
    assert paper("esimcse", queue=None, momentum=None).passes == pytest.approx(6 + 3 * 0.16)


def test_runs_that_share_a_gpu_take_turns(tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "visible_gpus", lambda: {"0": ("0", 80 << 30)})
    run = paper("mocose")
    turns = expectation(Machine(), PAPER, SOURCES, Store(tmp_path, None))
    assert turns.jobs == 2 and turns.seconds(run) == pytest.approx(2 * gpu_seconds(run))


def test_a_larger_encoder_costs_as_much_more_as_its_layers_have_weights():
    """12 x 768 has 85 million weights in its layers, 24 x 1024 has 302 million."""
    run, large = paper("simcse"), paper("simcse", encoder="bert-large")
    weights = {
        name: layers * (12 * width**2) for name, layers, width in (("b", 12, 768), ("l", 24, 1024))
    }
    assert size(run, SOURCES) == 1.0
    assert size(large, SOURCES) == pytest.approx(weights["l"] / weights["b"])
    final = 20  # seconds of the start and the final scoring
    longer = (gpu_seconds(large, SOURCES) - final) / (gpu_seconds(run, SOURCES) - final)
    assert longer == pytest.approx(weights["l"] / weights["b"])
    on_cpu = expectation(Machine(device="cpu", jobs=1), PAPER, SOURCES, Store(Path("none"), None))
    assert on_cpu.seconds(large) == pytest.approx(32 / 9 * on_cpu.seconds(run))


def test_a_plan_says_weeks_on_a_cpu_and_hours_on_gpus(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("core.runner.devices.visible_gpus", dict)  # the plan is for another machine
    lines = []
    for words in (("--device", "cpu", "--jobs", "2"), ("--gpus", "4")):
        folder = ("--results-dir", str(tmp_path / "results"))
        assert run_study.main(["table7", "--plan", "--scale", "paper", *words, *folder]) == 0
        lines += [line for line in capsys.readouterr().out.splitlines() if line.startswith("About")]
    cpu, gpus = lines
    assert " weeks with 2 at once on cpu" in cpu and "h on 4 NVIDIA H100" in gpus
