"""Data, encoders and models that no run could train from are refused in one sentence, and nothing is written
or lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from desk import Desk, encoder
from refusals import check, here, refusing_desk

from core.data.sts import year_files

DEV = "STS/STSBenchmark/sts-dev.csv"
TEXT, GOLD = year_files("STS13", "FNWN")
SICK = "SICK/SICK_test_annotated.txt"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    return refusing_desk(tmp_path, monkeypatch)


def edit(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def first_line_off(path: Path) -> None:
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


WIKI = "wiki_sentences.txt"
# fmt: off
DATA = {
    "no such folder": (shutil.rmtree, "", "is no folder"),
    "a file": (lambda p: (shutil.rmtree(p), p.write_text("x")), "", "is no folder"),
    "no sets": (lambda p: shutil.rmtree(p / "STS"), "", "holds no SentEval data"),
    "a set missing": (Path.unlink, TEXT, "STS.input.FNWN.txt is missing"),
    "a set that is a folder": (as_folder, DEV, "sts-dev.csv cannot be read"),
    "too few pairs": (first_line_off, DEV, "STS-B dev has 1499 scored pairs .* but 1500 are published"),
    "too few lines": (first_line_off, TEXT, "STS13 FNWN has 188 lines of text but 189 of gold"),
    "a column short": (lambda p: edit(p, b"g\tf\ty\t7\t", b"g\tf\ty\t"), DEV,
        "sts-dev.csv, line 8: expected seven tab"),
    "no tab": (lambda p: edit(p, b"\tb 4 ", b" b 4 "), TEXT, "FNWN.txt, line 5: expected two sentences"),
    "an empty sentence": (lambda p: edit(p, b"\tb 1 w3 w0 w0\n", b"\t \n"), TEXT,
        "line 2: expected a sentence"),
    "an empty line": (lambda p: edit(p, b"\n", b"\n\n"), DEV,
        "line 2: expected seven tab-separated columns, found 1"),
    "latin-1": (lambda p: edit(p, b" a 2 ", b" caf\xe9 "), TEXT, "FNWN.txt, line 3 is not UTF-8"),
    "a score of 7": (lambda p: edit(p, b"3.5\n", b"7\n"), GOLD,
        "line 2: the gold score 7 lies outside 0 to 5"),
    "a score of nan": (lambda p: edit(p, b"3.5\n", b"nan\n"), GOLD,
        "line 2: expected a gold score, found 'nan'"),
    "sick without a judgment": (lambda p: edit(p, b"\tNEUTRAL", b""), SICK, "line 2: expected five tab"),
    "no text": (Path.unlink, WIKI, "has no training text"),
    "two texts": (lambda p: (p.rename(p.with_name("a.txt")), p.with_name("b.txt").write_text("x")), WIKI,
        "has 2 text files"),
    "an empty text": (lambda p: p.write_text(""), WIKI, "has no sentences"),
    "one line": (lambda p: p.write_text("a sentence\n"), WIKI,
        "train.batch_size is 64 but the training text has only 1 sentences"),
    "an enormous line": (lambda p: p.write_text("a b\n" + "word " * 300_000), WIKI,
        "line 2 has 1500000 characters"),
    "a text in latin-1": (lambda p: p.write_bytes(b"fine\ncaf\xe9\n"), WIKI, "line 2: not UTF-8"),
    "a text in utf-16 without a mark": (lambda p: p.write_text("fine\n", encoding="utf-16-le"), WIKI,
        "line 1 holds a NUL"),
    "a text in utf-16": (lambda p: p.write_text("fine\n", encoding="utf-16"), WIKI, "line 1: not UTF-8"),
}
# fmt: on


def harmed(folder: Path, part: str, cases: dict, capsys) -> None:
    """Each case harms a file of a desk of its own, and is refused with its sentence."""
    for place, (change, name, sentence) in enumerate(cases.values()):
        desk = Desk(folder / str(place))
        change(desk.folder / part / name if name else desk.folder / part)
        check(desk, capsys, ["table3", *here(desk)], sentence)


def test_data(desk, capsys):
    harmed(desk.folder, "data", DATA, capsys)


# fmt: off
ENCODERS = {
    "no such folder": (shutil.rmtree, "", "is no folder"),
    "a file": (lambda p: (shutil.rmtree(p), p.write_text("x")), "", "is no folder"),
    "no configuration": (Path.unlink, "config.json", "holds no config.json"),
    "no JSON": (lambda p: p.write_text("{"), "config.json", "cannot be read"),
    "a list": (lambda p: p.write_text("[]"), "config.json", "hidden_size None"),
    "width in words": (lambda p: encoder(p, hidden_size="wide"), "", "has hidden_size 'wide'"),
    "no layers": (lambda p: encoder(p, num_hidden_layers="x"), "", "has num_hidden_layers 'x'"),
    "no layer at all": (lambda p: encoder(p, num_hidden_layers=0), "", "has num_hidden_layers 0"),
    "no heads": (lambda p: encoder(p, num_attention_heads=0), "", "has num_attention_heads 0"),
    "heads that do not fit": (lambda p: encoder(p, num_attention_heads=5), "",
        "num_attention_heads 5, which does not divide"),
    "another architecture": (lambda p: encoder(p, model_type="gpt2"), "",
        "model_type 'gpt2'; only bert and roberta"),
    "no weights": (Path.unlink, "model.safetensors", "has no model.safetensors"),
    "a pickle": (lambda p: p.rename(p.with_name("pytorch_model.bin")), "model.safetensors",
        "only pickled weights, which can run code"),
    "no safetensors": (lambda p: p.write_bytes(b"\x80\x02}q\x00."), "model.safetensors",
        "is no whole safetensors file"),
    "cut short": (lambda p: p.write_bytes(p.read_bytes()[:-10]), "model.safetensors",
        "is no whole safetensors file"),
    "other width": (lambda p: encoder(p, hidden_size=768), "",
        r"do not fit its config.json .* is \[384, 384\], not \[768, 768\]"),
    "more layers": (lambda p: encoder(p, num_hidden_layers=12), "", r"layer.1.attention.* is missing"),
    "other vocabulary": (lambda p: encoder(p, vocab_size=9), "",
        r"word_embeddings.weight is \[5, 384\], not \[9, 384\]"),
    "no tokenizer": (Path.unlink, "tokenizer.json", "has no tokenizer"),
    "a broken tokenizer": (lambda p: p.write_text("{}"), "tokenizer.json", "tokenizer.json cannot be read"),
}
# fmt: on


def test_encoders(desk, capsys):
    harmed(desk.folder, "encoder", ENCODERS, capsys)


EVALUATE = {
    "{data} --scale demo": "has no config.json",
    "{data}/none --scale demo": "is not a folder",
    "{pickle} --scale demo": "only pickled weights, which can run code.*--allow-pickle",
    "{encoder}": "Give --data-dir",
    "{encoder} --data-dir {encoder}": "holds no SentEval data",
    "{encoder} --scale demo": "cannot be (read|loaded)|do not fit",
    "{encoder} --threads x": "invalid int value",
    "{encoder} --threads 5000": "no number from 1 to 4096",
    "{encoder} --pooling max": "invalid choice",
    "{encoder} --data-dir {broken}": "STS.input.FNWN.txt is missing",
}


def test_evaluate(desk, capsys):
    pickle = shutil.copytree(desk.folder / "encoder", desk.folder / "pickle")
    (pickle / "model.safetensors").rename(pickle / "pytorch_model.bin")
    broken = shutil.copytree(desk.folder / "data", desk.folder / "broken")
    (broken / TEXT).unlink()
    places = {name: desk.folder / name for name in ("data", "encoder", "pickle", "broken")}
    for line, sentence in EVALUATE.items():
        check(desk, capsys, ["evaluate", *line.format(**places).split()], sentence)
