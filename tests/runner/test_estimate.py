"""How long runs will take: as finished runs did, else by a table of a GPU or a timing of the CPU; and what a
plan says."""

import os
import socket
import sys
from dataclasses import replace

import pytest
from fake_store import SOURCES
from places import ROOT

import run_study
from core.data.encoders import MINI_ENCODER
from core.data.sources import demo_sources, unfetched_sources
from core.runner import estimate
from core.runner.estimate import BERT_BASE, MINI, History, Shape, gpu_seconds, history, shape, shapes
from core.runner.plan import cost
from core.spec.methods import base
from core.spec.result import Result, Row
from core.spec.scale import DEMO, PAPER, at_scale
from core.spec.vary import vary
from core.store.store import Store
from studies import find


def config(name, place=0, seed=0):
    study = find(name)
    return study.config(study.cells[place], profile="paper", scale=DEMO, sources=SOURCES, seed=seed)


def save(store, run, ratio, **recorded):
    """A stored run that took `ratio` times its estimate, a quarter of it outside training."""
    seconds = {
        name: share * ratio * cost(run)
        for name, share in (("load", 0.05), ("train", 0.75), ("evaluate", 0.2))
    }
    here = {
        "host": socket.gethostname(),
        "device": "cpu: x86_64",
        "threads": 1,
        "seconds": seconds,
        **recorded,
    }
    rows = (Row("selected", "avg", "spearman_all", 1, 1.0),)
    store.save(run, Result(status="ok", rows=rows, pairs=(), provenance=here))


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, None)
    store.prepare()
    return store


def test_runs_alike_decide_by_their_median(store):
    run = config("table7")
    assert history(store, "cpu", 1).of("demo") == 0 and History().seconds(run) == cost(run)
    for seed, ratio in enumerate((2.0, 3.0, 50.0)):  # one run met a busy machine
        save(store, config("table7", seed=seed), ratio)
    for seed, elsewhere in enumerate(
        ({"host": "x"}, {"device": "cuda: big"}, {"threads": 2}, {"seconds": None})
    ):
        save(store, config("table7", seed=10 + seed), 9.0, **elsewhere)  # these say nothing
    known, esimcse = history(store, "cpu", 1, lambda config: 1.5), config("esimcse-table11", place=2)
    assert known.of("demo") == 3 and known.of("mini") == 0
    other = config("table7", place=3, seed=9)
    longer = vary(other, {"train.steps": 2 * other.train.steps})
    assert known.seconds(other) == pytest.approx(3.0 * cost(other))
    assert known.seconds(longer) > 1.5 * known.seconds(other)
    assert known.seconds(esimcse) == pytest.approx(
        3.0 * cost(esimcse)
    )  # another method is better than nothing
    assert known.seconds(vary(other, {"scale": "mini"})) == 1.5  # another scale is not
    save(store, config("esimcse-table11"), 7.0)
    large = vary(
        config("table7", seed=1), {"train.batch_size": 256, "train.steps": 38}
    )  # fewer, larger steps
    save(store, large, 1.0)
    probed = vary(config("mocose-table1"), {"eval.transfer": True})
    save(store, probed, 4.0)
    known = history(store, "cpu", 1)
    assert known.seconds(esimcse) == pytest.approx(7.0 * cost(esimcse))
    assert known.seconds(vary(large, {"seed.data": 5})) == pytest.approx(cost(large))
    assert known.seconds(other) == pytest.approx(3.0 * cost(other))
    assert known.seconds(probed) == pytest.approx(4.0 * cost(probed))


def test_the_work_of_a_demo_run():
    run = config(
        "table7"
    )  # FGSM's own gradient makes MoCoSE's step as long as SimCSE's; 160 // 32 checks and two
    assert cost(run) == pytest.approx(13 * (160 * 64 + 0.25 * (7 * 800 + 1.5 * 4_797)))
    repaired = vary(run, {"fgsm.gradient": "stale_online", "fgsm.views": "both_same"})
    assert cost(run) - cost(repaired) == pytest.approx(13 * 160 * 64 / 3)
    probed = vary(run, {"eval.transfer": True})
    assert cost(probed) == pytest.approx(cost(run) + 13 * 2_000)


def paper(method, profile="paper", **changes):
    run = at_scale(base(method, profile), PAPER, replace(unfetched_sources(PAPER), corpus_rows=1_000_000))
    return vary(run, {name.replace("__", "."): value for name, value in changes.items()})


def test_a_step_s_work_in_forward_passes():  # a backward pass is two; without gradients of weights it is one
    assert paper("simcse").passes == 2 * (1 + 2)
    assert paper("mocose", "released").passes == 2 * (1 + 2)
    assert paper("mocose", "repaired").passes == (1 + 2) + 1 and paper("mocose").passes == (1 + 2) + 1 + (
        1 + 1
    )
    assert paper("esimcse").passes == pytest.approx((1 + 2) + (1 + 0.32 / 2) * (1 + 2) + 1)
    assert paper("esimcse", queue=None, momentum=None).passes == pytest.approx(6 + 3 * 0.16)


