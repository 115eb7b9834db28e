"""`evaluate`: scores, tables and files of one encoder, and of two beside each other."""

import contextlib
import csv
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
import senteval_folder
import tiny_checkpoint
from scipy import stats

import run_study
from core.config.scale import DEMO, STS_TESTS
from core.data.own_data import own_sets
from core.data.transfer import load_probes
from core.evaluation.encoding import load_checkpoint, sentence_vectors
from core.evaluation.scoring import evaluate
from core.runner import evaluate as command


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_checkpoint.bert(tmp_path_factory.mktemp("model"))


def scored(capsys, table, model, *words) -> tuple[list[str], dict]:
    """The lines that were printed, and the rows of the table."""
    assert run_study.main(["evaluate", str(model), *map(str, words), "--csv", str(table)]) == 0
    with open(table, newline="") as file:
        table = [row for row in csv.DictReader(file) if not row["less"]]
    rows = {(row["task"], row["metric"]): row for row in table}
    return capsys.readouterr().out.splitlines(), rows


def test_all_sets_average_geometry_and_csv(model, tmp_path, capsys):
    senteval_folder.build(tmp_path / "senteval")
    table = tmp_path / "scores.csv"
    lines, rows = scored(capsys, table, model, "--pooling", "mean", "--data-dir", tmp_path)
    assert lines[0].startswith(f"Read {model}: bert, 2 layers x 16")
    assert lines[0].endswith("cut at 20 tokens.")
    assert [line[:10].strip() for line in lines[4:12]] == [*STS_TESTS, "STS-B dev"]
    assert lines[4].split()[1] == "3108"
    assert lines[12].startswith("average")
    assert "7 tests, without STS-B dev" in lines[12]
    assert len(rows) == 3 * 9 + 6 and rows["SICK-R", "spearman_all"]["pairs"] == "4927"
    assert rows["STS12", "spearman_wmean"]["pooling"] == "mean"
    mean = sum(float(rows[name, "spearman_all"]["value"]) for name in STS_TESTS) / 7
    assert float(rows["avg", "spearman_all"]["value"]) == pytest.approx(mean)
    assert f"{mean:.2f}" == lines[12].split()[1]


def test_pairs_of_your_own_are_scored_alone_or_beside_the_sets(model, tmp_path, capsys):
    own = tmp_path / "mine.tsv"
    dev = tmp_path / "dev.tsv"
    own.write_text("".join(f"w{i} w{i + 1}\tw{2 * i} w3\t{i % 5}\n" for i in range(12)))
    dev.write_text(own.read_text())
    pairs = ("--pairs", own, "--pairs", f"dev={dev}")
    lines, rows = scored(capsys, tmp_path / "scores.csv", model, "--pooling", "mean", *pairs)
    assert lines[2] == "Read 1 test set and dev, 24 pairs."
    assert "of the 1 test, without dev" in lines[6]
    assert lines[4].split()[:2] == ["mine", "12"] and lines[4].split()[2] == lines[6].split()[1]
    assert {task for task, _ in rows} == {"mine", "dev", "avg"}
    lines, rows = scored(capsys, tmp_path / "both.csv", model, "--scale", "demo", *pairs)
    assert {task for task, _ in rows} == {*DEMO.tests, DEMO.dev, "mine", "dev", "avg"}
    mean = sum(float(rows[name, "spearman_all"]["value"]) for name in (*DEMO.tests, "mine")) / 5
    assert float(rows["avg", "spearman_all"]["value"]) == pytest.approx(mean)
    assert "of the 5 tests, without DEV and dev" in "".join(lines)
    lines, rows = scored(capsys, tmp_path / "dev.csv", model, "--pooling", "mean", *pairs[2:])
    # it is no test
    assert {task for task, _ in rows} == {"dev"} and "average" not in "".join(lines)


def own_pairs(folder, name="mine"):
    """A file of 30 pairs, some with one score."""
    file = folder / f"{name}.tsv"
    lines = (f"w{i} w{i + 1}\tw{2 * i % 40} w3\t{i * 7 % 5}\n" for i in range(30))
    file.write_text("".join(lines))
    return file


