"""Whether the runs of a study can carry the paper's experiment: computed from each configuration, and from the runs once they exist.

A run that is too short is another experiment: its queue still holds its first entries, its momentum branch its first weights. A
study that fails one check has no verdicts at its scale; its tables are drawn all the same. A claim is withheld by itself where a method that it
compares has not learnt, or where it asks for a range over fewer checks than show one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import stdtrit

from core.report.cells import CellResult, StudyResult, gather, read_runs
from core.report.contrasts import Readings, weights
from core.report.cut_short import cut_short
from core.report.ill_posed import ill_posed
from core.report.judgement import Check, Comparability, Kind
from core.report.quantities import LATE, curve
from core.report.rows import Rows
from core.report.worst import counted
from core.spec.claim import Contrast, Labels, matches
from core.spec.conditions import Edition
from core.spec.run import RunConfig
from core.spec.study import Study
from core.spec.table import Cell, Metric

MOST_TURNOVER = 0.05  # share of the run in which the queue still turns over for the first time
MOST_INITIAL = 0.05  # share of the initial weights left in the momentum branch at half of the run
LEAST_GAIN = 5.0  # points of the trained reference over the untrained encoder's [CLS]
LEAST_LATE = 4  # checks in the last third of a run, for a range over them
INITIAL_SPREAD = 0.02  # standard deviation of new weights
SCORED = Metric(task="avg", title="")  # failed runs count as a score of 0 here as everywhere


def comparability(result: StudyResult) -> Comparability:
    """The checks of a study under the scale and profile of its result."""
    if result.checks is not None:
        return result.checks
    study = result.study
    runs = [(cell.cell, result.edition.config(study, cell.cell, 0)) for cell in result.cells if not cell.unavailable]
    if not runs:
        return Comparability((), float("nan"))
    checks = (*_turnover(runs), *_initial_weights(runs), *_updates(runs, result), *_trained(result))
    return Comparability(checks, min(travel(run) for _, run in runs))


def judged(result: StudyResult) -> StudyResult:
    """The result with its checks, and with the reasons why its scale cannot carry the experiment, or answer single claims; reasons
    withhold verdicts."""
    if len(parts := result.parts) > 1:
        found = [judged(part) for part in parts]
        whys = {claim.key: part.reason(claim.key) for part in found for claim in part.study.claims}
        unlike = "" if whys else "; ".join(dict.fromkeys(part.not_comparable for part in found if part.not_comparable))
        held = {key: why for key, why in whys.items() if why}
        return replace(result, not_comparable=unlike, withheld=held, checks=Comparability((), float("nan")))
    checks = comparability(result)
    return replace(result, not_comparable="; ".join(checks.reasons), withheld=withheld(result), checks=checks)


def withheld(result: StudyResult) -> dict[str, str]:
    """Why claims cannot be answered although their study can be carried, by key: a method of `must_learn` that they compare has run
    and has not learnt, they ask for a range over too few checks, what they compare says nothing, or a failed run without a number keeps
    them from their next look."""
    failed, readings = unlearnt(result), Readings(result)
    found = {}
    for claim in result.study.claims:
        contrasts = claim.predicate.contrasts()
        speaks = {labels for contrast in contrasts for labels in weights(contrast, result)}
        reasons = [check.words for labels, check in failed.items() if any(matches(labels, one) for one in speaks)]
        if reason := "; ".join([*reasons, *_too_coarse(result, contrasts), *ill_posed(claim, result), *cut_short(claim, readings)]):
            found[claim.key] = reason
    return found


def unlearnt(result: StudyResult) -> dict[Labels, Check]:
    """The entries of `must_learn` of which a cell has run and has not learnt, each with the first check that says so."""
    found: dict[Labels, Check] = {}
    for labels in result.study.must_learn:
        cells = {
            tuple(run.run_id for run in one.runs): one for one in reversed(result.cells) if matches(labels, one.cell.labels) and one.runs
        }
        checks = [check for cell in reversed(cells.values()) for check in _learning(cell, result, _named(labels, result.study))]
        failed = [check for check in checks if check.met is False]
        found |= {labels: failed[0]} if failed else {}
    return found


def _named(labels: Labels, study: Study) -> str:
    """An entry of `must_learn` in words: its labels, all but the first axis's with their axis's title."""
    named = [(axis, label) for axis, label in zip(study.axes, labels, strict=True) if label is not None]
    return ", ".join(label if axis is study.axes[0] else f"{axis.title} {label}" for axis, label in named)


def _too_coarse(result: StudyResult, contrasts: Sequence[Contrast]) -> list[str]:
    """A reason if a late range that one of these contrasts reads would be taken over fewer checks than LEAST_LATE."""
    asked = [(contrast.metric, weights(contrast, result)) for contrast in contrasts]
    for cell in result.cells:
        read = {(metric or cell.metric).quantity for metric, named in asked if cell.cell.labels in named}
        if "curve_late_range" in read and not cell.unavailable:
            run = result.edition.config(result.study, cell.cell, 0)
            steps = {*range(run.eval.every, run.train.steps, run.eval.every), run.train.steps}
            late = sum(step >= LATE * run.train.steps for step in steps)
            if late < LEAST_LATE:
                return [f"the last third of the run has {late} development checks, too few for a range (at least {LEAST_LATE})"]
    return []


def reasons(result: StudyResult) -> list[str]:
    """Why claims of a judged study are not comparable: a sentence for all of them, or one for those, named first, that share a reason."""
    if not result.study.claims:
        return []
    if result.not_comparable:
        return [result.not_comparable]
    keys: dict[str, list[str]] = {}
    for key, why in result.withheld.items():
        keys.setdefault(why, []).append(key)
    return [f"{', '.join(names)}: {why}" for why, names in keys.items()]


class _Only:
    """A store as if it held these runs and nothing else, and no pairs."""

    def __init__(self, store, runs: Collection[str]):
        self.store, self.runs = store, runs

    def has(self, run: str, use_published: bool = False) -> bool:
        """Whether a run is stored and one of these."""
        return run in self.runs and self.store.has(run, use_published)

    def load(self, run: str):
        """One of these runs."""
        return self.store.load(run)

    def load_pairs(self, run: str) -> None:
        """Pairs have no part in what the runs are read for."""


def by_configuration(study: Study, edition: Edition) -> StudyResult:
    """A study without a run, judged by its configuration alone: whether this scale can carry the experiment."""
    return judged(gather(study, replace(edition, seeds=1), _Only(None, ())))


def not_begun(study: Study, edition: Edition, store) -> StudyResult:
    """A study that is not begun: without a run, but with the checks of its reference, and of what must learn, where that has run, say for
    another study; with its runs, too, if they rule the study out."""
    bare = by_configuration(study, edition)
    asked = [cell.cell for cell in bare.cells if not cell.unavailable and (cell.is_reference or _must_learn(bare.study, cell.cell))]
    if bare.not_comparable or not asked:
        return bare
    ids = {identity for cell in asked for identity, _ in read_runs(bare.study, cell, edition, store)}
    runs = [identity for identity in ids if store.has(identity, use_published=True)]
    found = judged(gather(study, edition, _Only(store, runs))) if runs else bare
    if study.reference is None:  # the study's own check is of its best cell, which may have to run yet
        return replace(bare, withheld=found.withheld)
    return found if found.not_comparable else replace(bare, checks=found.checks, withheld=found.withheld)


def _must_learn(study: Study, cell: Cell) -> bool:
    return any(matches(labels, cell.labels) for labels in study.must_learn)


def turnover(run: RunConfig) -> float:
    """Share of the run until every entry of its queue has been replaced once; 0 without a queue."""
    return math.ceil(run.kept / run.train.batch_size) / run.train.steps


@functools.cache  # a product over half of a run's steps, for every cell of every study
def initial_share(run: RunConfig) -> float:
    """Share of the initial weights left in the momentum branch at half of the run: the product of the decays so far; 0 without one."""
    return run.initial_share(run.train.steps // 2)


def travel(run: RunConfig) -> float:
    """How far a new layer's weight can move at most, rate x steps / 2 under linear decay, in units of its initial spread (0.02)."""
    rate = run.train.learning_rate * run.train.new_layer_factor
    return rate * run.train.steps / 2 / INITIAL_SPREAD


