"""What cannot be meant is answered in one sentence with status 2 before any training, and nothing is written or lost."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from desk import Desk, encoder

import run_study
from core.data.senteval import year_files
from core.data.sources import DEMO_ENCODER
from core.runner.train import Training

DEV = "STS/STSBenchmark/sts-dev.csv"
TEXT, GOLD = year_files("STS13", "FNWN")
SICK = "SICK/SICK_test_annotated.txt"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A desk in this process: no GPU, a cache of its own, and a launcher that must not be reached."""
    made = Desk(tmp_path)
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)

    def forbidden(**_):
        raise AssertionError("it went as far as training")

    monkeypatch.setattr("core.runner.train.Launcher", forbidden)
    return made


def everything(desk: Desk) -> dict[str, bytes | int]:
    """All files of a desk but the cache, which may be made again; of an enormous one its size."""
    return {
        str(p.relative_to(desk.folder)): p.read_bytes() if p.stat().st_size < 1 << 30 else p.stat().st_size
        for p in desk.folder.rglob("*") if p.is_file() and "cache" not in p.relative_to(desk.folder).parts
    }  # fmt: skip


def check(desk: Desk, capsys, arguments, sentence: str) -> None:
    before = everything(desk)
    assert run_study.main(list(arguments)) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and said.err.endswith((".\n", "?\n")), said.err
    assert re.search(sentence, said.err), said.err
    assert len(said.err) < 1000 and "Traceback" not in said.err
    assert all(re.match(r"Scale \w+, |\d+ runs|[\w-]+ is [\w-]+; ", line) for line in said.out.splitlines()), said.out
    assert everything(desk) == before
    assert arguments[:1] == ["evaluate"] or not (desk.folder / "home" / "results").is_dir()


def here(desk: Desk, **changed: str) -> list[str]:
    """The options of a sound command at scale mini, some of them replaced."""
    places = {"data-dir": desk.folder / "data", "encoder": desk.folder / "encoder", "results-dir": desk.folder / "home" / "results"}
    given = {name: str(path) for name, path in places.items()} | {name.replace("_", "-"): text for name, text in changed.items()}
    return ["--scale", "mini", *(word for name, text in given.items() for word in (f"--{name}", text))]


STUDIES = {
    "tabel3": r"no study 'tabel3'; did you mean table3\?.*|did you mean table3\.",
    "": "A word of the command is empty",
    "  ": "A word of the command is empty",
    "table3\nrm -rf": r"no study 'table3\\nrm -rf'",
    "../table3": r"no study '../table3'",
    "\0": r"no study '\\x00'",
    "x" * 5000: "no study 'xxx",
    "mocose-table99": "did you mean mocose-table",
    "TABLE7": "did you mean table7",
}


@pytest.mark.parametrize("name", STUDIES, ids=[repr(name[:12]) for name in STUDIES])
def test_no_such_study(desk, capsys, name):
    check(desk, capsys, [name, *here(desk)], STUDIES[name])


