"""The command line: its options, what --help says of them, and which of them do not go together."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.data.own_data import named_pairs
from core.spec.errors import UserError
from core.spec.methods import PROFILES
from core.spec.scale import SCALES
from core.spec.section import decimal, whole
from core.spec.table import ENCODERS

MOST = 1000  # seeds, or runs at once
YEAR = 365 * 24 * 3600.0  # seconds
TIME = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?", re.ASCII)
EPILOG = "`run_study.py evaluate MODEL ...` scores any checkpoint; see `run_study.py evaluate --help`."


@dataclass(frozen=True, kw_only=True)
class Options:
    """One command, as asked. None stands for what the command chooses by itself."""

    studies: tuple[str, ...]
    all: bool
    scale: str | None
    profile: str | None
    seeds: int | None
    jobs: int | None
    gpus: int | None  # for how many H100 a plan is
    device: str
    settings: tuple[str, ...]
    last: bool  # read runs at their last checkpoint
    vary: tuple[str, ...]  # fields that are axes of their own, each with its values
    cells: tuple[str, ...]  # labels of the cells that are meant; none: all
    mode: str  # train, plan, list, fields, status, regenerate-figures or verify-published
    fields: str | None  # of which section --fields lists the fields; empty: of all
    resolve: bool  # spend time where it decides most, instead of training what is missing
    budget: float | None  # seconds that --resolve may take
    verify: int  # how many published runs --verify-published trains anew
    use_published: bool
    publish: bool
    force: bool
    keep_models: bool  # leave each run's selected checkpoint as a folder
    tensorboard: Path | None  # where curves are written for TensorBoard
    data_dir: Path | None
    encoder: Path | None
    other_encoders: tuple[tuple[str, Path], ...]  # which of the papers' it stands for, and its folder
    pairs: tuple[tuple[str, str], ...]  # graded pairs of your own: name and place
    text: str | None  # a training text of your own
    results_dir: Path | None
    checkpoint_minutes: float | None  # 0: no checkpoints
    cluster: str | None  # address of a dask scheduler


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence, as a UserError, and that takes nothing empty."""

    def parse_known_args(self, args=None, namespace=None):
        """Refuse a word or a value that is empty, such as a variable of the shell that is not set."""
        for before, word in zip(["", *args], args, strict=False):
            name, equals, value = word.partition("=")
            option = name if word.startswith("--") and equals else before if before.startswith("--") else ""
            if not (value if word.startswith("--") and equals else word).strip():
                if option:
                    raise UserError(f"{option} is given empty; write what is meant, or leave it out.")
                raise UserError(
                    f"A word is empty; write what is meant, or leave it out; see {self.prog} --help."
                )
        return super().parse_known_args(args, namespace)

    def error(self, message: str):
        """Raise the sentence instead of printing the usage and leaving."""
        line = " ".join(message.split())
        line = line if len(line) <= 400 else f"{line[:400]}…"
        raise UserError(f"{line[:1].upper()}{line[1:]}; see {self.prog} --help.")


# fmt: off


