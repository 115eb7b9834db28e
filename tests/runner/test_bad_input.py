"""What cannot be meant is answered in one sentence with status 2 before any training, and nothing is written
or lost."""

from __future__ import annotations

import re

import pytest
from refusals import check, here, refusing_desk


@pytest.fixture
def desk(tmp_path, monkeypatch):
    return refusing_desk(tmp_path, monkeypatch)


STUDIES = {
    "tabel3": r"no study 'tabel3'; did you mean table3\?.*|did you mean table3\.",
    "": "A word is empty",
    "  ": "A word is empty",
    "table3\nrm -rf": r"no study 'table3\\nrm -rf'",
    "../table3": r"no study '../table3'",
    "\0": r"no study '\\x00'",
    "x" * 5000: "no study 'xxx",
    "mocose-table99": "did you mean mocose-table",
    "TABLE7": "did you mean table7",
}


def test_no_such_study(desk, capsys):
    for name, sentence in STUDIES.items():
        check(desk, capsys, [name, *here(desk)], sentence)


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
    "loss.temperature=1_0": "is '1_0', but it must be a finite number",
    "train.steps=1_0": "is '1_0', but it must be a whole number",
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
    "queue.size=64": "queue.init_size is 128, but it .*queue.size=64",
    "queue.size=0": "at least one place",
    "queue.init_size=9999": "queue.init_size is 9999, but it",
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


def test_impossible_and_contradictory_settings(desk, capsys):
    for setting, sentence in SETTINGS.items():
        check(desk, capsys, ["table3", *here(desk), "--set", setting], sentence)
    twice = ("--set", "loss.temperature=0.1", "--set", "loss.temperature=0.2")
    check(desk, capsys, ["table3", *here(desk), *twice], "gives loss.temperature twice")
    none = ("--set", "fgsm.epsilon=1e-9")
    check(desk, capsys, ["esimcse-table11", *here(desk), *none], "method esimcse has no section fgsm")


OPTIONS = {
    "at least 1 and at most 1000": ("seeds 0", "seeds -1", "seeds 1000000000", "jobs 0", "jobs 1_0"),
    "no number of seconds above 0": ("time-limit 0", "time-limit 1_0", "time-limit 1e400", "time-limit nan"),
    "no number of at least 0": ("grace ٣", "checkpoint-minutes -1"),
    "no time above 0 and of at most a year, such as 2h": (
        "budget 0", "budget 0h0m", "budget -1h", "budget soon", "budget h", "budget 2h2h", "budget infh",
        "budget 30m1h", "budget 8761h", f"budget {'9' * 5000}h",
    ),
    "No GPU is visible": ("device cuda",),
    "invalid choice": ("device tpu", "scale huge", "profile dirty"),
    "Unrecognized arguments": ("no\nsuch option", f"o{'x' * 9000} x"),
}  # fmt: skip


def test_options(desk, capsys):
    for sentence, options in OPTIONS.items():
        for option in options:
            name, _, value = option.rpartition(" ")
            check(desk, capsys, ["table3", *here(desk), f"--{name}={value}"], sentence)
    for option in (
        "cluster",
        "scale",
        "seeds",
        "set",
        "cell",
        "data-dir",
        "encoder",
        "results-dir",
        "budget",
    ):
        for words in ([f"--{option}", ""], [f"--{option}="], [f"--{option}", " "]):
            for command in (["table3", *here(desk)], ["evaluate", str(desk.folder / "encoder")]):
                check(desk, capsys, [*command, *words], f"--{option} is given empty")


def test_places_that_are_none(desk, capsys):
    for option in ("data_dir", "encoder", "results_dir"):
        for text in ("\0", "x" * 300, "~nobody-of-that-name/x"):
            check(desk, capsys, ["table3", *here(desk, **{option: text})], "can be no folder")
    for mode in ("--status", "--regenerate-figures"):
        check(
            desk,
            capsys,
            ["table3", *here(desk), mode],
            "results is not there; give the --results-dir of the command",
        )


TOGETHER = {
    "--resolve": "--resolve needs to know how long it may take; add --budget",
    "--budget 2h": "--budget is what --resolve may spend; add --resolve",
    "--resolve --plan --publish": "--publish goes with training",
    "--plan --force": "--force goes with training, which --plan does not do; leave one out",
    "--regenerate-figures --publish": "draws everything that is published; add --all",
    "--regenerate-figures --cell 0.9": "tables are drawn whole",
    "--verify-published 0": "no whole number of at least 1",
    "--verify-published": "expected one argument",
    "--plan --status": "not allowed with argument",
    "--gpus 2": "--gpus says for which GPUs a plan is; add --plan",
    "--plan --gpus 2 --jobs 2": "--jobs does not go with --gpus",
    "--text x --publish": "--publish is for runs on the papers' data",
    "--encoder x": "--encoder names bert-base twice",
    "--pairs a=x --pairs a=y": "--pairs names a twice",
} | {
    f"{mode} {option}": f"{re.sub(' [0-9.]+$', '', option)} does not go with {mode.split()[0]}"
    for mode, options in (
        ("--resolve --budget 2h", ("--force", "--cell 0.9", "--seeds 2", "--checkpoint last", "--status",
                                   "--regenerate-figures", "--verify-published 2")),
        ("--verify-published 2", ("--plan", "--seeds 2", "--force", "--publish", "--keep-models")),
    )
    for option in options
}  # fmt: skip


def test_what_does_not_go_together(desk, capsys):
    for line, sentence in TOGETHER.items():
        check(desk, capsys, ["table3", *line.split(), *here(desk)], sentence)
