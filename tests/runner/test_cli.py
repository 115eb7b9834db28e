"""The command line: what it plans, trains, publishes and draws."""

import os
import sys

import pandas
import pytest
from places import ROOT

import run_study
from core.config.methods import base
from core.config.result import Measurement, Result
from core.runner import cli
from core.runner.inputs import scale_of
from core.runner.options import EVALUATE_OPTIONS, JUDGE_OPTIONS, RUNS_OPTIONS, STUDY_OPTIONS
from core.runner.orders import (
    EvaluateOrder,
    JudgeOrder,
    Machine,
    RunsOrder,
    ShowOrder,
    TrainOrder,
    option_defaults,
)
from core.runner.train import typed_command
from core.runner.worker import score


def test_options_may_stand_anywhere_and_encoders_are_given_by_the_one_they_stand_for(tmp_path):
    order = cli.parse(
        ["--seeds", "2", "table3", "--jobs", "3", "table7", "--set", "loss.temperature=0.1"]
    )
    assert isinstance(order, TrainOrder) and order.scope.studies == ("table3", "table7")
    assert (order.changes.seeds, order.machine.jobs) == (2, 3)
    assert order.changes.settings == ("loss.temperature=0.1",)
    assert cli.parse(["--all", "--until-settled", "--budget", "1h30m"]).budget == 5400.0
    own = tmp_path / "own"
    large = tmp_path / "large"
    given = cli.parse(["table3", "--encoder", str(own), "--encoder", f"bert-large={large}"])
    assert dict(given.data.encoders) == {"bert-base": own, "bert-large": large}


OPTIONS = """all budget cells cluster data_dir device encoders force gpus jobs keep_models list pairs
plan profile regenerate_figures results_dir scale section seeds settings studies tensorboard
text until_settled use_published vary version"""
OF_EVALUATE = "allow_pickle csv data_dir device json models pairs pooling scale transfer"
OF_JUDGE = "claims margin reference results_dir scores"
OF_RUNS = "names results_dir use_published where"


def test_help_names_the_program():
    assert "`run_study.py runs`" in (cli.study_parser().epilog or "")


def test_whoever_adds_an_option_strikes_one():
    """Each has a row of --help and a field of an order, or chooses one."""
    for groups, names in (
        (STUDY_OPTIONS, OPTIONS),
        (EVALUATE_OPTIONS, OF_EVALUATE),
        (JUDGE_OPTIONS, OF_JUDGE),
        (RUNS_OPTIONS, OF_RUNS),
    ):
        assert sorted(name for group in groups.values() for name in group) == names.split()
    kinds = (TrainOrder, ShowOrder, *cli.CHOSEN)
    fields = set().union(*map(option_defaults, kinds)) | {kind.flag for kind in cli.CHOSEN}
    assert sorted(fields) == OPTIONS.split()
    assert sorted(option_defaults(EvaluateOrder)) == OF_EVALUATE.split()
    assert sorted(option_defaults(JudgeOrder)) == OF_JUDGE.split()
    assert sorted(option_defaults(RunsOrder)) == OF_RUNS.split()


@pytest.mark.parametrize(
    "line",
    [
        "table3 table7 --set loss.temperature=0.1 --vary ema.start=0.5,0.9 --cell=-1 --jobs 2",
        "--all --scale mini --force --keep-models --cluster tcp://host:1 --device cuda",
        "table3 --plan --gpus 4 --use-published --text a.txt --pairs dev=b.tsv --pairs c.tsv",
        "show table3 --profile released --seeds 3",
        "--all --regenerate-figures --results-dir x",
        "--list --data-dir y --encoder bert-large=z",
        "--all --until-settled --budget 1000h",
        "table7 --until-settled --plan",
    ],
)
def test_an_order_is_typed_again_by_its_own_words(line, monkeypatch):
    monkeypatch.setattr(cli, "PACKAGES", {})  # which may not be installed here
    order = cli.parse(line.split())
    assert cli.parse(cli.words(order)) == order


def test_paths_and_times_are_typed_again_as_they_were():
    line = "table7 --results-dir x --data-dir ../y --until-settled --budget 1h30m"
    words = cli.words(cli.parse(line.split()))
    assert {"x", "../y", "1h30m"} < set(words)
    assert cli.words(cli.parse(["--all", "--until-settled", "--budget", "2h"]))[-1] == "2h"


def test_two_words_of_one_name_are_seen(capsys):
    assert run_study.main(["table", "7", "--plan", "--scale", "demo"]) == 2
    assert capsys.readouterr().err == "There is no study 'table'; did you mean table7?\n"