def parser() -> Parser:
    """The parser of the command line with every option that it takes."""
    made = Parser(
        prog="run_study.py", epilog=EPILOG, allow_abbrev=False,
        description="Train what is missing of the named studies and render their tables and figures.",
    )  # fmt: skip
    switch: dict[str, Any] = {"action": "store_true"}
    many: dict[str, Any] = {"action": "append", "default": []}
    number: dict[str, Any] = {"type": _count, "metavar": "N"}
    add = made.add_argument_group("what to run").add_argument
    add("studies", nargs="*", metavar="STUDY", help="studies by name, for example table7 or esimcse-table11")
    add("--all", **switch, help="every study")
    add("--scale", choices=tuple(SCALES), help="how big runs are (default: paper with a GPU, else demo)")
    add("--profile", choices=PROFILES,
        help="the paper to the letter (the default), its code without slips (repaired), or with (released)")
    add("--cell", dest="cells", **many, metavar="LABEL",
        help="only the cells of this row or column, or the cell with all its labels, such as half/512; "
        "the table stays whole")
    add("--checkpoint", choices=("selected", "last"), default="selected",
        help="read the runs at their last checkpoint instead of the selected one, in a table of its own name")
    add("--use-published", **switch, help="count published runs as done")
    add("--force", **switch, help="train stored runs again")
    mode = made.add_argument_group("instead of training").add_mutually_exclusive_group()
    for name, text in (
        ("plan", "say what would be trained, and train nothing"),
        ("list", "list the studies"),
        ("status", "say what is done, running, failed and missing"),
        ("regenerate-figures", "redraw from what is stored, and train nothing"),
    ):
        mode.add_argument(f"--{name}", dest="mode", action="store_const", const=name, help=text)
    add = made.add_argument_group("seeds and budget").add_argument
    add("--seeds", **number, help="runs of each cell (default: the scale's)")
    add("--resolve", **switch, help="train the runs that are likely to settle most claims an hour "
        "(with --plan: say which)")
    add("--budget", type=_duration, metavar="TIME", help="how long --resolve may take: 2h, 90m, 30s or 1h30m")
    add = made.add_argument_group("where, and how many at once").add_argument
    add("--jobs", **number, help="runs at once (default: two a GPU, one a core, as far as memory goes)")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="cuda, cpu, or whichever there is")
    add("--gpus", **number, help="with --plan: plan for N NVIDIA H100, one run on each, on any machine")
    add("--cluster", metavar="ADDRESS",
        help="train on the workers of the dask scheduler there, such as tcp://host:8786")
    add("--checkpoint-minutes", type=_no_less_than_zero, metavar="N", help="keep a long training's state "
        "every so often, to go on from if it dies; 0 for never (default: 10; at scale demo 0)")
    add = made.add_argument_group("change a run").add_argument
    add("--set", dest="settings", **many, metavar="FIELD=VALUE", help="change a field of every run with it")
    add("--vary", **many, metavar="FIELD=a,b,c",
        help="add an axis with these values of a field; several make a grid")
    add("--fields", nargs="?", const="", metavar="SECTION",
        help="list what --set can change: type, default of each profile, meaning")
    add("--data-dir", metavar="DIR", help="SentEval's data and the training text")
    add("--encoder", dest="encoders", **many, metavar="[NAME=]DIR", help="the pretrained encoder; "
        f"NAME= for an encoder that stands for another of {', '.join(ENCODERS)}")
    add("--text", metavar="FILE", help="train on this text, one sentence a line, or on "
        "hf:NAME@REVISION#SPLIT; its tables have names of their own")
    add("--pairs", **many, metavar="[NAME=]FILE", help="test on these pairs: two sentences and a score a "
        "line, separated by tabs, or hf:NAME@REVISION#SPLIT; dev=FILE selects on them")
    add = made.add_argument_group("output").add_argument
    add("--results-dir", metavar="DIR", help="where results go (default: results)")
    add("--keep-models", **switch, help="leave each run's selected checkpoint in results/models, as "
        "transformers and sentence-transformers load it")
    add("--tensorboard", metavar="DIR", help="write loss, development score, learning rate and speed "
        "for TensorBoard")
    add = made.add_argument_group("for maintainers").add_argument
    add("--publish", **switch, help="pack the finished runs into results/published and draw what is "
        "published anew; with --regenerate-figures draw alone")
    add("--verify-published", dest="verify", **number, default=0,
        help="train N published runs anew, compare, and keep nothing")
    made.set_defaults(mode="train")
    return made


# fmt: on