SETTINGS = {
    "loss.temperature": "--set takes FIELD=VALUE",
    "=0.1": "--set takes FIELD=VALUE",
    "loss.temperature=": "--set takes FIELD=VALUE",
    "": "--set is given empty",
    "loss.temprature=1": "did you mean loss.temperature",
    "nothing.x=1": "There is no field nothing.x",
    "../../x=1": "There is no field ",
    "loss.=1": "loss is a section of fields; set one of them, such as loss.temperature",
    "loss.temperature.x=1": "There is no field loss.temperature.x",
    "loss.temperature=hot": "loss.temperature is 'hot', but it must be a finite number",
    "loss.temperature=../../etc/passwd": "must be a finite number",
    "loss.temperature=1\0": "must be a finite number",
    "loss.temperature=nan": "must be a finite number",
    "loss.temperature=1e999": "must be a finite number",
    "loss.temperature=1e400": "must be a finite number",
    "loss.temperature=1_0": "is '1_0', but it must be a finite number",
    "loss.temperature=٣": "must be a finite number",
    "train.steps=1_0": "is '1_0', but it must be a whole number",
    "train.steps=٣": "must be a whole number",
    "train.steps=10000001": "10000000 is the most that can be trained",
    "heads.out_size=1000000000": "65536 is the most that can be trained",
    "queue.size=9000000000000000": "1048576 is the most that can be trained",
    "eval.every=9000000000000000": "10000000 is the most that can be trained",
    "loss.temperature=0": "must be above 0",
    "loss.in_batch_negatives=maybe": "must be true or false",
    "train.steps=0": "at least one step",
    "train.steps=-5": "at least one step",
    "train.steps=1.5": "must be a whole number",
    f"train.steps={10**60}": "must be a whole number below",
    f"train.steps={'9' * 5000}": "must be a whole number",
    "train.batch_size=1": "at least 2 sentences",
    "train.batch_size=60000": "training text has only 21000 sentences",
    "train.learning_rate=-1": "must not be negative",
    "train.precision=fp8": "must be 'fp32' or 'tf32'",
    "train.precision=fp16": "needs a GPU",
    "encoder.hidden_dropout=1": r"a dropout rate lies in \[0, 1\)",
    "data.max_length=2": "at least 3 tokens",
    "data.max_length=100000": "the encoder has only 40 positions",
    "queue.size=64": "queue.init_size is 128, but it must lie between 0 and queue.size=64",
    "queue.size=0": "at least one place",
    "queue.init_size=9999": "between 0 and queue.size=512",
    "queue.slice=[[0,5000]]": "does not fit a queue of 512",
    "queue.slice=[[5,2]]": "does not fit a queue of 512",
    "queue.slice=[0,5": "is not a list like",
    "queue.slice=[]": "queue.slice is empty",
    "queue.slice=[1,2]": "queue.slice is",
    "queue.slice=" + "[" * 100_000: "is not a list like",
    "queue=none": "needs the section queue, which is none",
    "queue=5": "queue is a section of fields; set one of them, such as queue.size",
    "dup.rate=0.3": "have no section dup",
    "eval.head=on": "takes no eval.head",
    "select.metric=sts_test_avg": "select.score goes with",
    "fgsm.epsilon=0": "set both or neither",
    "aug.token_cutoff=0.1": "set both or neither",
    "ema.start=0.5": "is what mocose-table3 varies",
    "seed.model=1": "cannot be set",
    "scale=paper": "cannot be set",
    "method=simcse": "cannot be set",
    "data.digest=abc": "cannot be set",
}


@pytest.mark.parametrize("setting", SETTINGS, ids=[repr(text[:30]) for text in SETTINGS])
def test_impossible_and_contradictory_settings(desk, capsys, setting):
    check(desk, capsys, ["table3", *here(desk), "--set", setting], SETTINGS[setting])


def test_a_setting_given_twice(desk, capsys):
    twice = ("--set", "loss.temperature=0.1", "--set", "loss.temperature=0.2")
    check(desk, capsys, ["table3", *here(desk), *twice], "gives loss.temperature twice")


@pytest.mark.parametrize("study", ["table1", "figure2"])
def test_a_setting_that_fits_some_rows_only(desk, capsys, study):
    check(
        desk,
        capsys,
        [study, *here(desk), "--set", "queue.size=256"],
        "simcse runs have no section queue, and a setting has to fit every run",
    )


OPTIONS = {
    "seeds 0": "no whole number of at least 1",
    "seeds -1": "no whole number of at least 1",
    "seeds many": "no whole number of at least 1",
    "seeds 1000000000": "more than 1000",
    "seeds 1_0": "no whole number of at least 1",
    "seeds ٣": "no whole number of at least 1",
    "jobs 1_0": "no whole number of at least 1",
    "time-limit 1_0": "no number of seconds above 0",
    "time-limit 1e400": "no number of seconds above 0",
    "grace ٣": "no number of at least 0",
    "checkpoint-minutes 1_0": "no number of at least 0",
    "jobs 0": "no whole number of at least 1",
    "jobs 1000000000": "more than 1000",
    "time-limit 0": "no number of seconds above 0",
    "time-limit nan": "no number of seconds above 0",
    "time-limit inf": "no number of seconds above 0",
    "device cuda": "no GPU is visible",
    "device tpu": "invalid choice",
    "scale huge": "invalid choice",
    "profile dirty": "invalid choice",
    "no\nsuch option": "Unrecognized arguments",
    f"o{'x' * 9000} x": "Unrecognized arguments",
}


