"""The command line: what it says, and one sentence with status 2 for what cannot be meant."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest
from desk import Desk

import run_study
import studies
from core.data import sources
from core.runner import cli
from core.runner.inputs import scale_of
from core.spec.errors import UserError
from core.spec.scale import MINI


def answer(capsys, *arguments: str) -> str:
    """The one sentence on standard error of a refused command."""
    assert run_study.main(list(arguments)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "Traceback" not in error
    return error


REFUSED = {
    "": "No study is named",
    "--all table3": "--all is every study",
    "--all --set loss.temperature=0.1": "--set changes one study's runs; name that study",
    "--all --vary loss.temperature=0.1,0.2": "name that study instead of --all",
    "--all --checkpoint last": "--checkpoint last reads studies that show scores",
    "mocose-figure7 MINI --checkpoint last": "mocose-figure7 shows other numbers",
    "table3 MINI --vary loss.temperature=0.1": "gives one value; add another, or use --set for one",
    "table3 MINI --cell 0.96": "No cell is called '0.96'; did you mean 0.9",
    "table3 --scale demo --data-dir DATA": "Scale demo has its own text",
    "table3 --scale mini --data-dir NOWHERE --encoder ENCODER": "is no folder",
    "table3 --scale mini --data-dir ENCODER --encoder ENCODER": "holds no SentEval data",
    "table3 --scale mini --data-dir DATA --encoder DATA": "holds no config.json",
}


def test_what_cannot_be_meant_is_answered_in_a_sentence(desk, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(desk.folder / "cache"))
    for words, sentence in REFUSED.items():
        line = words.replace("MINI", "--scale mini --data-dir DATA --encoder ENCODER")
        for name in ("data", "encoder", "nowhere"):
            line = line.replace(name.upper(), str(desk.folder / name))
        assert sentence in answer(capsys, *line.split(), "--results-dir", str(desk.results)), words


def test_options_may_stand_before_between_and_after_studies():
    options = cli.parse(["--seeds", "2", "table3", "--jobs", "3", "table7", "--set", "loss.temperature=0.1"])
    assert options.studies == ("table3", "table7") and (options.seeds, options.jobs) == (2, 3)
    assert options.settings == ("loss.temperature=0.1",) and options.mode == "train"


def test_the_list_names_every_study(capsys):
    assert run_study.main(["--list"]) == 0
    out = capsys.readouterr().out
    assert all(study.name in out for study in studies.STUDIES)


def test_the_first_line_says_which_scale_and_why(monkeypatch, capsys, desk):
    def first_line(*arguments: str) -> str:
        scale_of(cli.parse(["table3", *arguments]))
        return capsys.readouterr().out

    monkeypatch.setattr("core.runner.devices.visible_gpus", dict)
    assert first_line().startswith("Scale demo, since no GPU is visible")
    assert first_line("--scale", "mini").startswith("Scale mini, as asked")
    monkeypatch.setattr("core.runner.devices.visible_gpus", lambda: dict.fromkeys("01"))
    assert first_line().startswith("Scale paper, since 2 GPUs are visible")
    assert first_line("--device", "cpu").startswith("Scale demo, since --device cpu")


def test_the_plan_trains_nothing_and_writes_nothing(desk):
    done = desk.do("table3", "table7", "--seeds", "2", "--plan")
    assert (
        done.returncode == 0
        and " cells × seeds share" in done.stdout
        and "to train" in done.stdout
        and "About" in done.stdout
    )
    assert not desk.results.exists() and not desk.started()


def test_cells_are_chosen_by_one_label_or_by_all_and_the_table_stays_whole(desk):
    planned = desk.do(
        "table7", "table3", "--seeds", "2", "--plan", "--cell", "4096", "--cell", "half/512", "--cell", "0.9"
    )
    assert "12 runs: none done" in planned.stdout, planned.stderr
    done = desk.do("table3", "--seeds", "1", "--cell", "0.9", "--cell", "0.95", REAL_REPORT="1")
    assert done.returncode == 0 and "Trained 2 of 2 runs" in done.stdout, done.stderr
    assert {desk.store.load(run).config.ema.start for run in desk.store.runs()} == {0.9, 0.95}
    rows = (desk.results / "mini/paper/mocose-table3.csv").read_text().splitlines()
    assert len(rows) == 1 + 6 and "4 runs are missing" in done.stdout


def test_a_field_is_varied_and_the_run_at_the_study_s_own_value_is_the_stored_one(desk):
    cells = ("table3", "--seeds", "1", "--cell", "0.85", "--cell", "0.99")
    assert desk.do(*cells, REAL_REPORT="1").returncode == 0
    vary = (*cells, "--vary", "train.learning_rate=1e-5,3e-5,9e-5")
    done = desk.do(*vary, "--jobs", "2", REAL_REPORT="1")
    assert done.returncode == 0 and "Trained 4 of 4 runs" in done.stdout, done.stderr
    runs = [desk.store.load(run).config for run in desk.store.runs()]
    assert sorted(run.train.learning_rate for run in runs) == [1e-5, 1e-5, 3e-5, 3e-5, 9e-5, 9e-5]
    assert "T3.2: undecided at 1e-5, 3e-5, 9e-5." in done.stdout
    name = "mocose-table3@by-train.learning_rate=1e-5,3e-5,9e-5"
    made = {
        path.name.removeprefix(name)
        for root in ("results", "figures")
        for path in (desk.folder / "home" / root).rglob(f"{name}*")
    }
    assert made == {".csv", "_runs.csv", ".md", ".tex", ".png", ".pdf"}
    assert "6 runs: 6 done" in desk.do(*vary, "--status").stdout


def test_runs_are_read_at_their_last_checkpoint_without_being_trained_again(desk):
    assert desk.do("table3", "--seeds", "1", REAL_REPORT="1").returncode == 0
    done = desk.do("table3", "--seeds", "1", "--checkpoint", "last", REAL_REPORT="1")
    assert done.returncode == 0 and "0 to train" in done.stdout, done.stderr
    text = {
        name: (desk.results / f"mini/paper/{name}.csv").read_text()
        for name in ("mocose-table3", "mocose-table3@last")
    }
    assert (
        "selected:avg:spearman" in text["mocose-table3"] and "last:avg:spearman" in text["mocose-table3@last"]
    )


def test_settings_render_under_their_own_name(desk):
    done = desk.do("esimcse-table11", "--seeds", "1", "--jobs", "2", "--set", "loss.temperature=0.1")
    assert done.returncode == 0 and "esimcse-table11@loss.temperature=0.1" in done.stdout
    assert all(desk.store.load(run).config.loss.temperature == 0.1 for run in desk.store.runs())


def test_published_runs_are_used_only_when_asked_and_drawn_without_data(desk):
    assert "Published 5 runs" in desk.do("esimcse-table11", "--seeds", "1", "--publish").stdout
    for folder in ("runs", "pairs"):
        for file in (desk.results / folder).iterdir():
            file.unlink()
    assert "0 done, 5 missing" in desk.do("esimcse-table11", "--seeds", "1", "--plan").stdout
    assert (
        "5 done, 0 missing" in desk.do("esimcse-table11", "--seeds", "1", "--plan", "--use-published").stdout
    )
    recorded = sources.recorded_sources(MINI, desk.store)
    assert recorded is not None and recorded.sources == desk.found().sources


def test_evaluate_is_another_command(monkeypatch):
    class Module:
        @staticmethod
        def main(argv):
            assert argv == ["model", "--pooling", "mean"]
            return 0

    monkeypatch.setitem(sys.modules, "core.engine.evaluation.command", Module)
    assert run_study.main(["evaluate", "model", "--pooling", "mean"]) == 0


def test_sources_are_known_by_content(desk, tmp_path):
    found = desk.found().sources
    assert found.corpus_rows == 21_000 and found.encoder_hidden == 384  # blank lines are no sentences
    moved = Desk(tmp_path / "moved")
    assert moved.found().sources == found
    (moved.folder / "encoder" / "vocab.txt").write_text("word\n")
    dev = moved.folder / "data" / "STS" / "STSBenchmark" / "sts-dev.csv"
    dev.write_text(dev.read_text().replace("\t0.5\t", "\t0.6\t", 1))
    (moved.folder / "data" / "wiki_sentences.txt").write_text("a\n \nb")
    changed = moved.found().sources
    assert (
        changed.encoder_digest != found.encoder_digest
        and changed.evaluation_digest != found.evaluation_digest
    )
    assert changed.corpus_digest != found.corpus_digest and changed.corpus_rows == 2


def test_a_damaged_digest_cache_is_begun_anew(desk):
    before = desk.found().sources
    cache = desk.cache / "digests.json"
    assert list(json.loads(cache.read_text()).values()) == [[before.corpus_digest, 21_000, 21_000]]
    cache.write_text('{"x": 3, ')
    assert desk.found().sources == before and len(json.loads(cache.read_text())) == 1


def test_an_ambiguous_training_text_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match="has no training text.*--scale demo"):
        sources.corpus_file(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x")
    with pytest.raises(UserError, match="has 2 text files"):
        sources.corpus_file(tmp_path)


def test_encoders_are_given_by_the_one_they_stand_for(tmp_path):
    given = cli.parse(
        ["table3", "--encoder", str(tmp_path / "own"), "--encoder", f"bert-large={tmp_path / 'large'}"]
    )
    assert (given.encoder, given.other_encoders) == (tmp_path / "own", (("bert-large", tmp_path / "large"),))
    odd = cli.parse(["table3", "--encoder", str(tmp_path / "a=b")])  # a folder may have an equals sign
    assert odd.encoder == tmp_path / "a=b"
    with pytest.raises(UserError, match="names bert-base twice; give each a name"):
        cli.parse(["table3", "--encoder", "x", "--encoder", "bert-base=y"])


@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is not None, reason="tensorboard is installed")
def test_tensorboard_is_refused_where_it_is_not_installed(desk: Desk):
    done = desk.do("table3", "--seeds", "1", "--tensorboard", "watch")
    assert done.returncode == 2 and "pip install -r requirements-watch.txt brings it" in done.stderr
