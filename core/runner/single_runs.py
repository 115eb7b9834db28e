"""Runs of one method, trained as a command trains them: what `run_study.train` does."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import UserError
from core.runner import cli, inputs
from core.runner import plan as planning
from core.runner.inputs import Context
from core.runner.launch import Launcher
from core.runner.orders import TrainOrder
from core.runner.train import RunTrainer, Surroundings
from core.store.store import Store
from core.study.axes import Axis
from core.study.resolution import ResolvedStudy, resolved_cell
from core.study.study import study

# The latest launcher by what it trains with: a warm process takes seconds to start.
LAUNCHERS: dict[str, Launcher] = {}


def train_runs(
    words: Sequence[str], seeds: Sequence[int], around: Surroundings
) -> tuple[Store, list[str]]:
    """The store and the ids of the runs of a method, which is the first word, with the words of a
    command on studies. What is missing was trained. Raises UserError for a run that failed, and
    KeyboardInterrupt if training was stopped."""
    order = cli.parse(words)
    if not isinstance(order, TrainOrder) or any(
        (order.cells, order.changes.seeds, order.changes.vary)
    ):
        raise UserError(
            "train takes seed=, and options of a command that trains; leave others out."
        )

    # The runs
    method = words[0]
    store = around.store(order.scope.results_dir)
    rows = Axis("method", "Method", (method,))
    table = study(name=method, title=method, caption=method, method=method, rows=rows)
    setup, studies = inputs.setup_and_studies(order, [table], store)
    context = Context(store=store, setup=setup, studies=studies, machine=order.machine)
    (table,) = context.changed(order.changes)
    cell = resolved_cell(table, table.cells[0], setup, seeds)
    if cell.unavailable is not None:
        raise UserError(f"{method} has no run here: {cell.unavailable.words}; change that.")
    plan = planning.plan(
        [ResolvedStudy(study=table, setup=setup, cells=(cell,))],
        store,
        use_published=order.use_published,
        force=order.force,
        keep_models=order.outputs.keep_models,
    )
    if not plan.missing:
        return store, [*cell.run_ids]

    # Training
    training = RunTrainer(context, around, (), order.outputs, force=order.force)
    key = repr((training.run_order(), order.machine))
    if key in LAUNCHERS:
        vars(training)["launcher"] = LAUNCHERS[key]
    try:
        status = training.train(plan)
    finally:
        launcher = vars(training).pop("launcher", None)
        training.close()
        if launcher is not None:
            LAUNCHERS.clear()
            LAUNCHERS[key] = launcher
    if status > 128:
        raise KeyboardInterrupt
    for run in plan.missing:
        if status and (cause := store.failure(run.run_id)):
            raise UserError(f"Run {run.run_id} of {run.label} failed ({cause}); see its log.")
    return store, [*cell.run_ids]
