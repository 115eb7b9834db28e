"""`--fields`, and plans that fetch nothing."""

import dataclasses
import re

import pytest

import run_study
from core.spec import methods, vary
from core.spec.fields import fields
from core.spec.methods import base
from core.spec.run import TextView

BASES = [base(method, "paper") for method in methods.names()]


def printed(capsys, *arguments: str) -> str:
    assert run_study.main(list(arguments)) == 0
    return capsys.readouterr().out


def test_every_field_of_every_run_is_listed_and_nothing_else():
    listed = {path for path, _ in fields()}
    runs = {path for run in BASES for path in vary.paths(run) if "." in path}
    text = {f"text.{f.name}" for f in dataclasses.fields(TextView)}
    assert listed == runs | text | {"scale", "method"}


def test_a_section_is_printed_with_type_default_deviation_and_meaning(capsys):
    out = printed(capsys, "--fields", "loss")
    assert "loss.in_batch_negatives" in out and "true or false  D1\n" in out and "queue." not in out
    assert re.search(r"Default: true \([^)]*esimcse[^)]*\); false / true / true \(mocose\)\.", out)
    assert "Settled by --seeds." in printed(capsys, "--fields", "seed") and "momentum.lambda " in printed(capsys, "--fields")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--fields", "lost"], "did you mean loss?"),
        (["table3", "--fields"], "--fields lists what --set can change"),
        (["table3", "--plan", "--scale", "demo", "--set", "dropout=off"], "heads.dropout or target.dropout?"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_answered_with_what_is(arguments, sentence, capsys):
    assert run_study.main(arguments) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("scale, runs", [("mini", 6), ("paper", 40)])
def test_a_plan_needs_no_download(scale, runs, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("core.data.hub.fetch", lambda *_, **__: pytest.fail("something was asked for"))
    out = printed(capsys, "esimcse-table4", "--plan", "--scale", scale, "--results-dir", str(tmp_path), "--device", "cpu")
    assert f"{runs} runs: none done, {runs} to train." in out and not list(tmp_path.iterdir())
