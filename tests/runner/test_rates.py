"""Expected seconds without finished runs: on a GPU by the table, on a CPU by a timing, and what a plan says."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from places import ROOT

import run_study
from core.data.encoders import MINI_ENCODER
from core.data.sources import demo_sources, unfetched_sources
from core.runner import estimate as rates
from core.runner.estimate import BERT_BASE, MINI, Shape, gpu_seconds, shape, shapes
from core.spec.methods import base
from core.spec.scale import PAPER, at_scale
from core.spec.vary import vary


def run(method, profile="paper", **changes):
    config = at_scale(base(method, profile), PAPER, replace(unfetched_sources(PAPER), corpus_rows=1_000_000))
    return vary(config, {name.replace("__", "."): value for name, value in changes.items()})


def test_a_step_s_work_in_forward_passes():  # a backward pass is two; without gradients of weights it is one
    assert run("simcse").passes == 2 * (1 + 2)
    assert run("mocose", "released").passes == 2 * (1 + 2)
    assert run("mocose", "repaired").passes == (1 + 2) + 1 and run("mocose").passes == (1 + 2) + 1 + (1 + 1)
    assert run("esimcse").passes == pytest.approx((1 + 2) + (1 + 0.32 / 2) * (1 + 2) + 1)
    assert run("esimcse", queue=None, momentum=None).passes == pytest.approx(6 + 3 * 0.16)


@pytest.mark.parametrize(
    "method, profile, step, scored",  # sentences of a check over those of the development set
    [("mocose", "paper", 0.01348, 1), ("mocose", "repaired", 0.0097, 1), ("mocose", "released", 0.01348, 29_205 / 2_909),
     ("simcse", "paper", 0.01088, 1)],
)  # fmt: skip
def test_a_run_on_an_h100_takes_its_steps_its_checks_and_its_scoring(method, profile, step, scored):
    config = run(method, profile)
    count = config.train.steps // config.eval.every + 2
    expected = config.train.steps * step + count * scored * 0.075 + 20
    assert gpu_seconds(config, BERT_BASE) == pytest.approx(expected)
    assert gpu_seconds(vary(config, {"eval.transfer": True}), BERT_BASE) == pytest.approx(expected + 1800)


def test_other_encoders_and_batches_lie_on_the_line_through_those_two():
    config = run("simcse")
    mini, large = gpu_seconds(config, MINI), gpu_seconds(config, Shape(24, 1024, 4096, 16))
    assert mini == pytest.approx(15_625 * 0.00131 + (125 + 2) * 0.023 + 5)
    assert 3 < large / gpu_seconds(config, BERT_BASE) < 4  # 3.6 times the products
    assert gpu_seconds(config, Shape(2, 128, 512, 4, 800)) == pytest.approx(mini)  # both wait for launches
    eight = vary(config, {"train.batch_size": 512, "train.steps": 1953, "eval.every": 16})
    assert (
        gpu_seconds(config, BERT_BASE) * 0.85 < gpu_seconds(eight, BERT_BASE) < gpu_seconds(config, BERT_BASE)
    )


def test_shapes_are_those_of_the_encoders():
    assert shape(MINI_ENCODER, 384) == Shape(2, 384, 512, 12, 14_260) and shape(None, 768) == BERT_BASE
    assert shape(None, 1024) == Shape(24, 1024, 4096, 16)
    found = demo_sources()
    assert shapes(found, generated=True) == {found.sources.encoder_digest: Shape(2, 128, 512, 4, 800)}
    assert BERT_BASE.products == 11 * (4 * 768 * 768 + 2 * 768 * 3072) + 2 * 768 * 768


def test_a_cpu_is_timed_once_in_a_process_of_its_own(tmp_path, monkeypatch):
    tiny = Shape(1, 32, 64, 2, 50)
    first = rates.token_seconds(tiny, "fp32", 1, 13, tmp_path)
    kept = json.loads((tmp_path / "rates.json").read_text())
    assert 0 < first < 0.01 and list(kept.values()) == [first]
    assert '"processor": ' in next(iter(kept)) and '"torch": ' in next(iter(kept))
    (tmp_path / "rates.json").write_text(json.dumps({key: 0.25 for key in kept}))
    rates.token_seconds.cache_clear()
    assert rates.token_seconds(tiny, "fp32", 1, 13, tmp_path) == 0.25
    code = f"import sys; from core.runner import estimate as rates; from pathlib import Path; " \
        f"rates.token_seconds(rates.Shape{tuple(tiny)}, 'fp32', 1, 13, Path({str(tmp_path)!r})); assert 'torch' not in sys.modules"  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_cpu_that_cannot_be_timed_has_a_stated_speed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    found = rates.token_seconds(BERT_BASE, "fp32", 2, 25, tmp_path)
    assert found == pytest.approx(
        2 * 6 * BERT_BASE.products / 5e10 / 2
    )  # a product and a sum, six passes, two threads
    assert capsys.readouterr().out == (
        "This CPU could not be timed (FileNotFoundError); times assume 50 billion operations a second for each thread.\n"
    )


PLAN = ["table7", "--plan", "--scale", "paper"]


def has(monkeypatch, folder, name, *free):
    """A machine with GPUs of this name, each with so many free MiB, by an nvidia-smi of ours."""
    listed = "".join(f"{place}, GPU-{place}a, Disabled, {memory}\n" for place, memory in enumerate(free))
    script = f"#!/bin/sh\ncase \"$1\" in *=name) echo '{name}' ;; *) cat <<'END'\n{listed}END\n;; esac\n"
    (folder / "nvidia-smi").write_text(script)
    (folder / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_a_plan_of_scale_paper_says_weeks_on_a_cpu_and_hours_on_gpus(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(rates, "token_seconds", lambda *_: 0.014)  # of one core of an AMD EPYC
    own = ["--results-dir", str(tmp_path)]
    assert run_study.main([*PLAN, "--device", "cpu", "--jobs", "2", *own]) == 0
    said = capsys.readouterr().out
    assert (
        " weeks with 2 at once on cpu (from a timing of this CPU), so this needs a GPU; --gpus 1 plans for one NVIDIA H100."
        in said
    )
    monkeypatch.setattr(rates, "token_seconds", pytest.fail)
    assert run_study.main([*PLAN, "--gpus", "4", *own]) == 0
    said = capsys.readouterr().out
    assert (
        "h on 4 NVIDIA H100 (from rates of one NVIDIA H100 in bf16)." in said
        and "would be refused" not in said
    )
    assert f"--plan --gpus 4\n{said.splitlines()[-1]}\n" in (ROOT / "docs" / "using.md").read_text()
    monkeypatch.setattr("core.runner.devices.visible_gpus", dict)  # the plan is for another machine
    assert run_study.main([*PLAN, "--gpus", "4", "--device", "cuda", *own]) == 0
    assert capsys.readouterr().out == said
    assert run_study.main([*PLAN[:2], "--gpus", "1", *own]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("Scale paper, since --gpus plans for GPUs")


@pytest.mark.parametrize(
    "name, more", [("NVIDIA H200", ""), ("NVIDIA L4", ", since those of NVIDIA L4 are not known")]
)
def test_a_plan_for_this_machine_s_gpu_names_whose_rates_it_has(capsys, monkeypatch, tmp_path, name, more):
    has(monkeypatch, tmp_path, name, "[N/A]")
    assert run_study.main([*PLAN, "--results-dir", str(tmp_path / "results")]) == 0
    assert (
        f" with 1 at once on cuda (from rates of one NVIDIA H100 in bf16{more})." in capsys.readouterr().out
    )


def test_gpus_that_are_left_idle_make_no_run_faster(capsys, monkeypatch, tmp_path):
    has(monkeypatch, tmp_path, "NVIDIA H100", "80000", "80000")
    times = {}
    for jobs in ("1", "2", "4"):
        assert run_study.main([*PLAN, "--jobs", jobs, "--results-dir", str(tmp_path / "results")]) == 0
        times[jobs] = float(capsys.readouterr().out.splitlines()[-1].split()[1])  # hours
    assert times["1"] == pytest.approx(2 * times["2"], rel=0.03) and times["4"] == times["2"]


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["table7", "--gpus", "2"], "--gpus says for which GPUs a plan is; add --plan, or leave it out."),
        (["--list", "--gpus", "2"], "--gpus says for which GPUs a plan is; add --plan, or leave it out."),
        (
            [*PLAN, "--gpus", "2", "--jobs", "3"],
            "--jobs does not go with --gpus, which plans one run on each GPU; leave one out.",
        ),
        (
            [*PLAN, "--gpus", "2", "--device", "cpu"],
            "--device cpu does not go with --gpus, which plans one run on each GPU; leave one out.",
        ),
        (
            [*PLAN, "--gpus", "2", "--resolve"],
            "--resolve does not go with --gpus, which plans one run on each GPU; leave one out.",
        ),
    ],
)
def test_gpus_goes_with_a_plan_alone(capsys, words, sentence):
    assert run_study.main(words) == 2
    assert capsys.readouterr().err == sentence + "\n"
