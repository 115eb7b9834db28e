"""`evaluate`: folders of sentence-transformers, some of public bug reports, are scored as they say
or refused; lines and CSV."""

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
import torch
from extras import needs
from safetensors.torch import load_file, save_file
from scipy import stats
from tiny_checkpoint import with_json

import run_study
from core.config.scale import DEMO, STS_TESTS, EncoderSource
from core.data.encoders import unused
from core.data.own_data import own_sets
from core.data.sts import StsSet
from core.data.transfer import load_probes
from core.encoder.tokens import tokenise, unknown_tokens
from core.errors import UserError
from core.evaluation.encoding import load_checkpoint, sentence_vectors
from core.evaluation.scoring import evaluate
from core.runner import cli
from core.runner import evaluate as command
from core.runner.orders import EvaluateOrder

WITH_THE_LIBRARY = needs("sentence_transformers", "requirements-evaluate.txt")
POOLING = {"word_embedding_dimension": tiny_checkpoint.HIDDEN, "pooling_mode_mean_tokens": True}


def listed(*kinds):
    """`modules.json` with these modules behind one another."""
    parts = (
        (i, f"{i}_{kind}" if i else "", f"sentence_transformers.models.{kind}")
        for i, kind in enumerate(kinds)
    )
    return [{"idx": i, "name": str(i), "path": path, "type": kind} for i, path, kind in parts]


def sentence_transformer(folder, settings=None, config=None):
    with_json(tiny_checkpoint.bert(folder), "1_Pooling/config.json", **POOLING)
    (folder / "modules.json").write_text(json.dumps(listed("Transformer", "Pooling")))
    with_json(folder, "config_sentence_transformers.json", **(config or {}))
    limit = {"max_seq_length": 16} | (settings or {})
    return with_json(folder, "sentence_bert_config.json", **limit)


@pytest.fixture
def evaluated(capsys, monkeypatch):
    """Exit status and output of `evaluate` on six pairs a set."""

    def evaluate(folder, *options, words="w1 w2"):
        a = tuple(f"{words} w{i}" for i in range(6))
        b = tuple(f"{words} w{2 * i} w3" for i in range(6))
        names = (*DEMO.tests, DEMO.dev)
        small = {name: StsSet(name, (name,) * 6, a, b, np.arange(6.0)) for name in names}
        monkeypatch.setattr(command, "load_demo", lambda: small)
        try:
            command.score_encoders(
                cli.parse(["evaluate", str(folder), "--scale", "demo", *options])
            )
            status = 0
            told = ""
        except UserError as error:
            status = 2
            told = str(error)
        return status, capsys.readouterr().out + told

    return evaluate


def test_without_the_library_modules_need_a_pooling(tmp_path, evaluated, monkeypatch):
    monkeypatch.setattr("core.runner.evaluate.find_spec", lambda name: None)
    plain = tiny_checkpoint.bert(tmp_path / "plain")
    folder = sentence_transformer(tmp_path / "own")
    assert "Pooling cls. Choose another" in evaluated(plain)[1]
    status, told = evaluated(folder)
    assert status == 2
    assert "install the extra [evaluate]" in told
    status, told = evaluated(folder, "--pooling", "mean")
    assert status == 0
    assert f"What {folder} says of modules, prompts and similarity is not used." in told
    with_json(folder, "run.json")  # a kept model
    assert evaluated(folder)[0] == 0 and "Pooling mean.\n" in evaluated(folder)[1]


def test_the_encoder_beside_a_pooling_is_not_scored_by_another_in_silence(tmp_path, evaluated):
    """0_Transformer of sentence-transformers' old layout: its pooling lies in ../1_Pooling."""
    whole = sentence_transformer(tmp_path / "whole")
    part = tiny_checkpoint.bert(whole / "0_Transformer")
    status, told = evaluated(part)
    assert status == 2
    assert f"{part} is a part of {whole}, which states a pooling; give that, or" in told
    status, told = evaluated(part, "--pooling", "mean")
    assert status == 0 and f"What {whole} says" in told