def test_a_table_keeps_the_rows_of_other_encoders_poolings_and_pairs(model, tmp_path, capsys):
    """Two encoders whose folders have one name, as two runs' `best`, of which one is scored again
    by another pooling and on other pairs; a user's own table stays."""
    best = [tmp_path / name / "best" for name in ("run A", "run B")]
    for folder in best:
        folder.parent.mkdir()
        folder.symlink_to(model)
    mine, other = (f"mine={own_pairs(tmp_path, name)}" for name in ("mine", "other"))
    file = tmp_path / "scores.csv"
    sources = set()
    for folder, pooling, pairs in (
        (best[0], "mean", mine),
        (best[1], "mean", mine),
        (best[0], "cls", mine),
        (best[0], "mean", other),
        (best[0], "mean", mine),
    ):
        scored(capsys, file, folder, "--pooling", pooling, "--pairs", pairs)
        sources.add((str(folder), pooling, pairs))
        with open(file, newline="") as table:
            rows = list(csv.DictReader(table))
        assert {(row["path"], row["pooling"], row["sets"]) for row in rows} == sources
        assert len(rows) == len(sources) * (6 + 6)


def test_two_commands_that_add_to_one_table_at_once_lose_no_row(tmp_path, monkeypatch):
    """Each writes only once both have read, unless one waits for the other's lock."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    both = threading.Barrier(2)
    real = pd.read_csv

    def read(*arguments, **options):
        table = real(*arguments, **options)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(1)
        return table

    file = tmp_path / "scores.csv"
    command._add_rows(file, [("first", *command.CSV_COLUMNS[1:])])
    monkeypatch.setattr(pd, "read_csv", read)
    with ThreadPoolExecutor() as threads:
        rows = [[(name, *command.CSV_COLUMNS[1:])] for name in "ab"]
        assert list(threads.map(command._add_rows, [file, file], rows)) == [None, None]
    assert sorted(real(file)["path"]) == ["a", "b", "first"]


def test_two_encoders_are_compared_over_the_same_pairs_as_scipy_does(model, tmp_path, capsys):
    second = tiny_checkpoint.roberta(tmp_path / "second")
    file = own_pairs(tmp_path)
    words = (second, "--pooling", "mean", "--pairs", file, "--json", tmp_path / "json")
    lines, _ = scored(capsys, tmp_path / "scores.csv", model, *words)
    sets = own_sets([("mine", file)])
    cosines = []
    for folder in (model, second):
        checkpoint = load_checkpoint(folder, pooling="mean", trains=False)
        encode = partial(sentence_vectors, checkpoint, pooling="mean")
        cosines.append(evaluate(sets, encode).pairs[0].cosine)
    gold = sets["mine"].gold

    def difference(gold, a, b):
        return 100 * (stats.spearmanr(b, gold).statistic - stats.spearmanr(a, gold).statistic)

    bounds = stats.bootstrap(
        (gold, *cosines),
        difference,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    with open(tmp_path / "scores.csv", newline="") as table:
        rows = [row for row in csv.DictReader(table) if row["less"] == str(model)]
    values = {(row["task"], row["metric"]): float(row["value"]) for row in rows}
    for name in ("mine", "avg"):
        of = [values[name, f"spearman_all{end}"] for end in ("", "_low", "_high")]
        assert of == pytest.approx([difference(gold, *cosines), *bounds], abs=1e-9)
    (line,) = (line for line in lines if line.startswith("mine") and "[" in line)
    assert line.split()[3:] == [f"{of[0]:+.2f}", f"[{of[1]:+.2f},", f"{of[2]:+.2f}]"]
    # MTEB's layout: DIR/MODEL/REVISION/TASK.json
    results = sorted((tmp_path / "json").glob("*/no_revision_available/mine.json"))
    assert [path.parts[-3] for path in results] == [
        str(folder)[1:].replace("/", "__") for folder in sorted((model, second))
    ]
    result = json.loads(results[-1].read_text())
    (entry,) = result["scores"]["test"]
    assert result["task_name"] == "mine" and entry["main_score"] == entry["cosine_spearman"]
    pairs = ("--pairs", f"mine={own_pairs(tmp_path, 'other')}", *words[1:3], *words[5:])
    before = {path: path.read_bytes() for path in results}
    assert run_study.main(["evaluate", str(model), *map(str, pairs)]) == 2
    assert "is of other sets" in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in results}


def test_transfer_tasks_are_scored_and_compared(model, tmp_path, capsys, monkeypatch):
    some = load_probes()[:1]
    monkeypatch.setattr(command, "load_probes", lambda: some)
    words = (model, "--pooling", "mean", "--scale", "demo", "--transfer", "--json", tmp_path)
    lines, rows = scored(capsys, tmp_path / "scores.csv", model, *words)
    accuracy = float(rows[some[0].name, "accuracy_test"]["value"])
    assert 0 <= accuracy <= 100 and accuracy == float(
        rows["avg_transfer", "accuracy_test"]["value"]
    )
    compared = [line.split() for line in lines if line.startswith(some[0].name)][-1]
    assert compared == [some[0].name, *[f"{accuracy:.2f}"] * 2, "+0.00"]
    (result,) = tmp_path.glob(f"*/*/{some[0].name}Classification.json")
    assert json.loads(result.read_text())["scores"]["test"][0]["accuracy"] == accuracy / 100


def test_a_mistake_is_one_sentence_before_any_score(model, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.tsv").write_text("w1\tw2\t1\nw3\tw4\t2\n")
    places = {name: tmp_path / name for name in ("empty", "mine")}
    places["mine"].write_text("my own table\n")
    places["empty"].mkdir()
    for arguments, sentence in (
        ("", "MODEL is missing"),
        ("org/name --scale demo", "or hf:NAME@REVISION for an encoder on the hub"),
        ("hf:org/name --scale demo", "write hf:NAME@REVISION with the commit's 40 digits"),
        ("{model}", "Give --data-dir with SentEval's data"),
        ("{model} --data-dir {empty}", "0 folders of SentEval data"),
        ("{empty} --scale demo", "no config.json"),
        ("{model} {empty} --scale demo", "no config.json"),
        ("{empty}/none --scale demo", "none"),
        ("{model} --pooling max", "invalid choice"),
        ("{model} --scale demo --device cuda", "No GPU is visible"),
        *(
            (f"{{model}} --scale demo --csv {place}", "give another --csv")
            for place in ("{empty}", "{mine}", "/dev/null")
        ),
        *(
            (f"{{model}} --scale demo --pairs {name}=x.tsv", f"The name {name} is taken")
            for name in ("Para", "DEV", "STS-B")
        ),
        ("{model} --pairs a=x.tsv --pairs A=y.tsv", "--pairs gives one name twice"),
        (
            "{model} --scale demo --data-dir .",
            "--scale demo has its own pairs and reads no --data-dir; leave one out.",
        ),
    ):
        words = arguments.format(model=model, **places).split()
        assert run_study.main(["evaluate", *words]) == 2, arguments
        said = capsys.readouterr()
        assert sentence in said.err and said.err.count("\n") == 1 and not said.out, said
    assert places["mine"].read_text() == "my own table\n"


def test_a_dot_has_its_folder_s_name_and_a_tilde_is_the_home(model, tmp_path, capsys, monkeypatch):
    """No shell expands the tilde behind an equals sign."""
    monkeypatch.chdir(model)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.tsv").write_text("w1 w2\tw3\t1\nw4\tw5 w6\t2\nw7\tw8\t3\n")
    words = ["evaluate", ".", "--pairs", "mine=~/mine.tsv", "--csv=~/scores.csv"]
    assert run_study.main(words) == 0
    with open(tmp_path / "scores.csv", newline="") as file:
        assert {row["path"] for row in csv.DictReader(file)} == {str(model)}
    assert capsys.readouterr().out.startswith(f"Read {model}: bert")