def test_a_run_without_a_test_average_says_so():
    rows = (Measurement("selected", "avg", "spearman_all", 3, float("nan")),)
    config = base("simcse", "paper")
    assert score(config, Result(status="ok", rows=rows)) == "no test average"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["python3", "../run_study.py"], ["python3", "../run_study.py"]),
        (["python", "/opt/bin/run-study", "table7"], ["run-study"]),
    ],
)
def test_a_command_is_named_as_it_was_typed(monkeypatch, typed, words):
    monkeypatch.setattr(sys, "orig_argv", typed)
    monkeypatch.setattr(sys, "argv", typed[1:])
    assert typed_command() == words


def test_the_scale_follows_from_what_is_visible(monkeypatch):
    monkeypatch.setattr("core.runner.devices.visible_gpus", dict)
    assert scale_of(None, Machine()).name == "demo"
    assert scale_of("mini", Machine()).name == "mini"
    monkeypatch.setattr("core.runner.devices.visible_gpus", lambda: dict.fromkeys("01"))
    assert scale_of(None, Machine()).name == "paper"
    assert scale_of(None, Machine(device="cpu")).name == "demo"


def test_cells_and_a_field_that_is_varied_share_stored_runs(desk):
    """The table stays whole, and a run at the study's own value is the stored one."""
    words = ("table7", "table3", "noise", "--seeds", "2", "--plan")
    plan = desk.do(*words, "--cell", "4096", "--cell", "half/512", "--cell", "0.9").stdout
    assert "12 runs: none done" in plan and "at least 24 seeds, not 2" in plan
    assert not desk.results.exists() and not desk.started()
    cells = ("table3", "--seeds", "1", "--cell", "0.85", "--cell", "0.99")
    done = desk.do(*cells)
    assert done.returncode == 0 and "Trained 2 of 2 runs" in done.stdout, done.stderr
    assert {desk.store.load(run).config.ema.start for run in desk.store.runs()} == {0.85, 0.99}
    done = desk.do(
        *cells, "--vary", "train.learning_rate=1e-5,3e-5,9e-5", "--jobs", "2", REAL_REPORT="1"
    )
    assert done.returncode == 0 and "Trained 4 of 4 runs" in done.stdout, done.stderr
    rates = [desk.store.load(run).config.train.learning_rate for run in desk.store.runs()]
    assert sorted(rates) == [1e-5, 1e-5, 3e-5, 3e-5, 9e-5, 9e-5]
    name = "mocose-table3@by-train.learning_rate=1e-5,3e-5,9e-5"
    made = {p.name.removeprefix(name) for p in (desk.folder / "home").rglob(f"{name}*")}
    assert made == {".csv", ".md", ".tex", ".png", ".pdf", "_runs.csv"}


def test_what_cannot_be_written_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mini").write_text("a file in the place of the tables")
    assert run_study.main(["show", "esimcse-table7", "--results-dir", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "cannot be used" in out and "E7.1" in out


def test_a_plan_says_how_often_a_small_text_is_read(desk):
    text = desk.folder / "small.txt"
    text.write_text("A first sentence.\nA second sentence.\n" * 150)
    out = desk.do("table3", "--seeds", "1", "--plan", "--text", str(text)).stdout
    assert "times; 2 of its 300 sentences are distinct." in out


def test_the_list_is_the_menu_and_a_plan_names_runs_that_failed(desk):
    (desk.folder / "encoder" / "modules.json").write_text("[]")
    desk.know_encoder()
    first, second = desk.six().runs[:2]
    desk.store.prepare()
    desk.store.record_failure(first.run_id, "ValueError: made up")
    claim = desk.store.claim(second.run_id)
    out = desk.do("mocose-table3", "--seeds", "1", "--plan").stdout
    os.close(claim)
    assert "6 runs: none done, 6 to train." in out and f"running or waiting {second.run_id}" in out
    assert "without modules.json" in out
    assert f"failed  {first.run_id} {first.label}: ValueError: made up" in out
    header, row = desk.do("mocose-table3", "--list").stdout.splitlines()[-2:]
    titles = ("study", "runs done", "claims", "about")
    columns = [row[header.index(title) :].split("  ")[0].strip() for title in titles]
    assert columns[:3] == ["mocose-table3", "0 of 18", "3 of 3"]


def test_show_draws_english_where_it_is_stored_and_trains_nothing(tmp_path, monkeypatch, capsys):
    """On the published runs, as a fresh clone has them: the CSV file's average in the table."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")  # a pipe's 120 show the averages alone
    assert run_study.main(["show", "esimcse-table7", "--results-dir", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    table = pandas.read_csv(ROOT / "results/published/mini/paper/esimcse-table7.csv")
    for mean in table["mean"]:
        assert f" {mean:.2f} " in out
    assert out.startswith("Scale mini.") and not (tmp_path / "runs").exists()
    assert (tmp_path / "figures/mini/paper/esimcse-table7.png").exists()
