"""What a plan would train and cost, and what of it is done, running, failed or missing, in lines."""

from __future__ import annotations

from collections.abc import Sequence

from core.data.sources import Found
from core.runner import devices, progress
from core.runner.cli import Options
from core.runner.devices import cache_folder
from core.runner.estimate import expectation
from core.runner.plan import Plan
from core.runner.rates import GPU
from core.spec.conditions import Edition
from core.spec.errors import counted, say
from core.spec.scale import Scale
from core.spec.study import Study
from core.store.store import Store


def without_runs(studies: Sequence[Study], edition: Edition) -> list[str]:
    """A sentence for each study of which no cell can be run here, with the reasons."""
    found = []
    for study in studies:
        why = dict.fromkeys(edition.unavailable(study, cell) for cell in study.at(edition.scale).cells)
        if why and None not in why:
            found.append(f"No cell of {study.name} can be run here: {'; '.join(filter(None, why))}.")
    return found


def tell_plan(options: Options, plan: Plan, scale: Scale, found: Found, store: Store) -> int:
    """Print what would be trained and what it would cost; the exit status."""
    known = expectation(options, scale, found, store, cache_folder())
    seconds = [known.seconds(run.config) for run in plan.missing]
    resources = None if options.gpus else devices.resources(scale.name, options.device, options.jobs)
    jobs = resources.jobs if resources is not None else options.gpus or 1
    left = max(max(seconds, default=0.0), sum(seconds) / min(jobs, max(1, len(plan.missing))))
    of_scale = known.of(plan.runs[0].config.scale) if plan.runs else 0
    rests_on = f"from {of_scale} finished ones on this machine" if of_scale else known.basis
    print(
        f"{counted(plan.entries, 'cell')} x seeds, {counted(len(plan.runs), 'distinct run')}, {plan.entries - len(plan.runs)} shared."
    )
    print(f"{len(plan.runs) - len(plan.missing)} done, {len(plan.missing)} missing.")
    where = f"with {jobs} at once on {resources.device}" if resources is not None else f"on {jobs} {GPU}"
    weeks = left > progress.WEEKS and resources is not None and resources.device == "cpu"
    need = f", so this needs a GPU; --gpus 1 plans for one {GPU}" if weeks else ""
    print(f"About {progress.spoken(left)} {where} ({rests_on}){need}.")
    return 0


def tell_status(plan: Plan, store: Store) -> int:
    """Print what is done, running, failed and missing, with the causes of failures; the exit status."""
    missing = [run.run_id for run in plan.missing]
    running = [r for r in missing if store.claimed(r)]
    known = {run.run_id for run in plan.runs} - set(missing)
    redone = {r: failure for r in known if (failure := store.failure(r)) is not None}
    failed = {r: failure for r in missing if r not in running and (failure := store.failure(r)) is not None}
    print(
        f"{counted(len(plan.runs), 'run')}: {len(plan.runs) - len(missing)} done, {len(running)} running, {len(failed)} failed, "
        f"{len(missing) - len(running) - len(failed)} missing."
    )
    if begun := sum(store.checkpoint(r).exists() for r in missing if r not in running):
        print(f"{begun} of those that are not running go on from a checkpoint.")
    if redone:
        print(f"{counted(len(redone), 'done run')} failed when trained again; tables show the older result.")
    labels = {run.run_id: run.label for run in plan.runs}
    for identity in running:
        print(f"running {identity} {labels[identity]}")
    for identity, failure in (failed | redone).items():
        say(
            f"failed  {identity} {labels[identity]}: {failure.cause}{': ' + failure.detail if failure.detail else ''}"
        )
    return 0