def test_a_run_on_an_h100_takes_its_steps_its_checks_and_its_scoring():
    for method, profile, step, scored in (  # sentences of a check over those of the development set
        ("mocose", "paper", 0.01348, 1), ("mocose", "repaired", 0.0097, 1),
        ("mocose", "released", 0.01348, 29_205 / 2_909), ("simcse", "paper", 0.01088, 1),
    ):  # fmt: skip
        run = paper(method, profile)
        count = run.train.steps // run.eval.every + 2
        expected = run.train.steps * step + count * scored * 0.075 + 20
        assert gpu_seconds(run, BERT_BASE) == pytest.approx(expected)
        assert gpu_seconds(vary(run, {"eval.transfer": True}), BERT_BASE) == pytest.approx(expected + 1800)
    mini, large = gpu_seconds(run, MINI), gpu_seconds(run, Shape(24, 1024, 4096, 16))
    assert mini == pytest.approx(15_625 * 0.00131 + (125 + 2) * 0.023 + 5)
    assert 3 < large / gpu_seconds(run, BERT_BASE) < 4  # 3.6 times the products
    assert gpu_seconds(run, Shape(2, 128, 512, 4, 800)) == pytest.approx(mini)  # both wait for launches
    eight = vary(run, {"train.batch_size": 512, "train.steps": 1953, "eval.every": 16})
    assert gpu_seconds(run, BERT_BASE) * 0.85 < gpu_seconds(eight, BERT_BASE) < gpu_seconds(run, BERT_BASE)


def test_shapes_are_those_of_the_encoders():
    assert shape(MINI_ENCODER, 384) == Shape(2, 384, 512, 12, 14_260) and shape(None, 768) == BERT_BASE
    assert shape(None, 1024) == Shape(24, 1024, 4096, 16)
    found = demo_sources()
    assert shapes(found, generated=True) == {found.sources.encoder_digest: Shape(2, 128, 512, 4, 800)}
    assert BERT_BASE.products == 11 * (4 * 768 * 768 + 2 * 768 * 3072) + 2 * 768 * 768


def test_a_cpu_is_timed_once_in_a_process_of_its_own(tmp_path, monkeypatch, capsys):
    tiny = Shape(1, 32, 64, 2, 50)
    first = estimate.token_seconds(tiny, "fp32", 1, 13, tmp_path)
    assert 0 < first < 0.01
    estimate.token_seconds.cache_clear()
    assert estimate.token_seconds(tiny, "fp32", 1, 13, tmp_path) == first  # kept in a file
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    unknown = estimate.token_seconds(BERT_BASE, "fp32", 2, 25, tmp_path)
    assert unknown == pytest.approx(2 * 6 * BERT_BASE.products / 5e10 / 2)  # a product and a sum, six passes
    said = "This CPU could not be timed (FileNotFoundError); times assume 50 billion operations a second"
    assert capsys.readouterr().out == f"{said} for each thread.\n"


PLAN = ["table7", "--plan", "--scale", "paper"]


def plan(capsys, folder, *words: str) -> list[str]:
    assert run_study.main([*PLAN, *words, "--results-dir", str(folder / "results")]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_plan_says_weeks_on_a_cpu_and_hours_on_gpus(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(estimate, "token_seconds", lambda *_: 0.014)  # of one core of an AMD EPYC
    said = plan(capsys, tmp_path, "--device", "cpu", "--jobs", "2")[-1]
    assert (
        " weeks with 2 at once on cpu (from a timing of this CPU), so this needs a GPU; --gpus 1 plans"
        in said
    )
    monkeypatch.setattr(estimate, "token_seconds", pytest.fail)
    said = plan(capsys, tmp_path, "--gpus", "4")
    assert "h on 4 NVIDIA H100 (from rates of one NVIDIA H100 in bf16)." in said[-1]
    assert f"--plan --gpus 4\n{said[-1]}\n" in (ROOT / "docs" / "using.md").read_text()
    monkeypatch.setattr("core.runner.devices.visible_gpus", dict)  # the plan is for another machine
    assert plan(capsys, tmp_path, "--gpus", "4", "--device", "cuda") == said


def test_a_plan_for_this_machine_s_gpus(capsys, monkeypatch, tmp_path):
    """Named after whose rates they have; GPUs that are left idle make no run faster."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for name, more in (("NVIDIA L4", ", since those of NVIDIA L4 are not known"), ("NVIDIA H200", "")):
        listed = "".join(f"{place}, GPU-{place}a, Disabled, 80000\n" for place in range(2))
        script = f"#!/bin/sh\ncase \"$1\" in *=name) echo '{name}' ;; *) cat <<'END'\n{listed}END\n;; esac\n"
        (tmp_path / "nvidia-smi").write_text(script)
        (tmp_path / "nvidia-smi").chmod(0o755)
        said = plan(capsys, tmp_path)[-1]
        assert f" with 4 at once on cuda (from rates of one NVIDIA H100 in bf16{more})." in said
    hours = [float(plan(capsys, tmp_path, "--jobs", jobs)[-1].split()[1]) for jobs in ("1", "2", "4")]
    assert hours[0] == pytest.approx(2 * hours[1], rel=0.03) and hours[2] == hours[1]
