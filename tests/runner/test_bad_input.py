"""What cannot be meant, and data and encoders that no run could train from, are refused in one
sentence with status 2 before any training, and nothing is written or lost."""

import contextlib
import importlib.util
import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from desk import check, here, refusing_desk
from places import ROOT

import run_study
from core.evaluation import encoding


@pytest.fixture
def desk(tmp_path, monkeypatch):
    return refusing_desk(tmp_path, monkeypatch)


SETTINGS = {
    "loss.temperature": "names no field and value",
    "loss.temprature=1": "did you mean loss.temperature",
    "train.learning_rate=1e-400": "train.learning_rate .*must be a finite number",
    "train.batch_size=60000": "training text has only 21000 sentences",
    "train.precision=tf32": "needs a GPU",
    "data.max_length=100000": "the encoder has only 40 positions",
    "ema.start=0.5": "is what mocose-table3 varies",
    "seed.model=1": "cannot be set",
}


def test_no_such_study_and_impossible_or_contradictory_settings(desk, capsys):
    check(desk, capsys, ["tabel3", *here(desk)], r"no study 'tabel3'; did you mean table3\?")
    for setting, sentence in SETTINGS.items():
        check(desk, capsys, ["table3", *here(desk), "--set", setting], sentence)
    twice = ("--set", "loss.temperature=0.1", "--set", "loss.temperature=0.2")
    check(desk, capsys, ["table3", *here(desk), *twice], "loss.temperature is given twice")


OPTIONS = {
    "--seeds 0": "'0' is no whole number from 1 to 1000",
    "--budget 1,5h": "'1,5h' is no time, such as 2h",  # pandas-dev/pandas#51882 reads 15 hours
    "--device cuda": "No GPU is visible",
    "--gpu x": "There is no option --gpu; did you mean --gpus?",
    "--cell 0.96": "No cell is called '0.96'; did you mean 0.9",
    "--until-settled --budget 2h --force": "so --force does not go with it; leave one out",
    "--encoder x": "--encoder gives one name twice",
    "--text \udce9": "is not UTF-8; give another name",
}
WORDS = {
    "": "No study is named",
    "--all table3": "--all names every study, so STUDY does not go with it",
    "table3 --scale demo --data-dir .": "Scale demo has its own text",
}


def test_options_and_what_does_not_go_together(desk, capsys):
    absent = importlib.util.find_spec("tensorboard") is None
    lacking = {"--tensorboard x": "pip install -r requirements-watch"} if absent else {}
    for line, sentence in (OPTIONS | lacking).items():
        check(desk, capsys, ["table3", *line.split(), *here(desk)], sentence)
    for line, sentence in WORDS.items():
        check(desk, capsys, [*line.split(), "--results-dir", str(desk.results)], sentence)
    mistyped = here(desk, results_dir=str(desk.folder / "hone" / "results"))
    check(desk, capsys, ["table3", "--regenerate-figures", *mistyped], "hone is not there")
    check(desk, capsys, ["table3", *here(desk), "--set", ""], "A word is empty")
    check(desk, capsys, ["table3", *here(desk), "--data-dir="], "--data-dir= is empty")


DEMO = ("--plan", "--scale", "demo", "--device", "cpu")


def test_a_plan_says_what_training_would_refuse(capsys):
    for setting, is_refused in (("train.precision=tf32", True), ("loss.temperature=0.1", False)):
        assert run_study.main(["table3", *DEMO, "--set", setting]) == 0
        out = capsys.readouterr().out
        assert ("refused: train.precision=tf32 needs a GPU" in out) == is_refused
        assert "18 runs: none done" in out


def test_what_is_published_takes_no_runs_of_your_own(capsys):
    folder = ROOT / "results" / "published" / "x"
    assert run_study.main(["table3", *DEMO, "--results-dir", str(folder)]) == 2
    assert re.fullmatch(".*holds what the project publishes.*\n", capsys.readouterr().err)


WIKI = "data/wiki_sentences.txt"
DEV = "data/STS/STSBenchmark/sts-dev.csv"
WEIGHTS = "encoder/model.safetensors"


HARMED = [  # what is changed, how, and the sentence; tests/data has what may be wrong with a set
    ("data", shutil.rmtree, "is no folder; correct its name"),
    (
        DEV,
        lambda p: p.write_bytes(p.read_bytes().split(b"\n", 1)[1]),
        "has 1499 examples, but 1500",
    ),
    (WIKI, lambda p: shutil.copy(p.rename(p.with_name("a.txt")), p.with_name("b.txt")), "2 text"),
    (WIKI, lambda p: p.write_text("a b\n" + "word " * 300_000), "a line of 1499999 characters"),
    (WIKI, lambda p: p.write_bytes(b"fine\ncaf\xe9\n"), "line 2"),
    ("encoder", shutil.rmtree, "holds no config.json"),
    (WEIGHTS, lambda p: p.write_bytes(p.read_bytes()[:-10]), "cannot be loaded .*; copy"),
]


def loaded_here(words, **_):
    """What the process that loads an encoder would print."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        encoding.main(Path(words[-1]))
    return subprocess.CompletedProcess(words, 0, out.getvalue(), "")


@pytest.mark.parametrize("name, change, sentence", HARMED)
def test_data_and_encoders(desk, capsys, monkeypatch, name, change, sentence):
    """tests/data/test_encoders.py starts the process for real."""
    monkeypatch.setattr("core.data.encoders.subprocess.run", loaded_here)
    change(desk.folder / name)
    check(desk, capsys, ["table3", *here(desk)], sentence)