@pytest.mark.parametrize("option", OPTIONS, ids=[repr(text[:20]) for text in OPTIONS])
def test_options(desk, capsys, option):
    name, _, value = option.rpartition(" ")
    check(desk, capsys, ["table3", *here(desk), f"--{name}", value], OPTIONS[option])


EMPTY = ("cluster", "scale", "seeds", "set", "cell", "data-dir", "encoder", "results-dir", "budget")


@pytest.mark.parametrize("option", EMPTY)
def test_an_option_given_empty(desk, capsys, option):
    for words in ([f"--{option}", ""], [f"--{option}="], [f"--{option}", " "]):
        check(desk, capsys, ["table3", *here(desk), *words], f"--{option} is given empty")
        check(desk, capsys, ["evaluate", str(desk.folder / "encoder"), *words], f"--{option} is given empty")


PLACES = {
    "\0": "can be no folder",
    "x" * 300: "can be no folder .File name too long",
    "~nobody-of-that-name/x": "can be no folder",
}


@pytest.mark.parametrize("option", ("data_dir", "encoder", "results_dir"))
@pytest.mark.parametrize("text", PLACES, ids=[repr(text[:10]) for text in PLACES])
def test_places_that_are_none(desk, capsys, option, text):
    check(desk, capsys, ["table3", *here(desk, **{option: text})], PLACES[text])


