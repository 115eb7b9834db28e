"""Which runs must be trained again to leave their models."""

from __future__ import annotations

from dataclasses import replace

from core.runner.plan import Plan, PlannedRun, cost
from core.spec.errors import are, counted
from core.store.records import CorruptRun, MissingRun
from core.store.store import Store


def lacking(store: Store, run: PlannedRun) -> bool:
    """Whether a run could have left a model and has left none. A diverged run has no model to keep."""
    if not run.config.keepable or store.has_model(run.run_id):
        return False
    if not store.has(run.run_id, use_published=True):
        return True
    try:
        return store.load(run.run_id).status != "diverged"
    except (CorruptRun, MissingRun):
        return True  # it is trained again, and leaves its model then


def with_models(plan: Plan, store: Store) -> Plan:
    """The plan in which runs stored without their model count as missing; prints how many these are."""
    missing = {run.run_id for run in plan.missing}
    again = [run for run in plan.runs if run.run_id not in missing and lacking(store, run)]
    if again:
        print(f"{are(len(again), 'run')} stored without a model, and trained again to keep it.")
    if unfit := sum(not run.config.keepable for run in plan.runs):
        print(f"No model is kept of {counted(unfit, 'run')}: a head behind [CLS] is scored, which a kept model does not hold.")
    return replace(plan, missing=tuple(sorted((*plan.missing, *again), key=lambda run: -cost(run.config))))
