"""Data, encoders and models that no run could train from are refused in one sentence, and nothing is written
or lost."""

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


WIKI = "wiki_sentences.txt"
# fmt: off
DATA = {
    "no such folder": (shutil.rmtree, "", "is no folder"),
    "a set missing": (Path.unlink, TEXT, "STS.input.FNWN.txt is missing"),
    "too few pairs": (first_line_off, DEV, "STS-B dev has 1499 scored pairs .* but 1500 are published"),
    "a column short": (lambda p: edit(p, b"g\tf\ty\t7\t", b"g\tf\ty\t"), DEV,
        "sts-dev.csv, line 8: expected seven tab"),
    "latin-1": (lambda p: edit(p, b" a 2 ", b" caf\xe9 "), TEXT, "FNWN.txt, line 3 is not UTF-8"),
    "a score of 7": (lambda p: edit(p, b"3.5\n", b"7\n"), GOLD,
        "line 2: the gold score 7 lies outside 0 to 5"),
    "no text": (Path.unlink, WIKI, "has no training text"),
    "two texts": (lambda p: (p.rename(p.with_name("a.txt")), p.with_name("b.txt").write_text("x")), WIKI,
        "has 2 text files"),
    "an enormous line": (lambda p: p.write_text("a b\n" + "word " * 300_000), WIKI,
        "line 2 has 1500000 characters"),
    "a text in latin-1": (lambda p: p.write_bytes(b"fine\ncaf\xe9\n"), WIKI, "line 2: not UTF-8"),
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
    "no configuration": (Path.unlink, "config.json", "holds no config.json"),
    "width in words": (lambda p: encoder(p, hidden_size="wide"), "", "has hidden_size 'wide'"),
    "another architecture": (lambda p: encoder(p, model_type="gpt2"), "",
        "model_type 'gpt2'; only bert and roberta"),
    "no weights": (Path.unlink, "model.safetensors", "has no model.safetensors"),
    "a pickle": (lambda p: p.rename(p.with_name("pytorch_model.bin")), "model.safetensors",
        "only pickled weights, which can run code"),
    "cut short": (lambda p: p.write_bytes(p.read_bytes()[:-10]), "model.safetensors",
        "is no whole safetensors file"),
    "more layers": (lambda p: encoder(p, num_hidden_layers=12), "", r"layer.1.attention.* is missing"),
    "other vocabulary": (lambda p: encoder(p, vocab_size=9), "",
        r"word_embeddings.weight is \[5, 384\], not \[9, 384\]"),
    "no tokenizer": (Path.unlink, "tokenizer.json", "has no tokenizer"),
}
# fmt: on


def test_encoders(desk, capsys):
    harmed(desk.folder, "encoder", ENCODERS, capsys)


EVALUATE = {
    "{data} --scale demo": "has no config.json",
    "{pickle} --scale demo": "only pickled weights, which can run code.*--allow-pickle",
    "{encoder}": "Give --data-dir",
    "{encoder} --scale demo": "cannot be (read|loaded)|do not fit",
    "{encoder} --threads 5000": "no number from 1 to 4096",
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