def edit(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def first_line_off(path: Path) -> None:
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


WIKI = "wiki_sentences.txt"
DATA = {
    "no such folder": (shutil.rmtree, "", "is no folder"),
    "a file": (lambda p: (shutil.rmtree(p), p.write_text("x")), "", "is no folder"),
    "no sets": (lambda p: shutil.rmtree(p / "STS"), "", "holds no SentEval data"),
    "a set missing": (Path.unlink, TEXT, "STS.input.FNWN.txt is missing"),
    "a set that is a folder": (as_folder, DEV, "sts-dev.csv cannot be read"),
    "too few pairs": (first_line_off, DEV, "STS-B dev has 1499 scored pairs .* but 1500 are published"),
    "too few lines": (first_line_off, TEXT, "STS13 FNWN has 188 lines of text but 189 of gold"),
    "a column short": (lambda p: edit(p, b"g\tf\ty\t7\t", b"g\tf\ty\t"), DEV, "sts-dev.csv, line 8: expected seven tab"),
    "no tab": (lambda p: edit(p, b"\tb 4 ", b" b 4 "), TEXT, "FNWN.txt, line 5: expected two sentences"),
    "an empty sentence": (lambda p: edit(p, b"\tb 1 w3 w0 w0\n", b"\t \n"), TEXT, "line 2: expected a sentence"),
    "an empty line": (lambda p: edit(p, b"\n", b"\n\n"), DEV, "line 2: expected seven tab-separated columns, found 1"),
    "latin-1": (lambda p: edit(p, b" a 2 ", b" caf\xe9 "), TEXT, "FNWN.txt, line 3 is not UTF-8"),
    "a score of 7": (lambda p: edit(p, b"3.5\n", b"7\n"), GOLD, "line 2: the gold score 7 lies outside 0 to 5"),
    "a score of nan": (lambda p: edit(p, b"3.5\n", b"nan\n"), GOLD, "line 2: expected a gold score, found 'nan'"),
    "a score with an underscore": (lambda p: edit(p, b"3.5\n", b"3_5\n"), GOLD, "line 2: expected a gold score, found '3_5'"),
    "a score in other digits": (lambda p: edit(p, b"3.5\n", "٣.٥\n".encode()), GOLD, "line 2: expected a gold score"),
    "a score that is endless": (lambda p: edit(p, b"3.5\n", b"1e400\n"), GOLD, "line 2: expected a gold score"),
    "a set that is a FIFO": (as_fifo, DEV, "sts-dev.csv cannot be read .it is a FIFO"),
    "a set that is a device": (as_device, GOLD, "FNWN.txt cannot be read .it is a device"),
    "a set made of holes": (lambda p: os.truncate(p, 1 << 40), DEV, "sts-dev.csv cannot be read .it has 1099511627776 bytes"),
    "a score in words": (lambda p: edit(p, b"3.5\n", b"high\n"), GOLD, "line 2: expected a gold score, found 'high'"),
    "sick without a judgment": (lambda p: edit(p, b"\tNEUTRAL", b""), SICK, "line 2: expected five tab"),
    "no text": (Path.unlink, WIKI, "has no training text"),
    "a text that is a folder": (as_folder, WIKI, "has no training text"),
    "two texts": (lambda p: (p.rename(p.with_name("a.txt")), p.with_name("b.txt").write_text("x")), WIKI, "has 2 text files"),
    "an empty text": (lambda p: p.write_text(""), WIKI, "has no sentences"),
    "empty lines alone": (lambda p: p.write_text("\n \n\t\n"), WIKI, "has no sentences"),
    "one line": (lambda p: p.write_text("a sentence\n"), WIKI, "train.batch_size is 64 but the training text has only 1 sentences"),
    "an enormous line": (lambda p: p.write_text("a b\n" + "word " * 300_000), WIKI, "line 2 has 1500000 characters"),
    "a text in latin-1": (lambda p: p.write_bytes(b"fine\ncaf\xe9\n"), WIKI, "line 2: not UTF-8"),
    "a text that is a FIFO": (as_fifo, WIKI, "has no training text"),
    "a text that is a device": (as_device, WIKI, "has no training text"),
    "a text made of holes": (lambda p: os.truncate(p, 1 << 40), WIKI, "cannot be read .it has 1099511627776 bytes"),
    "a text in utf-16 without a mark": (lambda p: p.write_text("fine\n", encoding="utf-16-le"), WIKI, "line 1 holds a NUL"),
    "marks alone": (lambda p: p.write_text("\ufeff\n\ufeff\n"), WIKI, "has no sentences"),
    "a text in utf-16": (lambda p: p.write_text("fine\n", encoding="utf-16"), WIKI, "line 1: not UTF-8"),
}


@pytest.mark.parametrize("case", DATA)
def test_data(desk, capsys, case):
    change, name, sentence = DATA[case]
    change(desk.folder / "data" / name if name else desk.folder / "data")
    check(desk, capsys, ["table3", *here(desk)], sentence)


ENCODERS = {
    "no such folder": (shutil.rmtree, "", "is no folder"),
    "a file": (lambda p: (shutil.rmtree(p), p.write_text("x")), "", "is no folder"),
    "no configuration": (Path.unlink, "config.json", "holds no config.json"),
    "no JSON": (lambda p: p.write_text("{"), "config.json", "names no hidden_size"),
    "a list": (lambda p: p.write_text("[]"), "config.json", "names no hidden_size"),
    "too deep": (lambda p: p.write_text("[" * 100_000), "config.json", "names no hidden_size"),
    "binary": (lambda p: p.write_bytes(b"\xff\xfe\x00"), "config.json", "names no hidden_size"),
    "a configuration that is a FIFO": (as_fifo, "config.json", "holds no config.json"),
    "a configuration that is a device": (as_device, "config.json", "holds no config.json"),
    "a configuration made of holes": (lambda p: os.truncate(p, 1 << 40), "config.json", "names no hidden_size"),
    "weights that are a FIFO": (as_fifo, "model.safetensors", "has no model.safetensors"),
    "a tokenizer made of holes": (lambda p: os.truncate(p, 1 << 40), "tokenizer.json", "tokenizer.json cannot be read"),
    "width in words": (lambda p: encoder(p, hidden_size="wide"), "", "has hidden_size 'wide'"),
    "no layers": (lambda p: encoder(p, num_hidden_layers="x"), "", "has num_hidden_layers 'x'"),
    "no layer at all": (lambda p: encoder(p, num_hidden_layers=0), "", "has num_hidden_layers 0"),
    "layers below 0": (lambda p: encoder(p, num_hidden_layers=-1), "", "has num_hidden_layers -1"),
    "no heads": (lambda p: encoder(p, num_attention_heads=0), "", "has num_attention_heads 0"),
    "heads below 0": (lambda p: encoder(p, num_attention_heads=-2), "", "has num_attention_heads -2"),
    "heads that do not fit": (lambda p: encoder(p, num_attention_heads=5), "", "num_attention_heads 5, which does not divide"),
    "another architecture": (lambda p: encoder(p, model_type="gpt2"), "", "model of type 'gpt2'; only bert and roberta"),
    "no weights": (Path.unlink, "model.safetensors", "has no model.safetensors"),
    "a pickle": (lambda p: p.rename(p.with_name("pytorch_model.bin")), "model.safetensors", "only pickled weights, which can run code"),
    "no safetensors": (lambda p: p.write_bytes(b"\x80\x02}q\x00."), "model.safetensors", "is no safetensors file"),
    "noise": (lambda p: p.write_bytes(b"\xff" * 5000), "model.safetensors", "is no safetensors file"),
    "cut short": (lambda p: p.write_bytes(p.read_bytes()[:-10]), "model.safetensors", "bytes where its header says"),
    "other width": (lambda p: encoder(p, hidden_size=768), "", r"do not fit its config.json .* is \[384, 384\], not \[768, 768\]"),
    "more layers": (lambda p: encoder(p, num_hidden_layers=12), "", r"layer.1.attention.* is missing"),
    "other vocabulary": (lambda p: encoder(p, vocab_size=9), "", r"word_embeddings.weight is \[5, 384\], not \[9, 384\]"),
    "no tokenizer": (Path.unlink, "tokenizer.json", "has no tokenizer"),
    "a broken tokenizer": (lambda p: p.write_text("{}"), "tokenizer.json", "tokenizer.json cannot be read"),
}


@pytest.mark.parametrize("case", ENCODERS)
def test_encoders(desk, capsys, case):
    change, name, sentence = ENCODERS[case]
    change(desk.folder / "encoder" / name if name else desk.folder / "encoder")
    check(desk, capsys, ["table3", *here(desk)], sentence)


RESULTS = {
    "a file": (lambda p: p.write_text("mine"), "results could not be written|results may not be written"),
    "below a file": (lambda p: (p.parent.rmdir(), p.parent.write_text("mine")), "could not be written"),
    "a file for runs": (lambda p: (p.mkdir(), (p / "runs").write_text("mine")), "results could not be written"),
    "a loop": (lambda p: p.symlink_to(p), "could not be written|can be no folder"),
}


@pytest.mark.parametrize("case", RESULTS)
def test_results_folders(desk, capsys, case):
    change, sentence = RESULTS[case]
    place = desk.folder / "other" / "results"
    place.parent.mkdir()
    change(place)
    check(desk, capsys, ["table3", *here(desk, results_dir=str(place))], sentence)


def test_a_results_folder_of_somebody_else(desk, capfd, monkeypatch):
    place = desk.folder / "other"
    place.mkdir(mode=0o500)
    sound = Training.check

    def drop(*arguments):
        sound(*arguments)
        if os.getuid() == 0:
            os.seteuid(65534)  # nobody: from here on the folder may not be written

    monkeypatch.setattr(Training, "check", drop)
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = run_study.main(["table3", *here(desk, results_dir=str(place / "results"))])
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    said = capfd.readouterr().err
    assert re.search("may not be written .Permission denied.; choose a folder of yours", said) and said.count("\n") == 1
    assert not list(place.iterdir())


def test_figures_that_cannot_be_written(desk, capsys):
    from fake_jobs import made_result
    from storm import planned

    runs = planned(desk, 1, "esimcse-table11")
    for run in runs:
        desk.store.save(run.config, made_result(run.config))
    (desk.results / "figures").write_text("mine")
    assert run_study.main(["esimcse-table11", "--seeds", "1", "--regenerate-figures", *here(desk)]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r".*/results/figures.* could not be written .*; mend that and give the same command again\.\n", said), said
    assert (desk.results / "figures").read_text() == "mine" and all(desk.store.verified(run.run_id) for run in runs)


BUDGETS = {
    "0": "no time above 0, such as 2h", "0s": "no time above 0", "0h0m": "no time above 0", "-1h": "no time above 0",
    "soon": "'soon' is no time above 0", "": "--budget is given empty", "2": "no time above 0", "h": "no time above 0", "2h2h": "no time above 0",
    "nanh": "no time above 0", "infh": "no time above 0", "1e9h": "no time above 0", "30m1h": "no time above 0", "２h": "no time above 0",
    "8761h": "more than a year", "9" * 90 + "s": "more than a year", "9" * 5000 + "h": "no time above 0",
}  # fmt: skip


@pytest.mark.parametrize("text", BUDGETS, ids=[name[:8] for name in BUDGETS])
def test_no_such_budget(desk, capsys, text):
    check(desk, capsys, ["table3", "--resolve", f"--budget={text}", *here(desk)], f"(?s){BUDGETS[text]}")


TOGETHER = {
    "--resolve": "--resolve needs to know how long it may take; add --budget",
    "--budget 2h": "--budget is what --resolve may spend; add --resolve",
    "--resolve --budget 2h --set loss.temperature=0.1": "--set does not go with --resolve",
    "--resolve --budget 2h --force": "--force does not go with --resolve",
    "--resolve --budget 2h --cell 0.9": "--cell does not go with --resolve",
    "--resolve --budget 2h --seeds 5": "--seeds does not go with --resolve",
    "--resolve --budget 2h --checkpoint last": "--checkpoint last does not go with --resolve",
    "--resolve --budget 2h --status": "--status does not go with --resolve",
    "--resolve --budget 2h --list": "--list does not go with --resolve",
    "--resolve --budget 2h --regenerate-figures": "--regenerate-figures does not go with --resolve",
    "--resolve --budget 2h --verify-published 2": "--verify-published does not go with --resolve",
    "--resolve --plan --publish": "--publish goes with training",
    "--regenerate-figures --publish": "draws everything that is published; add --all",
    "--verify-published 0": "no whole number of at least 1",
    "--verify-published": "expected one argument",
    "--verify-published few": "no whole number of at least 1",
    "--verify-published 2 --plan": "--plan does not go with --verify-published",
    "--verify-published 2 --seeds 2": "--seeds does not go with --verify-published",
    "--verify-published 2 --force": "--force does not go with --verify-published",
    "--verify-published 2 --publish": "--publish does not go with --verify-published",
    "--verify-published 2 --cluster tcp://x:1": "--cluster does not go with --verify-published",
}


@pytest.mark.parametrize("line", TOGETHER)
def test_what_does_not_go_together(desk, capsys, line):
    check(desk, capsys, ["table3", *line.split(), *here(desk)], TOGETHER[line])


EVALUATE = {
    "{data} --scale demo": "has no config.json",
    "{data}/none --scale demo": "is not a folder",
    "{pickle} --scale demo": "only pickled weights, which can run code.*--allow-pickle",
    "{encoder}": "Give --data-dir",
    "{encoder} --data-dir {encoder}": "holds no SentEval data",
    "{encoder} --scale demo": "cannot be (read|loaded)|do not fit",
    "{encoder} --threads x": "no whole number from 1 to 4096",
    "{encoder} --threads 1_0": "no whole number from 1 to 4096",
    "{encoder} --pooling max": "invalid choice",
    "{encoder} --data-dir {broken}": "STS.input.FNWN.txt is missing",
}


@pytest.mark.parametrize("pooling", ["cls", "first_last_avg"])
@pytest.mark.parametrize("name", ["num_hidden_layers", "num_attention_heads"])
@pytest.mark.parametrize("count", [0, -1])
def test_a_model_with_a_count_that_is_none_is_not_scored(desk, capsys, name, count, pooling):
    folder = shutil.copytree(DEMO_ENCODER, desk.folder / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, name: count}))
    check(
        desk, capsys, ["evaluate", str(folder), "--scale", "demo", "--pooling", pooling], f"has {name} {count}, but a model has at least 1"
    )


@pytest.mark.parametrize("line", EVALUATE)
def test_evaluate(desk, capsys, line):
    pickle = shutil.copytree(desk.folder / "encoder", desk.folder / "pickle")
    (pickle / "model.safetensors").rename(pickle / "pytorch_model.bin")
    broken = shutil.copytree(desk.folder / "data", desk.folder / "broken")
    (broken / TEXT).unlink()
    places = {name: desk.folder / name for name in ("data", "encoder", "pickle", "broken")}
    check(desk, capsys, ["evaluate", *line.format(**places).split()], EVALUATE[line])
