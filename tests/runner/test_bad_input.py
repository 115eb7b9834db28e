"""What cannot be meant is answered in one sentence with status 2 before any training, and nothing is written or lost."""

from __future__ import annotations

import pytest
from refusals import check, here, refusing_desk


@pytest.fixture
def desk(tmp_path, monkeypatch):
    return refusing_desk(tmp_path, monkeypatch)


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
    "train.precision=tf32": "needs a GPU",
    "train.precision=fp16": "use --set train.precision=bf16, or fp32",
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
    "queue=none": "queue is a section of fields; set one of them, such as queue.size",
    "queue=5": "queue is a section of fields; set one of them, such as queue.size",
    "dup.rate=0.3": "method mocose has no section dup",
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


def test_a_setting_that_fits_no_row(desk, capsys):
    check(
        desk,
        capsys,
        ["esimcse-table11", *here(desk), "--set", "fgsm.epsilon=1e-9"],
        "method esimcse has no section fgsm",
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
