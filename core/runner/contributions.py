"""Runs of others: packing your own for them, importing theirs, and training a sample again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from core.data import sources as finding
from core.errors import UserError, are, counted, say
from core.runner.plan import PlannedRun
from core.runner.train import RunTrainer
from core.runner.verify import (
    Retrained,
    other_devices,
    train_again,
    withdraw_differing,
)
from core.store import code, contributed
from core.store.contributed import Contribution
from core.store.records import StoredRun
from core.store.store import Store
from core.study.grid import Grid
from core.study.study import Study

MOST_NAMES = 5  # of runs in a message


def export_runs(training: RunTrainer, grids: Sequence[Grid]) -> None:
    """Pack your own runs of these studies into the folder that --export names. Raises UserError if
    there is none, or for runs whose code no commit has."""
    from core.report.results import gather  # brings pandas

    options = training.options
    store = training.store
    home = training.around.home
    contributor = contributed.check_contributor(options.contributor)
    runs: dict[str, StoredRun] = {}
    commits: dict[str, str] = {}
    for grid in grids:
        for run in gather(grid, store).runs:
            if run.source == "own" and run.run_id not in runs:
                runs[run.run_id] = store.load(run.run_id)
                commits[run.run_id] = code.commit_of(runs[run.run_id].provenance, home)
    scale = training.setup.scale.name
    if not runs:
        raise UserError(f"You have no run of these studies at scale {scale}; train one first.")
    unnamed = [run for run, commit in commits.items() if not commit]
    if unnamed:
        raise UserError(
            f"No commit of {home} has the code that made {_some(unnamed)}; commit that code and "
            "train them again."
        )
    contributed.export(runs.values(), options.export, contributor, commits)
    say(
        f"Packed {counted(len(runs), 'run')} of {contributor} at scale {scale} in {options.export}."
    )


def import_folder(folder: Path, store: Store, home: Path) -> None:
    """Check the runs of a folder, and count them as published ones. Raises UserError of one
    sentence, with nothing written, for a folder that does not verify."""
    contribution = contributed.read(folder, home)
    place = contributed.withdrawn(store.imported, contribution.name)
    if place.exists():
        raise UserError(
            f"The pack {contribution.name} was withdrawn ({place / 'reason.txt'} says why), so "
            "nothing is imported."
        )
    for scale, runs in contribution.scales.items():
        _check_data(scale, runs.values(), store)
    _check_numbers(contribution, store)
    contributed.keep_pack(contribution, store.imported)
    new = sum(store.pack_of(run.run_id) is None for run in contribution.runs)
    parts = [f"{len(runs)} at scale {scale}" for scale, runs in contribution.scales.items()]
    say(
        f"Imported {counted(len(contribution.runs), 'run')} of {contribution.contributor} "
        f"({', '.join(parts)}) as {contribution.name}; {are(new, 'run')} new.",
        "A seal does not show that a run was trained; `run_study.py STUDY --verify-imported 3` "
        "trains some again.",
    )


def _check_data(scale: str, runs, store: Store) -> None:
    """Raises UserError for runs on other data than the stored runs of the scale, or than each
    other."""
    stored = finding.recorded(store, (scale,))
    first = finding.digests(stored[scale].sources) if scale in stored else {}
    for run in runs:
        with_sources = finding.sources_of(run)
        first = first or finding.digests(with_sources)
        other = finding.other_data(with_sources, first)
        if other:
            raise UserError(
                f"Run {run.run_id} is on other data than the stored runs of scale {scale} "
                f"({other}); nothing is imported."
            )


def _check_numbers(contribution: Contribution, store: Store) -> None:
    """Raises UserError for a run that differs from your own or the published run of its id."""
    for run in contribution.runs:
        if not store.has(run.run_id, use_published=True):
            continue
        stored = store.load(run.run_id)
        compared = Retrained(run.run_id, run, stored)
        if stored.source != "imported" and compared.differs:
            whose = {"own": "your own", "published": "the published"}[stored.source]
            raise UserError(
                f"Run {run.run_id} of {contribution.contributor} is {compared.gap:.2f} points from "
                f"{whose} run of the same id; nothing is imported."
            )


def verify_imported(training: RunTrainer, studies: Sequence[Study]) -> int:
    """Train some runs of each imported pack again; a pack with one that differs is withdrawn. The
    exit status is 1 if a run fails or a pack is withdrawn."""

    def wanted(runs: list[PlannedRun], packs: Store) -> list[PlannedRun]:
        by_pack: dict[str, list[PlannedRun]] = {}
        for run in runs:
            name = packs.contribution_of(run.run_id)
            if name is not None:
                by_pack.setdefault(name, []).append(run)
        if not by_pack:
            raise UserError("No imported run is of these studies and this scale; name others.")
        chosen = []
        draw = random.SystemRandom()  # whoever packs runs shall not know which are trained again
        for of_pack in by_pack.values():
            count = min(training.options.verify_imported, len(of_pack))
            chosen += draw.sample(of_pack, count)
        return chosen

    status, retrained = train_again(training, studies, "imported", wanted)
    for run in retrained:
        say(run.words)
    packs = training.store.without_own(training.store.root / "none")
    withdrawn = withdraw_differing(packs, retrained)
    elsewhere = sum(other_devices(run.old, run.new) for run in retrained)
    if elsewhere:
        say(
            f"{are(elsewhere, 'run')} of another kind of device than this, which proves nothing; "
            "give the command on a machine of that kind."
        )
    same = len(retrained) - elsewhere
    if same and not withdrawn:
        say(f"No pack is withdrawn: {are(same, 'run')} as imported, within rounding.")
    return status or int(bool(withdrawn))


def _some(runs: Sequence[str]) -> str:
    """The first of these runs by name, and how many there are."""
    words = ", ".join(runs[:MOST_NAMES])
    if len(runs) > MOST_NAMES:
        words += f" and {len(runs) - MOST_NAMES} more"
    return f"{counted(len(runs), 'run')} ({words})"
