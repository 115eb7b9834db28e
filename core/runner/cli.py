"""The command line, checked and kept in a frozen object."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import dataclass
from pathlib import Path

from core.data.own_data import named_pairs
from core.runner.arguments import parser
from core.spec.errors import UserError
from core.spec.table import ENCODERS

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
    gpus: int | None  # for how many H100 a plan is
    device: str
    settings: tuple[str, ...]
    last: bool  # read runs at their last checkpoint
    vary: tuple[str, ...]  # fields that are axes of their own, each with its values
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
    cluster: str | None  # address of a dask scheduler


def parse(argv: list[str]) -> Options:
    """The options of a command line. Raises UserError for anything that cannot be meant."""
    given = parser().parse_intermixed_args(argv)
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
    if given.all and given.vary:
        raise UserError("--vary adds an axis to a study; name that study instead of --all.")
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
                raise UserError(
                    f"{name} goes with training, which --{MODE_NAMES.get(given.mode, given.mode)} does not do; leave one out."
                )
    if given.gpus and given.mode != "plan":
        raise UserError("--gpus says for which GPUs a plan is; add --plan, or leave it out.")
    for wrong, name in (
        (given.jobs, "--jobs"),
        (given.device == "cpu", "--device cpu"),
        (given.resolve, "--resolve"),
    ):
        if given.gpus and wrong:
            raise UserError(
                f"{name} does not go with --gpus, which plans one run on each GPU; leave one out."
            )
    if given.cell and given.mode in ("list", "fields", "render"):
        raise UserError(
            "--cell chooses what is trained, planned or looked up; tables are drawn whole and lists are of studies, so leave it out."
        )
    encoders = _encoders(given.encoder)
    mode = "verify" if given.verify_published else given.mode
    return Options(
        studies=tuple(given.study), all=given.all, scale=given.scale, profile=given.profile, seeds=given.seeds,
        jobs=given.jobs, gpus=given.gpus, device=given.device, settings=tuple(given.set),
        last=given.last, vary=tuple(given.vary), cells=tuple(given.cell), mode=mode, fields=given.fields,
        resolve=given.resolve, budget=given.budget, verify=given.verify_published,
        use_published=given.use_published, publish=given.publish, force=given.force, keep_models=given.keep_models,
        data_dir=_place("--data-dir", given.data_dir), encoder=encoders.pop("bert-base", None),
        pairs=_pairs(given), text=given.text, other_encoders=tuple(encoders.items()), results_dir=_place("--results-dir", given.results_dir),
        time_limit=given.time_limit, checkpoint_minutes=given.checkpoint_minutes, grace=given.grace,
        cluster=given.cluster,
    )  # fmt: skip


def _fields_mode(given: argparse.Namespace) -> str:
    """The mode `fields`. Raises UserError if another one is asked for beside it."""
    if given.mode != "train" or given.all or given.study:
        raise UserError(
            "--fields lists what --set can change, and does nothing else; give it alone, or with the name of a section."
        )
    return "fields"


def _check_resolve(given: argparse.Namespace) -> None:
    """Raise UserError for what does not go with --resolve, which chooses runs and their number by itself."""
    for wrong, name, why in (
        (given.set, "--set", "decides claims, which a variant has not"),
        (given.vary, "--vary", "decides the paper's claims, at the study's own values"),
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
        (given.set, "--set"), (given.vary, "--vary"), (given.last, "--checkpoint last"), (given.force, "--force"), (given.cell, "--cell"),
        (given.seeds, "--seeds"), (given.publish, "--publish"), (given.use_published, "--use-published"), (given.keep_models, "--keep-models"), (given.cluster, "--cluster"),
        (given.mode != "train", f"--{MODE_NAMES.get(given.mode, given.mode)}"),
    ):  # fmt: skip
        if wrong:
            raise UserError(
                f"{name} does not go with --verify-published, which trains published runs as they are and keeps none; leave one out."
            )


def _pairs(given: argparse.Namespace) -> tuple[tuple[str, str], ...]:
    """Names and places of --pairs. Raises UserError for a name given twice, and for options that do not take the user's own data."""
    if (given.pairs or given.text is not None) and (given.all or given.resolve or given.verify_published):
        raise UserError(
            "--text and --pairs make tables of their own, without claims; name studies, and leave out --all, --resolve and --verify-published."
        )
    if (given.pairs or given.text is not None) and given.publish:
        raise UserError("--publish is for runs on the papers' data; leave it out, or --text and --pairs.")
    found = [named_pairs(text) for text in given.pairs]
    for name, _ in found:
        if sum(other == name for other, _ in found) > 1:
            raise UserError(
                f"--pairs names {name} twice; give each set a name of its own with --pairs NAME=FILE."
            )
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


def _place(option: str, text: str | None) -> Path | None:
    """The folder of an option that may be left out."""
    return None if text is None else _absolute(option, text)


def _absolute(option: str, text: str) -> Path:
    """Children work elsewhere, so places must not depend on the current folder. Raises UserError for what can be no place."""
    try:
        path = Path(text).expanduser().absolute()
        if not text.strip():
            raise ValueError("it is empty")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # it may be still to come
            path.stat()
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, a home that nobody has
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        raise UserError(
            f"{option} {shown!r} can be no folder ({getattr(error, 'strerror', None) or error}); give another."
        ) from error
    return path
