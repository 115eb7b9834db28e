"""Data, encoders and models that no run could train from are refused in one sentence, and nothing is written
or lost."""

import shutil
from pathlib import Path

import pytest
from desk import encoder
from refusals import check, here, refusing_desk

from core.data.sts import year_files

TEXT, _ = year_files("STS13", "FNWN")
WIKI, WEIGHTS = "data/wiki_sentences.txt", "encoder/model.safetensors"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    return refusing_desk(tmp_path, monkeypatch)


# fmt: off
HARMED = [  # what is changed, how, and the sentence; tests/data has every way in which a set can be wrong
    ("data", shutil.rmtree, "has 0 text files"),
    (f"data/{TEXT}", Path.unlink, "STS.input.FNWN.txt cannot be read"),
    ("data/STS/STSBenchmark/sts-dev.csv", lambda p: p.write_bytes(p.read_bytes().split(b"\n", 1)[1]),
        "sts-dev.csv has 1499 examples, but 1500 are published"),
    (WIKI, lambda p: (p.rename(p.with_name("a.txt")), p.with_name("b.txt").write_text("x")), "2 text files"),
    (WIKI, lambda p: p.write_text("a b\n" + "word " * 300_000), "a line of 1499999 characters"),
    (WIKI, lambda p: p.write_bytes(b"fine\ncaf\xe9\n"), "line 2 is not UTF-8"),
    ("encoder", shutil.rmtree, "holds no config.json"),
    ("encoder", lambda p: encoder(p, hidden_size="wide"), r"is \[5, 384\], not \[5, 'wide'\]"),
    ("encoder", lambda p: encoder(p, model_type="gpt2"), "model_type 'gpt2'; only bert and roberta"),
    ("encoder", lambda p: encoder(p, num_hidden_layers=12), r"layer.11.attention.* is missing"),
    ("encoder", lambda p: encoder(p, vocab_size=9), r"word_embeddings.weight is \[5, 384\], not \[9, 384\]"),
    ("encoder/tokenizer.json", Path.unlink, "has no tokenizer"),
    (WEIGHTS, Path.unlink, "model.safetensors is no whole safetensors file"),
    (WEIGHTS, lambda p: p.rename(p.with_name("pytorch_model.bin")), "only pickled weights, which can run"),
    (WEIGHTS, lambda p: p.write_bytes(p.read_bytes()[:-10]), "is no whole safetensors file"),
]
# fmt: on


def test_data_and_encoders(desk, capsys):
    for name in ("data", "encoder"):
        shutil.copytree(desk.folder / name, desk.folder / "sound" / name)
    for name, change, sentence in HARMED:
        change(desk.folder / name)
        check(desk, capsys, ["table3", *here(desk)], sentence)
        part = name.partition("/")[0]
        shutil.rmtree(desk.folder / part, ignore_errors=True)
        shutil.copytree(desk.folder / "sound" / part, desk.folder / part)


EVALUATE = {
    "{data} --scale demo": "holds no config.json",
    "{pickle} --scale demo": "only pickled weights, which can run code.*--allow-pickle",
    "{encoder}": "Give --data-dir",
    "{encoder} --scale demo": "cannot be (read|loaded)|do not fit",
    "{encoder} --data-dir {broken}": "STS.input.FNWN.txt cannot be read",
}


def test_evaluate(desk, capsys):
    pickle = shutil.copytree(desk.folder / "encoder", desk.folder / "pickle")
    (pickle / "model.safetensors").rename(pickle / "pytorch_model.bin")
    broken = shutil.copytree(desk.folder / "data", desk.folder / "broken")
    (broken / TEXT).unlink()
    places = {name: desk.folder / name for name in ("data", "encoder", "pickle", "broken")}
    for line, sentence in EVALUATE.items():
        check(desk, capsys, ["evaluate", *line.format(**places).split()], sentence)
