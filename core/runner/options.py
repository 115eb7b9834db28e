"""The options of each command: how they are typed, and what --help says of them."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from core.config.methods import PROFILES
from core.config.scale import SCALES
from core.config.section import whole_number
from core.data.own_data import named_pairs
from core.errors import UserError
from core.runner.orders import option_defaults
from core.study.study import ENCODERS

INSTALLED = "run-study"  # the command that `pip install -e .` makes
MOST = 1000  # seeds, or runs at once
# pandas reads `1,5h` as 15 hours and `PT3.5h` as 5 hours and 3 seconds.
TIME = re.compile("([0-9]+([.][0-9]+)?[ ]*[a-zA-Z]+[ ]*)+")


def program() -> str:
    """The name by which the command was started."""
    name = Path(sys.argv[0]).name
    return name if name == INSTALLED else "run_study.py"


def count(text: str) -> int:
    """A number of seeds or runs. Raises ArgumentTypeError."""
    number = whole_number(text)
    if number is None or not 1 <= number <= MOST:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no whole number from 1 to {MOST}")
    return number


def duration(text: str) -> float:
    """Seconds of `2h`, `90m`, `30s` or `1h30m`. Raises ArgumentTypeError."""
    import pandas  # takes a second

    with contextlib.suppress(ValueError):
        if TIME.fullmatch(text):
            number = pandas.Timedelta(text).total_seconds()
            if number >= 1:
                return number
    raise argparse.ArgumentTypeError(f"{text[:80]!r} is no time, such as 2h, 90m or 1h30m")


def typed_time(seconds: float) -> str:
    """A time as `duration` reads it, such as `1h30m`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = zip((hours, minutes, rest), "hms", strict=True)
    return "".join(f"{number:g}{unit}" for number, unit in parts if number)


def named_encoder(text: str) -> tuple[str, Path]:
    """Which of the papers' encoders a folder stands for, and the folder; its name may have an
    equals sign."""
    name, _, folder = text.partition("=")
    if name in ENCODERS and folder:
        return name, typed_path(folder)
    return ENCODERS[0], typed_path(text)


def typed_path(text: str) -> Path:
    """A path as it was typed, which a printed command repeats."""
    return Path(os.path.expanduser(text))


def encoder_place(text: str) -> Path:
    """An encoder's folder, or its name on the hub."""
    return Path(text) if text.startswith("hf:") else path_here(text)


def path_here(text: str) -> Path:
    """A path whose last part is a name, even of `.`."""
    return Path(os.path.abspath(typed_path(text)))


class Option(NamedTuple):
    """What --help says of an option and calls its value, how the value is read, and its choices."""

    help: str
    metavar: str | None = None
    read: Callable[[str], object] = str
    choices: tuple[str, ...] | None = None


