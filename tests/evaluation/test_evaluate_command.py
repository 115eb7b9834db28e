"""`evaluate`: one line a set and the average, every number in the CSV, and one sentence when something is wrong."""

import csv
import math
import os
from pathlib import Path

import pytest
import senteval_folder
import tiny_checkpoint

from core.data.sts import StsSet
from core.engine.evaluation import command as evaluate_command
from core.engine.evaluation.command import main
from core.spec.scale import DEMO, STS_TESTS


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_checkpoint.bert(tmp_path_factory.mktemp("model"))


def test_all_sets_average_geometry_and_csv(model, tmp_path, capsys):
    senteval_folder.build(tmp_path / "senteval")
    table = tmp_path / "scores.csv"
    assert main([str(model), "--pooling", "mean", "--data-dir", str(tmp_path), "--threads", "1", "--csv", str(table)]) == 0
    read, lines = (found := capsys.readouterr().out.splitlines())[:3], found[3:]
    assert (
        read[0].startswith(f"Read {model}: bert, 2 layers x 16")
        and read[0].endswith("cut at 20 tokens.")
        and read[1] == "Pooling mean, as asked."
    )
    assert read[2].startswith("Read 7 test sets and STS-B dev, ")
    assert [line[:10].strip() for line in lines[1:9]] == [*STS_TESTS, "STS-B dev"]
    assert lines[1].split()[1] == "3108" and lines[9].startswith("average") and "7 tests, without STS-B dev" in lines[9]
    assert lines[10].startswith("alignment (STS-B, all splits): ") and "in batches of 64" in lines[12]
    assert "1 threads, pooling mean" in lines[13]
    with open(table, newline="") as file:
        rows = {(row["task"], row["metric"]): row for row in csv.DictReader(file)}
    assert len(rows) == 3 * 9 + 6 and rows["SICK-R", "spearman_all"]["pairs"] == "4927"
    assert rows["STS12", "spearman_wmean"]["pooling"] == "mean"
    mean = sum(float(rows[name, "spearman_all"]["value"]) for name in STS_TESTS) / 7
    assert float(rows["avg", "spearman_all"]["value"]) == pytest.approx(mean)
    assert f"{mean:.2f}" == lines[9].split()[1]


