"""The command line: what may be asked, checked, in one frozen object."""

from __future__ import annotations

import argparse
import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from core.data.own import named
from core.spec.errors import UserError
from core.spec.numbers import decimal, whole
from core.spec.profiles import PROFILES
from core.spec.scale import SCALES
from core.spec.table import ENCODERS

DESCRIPTION = "Train what is missing of the named studies and render their tables and figures."
EPILOG = "`run_study.py evaluate MODEL ...` scores any checkpoint; see `run_study.py evaluate --help`."

MOST = 1000  # seeds, or runs at once
YEAR = 365 * 24 * 3600.0  # seconds
MODE_NAMES = {"render": "regenerate-figures"}  # of modes that are not called as their options are


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One command, as asked. None stands for what the command chooses by itself."""

    studies: tuple[str, ...]
    all: bool
    scale: str | None
    profile: str | None
    seeds: int | None
    jobs: int | None
    device: str
    cuda_graphs: bool
    settings: tuple[str, ...]
    last: bool  # read runs at their last checkpoint
    cells: tuple[str, ...]  # labels of the cells that are meant; none: all
    mode: str  # train, plan, list, fields, status, render or verify
    fields: str | None  # of which section --fields lists the fields; empty: of all
    resolve: bool  # spend time where it decides most, instead of training what is missing
    budget: float | None  # seconds that --resolve may take
    verify: int  # how many published runs --verify-published trains anew
    use_published: bool
    publish: bool
    force: bool
    keep_models: bool  # leave each run's selected checkpoint as a folder
    data_dir: Path | None
    encoder: Path | None
    other_encoders: tuple[tuple[str, Path], ...]  # which of the papers' it stands for, and its folder
    pairs: tuple[tuple[str, str], ...]  # graded pairs of one's own: name and place
    text: str | None  # a training text of one's own
    results_dir: Path | None
    time_limit: float | None
    checkpoint_minutes: float | None  # 0: no checkpoints
    grace: float | None
    follow: bool  # print every check of the running trainings
    cluster: str | None  # address of a dask scheduler


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


def parse(argv: list[str]) -> Options:
    """The options of a command line. Raises UserError for anything that cannot be meant."""
    given = _parser().parse_intermixed_args(argv)
    given.last = given.checkpoint == "last"
    if given.all and given.study:
        raise UserError("--all is every study; leave out the names or leave out --all.")
    if given.fields is not None:
        given.mode = _fields_mode(given)
    if not given.all and not given.study and given.mode not in ("list", "fields"):
        raise UserError("No study is named; give one (see --list) or --all.")
    if given.all and given.set:
        raise UserError("--set changes one study's runs; name that study instead of --all.")
    if given.all and given.last:
        raise UserError("--checkpoint last reads studies that show scores; name them instead of --all.")
    if given.resolve:
        _check_resolve(given)
    elif given.budget is not None:
        raise UserError("--budget is what --resolve may spend; add --resolve or leave it out.")
    if given.verify_published:
        _check_verify(given)
    if given.publish and given.mode == "render" and not given.all:
        raise UserError("--publish with --regenerate-figures draws everything that is published; add --all.")
    if given.mode != "train":
        publish = given.publish and given.mode != "render"
        for wrong, name in ((given.force, "--force"), (publish, "--publish"), (given.cluster, "--cluster")):
            if wrong:
                raise UserError(f"{name} goes with training, which --{MODE_NAMES.get(given.mode, given.mode)} does not do; leave one out.")
    if given.cell and given.mode in ("list", "fields", "render"):
        raise UserError(
            "--cell chooses what is trained, planned or looked up; tables are drawn whole and lists are of studies, so leave it out."
        )
    encoders = _encoders(given.encoder)
    mode = "verify" if given.verify_published else given.mode
    return Options(
        studies=tuple(given.study), all=given.all, scale=given.scale, profile=given.profile, seeds=given.seeds,
        jobs=given.jobs, device=given.device, cuda_graphs=given.cuda_graphs, settings=tuple(given.set),
        last=given.last, cells=tuple(given.cell), mode=mode, fields=given.fields,
        resolve=given.resolve, budget=given.budget, verify=given.verify_published,
        use_published=given.use_published, publish=given.publish, force=given.force, keep_models=given.keep_models,
        data_dir=_absolute("--data-dir", given.data_dir), encoder=encoders.pop("bert-base", None),
        pairs=_pairs(given), text=given.text, other_encoders=tuple(encoders.items()), results_dir=_absolute("--results-dir", given.results_dir),
        time_limit=given.time_limit, checkpoint_minutes=given.checkpoint_minutes, grace=given.grace,
        follow=given.follow, cluster=given.cluster,
    )  # fmt: skip


def _fields_mode(given: argparse.Namespace) -> str:
    """The mode `fields`. Raises UserError if another one is asked for beside it."""
    if given.mode != "train" or given.all or given.study:
        raise UserError("--fields lists what --set can change, and does nothing else; give it alone, or with the name of a section.")
    return "fields"


def _check_resolve(given: argparse.Namespace) -> None:
    """Raise UserError for what does not go with --resolve, which chooses runs and their number by itself."""
    for wrong, name, why in (
        (given.set, "--set", "decides claims, which a variant has not"),
        (given.last, "--checkpoint last", "decides claims, which are on the selected checkpoint"),
        (given.force, "--force", "adds the runs that are missing; train anew without it first"),
        (given.cell, "--cell", "chooses the cells by itself"),
        (given.seeds, "--seeds", "chooses the seeds by itself, look by look"),
        (given.verify_published, "--verify-published", "trains what is missing, not what is published"),
        (given.mode not in ("train", "plan"), f"--{MODE_NAMES.get(given.mode, given.mode)}", "trains"),
    ):
        if wrong:
            raise UserError(f"{name} does not go with --resolve, which {why}; leave one out.")
    if given.budget is None and given.mode == "train":
        raise UserError("--resolve needs to know how long it may take; add --budget, such as --budget 2h.")


def _check_verify(given: argparse.Namespace) -> None:
    """Raise UserError for what does not go with --verify-published, which keeps nothing and chooses its runs by itself."""
    for wrong, name in (
        (given.set, "--set"), (given.last, "--checkpoint last"), (given.force, "--force"), (given.cell, "--cell"),
        (given.seeds, "--seeds"), (given.publish, "--publish"), (given.use_published, "--use-published"), (given.keep_models, "--keep-models"), (given.cluster, "--cluster"),
        (given.mode != "train", f"--{MODE_NAMES.get(given.mode, given.mode)}"),
    ):  # fmt: skip
        if wrong:
            raise UserError(
                f"{name} does not go with --verify-published, which trains published runs as they are and keeps none; leave one out."
            )


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="run_study.py", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    parser.add_argument("study", nargs="*", metavar="STUDY", help="studies by name, for example table7 or esimcse-table11")
    parser.add_argument("--all", action="store_true", help="every study")
    parser.add_argument("--scale", choices=tuple(SCALES), help="how big runs are (default: paper with a GPU, else demo)")
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        help="the paper to the letter (the default), its code without slips (repaired), or with them (released)",
    )
    parser.add_argument("--seeds", type=_count, metavar="N", help="runs of each cell (default: the scale's)")
    parser.add_argument(
        "--jobs", type=_count, metavar="N", help="runs at once (default: one a GPU; on a CPU one a core, as far as memory goes)"
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--cuda-graphs", action="store_true", help="on a GPU, replay training steps as CUDA graphs (not yet tried on one)")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="change a field of every run")
    parser.add_argument(
        "--checkpoint",
        choices=("selected", "last"),
        default="selected",
        help="read the runs at their last checkpoint, in a table of its own name, instead of the selected one",
    )
    parser.add_argument(
        "--cell",
        action="append",
        default=[],
        metavar="LABEL",
        help="only the cells of this row or column, or the one named by all its labels, such as half/512; the table stays whole",
    )
    parser.add_argument("--use-published", action="store_true", help="count published runs as done")
    parser.add_argument(
        "--publish",
        action="store_true",
        help="pack the finished runs into results/published and draw what is published anew; with --regenerate-figures draw alone",
    )
    parser.add_argument("--force", action="store_true", help="train again what is there")
    parser.add_argument(
        "--keep-models",
        action="store_true",
        help="leave each run's selected checkpoint in results/models, as transformers and sentence-transformers load it",
    )
    parser.add_argument("--data-dir", metavar="DIR", help="SentEval's data and the training text")
    parser.add_argument(
        "--encoder",
        action="append",
        default=[],
        metavar="[NAME=]DIR",
        help=f"the pretrained encoder; NAME= for one that stands for another of {', '.join(ENCODERS)}",
    )
    parser.add_argument(
        "--text",
        metavar="FILE",
        help="train on this text, one sentence a line, or on hf:NAME@REVISION#SPLIT; its tables have names of their own",
    )
    parser.add_argument(
        "--pairs",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="test on these pairs: two sentences and a score a line, separated by tabs, or hf:NAME@REVISION#SPLIT; dev=FILE selects on them",
    )
    parser.add_argument("--results-dir", metavar="DIR", help="where results go (default: results)")
    parser.add_argument("--time-limit", type=_seconds, metavar="SECONDS", help="end a run that takes longer")
    parser.add_argument(
        "--checkpoint-minutes",
        type=_no_less_than_zero,
        metavar="N",
        help="keep a long training's state every so often, to go on from if it dies; 0 for never (default: 10; at scale demo 0)",
    )
    parser.add_argument(
        "--grace",
        type=_no_less_than_zero,
        metavar="SECONDS",
        help="after Ctrl-C or SIGTERM, what running trainings are given to end: by finishing, or where there are checkpoints by "
        "writing one (default: 0, or 60 with checkpoints)",
    )
    parser.add_argument("--follow", action="store_true", help="print the development score and the loss at every check while runs train")
    parser.add_argument("--cluster", metavar="ADDRESS", help="train on the workers of the dask scheduler there, such as tcp://host:8786")
    parser.add_argument(
        "--resolve", action="store_true", help="train the runs that are likely to settle most claims an hour (with --plan: say which)"
    )
    parser.add_argument("--budget", type=_duration, metavar="TIME", help="how long --resolve may take: 2h, 90m, 30s or 1h30m")
    parser.add_argument(
        "--verify-published", type=_count, default=0, metavar="N", help="train N published runs anew, compare, and keep nothing"
    )
    parser.add_argument(
        "--fields", nargs="?", const="", metavar="SECTION", help="list what --set can change: type, default of each profile, meaning"
    )
    mode = parser.add_mutually_exclusive_group()
    for name, value, text in (
        ("--plan", "plan", "say what would be trained, and train nothing"),
        ("--list", "list", "list the studies"),
        ("--status", "status", "say what is done, running, failed and missing"),
        ("--regenerate-figures", "render", "redraw from what is stored, and train nothing"),
    ):
        mode.add_argument(name, dest="mode", action="store_const", const=value, help=text)
    parser.set_defaults(mode="train")
    return parser


def _pairs(given: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Names and places of --pairs. Raises UserError for a name given twice, and where one's own data cannot go."""
    if (given.pairs or given.text is not None) and (given.all or given.resolve or given.verify_published):
        raise UserError(
            "--text and --pairs make tables of their own, without claims; name studies, and leave out --all, --resolve and --verify-published."
        )
    if (given.pairs or given.text is not None) and given.publish:
        raise UserError("--publish is for runs on the papers' data; leave it out, or --text and --pairs.")
    found = [named(text) for text in given.pairs]
    for name, _ in found:
        if sum(other == name for other, _ in found) > 1:
            raise UserError(f"--pairs names {name} twice; give each set a name of its own with --pairs NAME=FILE.")
    return tuple(found)


def _encoders(given: list[str]) -> dict[str, Path]:
    """The encoders' folders by which of the papers' they stand for. Raises UserError for a name given twice."""
    found: dict[str, Path] = {}
    for text in given:
        name, equals, folder = text.partition("=")
        if not equals or name not in ENCODERS:
            name, folder = ENCODERS[0], text
        if name in found:
            raise UserError(f"--encoder names {name} twice; give each encoder once.")
        found[name] = _absolute("--encoder", folder)
    return found


def _absolute(option: str, text: str | None) -> Path | None:
    """Children work elsewhere, so places must not depend on the current folder. Raises UserError for what can be no place."""
    if text is None:
        return None
    try:
        path = Path(text).expanduser().absolute()
        if not text.strip():
            raise ValueError("it is empty")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # it may be still to come
            path.stat()
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, a home that nobody has
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        raise UserError(f"{option} {shown!r} can be no folder ({getattr(error, 'strerror', None) or error}); give another.") from error
    return path


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
    found = re.fullmatch(r"(?:([0-9]+(?:\.[0-9]+)?)h)?(?:([0-9]+(?:\.[0-9]+)?)m)?(?:([0-9]+(?:\.[0-9]+)?)s)?", text[:100].strip(), re.ASCII)
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
