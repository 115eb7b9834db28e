"""The command line: its options, what --help says of them, and which of them do not go together."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.config.methods import PROFILES
from core.config.scale import SCALES
from core.config.section import whole_number
from core.data.own_data import named_pairs
from core.errors import UserError, nearest
from core.study.study import ENCODERS

INSTALLED = "run-study"  # the command that `pip install -e .` makes
SHOW = "show"  # the first word of a command that draws what is stored, at the best scale
MOST = 1000  # seeds, or runs at once
# pandas reads `1,5h` as 15 hours and `PT3.5h` as 5 hours and 3 seconds.
TIME = re.compile("([0-9]+([.][0-9]+)?[ ]*[a-zA-Z]+[ ]*)+")
# what takes no text and no pairs of one's own
NOT_OWN_DATA = "--all --resolve --verify-published"
# An option, what it does, and the options that it leaves no room for.
APART = (
    ("--all", "names every study", "STUDY --set --vary"),
    ("--fields", "lists what --set can change", "STUDY --all --set"),
    ("--list", "trains nothing", "--force --cell --cluster"),
    ("--plan", "trains nothing", "--force --cluster"),
    (
        "--regenerate-figures",
        "draws what is stored, each table whole",
        "--force --cell --cluster",
    ),
    (
        "--resolve",
        "chooses runs and their number",
        "--set --vary --force --cell --seeds --list --regenerate-figures --verify-published",
    ),
    (
        "--verify-published",
        "trains published runs as they are and keeps none",
        "--set --vary --force --cell --seeds --use-published --keep-models --cluster",
    ),
    ("--trial", "tries methods", "--no-trial"),
    ("--gpus", "plans one run on each GPU of another machine", "--jobs --device --resolve"),
    ("--text", "makes tables without claims", NOT_OWN_DATA),
    ("--pairs", "makes tables without claims", NOT_OWN_DATA),
)
TOGETHER = {
    "--budget": "--resolve",
    "--resolve": "--budget or --plan",
    "--gpus": "--plan or --list",
}
# packages that an option needs, and the files that bring them
PACKAGES = {
    "--tensorboard": ("tensorboard", "requirements-watch.txt"),
    "--cluster": ("distributed", "requirements-cluster.txt"),
}
Options = argparse.Namespace  # one command, as `parse` gives it; None: the command chooses


def program() -> str:
    """The name by which the command was started."""
    name = Path(sys.argv[0]).name
    return name if name == INSTALLED else "run_study.py"


class Parser(argparse.ArgumentParser):
    """A parser that raises its complaint as a UserError of one sentence."""

    def error(self, message: str):
        """Raise the sentence instead of printing the usage and leaving."""
        line = " ".join(message.split())[:400]
        raise UserError(f"{line[:1].upper()}{line[1:]}; see {self.prog} --help.")


def check_words(argv: Sequence[str]) -> None:
    """Raise UserError for a word of any command that is empty, such as an unset variable of the
    shell, or is not UTF-8."""
    for word in argv:
        if not word.strip() or (word.startswith("--") and word.endswith("=")):
            raise UserError(f"{word or 'A word'} is empty; write what is meant, or leave it out.")
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            raise UserError(f"{word[:80]} is not UTF-8; give another name, or rename the file.")


def _count(text: str) -> int:
    number = whole_number(text)
    if number is None or not 1 <= number <= MOST:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no whole number from 1 to {MOST}")
    return number


# Keywords of options: true or false; given any number of times; a number.
SWITCH: dict[str, Any] = {"action": "store_true"}
MANY: dict[str, Any] = {"action": "append", "default": []}
WHOLE_NUMBER: dict[str, Any] = {"type": _count, "metavar": "N"}


def command_parser() -> Parser:
    """The parser of the command line with every option that it takes."""
    parser = Parser(
        prog=program(),
        allow_abbrev=False,
        description="Train what is missing of the named studies and render their tables and "
        "figures.",
        epilog=f"`{program()} show STUDY` draws what is stored, in English where it can, and "
        f"trains nothing. `{program()} evaluate MODEL ...` scores any checkpoint, and "
        f"`{program()} judge SCORES ...` judges scores of your own; `evaluate` and `judge` "
        "have a --help of their own.",
    )

    # What is trained
    add = parser.add_argument_group("what to run").add_argument
    add(
        "studies",
        nargs="*",
        metavar="STUDY",
        help="studies by name, for example table7 or esimcse-table11",
    )
    add("--all", **SWITCH, help="every study")
    add(
        "--scale",
        choices=tuple(SCALES),
        help="how big runs are (default: paper with a GPU, else demo)",
    )
    add(
        "--profile",
        choices=PROFILES,
        help="the paper to the letter (the default), its code without slips (repaired), or with "
        "(released)",
    )
    add(
        "--cell",
        dest="cells",
        **MANY,
        metavar="LABEL",
        help="only the cells of this row or column, or the cell with all its labels, such as "
        "half/512",
    )
    add("--use-published", **SWITCH, help="count published runs as done")
    add("--force", **SWITCH, help="train stored runs again")
    add(
        "--trial",
        action=argparse.BooleanOptionalAction,
        help="with --plan: try the methods for silent mistakes, as a training does by itself "
        "before a method's first run; --no-trial leaves that out",
    )

    # What a command does instead; one of them at most
    add = (
        parser.add_argument_group("instead of training").add_mutually_exclusive_group().add_argument
    )
    mode: dict[str, Any] = {"dest": "mode", "action": "store_const"}
    add(
        "--plan",
        **mode,
        const="plan",
        help="what would be trained, how long it takes, which claims this "
        "scale can judge, and which runs are running or failed",
    )
    add(
        "--list",
        **mode,
        const="list",
        help="the studies: runs, done, time, and how many claims this scale can judge",
    )
    add("--version", **mode, const="version", help="this project's version and commit")
    add("--regenerate-figures", **mode, const="regenerate-figures", help="draw what is stored")
    add(
        "--fields",
        nargs="?",
        const="",
        metavar="SECTION",
        help="what --set can change: type, default of each profile, meaning",
    )
    add(
        "--verify-published",
        dest="verify",
        **WHOLE_NUMBER,
        help="train N published runs again and compare",
    )

    # How much is trained
    add = parser.add_argument_group("seeds and budget").add_argument
    add(
        "--seeds",
        **WHOLE_NUMBER,
        help="runs of each cell (default: the scale's; a study may need more)",
    )
    add(
        "--resolve",
        **SWITCH,
        help="train the runs that are likely to settle most claims an hour "
        "(with --plan: name them)",
    )
    add(
        "--budget",
        type=_seconds,
        metavar="TIME",
        help="how long --resolve may take: 2h, 90m, 30s or 1h30m",
    )

    # On which machine, and how many runs at once
    add = parser.add_argument_group("where, and how many at once").add_argument
    add(
        "--jobs",
        **WHOLE_NUMBER,
        help="runs at once (default: two a GPU, or eight at scale mini with NVIDIA's MPS, one a "
        "core, as far as memory goes)",
    )
    add(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="cuda, cpu, or whichever there is",
    )
    add(
        "--cluster",
        metavar="ADDRESS",
        help="a dask scheduler, such as tcp://host:8786, whose workers train the runs",
    )
    add(
        "--gpus",
        **WHOLE_NUMBER,
        help="with --plan: plan for N NVIDIA H100, one run on each, on any machine",
    )

    # Fields, data and encoders that replace those of the study
    add = parser.add_argument_group("change a run").add_argument
    add(
        "--set",
        dest="settings",
        **MANY,
        metavar="FIELD=VALUE",
        help="change a field of every run with it",
    )
    add(
        "--vary",
        **MANY,
        metavar="FIELD=a,b,c",
        help="add an axis with these values of a field; several make a grid; a value with commas "
        "stands in parentheses",
    )
    add("--data-dir", type=path_here, metavar="DIR", help="SentEval's data and the training text")
    add(
        "--encoder",
        dest="encoders",
        type=_named_encoder,
        **MANY,
        metavar="[NAME=]DIR",
        help=f"the pretrained encoder; with NAME= it stands for another of {', '.join(ENCODERS)}",
    )
    add(
        "--text",
        metavar="FILE",
        help="train on this text, one sentence a line, or on "
        "hf:NAME@REVISION#SPLIT; its tables have names of their own",
    )
    add(
        "--pairs",
        type=named_pairs,
        **MANY,
        metavar="[NAME=]FILE",
        help="test on these pairs: two sentences "
        "and a score a line, separated by tabs, or hf:NAME@REVISION#SPLIT; dev=FILE selects on "
        "them",
    )

    # What is left behind
    add = parser.add_argument_group("output").add_argument
    add("--results-dir", type=path_here, metavar="DIR", help="where results go (default: results)")
    add(
        "--keep-models",
        **SWITCH,
        help="leave each run's selected checkpoint in results/models, as "
        "transformers and sentence-transformers load it",
    )
    add(
        "--tensorboard",
        type=path_here,
        metavar="DIR",
        help="write loss, development score, learning rate and speed for TensorBoard",
    )
    return parser


def parse(argv: Sequence[str]) -> Options:
    """The options of a command line. Raises UserError for anything that cannot be meant."""
    shows = list(argv[:1]) == [SHOW]
    if shows:
        argv = ["--regenerate-figures", *argv[1:]]
    parser = command_parser()
    options, unknown = parser.parse_known_intermixed_args(argv)
    if unknown:
        option = unknown[0].partition("=")[0]
        hint = nearest(option, parser._option_string_actions, f"see {parser.prog} --help.")
        raise UserError(f"There is no option {option[:80]}; {hint}")
    options.shows = shows
    options.typed = [word for word in argv if word != "--regenerate-figures"]
    named = {word.partition("=")[0] for word in argv if word.startswith("--")}
    if options.studies:
        named.add("STUDY")
    for option, does, others in APART:
        for other in others.split():
            if {option, other} <= named:
                raise UserError(f"{option} {does}, so {other} does not go with it; leave one out.")
    for option, needed in TOGETHER.items():
        if option in named and not named & set(needed.split(" or ")):
            raise UserError(f"{option} needs {needed}; add that, or leave {option} out.")
    check_names("--encoder", options.encoders)
    check_names("--pairs", options.pairs)
    if not named & {"STUDY", "--all", "--list", "--fields", "--version"}:
        raise UserError("No study is named; give one (see --list) or --all.")
    for option, (package, brought_by) in PACKAGES.items():
        if option in named and importlib.util.find_spec(package) is None:
            raise UserError(
                f"{option} needs the package {package}; pip install -r {brought_by} brings it."
            )
    options.encoder = dict(options.encoders).get(ENCODERS[0])
    if options.verify:
        options.mode = "verify-published"
    elif options.fields is not None:
        options.mode = "fields"
    options.mode = options.mode or "train"
    return options


def check_names(option: str, named: Sequence[tuple[str, object]]) -> None:
    """Raise UserError for one name of two things; names that differ in capitals alone are one."""
    if len({name.lower() for name, _ in named}) < len(named):
        raise UserError(
            f"{option} gives one name twice; give each its own, as {option} NAME=PLACE."
        )


def _seconds(text: str) -> float:
    """Seconds of `2h`, `90m`, `30s` or `1h30m`."""
    import pandas  # takes a second

    with contextlib.suppress(ValueError):
        if TIME.fullmatch(text):
            seconds = pandas.Timedelta(text).total_seconds()
            if seconds >= 1:
                return seconds
    raise argparse.ArgumentTypeError(f"{text[:80]!r} is no time, such as 2h, 90m or 1h30m")


def _named_encoder(text: str) -> tuple[str, Path]:
    """Which of the papers' encoders a folder stands for, and the folder; its name may have an
    equals sign."""
    name, _, folder = text.partition("=")
    if name in ENCODERS and folder:
        return name, path_here(folder)
    return ENCODERS[0], path_here(text)


def path_here(text: str) -> Path:
    """A folder by a name that does not depend on the current folder, since children work
    elsewhere."""
    return Path(os.path.abspath(os.path.expanduser(text)))