def _turnover(runs: Sequence[tuple[Cell, RunConfig]]) -> list[Check]:
    return _worst(
        runs,
        turnover,
        "turnover",
        MOST_TURNOVER,
        "the queue turns over for the first time in {value} of the run ({where}; at most {limit})",
    )


def _initial_weights(runs: Sequence[tuple[Cell, RunConfig]]) -> list[Check]:
    words = "at half of the run {value} of the momentum branch are still initial weights ({where}; at most {limit})"
    return _worst(runs, initial_share, "initial weights", MOST_INITIAL, words)


def _worst(runs: Sequence[tuple[Cell, RunConfig]], share, kind: Kind, limit: float, words: str) -> list[Check]:
    """The check of the cell with the largest share; no check if every share is 0."""
    cell, value = max(((cell, share(run)) for cell, run in runs), key=lambda pair: pair[1])
    if value == 0.0:
        return []
    said = words.format(value=_percent(value), where="/".join(cell.labels), limit=_percent(limit))
    return [Check(kind, value, limit, value <= limit, said)]


def _updates(runs: Sequence[tuple[Cell, RunConfig]], result: StudyResult) -> list[Check]:
    """Equal numbers of updates, but for batch sizes, which differ in them by the paper's design: equal epochs."""
    by_sentences = {run.train.steps * run.train.batch_size for _, run in runs}
    steps = sorted({run.train.steps for _, run in runs})
    batches = {run.train.batch_size for _, run in runs}
    ratio = max(by_sentences) / min(by_sentences)
    if len(steps) == 1:
        return [Check("updates", 1.0, 1.0, True, f"every cell has {steps[0]} updates")]
    if len(batches) > 1 and ratio <= 1.01:  # a ragged last batch is left out
        said = f"cells have {steps[0]} to {steps[-1]} updates, as in the paper: equal epochs of other batch sizes"
        return [Check("updates", steps[-1] / steps[0], 1.0, True, said)]
    return [Check("updates", steps[-1] / steps[0], 1.0, False, f"cells have {steps[0]} to {steps[-1]} updates, which the paper's do not")]


