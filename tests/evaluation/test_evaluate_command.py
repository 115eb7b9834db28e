"""`evaluate`: one line a set and the average, every number in the CSV, and one sentence when something is wrong."""

import csv

import pytest
import senteval_folder
import tiny_checkpoint

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
    assert read[0].startswith(f"Read {model}: bert, 2 layers x 16") and read[0].endswith("cut at 20 tokens.")
    assert [line[:10].strip() for line in lines[1:9]] == [*STS_TESTS, "STS-B dev"]
    assert lines[1].split()[1] == "3108" and lines[9].startswith("average") and "7 tests, without STS-B dev" in lines[9]
    with open(table, newline="") as file:
        rows = {(row["task"], row["metric"]): row for row in csv.DictReader(file)}
    assert len(rows) == 3 * 9 + 6 and rows["SICK-R", "spearman_all"]["pairs"] == "4927"
    assert rows["STS12", "spearman_wmean"]["pooling"] == "mean"
    mean = sum(float(rows[name, "spearman_all"]["value"]) for name in STS_TESTS) / 7
    assert float(rows["avg", "spearman_all"]["value"]) == pytest.approx(mean)
    assert f"{mean:.2f}" == lines[9].split()[1]


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


def test_sets_and_transfer_tasks_of_the_demo_need_no_data(model, tmp_path, capsys):
    table = tmp_path / "scores.csv"
    assert main([str(model), "--scale", "demo", "--transfer", "--csv", str(table)]) == 0
    shown = {words[0]: words[1:] for line in capsys.readouterr().out.splitlines() if (words := line.split())}
    with open(table, newline="") as file:
        rows = {(row["task"], row["metric"]): float(row["value"]) for row in csv.DictReader(file)}
    for name in (*DEMO.probes, "avg_transfer"):
        assert shown[name] == [f"{rows[name, metric]:.2f}" for metric in ("accuracy_test", "accuracy_dev")]
    probes = [rows[name, "accuracy_test"] for name in DEMO.probes]
    assert rows["avg_transfer", "accuracy_test"] == pytest.approx(sum(probes) / len(probes))
    assert all(name in shown for name in (*DEMO.tests, DEMO.dev))


@pytest.mark.parametrize("arguments, sentence", [
    ("{model}", "Give --data-dir with SentEval's data"), ("{model} --data-dir {empty}", "holds no SentEval data"),
    ("{model} --data-dir {sets} --transfer", "has no transfer tasks"), ("{empty} --scale demo", "has no config.json"),
    ("{model} --scale demo --threads 0", "--threads 0 is no number from 1 to 4096"), ("{empty}/none --scale demo", "is not a folder"),
    ("{model} --transfer --pairs {pairs}", "--transfer reads its tasks from --data-dir"), ("", "required: MODEL"),
    ("{model} --pooling max", "invalid choice"), ("{model} --scale demo --csv {empty}/none/x.csv", "cannot be written"),
    ("{model} --scale demo --csv {empty}", "cannot be written"), ("{model} --scale demo --csv {link}", "no plain file"),
    ("{model} --scale demo --csv /dev/null", "no plain file"),
    ("{model} --scale demo --data-dir .", "--scale demo scores on generated pairs and reads no --data-dir; leave one out."),
    ("{model} --scale demo --pooling cls --first-layer 0", "--first-layer needs --pooling first_last_avg, but it is cls"),
])  # fmt: skip
def test_a_mistake_is_one_sentence_and_status_2_before_anything_is_scored(model, tmp_path, capsys, arguments, sentence):
    places = {name: tmp_path / name for name in ("empty", "sets", "link", "pairs")}
    places["pairs"].write_text("a\tb\t1\nc\td\t2\n")
    places["empty"].mkdir()
    places["link"].symlink_to(tmp_path / "else.csv")
    if "{sets}" in arguments:
        senteval_folder.build(places["sets"])
    assert main(arguments.format(model=model, **places).split()) == 2
    said = capsys.readouterr()
    assert sentence in said.err and said.err.count("\n") == 1 and not said.out and places["link"].is_symlink()