Groups = Mapping[str, Mapping[str, Option]]  # options by the fields of orders, by title
# Options whose names are not those of the fields, and which have none.
TYPED_NAMES = {
    "cells": "--cell",
    "settings": "--set",
    "encoders": "--encoder",
    "section": "--fields",
    "claims": "--claim",
    "studies": "STUDY",
    "models": "MODEL",
    "scores": "SCORES",
    "show": "show",
    "names": "NAME",
}
STUDY_OPTIONS: Groups = {
    "what to run": {
        "studies": Option("studies by name, for example table7 or esimcse-table11", "STUDY"),
        "all": Option("every study"),
        "scale": Option(
            "how big runs are (default: paper with a GPU, else demo)", choices=tuple(SCALES)
        ),
        "profile": Option(
            "the paper as we read it (the default), its code without slips (repaired), or with "
            "(released)",
            choices=PROFILES,
        ),
        "cells": Option(
            "only the cells of this row or column, or the cell with all its labels, such as "
            "half/512",
            "LABEL",
        ),
        "use_published": Option("count published runs as done"),
        "force": Option("train stored runs again"),
    },
    "instead of training": {
        "plan": Option(
            "what would be trained, how long it takes, which claims this scale can judge, and "
            "which runs are running or failed"
        ),
        "list": Option("the studies: runs, done, time, and how many claims this scale can judge"),
        "version": Option("this project's version and commit"),
        "regenerate_figures": Option("draw what is stored"),
        "section": Option(
            "what --set can change: type, default of each profile, meaning", "SECTION"
        ),
    },
    "seeds and budget": {
        "seeds": Option(
            "runs of each cell (default: the scale's; a study may need more)", "N", count
        ),
        "until_settled": Option(
            "train undecided claims on to their next checks, quickest first, until none is left "
            "(--plan: name these)"
        ),
        "budget": Option(
            "how long --until-settled may take: 2h, 90m, 30s or 1h30m", "TIME", duration
        ),
    },
    "where, and how many at once": {
        "jobs": Option(
            "runs at once (default: two a GPU, or eight at scale mini with NVIDIA's MPS, one a "
            "core, as far as memory goes)",
            "N",
            count,
        ),
        "device": Option("cuda, cpu, or whichever there is", choices=("auto", "cpu", "cuda")),
        "cluster": Option(
            "a dask scheduler, such as tcp://host:8786, whose workers train the runs", "ADDRESS"
        ),
        "gpus": Option(
            "with --plan: plan for N NVIDIA H100, one run on each, on any machine", "N", count
        ),
    },
    "change a run": {
        "settings": Option("change a field of every run with it", "FIELD=VALUE"),
        "vary": Option(
            "add an axis with these values of a field; several make a grid; a value with commas "
            "stands in parentheses",
            "FIELD=a,b,c",
        ),
        "data_dir": Option("SentEval's data and the training text", "DIR", typed_path),
        "encoders": Option(
            "the pretrained encoder, or hf:NAME@REVISION; with NAME= it stands for another of "
            f"{', '.join(ENCODERS)}",
            "[NAME=]DIR",
            named_encoder,
        ),
        "text": Option(
            "train on this text, one sentence a line, or on hf:NAME@REVISION#SPLIT; its tables "
            "have names of their own",
            "FILE",
        ),
        "pairs": Option(
            "test on these pairs: two sentences and a score a line, separated by tabs, or "
            "hf:NAME@REVISION#SPLIT; dev=FILE selects on them",
            "[NAME=]FILE",
            named_pairs,
        ),
    },
    "output": {
        "results_dir": Option("where results go (default: results)", "DIR", typed_path),
        "keep_models": Option(
            "leave each run's selected checkpoint in results/models, as transformers and "
            "sentence-transformers load it"
        ),
        "tensorboard": Option(
            "write loss, development score, learning rate and speed for TensorBoard",
            "DIR",
            typed_path,
        ),
    },
}
EVALUATE_OPTIONS: Groups = {
    "what to score": {
        "models": Option(
            "folders with config.json, weights and a tokenizer, or hf:NAME@REVISION; further ones "
            "are compared with the first",
            "MODEL",
            encoder_place,
        ),
        "pooling": Option(
            "how tokens become a vector (default: the folder's, or cls)",
            choices=("cls", "pooler", "mean", "first_last_avg"),
        ),
        "data_dir": Option("SentEval's data, or a folder that holds it", "DIR", path_here),
        "pairs": Option(
            "pairs of your own: two sentences and a score a line, separated by tabs",
            "[NAME=]FILE",
            named_pairs,
        ),
        "scale": Option("demo scores on the generated pairs", choices=tuple(SCALES)),
        "device": Option("cpu (the default) or cuda", choices=("cpu", "cuda")),
        "transfer": Option("score SentEval's transfer tasks, too"),
        "csv": Option("add every number to this file, too", "FILE", path_here),
        "json": Option("write results as MTEB lays them out", "DIR", path_here),
        "allow_pickle": Option("load pickled weights, if you trust where they came from"),
    }
}
JUDGE_OPTIONS: Groups = {
    "what to judge": {
        "scores": Option("the CSV file", "SCORES", path_here),
        "claims": Option(
            "a claim: 'a > b', 'a > b by 0.5', 'a = b within 0.5', 'a best' or 'a lowest'. Give "
            "it once for each claim",
            "TEXT",
        ),
        "reference": Option(
            "the row that the others are compared with (default: the first)", "ROW"
        ),
        "margin": Option("a claim that misses by less than this is equivalent", "NUMBER", float),
        "results_dir": Option("write table, CSV files and figure", "DIR", path_here),
    }
}
RUNS_OPTIONS: Groups = {
    "which runs": {
        "names": Option(
            "studies; or a run for its fields, or two for what differs", "STUDY or RUN"
        ),
        "where": Option("only runs with this value of a field, such as method", "FIELD=VALUE"),
        "use_published": Option("published runs, too"),
        "results_dir": Option("where the runs are (default: results)", "DIR", path_here),
    }
}


def typed_name(field: str) -> str:
    """How the option of an order's field is typed."""
    return TYPED_NAMES.get(field, f"--{field.replace('_', '-')}")


class Parser(argparse.ArgumentParser):
    """A parser that raises its complaint as a UserError of one sentence. What is not typed has no
    value: an order has the defaults."""

    def __init__(self, groups: Groups, *kinds: type, **words: Any):
        super().__init__(allow_abbrev=False, argument_default=argparse.SUPPRESS, **words)
        defaults: dict[str, object] = {}
        for kind in kinds:
            defaults |= option_defaults(kind)
        for title, options in groups.items():
            group = self.add_argument_group(title)
            for field, option in options.items():
                self._add(group, field, option, defaults.get(field, False))

    def _add(self, group: Any, field: str, option: Option, default: object) -> None:
        """Add the option of a field with this default: a switch, a value or several."""
        name = typed_name(field)
        keywords: dict[str, Any] = {"help": option.help}
        if default is False:
            keywords["action"] = "store_true"
        else:
            keywords |= {"type": option.read, "metavar": option.metavar, "choices": option.choices}
        if not name.startswith("-"):
            nargs = "*" if default == () else None
            group.add_argument(field, nargs=nargs, **keywords)
            return
        if default == ():
            keywords["action"] = "append"
        if field == "section":
            keywords |= {"nargs": "?", "const": ""}
        group.add_argument(name, dest=field, **keywords)

    def error(self, message: str):
        """Raise the sentence instead of printing the usage and leaving."""
        line = " ".join(message.split())[:400]
        raise UserError(f"{line[:1].upper()}{line[1:]}; see {self.prog} --help.")