def _trained(result: StudyResult) -> list[Check]:
    """The trained reference against the untrained encoder's [CLS], and where its checkpoint was selected."""
    cell = learner(result)
    return [] if cell is None else _learning(cell, result, f"the trained reference ({'/'.join(cell.cell.labels)})")


def _learning(cell: CellResult, result: StudyResult, name: str) -> list[Check]:
    """A cell's gain over the untrained encoder's [CLS], and where its checkpoint was selected; `name` is what the words call it."""
    task = result.study.metric.task if cell.metric.quantity == "spearman" else "avg"
    gains, selected = [], []
    for run in cell.runs:
        if run.rows is None:
            continue
        before, score = (_row(run.rows, checkpoint, task, "spearman_all") for checkpoint in ("untrained", "selected"))
        value = counted(run.status, score and score[1], SCORED)
        if before is None or value is None:
            continue
        gains.append(value - before[1])
        if score is not None and run.status != "diverged":
            selected.append((score[0], min((step for step in curve(run.rows, result.aggregate).index if step > 0), default=0)))
    if not gains:
        return [Check("gain", float("nan"), LEAST_GAIN, None, "whether the reference learns is not known before it has run")]
    gain = float(np.mean(gains))
    first = sum(step <= first for step, first in selected) / len(selected) if selected else 0.0
    signed = f"{gain:+.2f}".replace("-", "−")
    if len(gains) > 1:
        signed += f" ± {-stdtrit(len(gains) - 1, 0.025) * float(np.std(gains, ddof=1)) / math.sqrt(len(gains)):.2f}"
    return [
        Check("gain", gain, LEAST_GAIN, gain >= LEAST_GAIN,
              f"{name} is {signed} points from the untrained [CLS] (at least {LEAST_GAIN:+.0f}; n = {len(gains)})"),
        Check("selected", first, 0.5, first <= 0.5, f"the first checkpoint of {name} is the selected one in {_percent(first)} of its seeds (at most 50 %)"),
    ]  # fmt: skip


def learner(result: StudyResult) -> CellResult | None:
    """The cell by which a study is judged: its reference; in a study without a reference, the cell with the highest score of those that must learn, or, where none is
    named, of all. A cell that a claim says collapses must not stand for what a scale can train, or the claim could never hold."""
    named = next((cell for cell in result.cells if cell.is_reference and cell.runs), None)
    if named is not None:
        return named
    learners = [cell for cell in result.cells if any(matches(labels, cell.cell.labels) for labels in result.study.must_learn)]
    return max((cell for cell in learners or result.cells if cell.runs), key=_score, default=None)


def _score(cell: CellResult) -> float:
    """Mean average score of a cell's runs at the selected checkpoint, whatever the cell shows."""
    found = [(run.status, _row(run.rows, "selected", "avg", "spearman_all")) for run in cell.runs if run.rows is not None]
    values = [value for status, row in found if (value := counted(status, row and row[1], SCORED)) is not None]
    return float(np.mean(values)) if values else -np.inf


def _row(rows: Rows, checkpoint: str, task: str, metric: str) -> tuple[int, float] | None:
    found = rows.one(checkpoint, task, metric)
    return None if found is None or not np.isfinite(found.value) else (found.step, found.value)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
