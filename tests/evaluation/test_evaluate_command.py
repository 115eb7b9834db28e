"""`evaluate`: one line a set and the average, every number in the CSV, and one sentence when something is wrong."""

import csv

import pytest
import senteval_folder
import tiny_checkpoint

import run_study
from core.spec.scale import DEMO, STS_TESTS


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_checkpoint.bert(tmp_path_factory.mktemp("model"))


def scored(capsys, table, model, *words) -> tuple[list[str], dict]:
    """The lines that were printed, and the rows of the table."""
    assert run_study.main(["evaluate", str(model), *map(str, words), "--csv", str(table)]) == 0
    with open(table, newline="") as file:
        return capsys.readouterr().out.splitlines(), {(row["task"], row["metric"]): row for row in csv.DictReader(file)}


def test_all_sets_average_geometry_and_csv(model, tmp_path, capsys):
    senteval_folder.build(tmp_path / "senteval")
    for _ in range(2):  # the command's own table is replaced
        lines, rows = scored(capsys, tmp_path / "scores.csv", model, "--pooling", "mean", "--data-dir", tmp_path)
    assert lines[0].startswith(f"Read {model}: bert, 2 layers x 16") and lines[0].endswith("cut at 20 tokens.")
    assert [line[:10].strip() for line in lines[4:12]] == [*STS_TESTS, "STS-B dev"]
    assert lines[4].split()[1] == "3108" and lines[12].startswith("average") and "7 tests, without STS-B dev" in lines[12]
    assert len(rows) == 3 * 9 + 6 and rows["SICK-R", "spearman_all"]["pairs"] == "4927"
    assert rows["STS12", "spearman_wmean"]["pooling"] == "mean"
    mean = sum(float(rows[name, "spearman_all"]["value"]) for name in STS_TESTS) / 7
    assert float(rows["avg", "spearman_all"]["value"]) == pytest.approx(mean)
    assert f"{mean:.2f}" == lines[12].split()[1]


def test_pairs_of_your_own_are_scored_alone_or_beside_the_sets(model, tmp_path, capsys):
    own, dev = tmp_path / "mine.tsv", tmp_path / "dev.tsv"
    own.write_text("".join(f"w{i} w{i + 1}\tw{2 * i} w3\t{i % 5}\n" for i in range(12)))
    dev.write_text(own.read_text())
    pairs = ("--pairs", own, "--pairs", f"dev={dev}")
    lines, rows = scored(capsys, tmp_path / "scores.csv", model, "--pooling", "mean", *pairs)
    assert lines[2] == "Read 1 test set and dev, 24 pairs." and "of the 1 tests, without dev" in lines[6]
    assert lines[4].split()[:2] == ["mine", "12"] and lines[4].split()[2] == lines[6].split()[1]
    assert {task for task, _ in rows} == {"mine", "dev", "avg"}
    lines, rows = scored(capsys, tmp_path / "both.csv", model, "--scale", "demo", *pairs)
    assert {task for task, _ in rows} == {*DEMO.tests, DEMO.dev, "mine", "dev", "avg"}


def test_a_mistake_is_one_sentence_and_status_2_before_anything_is_scored(model, tmp_path, capsys):
    places = {name: tmp_path / name for name in ("empty", "link", "mine")}
    places["mine"].write_text("my own table\n")
    places["empty"].mkdir()
    places["link"].symlink_to(tmp_path / "else.csv")
    for arguments, sentence in (
        ("", "required: MODEL"),
        ("{model}", "Give --data-dir with SentEval's data"),
        ("{model} --data-dir {empty}", "holds no SentEval data"),
        ("{empty} --scale demo", "no config.json"),
        ("{empty}/none --scale demo", "none"),
        ("{model} --pooling max", "invalid choice"),
        ("{model} --scale demo --device cuda", "No GPU is visible"),
        ("{model} --scale demo --csv {empty}/none/x.csv", "its folder is not there"),
        *((f"{{model}} --scale demo --csv {place}", "holds no scores of this command") for place in ("{empty}", "{link}", "{mine}", "/dev/null")),
        ("{model} --scale demo --data-dir .", "--scale demo has its own pairs and reads no --data-dir; leave one out."),
    ):  # fmt: skip
        assert run_study.main(["evaluate", *arguments.format(model=model, **places).split()]) == 2, arguments
        said = capsys.readouterr()
        assert sentence in said.err and said.err.count("\n") == 1 and not said.out, said
    assert places["link"].is_symlink() and places["mine"].read_text() == "my own table\n"