def test_demo_sets_need_no_data(model, capsys):
    assert main([str(model), "--scale", "demo", "--pooling", "cls"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in out for name in (*DEMO.tests, DEMO.dev)) and f"of the {len(DEMO.tests)} tests" in out


def test_transfer_tasks_of_the_demo(model, tmp_path, capsys):
    table = tmp_path / "scores.csv"
    assert main([str(model), "--scale", "demo", "--transfer", "--csv", str(table)]) == 0
    out = [line.split() for line in capsys.readouterr().out.splitlines()]
    start = next(place for place, words in enumerate(out) if words[0] == "transfer")
    assert [words[0] for words in out[start + 1 : start + 6]] == [*DEMO.probes, "avg_transfer"]
    with open(table, newline="") as file:
        rows = {(row["task"], row["metric"]): float(row["value"]) for row in csv.DictReader(file)}
    for name, test, dev in out[start + 1 : start + 6]:
        assert (test, dev) == tuple(f"{rows[name, metric]:.2f}" for metric in ("accuracy_test", "accuracy_dev"))
    assert rows["avg_transfer", "accuracy_test"] == pytest.approx(
        sum(rows[name, "accuracy_test"] for name in DEMO.probes) / len(DEMO.probes)
    )


def test_a_broken_model_is_said_and_never_zero(capsys, monkeypatch, model):
    import torch

    from core.engine.evaluation import encoding

    load = encoding.load_checkpoint

    def broken(folder, **options):
        checkpoint = load(folder, **options)
        with torch.no_grad():
            checkpoint.model.embeddings.LayerNorm.weight.fill_(math.nan)
        return checkpoint

    monkeypatch.setattr(encoding, "load_checkpoint", broken)
    small = StsSet("DEV", ("DEV",) * 3, ("w1", "w2", "w3"), ("w4", "w5", "w6"), senteval_folder.np_gold(3))
    monkeypatch.setattr(evaluate_command, "load_demo", lambda: {name: small for name in (*DEMO.tests, DEMO.dev)})
    assert main([str(model), "--scale", "demo"]) == 0
    out = capsys.readouterr().out
    assert "zero or not finite" in out and "nan" in out and " 0.00" not in out


@pytest.mark.parametrize("arguments, sentence", [
    (["{model}"], "Give --data-dir with SentEval's data"),
    (["{model}", "--data-dir", "{empty}"], "holds no SentEval data"),
    (["{model}", "--data-dir", "{sets}", "--transfer"], "has no transfer tasks"),
    (["{model}", "--scale", "demo", "--threads", "0"], "--threads 0 is no number from 1 to 4096"),
    (["{empty}", "--scale", "demo"], "has no config.json"),
    (["{model}", "--transfer", "--pairs", "{pairs}"], "--transfer reads its tasks from --data-dir"),
    (["{empty}/none", "--scale", "demo"], "is not a folder"),
])  # fmt: skip
def test_one_sentence_and_status_2(model, tmp_path, capsys, arguments, sentence):
    places = {"model": model, "empty": tmp_path / "empty", "sets": tmp_path / "sets", "pairs": tmp_path / "own.tsv"}
    places["pairs"].write_text("a\tb\t1\nc\td\t2\n")
    places["empty"].mkdir()
    if "{sets}" in arguments:
        senteval_folder.build(places["sets"])
    assert main([argument.format(**places) for argument in arguments]) == 2
    said = capsys.readouterr()
    assert sentence in said.err and said.err.count("\n") == 1 and not said.out


@pytest.mark.parametrize("place", ["none/x.csv", "."])
def test_csv_that_cannot_be_written_is_said_before_anything_is_scored(model, tmp_path, capsys, place):
    assert main([str(model), "--scale", "demo", "--csv", str(tmp_path / place)]) == 2
    said = capsys.readouterr()
    assert "cannot be written" in said.err and said.err.count("\n") == 1 and not said.out and not (tmp_path / "none").exists()


@pytest.mark.parametrize("argv, sentence", [([], "required: MODEL"), (["m", "--pooling", "max"], "invalid choice")])
def test_bad_usage_is_one_sentence(argv, sentence, capsys):
    assert main(argv) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1 and sentence in said[0] and "run_study.py evaluate --help" in said[0]


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("--scale", "demo", "--data-dir", "."), "--scale demo scores on generated pairs and reads no --data-dir; leave one out."),
        (
            ("--scale", "demo", "--pooling", "cls", "--first-layer", "0"),
            "--first-layer needs --pooling first_last_avg, but it is cls",
        ),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(model, words, sentence, capsys):
    assert main([str(model), *words]) == 2
    assert sentence in capsys.readouterr().err


def test_pairs_of_your_own_are_scored_alone_or_beside_the_sets(model, tmp_path, capsys):
    own, dev = tmp_path / "mine.tsv", tmp_path / "dev.tsv"
    own.write_text("".join(f"w{i} w{i + 1}\tw{2 * i} w3\t{i % 5}\n" for i in range(12)))
    dev.write_text(own.read_text())
    table = tmp_path / "scores.csv"
    arguments = ["--pairs", str(own), "--pairs", f"dev={dev}", "--pooling", "mean", "--csv", str(table)]
    assert main([str(model), *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "Read 1 test sets and dev, 24 pairs." and "of the 1 tests, without dev" in lines[6]
    assert lines[4].split()[:2] == ["mine", "12"] and lines[4].split()[2] == lines[6].split()[1]
    with open(table, newline="") as file:
        assert {row["task"] for row in csv.DictReader(file)} == {"mine", "dev", "avg"}
    assert main([str(model), "--scale", "demo", "--pairs", str(own)]) == 0
    assert "of the 5 tests, without DEV" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["device", "pipe", "link"])
def test_a_csv_never_replaces_what_is_no_plain_file(kind, model, tmp_path, capsys):
    path = {"device": Path("/dev/null")}.get(kind, tmp_path / "x.csv")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(tmp_path / "else.csv")
    assert main([str(model), "--scale", "demo", "--csv", str(path)]) == 2
    said = capsys.readouterr()
    assert "no plain file" in said.err and not said.out and os.path.lexists(path) and not path.is_file()