@WITH_THE_LIBRARY
def test_sentence_transformers_reads_its_own_folders(tmp_path, capsys):
    """With Dense and Normalize; the same vectors as the library gives by itself."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers import models as parts

    encoder = parts.Transformer(str(tiny_checkpoint.bert(tmp_path)))
    modules = [encoder, parts.Pooling(16), parts.Dense(16, 4), parts.Normalize()]
    model = SentenceTransformer(modules=modules, device="cpu")
    sentences = ["w1 w2 w3", "w4"]
    model.save(str(tmp_path / "whole"))
    encode, pooling = command._encode_and_pooling(EvaluateOrder(), tmp_path / "whole")
    np.testing.assert_allclose(encode(sentences), model.encode(sentences), atol=1e-6)
    assert encode(sentences).shape == (2, 4) and pooling == "pooling, dense, normalize"
    assert "Pooling pooling, dense, normalize, by sentence-transformers." in capsys.readouterr().out


def test_tokenizers_of_public_reports(tmp_path, evaluated):
    folder = tiny_checkpoint.bert(tmp_path / "side")
    with_json(folder, "tokenizer_config.json", truncation_side="left")
    tokenizer = load_checkpoint(folder, pooling="cls").tokenizer
    words = tokenizer.convert_ids_to_tokens(tokenise(tokenizer, ["w1 w2 w3 w4"], 4)[0])
    assert words == ["[CLS]", "w3", "w4", "[SEP]"]  # huggingface/transformers#12913
    # princeton-nlp/SimCSE#137, allenai/scibert#79: words that the tokenizer does not know
    assert not unknown_tokens(tokenise(tokenizer, ["w1 w2 w3"], 9), tokenizer)
    table = tokenise(tokenizer, ["x w2 x"], 9)
    assert "40% of the tokens are unknown" in unknown_tokens(table, tokenizer)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]
    # tokenizers#168
    with_json(folder, "tokenizer.json", model=vocabulary | {"unk_token": "[none]"})
    status, told = evaluated(folder, words="x y")
    assert status == 2 and "The tokenizer cannot read the text (WordLevel error: Missing" in told
    # huggingface/transformers#13000: no [CLS]
    folder = tiny_checkpoint.bert(tmp_path / "plain")
    with_json(folder, "tokenizer.json", post_processor=None)
    load_checkpoint(folder, pooling="mean")
    with pytest.raises(UserError, match=r"sets no \[CLS\] before a sentence; .* --pooling mean"):
        load_checkpoint(folder, pooling="cls")


@WITH_THE_LIBRARY
def test_what_a_folder_says_is_followed_or_told(tmp_path, evaluated):
    # sentence-transformers#2441: another similarity; mteb#3641: prompts without a default
    config = {"similarity_fn_name": "dot", "prompts": {"query": "find: ", "document": ""}}
    status, told = evaluated(sentence_transformer(tmp_path / "dot", config=config))
    assert status == 0
    assert "with prompt none; the folder names the similarity dot and prompts: query." in told
    config |= {"default_prompt_name": "query"}
    told = evaluated(sentence_transformer(tmp_path / "query", config=config))[1]
    assert "with prompt query;" in told
    config = {"model_type": "CrossEncoder"}
    status, told = evaluated(sentence_transformer(tmp_path / "cross", config=config))
    assert status == 2 and "holds a CrossEncoder, which gives no vectors" in told
    # sentence-transformers#1600: longer than the position table; #583: other names, so random
    # weights
    folder = sentence_transformer(tmp_path / "long", {"max_seq_length": 512})
    status, told = evaluated(folder, words="w1 " * 50)
    assert status == 0 and "sentences are cut at 20 tokens" in told
    status, told = evaluated(renamed(sentence_transformer(tmp_path / "renamed")))
    assert status == 2 and "has weights that do not fit its config.json" in told
    # sentence-transformers#1918
    status, told = evaluated(sentence_transformer(tmp_path / "none", {"max_seq_length": -1}))
    assert status == 2 and "sentence-transformers cannot load" in told
    folder = sentence_transformer(tmp_path / "list")
    (folder / "modules.json").write_text("[]")
    status, told = evaluated(folder)
    assert status == 2 and "sentence-transformers cannot load" in told


def renamed(folder):
    """The folder with a prefix before the name of each weight, as torch.compile writes them."""
    file = folder / "model.safetensors"
    weights = {f"_orig_mod.{name}": tensor for name, tensor in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
    return folder


def test_weights_beyond_the_encoder_are_named_and_renamed_ones_refused(tmp_path, evaluated):
    file = tiny_checkpoint.bert(tmp_path) / "model.safetensors"
    weights = load_file(file) | {"mlp.dense.weight": torch.zeros(16, 16)}
    save_file(weights, file, metadata={"format": "pt"})
    assert "not used: mlp.\n" in evaluated(tmp_path)[1]  # SimCSE's trainer
    with_json(tmp_path, "config_sentence_transformers.json")
    heads = tuple(load_checkpoint(tmp_path).heads())
    encoder = EncoderSource("bert-base", "", 16, "", positions=20, unused=heads, folder=tmp_path)
    # which a plan names
    assert unused(encoder) == ["mlp", "config_sentence_transformers.json"]
    for settings, named in (
        ({"max_seq_length": 20, "do_lower_case": False}, []),  # as a kept model has them
        ({"max_seq_length": 8, "do_lower_case": True}, ["max_seq_length 8", "do_lower_case True"]),
    ):
        (tmp_path / "sentence_bert_config.json").write_text(json.dumps(settings))
        named = [f"{setting} of sentence_bert_config.json" for setting in named]
        assert unused(encoder)[2:] == named
        assert all(name in evaluated(tmp_path, "--pooling", "mean")[1] for name in named)
    status, told = evaluated(renamed(tmp_path))
    assert status == 2 and "has weights that do not fit its config.json" in told


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
