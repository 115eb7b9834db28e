"""For maintainers: train some published runs again, and say how far they differ.

python -m tools.verify 3 table7 --scale mini    # three of Table 7's runs

N is how many. They are drawn at random: a sample, no proof. STUDY and the options are those of a
command that trains: studies or --all, --scale, --profile, data and machine.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.errors import HOME, UserError
from core.formatting import are, say
from core.runner import cli, command, inputs
from core.runner import plan as planning
from core.runner.inputs import Context
from core.runner.orders import Outputs, TrainOrder
from core.runner.plan import Plan
from core.runner.train import RunTrainer, Surroundings
from core.runner.verify import SAME_POINTS, compare
from core.store.store import Store
from core.study.resolution import resolve

MOST_SEEDS = 25  # that are looked through for published runs


def verify(number: int, order: TrainOrder, around: Surroundings) -> int:
    """Train a number of published runs of an order's studies again, whatever their seed, in a
    folder that goes if none fails, and say how far they differ. The exit status is 1 if a run fails
    or differs by more than `SAME_POINTS` points on the same kind of device. Raises UserError."""
    published = around.home / "results" / "published"
    packs = Store(published / "none", published)
    named = command.named_studies(around.catalogue, order.scope)
    setup, studies = inputs.setup_and_studies(order, named, packs)
    setup = replace(setup, seeds=MOST_SEEDS)
    runs = planning.plan([resolve(study, setup) for study in studies], packs).runs
    stored = [run for run in runs if packs.has(run.run_id, use_published=True)]
    # ids are hashes: a fair sample
    chosen = sorted(stored, key=lambda run: run.run_id)[:number]
    scratch = Path(tempfile.mkdtemp(prefix="verify-published-"))
    say(f"{are(len(chosen), 'published run')} trained again in {scratch}.")
    store = Store(scratch, published)
    context = Context(store=store, setup=setup, studies=studies, machine=order.machine)
    with contextlib.closing(RunTrainer(context, around, (), Outputs())) as training:
        status = training.train(Plan(chosen, chosen, setup.sources))
    worst = compare(store, [run.run_id for run in chosen])
    if status == 0:
        shutil.rmtree(scratch, ignore_errors=True)
    return status or int(worst > SAME_POINTS)


def main(argv: Sequence[str], around: Surroundings) -> int:
    """Verify; the exit status."""
    number, *words = argv or [""]
    try:
        if not number.isdecimal():
            raise UserError("The number of runs is missing; write python -m tools.verify N STUDY.")
        order = cli.parse(words)
        whole = isinstance(order, TrainOrder) and TrainOrder(
            scope=order.scope, data=replace(order.data, text=None, pairs=()), machine=order.machine
        )
        if not isinstance(order, TrainOrder) or order != whole:
            raise UserError(
                "Published runs are trained as they are, and none is kept; give studies, --scale, "
                "--profile, data and machine alone."
            )
        return verify(int(number), order, around)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    from studies import CATALOGUE

    sys.exit(main(sys.argv[1:], Surroundings(catalogue=CATALOGUE, home=HOME, own=HOME)))
