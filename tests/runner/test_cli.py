"""The command line: what it plans, trains, publishes and draws."""

import os
import sys

import pandas
import pytest
from places import ROOT

import run_study
from core.config.methods import base
from core.config.result import Result, Row
from core.runner import cli
from core.runner.inputs import scale_of
from core.runner.train import typed_command
from core.runner.worker import score


def test_options_may_stand_anywhere_and_encoders_are_given_by_the_one_they_stand_for(tmp_path):
    options = cli.parse(
        ["--seeds", "2", "table3", "--jobs", "3", "table7", "--set", "loss.temperature=0.1"]
    )
    assert options.studies == ["table3", "table7"] and (options.seeds, options.jobs) == (2, 3)
    assert options.settings == ["loss.temperature=0.1"] and options.mode == "train"
    assert cli.parse(["--all", "--resolve", "--budget", "1h30m"]).budget == 5400.0
    own = tmp_path / "own"
    large = tmp_path / "large"
    given = cli.parse(["table3", "--encoder", str(own), "--encoder", f"bert-large={large}"])
    assert given.encoder == own and dict(given.encoders)["bert-large"] == large


def test_a_run_without_a_test_average_says_so():
    rows = (Row("selected", "avg", "spearman_all", 3, float("nan")),)
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
    assert scale_of(cli.parse(["table3"])).name == "demo"
    assert scale_of(cli.parse(["table3", "--scale", "mini"])).name == "mini"
    monkeypatch.setattr("core.runner.devices.visible_gpus", lambda: dict.fromkeys("01"))
    assert scale_of(cli.parse(["table3"])).name == "paper"
    assert scale_of(cli.parse(["table3", "--device", "cpu"])).name == "demo"


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
    assert made == {".csv", "_runs.csv", ".md", ".tex", ".png", ".pdf"}


def test_the_list_is_the_menu_and_a_plan_names_runs_that_failed(desk):
    (desk.folder / "encoder" / "modules.json").write_text("[]")
    desk.know_encoder()
    first, second = desk.six().runs[:2]
    desk.store.prepare()
    desk.store.record_failure(first.run_id, "ValueError: made up")
    claim = desk.store.claim(second.run_id)
    out = desk.do("mocose-table3", "--seeds", "1", "--plan").stdout
    os.close(claim)
    assert "6 runs: none done, 6 to train." in out and f"running {second.run_id}" in out
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