def parse(argv: list[str]) -> Options:
    """The options of a command line. Raises UserError for anything that cannot be meant."""
    given = vars(parser().parse_intermixed_args(argv))
    given["last"] = given.pop("checkpoint") == "last"
    encoders = _once("--encoder", [_encoder(text) for text in given.pop("encoders")])
    given["pairs"] = _once("--pairs", [named_pairs(text) for text in given["pairs"]])
    given["encoder"] = next((folder for name, folder in encoders if name == ENCODERS[0]), None)
    given["other_encoders"] = [(name, folder) for name, folder in encoders if name != ENCODERS[0]]
    for name in ("data_dir", "results_dir", "tensorboard"):
        given[name] = None if given[name] is None else _absolute(f"--{name.replace('_', '-')}", given[name])
    given |= {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    options = Options(**given)
    if options.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise UserError(
            "--tensorboard needs the package tensorboard; pip install -r requirements-watch.txt brings it."
        )
    _check(options)
    if options.fields is not None:
        return Options(**given | {"mode": "fields"})
    return Options(**given | {"mode": "verify-published"}) if options.verify else options


# fmt: off


def _check(o: Options) -> None:
    """Raise UserError for options that do not go together."""
    names = {"--set": o.settings, "--vary": o.vary, "--checkpoint last": o.last, "--force": o.force,
             "--cell": o.cells, "--seeds": o.seeds, "--jobs": o.jobs, "--device cpu": o.device == "cpu",
             "--resolve": o.resolve, "--verify-published": o.verify, "--publish": o.publish,
             "--cluster": o.cluster, "--use-published": o.use_published, "--keep-models": o.keep_models,
             f"--{o.mode}": o.mode != "train"}

    def refuse(wrong: object, sentence: str) -> None:
        if wrong:
            raise UserError(sentence)

    def apart(words: str, sentence: str) -> None:
        for name in filter(names.get, words.split(", ")):
            raise UserError(f"{name} {sentence}; leave one out.")

    trains, draws, own = o.mode == "train", o.mode == "regenerate-figures", o.pairs or o.text is not None
    if o.fields is not None:
        refuse(not trains or o.all or o.studies,
               "--fields lists what --set can change; give it alone, or with the name of a section.")
        return
    refuse(o.all and o.studies, "--all is every study; leave out the names or leave out --all.")
    named = o.all or o.studies or o.mode == "list"
    refuse(not named, "No study is named; give one (see --list) or --all.")
    for option, wrong, does in (
        ("--set", o.settings, "changes one study's runs"), ("--vary", o.vary, "adds an axis to a study"),
        ("--checkpoint last", o.last, "reads studies that show scores"),
    ):
        refuse(o.all and wrong, f"{option} {does}; name that study instead of --all.")
    if o.resolve:
        mode = "" if trains or o.mode == "plan" else f", --{o.mode}"
        apart(f"--set, --vary, --checkpoint last, --force, --cell, --seeds, --verify-published{mode}",
              "does not go with --resolve, which chooses runs and their number by itself")
        refuse(trains and o.budget is None,
               "--resolve needs to know how long it may take; add --budget, such as --budget 2h.")
    refuse(o.budget is not None and not o.resolve,
           "--budget is what --resolve may spend; add --resolve or leave it out.")
    if o.verify:
        apart("--set, --vary, --checkpoint last, --force, --cell, --seeds, --publish, --use-published, "
              f"--keep-models, --cluster, --{o.mode}",
              "does not go with --verify-published, which trains published runs as they are and keeps none")
    refuse(draws and o.publish and not o.all,
           "--publish with --regenerate-figures draws everything that is published; add --all.")
    if not trains:
        apart(f"--force, --cluster{'' if draws else ', --publish'}",
              f"goes with training, which --{o.mode} does not do")
    refuse(o.gpus and o.mode != "plan", "--gpus says for which GPUs a plan is; add --plan, or leave it out.")
    if o.gpus:
        apart("--jobs, --device cpu, --resolve", "does not go with --gpus, which plans one run on each GPU")
    refuse(o.cells and (draws or o.mode == "list"), "--cell chooses what is trained, planned or looked up; "
           "tables are drawn whole and lists are of studies, so leave it out.")
    refuse(own and (o.all or o.resolve or o.verify), "--text and --pairs make tables of their own, without "
           "claims; name studies, and leave out --all, --resolve and --verify-published.")
    refuse(own and o.publish, "--publish is for runs on the papers' data; leave out --text and --pairs.")


# fmt: on


def _once(option: str, given: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    names = [name for name, _ in given]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(
            f"{option} names {twice[0]} twice; give each a name of its own, as {option} NAME=PLACE."
        )
    return given


def _encoder(text: str) -> tuple[str, Path]:
    """Which of the papers' encoders a folder stands for, and the folder."""
    name, equals, folder = text.partition("=")
    if equals and name in ENCODERS:
        return name, _absolute("--encoder", folder)
    return ENCODERS[0], _absolute("--encoder", text)  # a folder may have an equals sign


def _absolute(option: str, text: str) -> Path:
    """A place that does not depend on the current folder: children work elsewhere. Raises UserError."""
    try:
        path = Path(text).expanduser().absolute()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # it may be still to come
            path.stat()
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, a home that nobody has
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        why = getattr(error, "strerror", None) or error
        raise UserError(f"{option} {shown!r} can be no folder ({why}); give another.") from error
    return path


def _number(read: Callable[[str], Any], good: Callable[[Any], bool], words: str) -> Callable[[str], Any]:
    def parsed(text: str) -> Any:
        value = read(text)
        if value is None or not good(value):
            raise argparse.ArgumentTypeError(f"{text[:80]!r} is no {words}")
        return value

    return parsed


def _length(text: str) -> float:
    """Seconds of `2h`, `90m`, `30s`, `1h30m` or `1.5h`; 0 for anything else."""
    found = TIME.fullmatch(text.strip())
    hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0.0, 0.0, 0.0)
    return hours * 3600 + minutes * 60 + seconds


_count = _number(whole, lambda n: 1 <= n <= MOST, f"whole number of at least 1 and at most {MOST}")
_no_less_than_zero = _number(decimal, lambda value: 0.0 <= value < 1e9, "number of at least 0")
_duration = _number(
    _length, lambda value: 0.0 < value <= YEAR, "time above 0 and of at most a year, such as 2h, 90m or 1h30m"
)
