"""What a plan says of what training would refuse, and what every command refuses."""

import subprocess
import sys

from places import ROOT

import run_study

DEMO = ("--plan", "--scale", "demo", "--device", "cpu")


def test_a_plan_says_what_training_would_refuse(capsys):
    for setting, sentence in (
        ("train.precision=tf32", "refused: train.precision=tf32 needs a GPU"),
        ("train.precision=fp16", "refused: train.precision=fp16 can no longer be trained; use --set"),
        ("data.max_length=4000", "refused: data.max_length is 4000 but the encoder has only"),
        ("loss.temperature=0.1", ""),
    ):
        assert run_study.main(["table3", *DEMO, "--set", setting]) == 0
        out = capsys.readouterr().out
        assert sentence in out and (sentence or "would be refused" not in out) and "18 runs: none done" in out


def test_a_study_without_a_cell_that_can_be_run_says_why(capsys):
    assert run_study.main(["mocose-table2", *DEMO]) == 0
    assert "No cell of" not in capsys.readouterr().out  # its own encoder's cells can
    assert run_study.main(["mocose-kmeans", "esimcse-table3", *DEMO]) == 0
    out = capsys.readouterr().out
    assert out.count("No cell of") == out.count("0 runs"), out


def test_what_is_published_takes_no_runs_of_your_own(capsys):
    for below in ("", "x", "../published"):
        folder = ROOT / "results" / "published" / below
        assert run_study.main(["table3", *DEMO, "--results-dir", str(folder)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "holds what the project publishes" in said


def test_an_isolated_python_finds_the_project(tmp_path):
    done = subprocess.run(
        [sys.executable, "-I", str(ROOT / "run_study.py"), "table3", *DEMO, "--results-dir", str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0 and "18 runs: none done" in done.stdout, done.stderr
