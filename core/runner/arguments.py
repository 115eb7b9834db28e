"""The options of the command line: names, the types of their values, and what --help says of them."""

from __future__ import annotations

import argparse
import re

from core.spec.errors import UserError
from core.spec.methods import PROFILES
from core.spec.scale import SCALES
from core.spec.section import decimal, whole
from core.spec.table import ENCODERS

DESCRIPTION = "Train what is missing of the named studies and render their tables and figures."
EPILOG = "`run_study.py evaluate MODEL ...` scores any checkpoint; see `run_study.py evaluate --help`."

MOST = 1000  # seeds, or runs at once
YEAR = 365 * 24 * 3600.0  # seconds


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence, as a UserError, and that takes nothing empty."""

    def parse_known_args(self, args=None, namespace=None):
        """Refuse a word or a value that is empty, which no option can mean: a variable of the shell that is not set. Raises UserError."""
        for before, word in zip(["", *args], args, strict=False):
            name, equals, value = word.partition("=")
            if not word.strip():
                raise UserError(
                    f"{before} is given empty; write what is meant, or leave it out."
                    if before.startswith("--")
                    else f"A word of the command is empty; write what is meant, or leave it out; see {self.prog} --help."
                )
            if word.startswith("--") and equals and not value.strip():
                raise UserError(f"{name} is given empty; write what is meant, or leave it out.")
        return super().parse_known_args(args, namespace)

    def error(self, message: str):
        """Raise the sentence instead of printing the usage and leaving."""
        line = " ".join(message.split())
        line = line if len(line) <= 400 else f"{line[:400]}…"
        raise UserError(f"{line[:1].upper()}{line[1:]}; see {self.prog} --help.")


def parser() -> Parser:
    """The parser of the command line with every option that it takes."""
    made = Parser(prog="run_study.py", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    made.add_argument(
        "study", nargs="*", metavar="STUDY", help="studies by name, for example table7 or esimcse-table11"
    )
    made.add_argument("--all", action="store_true", help="every study")
    made.add_argument(
        "--scale", choices=tuple(SCALES), help="how big runs are (default: paper with a GPU, else demo)"
    )
    made.add_argument(
        "--profile",
        choices=PROFILES,
        help="the paper to the letter (the default), its code without slips (repaired), or with them (released)",
    )
    made.add_argument("--seeds", type=_count, metavar="N", help="runs of each cell (default: the scale's)")
    made.add_argument(
        "--jobs",
        type=_count,
        metavar="N",
        help="runs at once (default: two a GPU, or one a core of a CPU, as far as memory goes)",
    )
    made.add_argument(
        "--gpus",
        type=_count,
        metavar="N",
        help="with --plan: plan for N NVIDIA H100, one run on each, on any machine",
    )
    made.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    made.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="change a field of every run that has it",
    )
    made.add_argument(
        "--checkpoint",
        choices=("selected", "last"),
        default="selected",
        help="read the runs at their last checkpoint, in a table of its own name, instead of the selected one",
    )
    made.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="FIELD=a,b,c",
        help="add an axis with these values of a field; several make a grid",
    )
    made.add_argument(
        "--cell",
        action="append",
        default=[],
        metavar="LABEL",
        help="only the cells of this row or column, or the one named by all its labels, such as half/512; the table stays whole",
    )
    made.add_argument("--use-published", action="store_true", help="count published runs as done")
    made.add_argument(
        "--publish",
        action="store_true",
        help="pack the finished runs into results/published and draw what is published anew; with --regenerate-figures draw alone",
    )
    made.add_argument("--force", action="store_true", help="train stored runs again")
    made.add_argument(
        "--keep-models",
        action="store_true",
        help="leave each run's selected checkpoint in results/models, as transformers and sentence-transformers load it",
    )
    made.add_argument("--data-dir", metavar="DIR", help="SentEval's data and the training text")
    made.add_argument(
        "--encoder",
        action="append",
        default=[],
        metavar="[NAME=]DIR",
        help=f"the pretrained encoder; NAME= for one that stands for another of {', '.join(ENCODERS)}",
    )
    made.add_argument(
        "--text",
        metavar="FILE",
        help="train on this text, one sentence a line, or on hf:NAME@REVISION#SPLIT; its tables have names of their own",
    )
    made.add_argument(
        "--pairs",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="test on these pairs: two sentences and a score a line, separated by tabs, or hf:NAME@REVISION#SPLIT; dev=FILE selects on them",
    )
    made.add_argument("--results-dir", metavar="DIR", help="where results go (default: results)")
    made.add_argument("--time-limit", type=_seconds, metavar="SECONDS", help="end a run that takes longer")
    made.add_argument(
        "--checkpoint-minutes",
        type=_no_less_than_zero,
        metavar="N",
        help="keep a long training's state every so often, to go on from if it dies; 0 for never (default: 10; at scale demo 0)",
    )
    made.add_argument(
        "--grace",
        type=_no_less_than_zero,
        metavar="SECONDS",
        help="how long running trainings may go on after Ctrl-C or SIGTERM, to finish or, with checkpoints, to write one "
        "(default: 0, or 60 with checkpoints)",
    )
    made.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="train on the workers of the dask scheduler there, such as tcp://host:8786",
    )
    made.add_argument(
        "--resolve",
        action="store_true",
        help="train the runs that are likely to settle most claims an hour (with --plan: say which)",
    )
    made.add_argument(
        "--budget", type=_duration, metavar="TIME", help="how long --resolve may take: 2h, 90m, 30s or 1h30m"
    )
    made.add_argument(
        "--verify-published",
        type=_count,
        default=0,
        metavar="N",
        help="train N published runs anew, compare, and keep nothing",
    )
    made.add_argument(
        "--fields",
        nargs="?",
        const="",
        metavar="SECTION",
        help="list what --set can change: type, default of each profile, meaning",
    )
    mode = made.add_mutually_exclusive_group()
    for name, value, text in (
        ("--plan", "plan", "say what would be trained, and train nothing"),
        ("--list", "list", "list the studies"),
        ("--status", "status", "say what is done, running, failed and missing"),
        ("--regenerate-figures", "render", "redraw from what is stored, and train nothing"),
    ):
        mode.add_argument(name, dest="mode", action="store_const", const=value, help=text)
    made.set_defaults(mode="train")
    return made


def _count(text: str) -> int:
    value = whole(text)
    if value is None or value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    if value > MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MOST}, the most that is sensible")
    return value


def _seconds(text: str) -> float:
    value = decimal(text)
    if value is None or not 0.0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def _duration(text: str) -> float:
    """Seconds of `2h`, `90m`, `30s`, `1h30m` or `1.5h`."""
    found = re.fullmatch(
        r"(?:([0-9]+(?:\.[0-9]+)?)h)?(?:([0-9]+(?:\.[0-9]+)?)m)?(?:([0-9]+(?:\.[0-9]+)?)s)?",
        text[:100].strip(),
        re.ASCII,
    )
    hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0.0, 0.0, 0.0)
    value = hours * 3600 + minutes * 60 + seconds
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no time above 0, such as 2h, 90m, 30s or 1h30m")
    if value > YEAR:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is more than a year, the most that is sensible")
    return value


def _no_less_than_zero(text: str) -> float:
    value = decimal(text)
    if value is None or not 0.0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 0")
    return value
