"""Whether a study's runs can carry the paper's experiment: what each claim requires, computed from the
configurations and the runs.

A run that is too short, or trained at too high a rate, is another experiment: its queue still holds its first
entries, its slow branch lags too far behind. A claim that involves such a cell has no verdict. Neither has a
claim on a method that does not learn here; where that is too close to call, its verdict is provisional.
Estimates are shown all the same.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from core.report.contrasts import cells_of
from core.report.quantities import counted
from core.report.results import CellResult, RunResult, StudyResult
from core.report.statistics import Estimate, over_seeds
from core.spec.baseline import SIMCSE
from core.spec.claim import ROUNDING, Claim, Contrast, matches
from core.spec.run import RunConfig
from core.spec.study import Metric

LEAST_GAIN = 1 / 3  # of SimCSE's gain over the same untrained vector
PAPER_SENTENCES = 1_000_000  # that a run of the papers reads
SCORED = Metric(task="avg", title="")  # failed runs count as a score of 0 here as everywhere
TOO_SHORT = "too short to judge"

Kind = Literal["turnover", "initial weights", "lag", "length", "gain"]


class Check(NamedTuple):
    """One condition: its number, in words too, and whether it is met.

    None: without a run (the number is NaN), or too close to call; a verdict is provisional then.
    """

    kind: Kind
    value: float
    limit: float
    met: bool | None
    words: str


class Comparability(NamedTuple):
    """What a study's configurations and runs allow. `checks` has the worst cell of each kind; `no_verdict`
    says why a claim, by key, has no verdict, and `provisional` why its verdict is provisional."""

    checks: tuple[Check, ...]
    no_verdict: Mapping[str, str]
    provisional: Mapping[str, str]


def comparability(result: StudyResult) -> Comparability:
    """The checks of a study, and what they mean for each claim."""
    no_verdict, provisional = dict[str, str](), dict[str, str]()
    for claim in result.study.claims:
        begun = all(cell.begun for cell in cells_of(claim.predicate.contrasts(), result))
        gates = [check for check in _gates(claim, result) if begun or not math.isnan(check.value)]
        close = [check.words for check in gates if check.met is None and not math.isnan(check.value)]
        if failed := [check.words for check in gates if check.met is False or math.isnan(check.value)]:
            no_verdict[claim.key] = "; ".join(dict.fromkeys(failed))
        elif close:
            provisional[claim.key] = "; ".join(dict.fromkeys(close))
    trained = _trained(result)
    learning = [_learning(cell, result) for cell in _learners(trained, result)]
    worst = sorted(learning, key=lambda check: (False, None, True).index(check.met))[:1]
    return Comparability((*_of_configurations(trained, result), *worst), no_verdict, provisional)


def turnover(run: RunConfig) -> float:
    """Share of the run until every entry of its queue has been replaced once; 0 without a queue."""
    return math.ceil(run.kept / run.train.batch_size) / run.train.steps


@functools.cache  # a product over half of a run's steps, for every cell of every study
def initial_share(run: RunConfig) -> float:
    """Share of the initial weights left in the slow branch at half of the run: the product of the decays so
    far."""
    return run.initial_share(run.train.steps // 2)


def lag(run: RunConfig, paper: RunConfig) -> float:
    """How far the slow branch and the queue lag behind, over the paper's: rate x (1 / (1 - decay) + queue /
    batch)."""
    rates = [one.train.learning_rate * max(1.0, one.train.new_layer_factor) for one in (run, paper)]
    memory = 1.0 if paper.memory in (0.0, run.memory) else run.memory / paper.memory
    return rates[0] / rates[1] * memory


def length(run: RunConfig, paper: RunConfig) -> float:
    """How far a run's weights can move, over the paper's: rate x steps x batch."""
    sentences = run.train.steps * run.train.batch_size / PAPER_SENTENCES
    return sentences * run.train.learning_rate / paper.train.learning_rate


# at most, but for the length
LIMITS: tuple[tuple[Kind, Callable[[RunConfig, RunConfig], float], float, str], ...] = (
    ("lag", lag, 3.0, "queue and slow branch lag {:.2g} times as far as the paper's, at most 3 allowed"),
    ("length", length, 1 / 3, "rate × sentences read is {:.2g} times the paper's, at least a third required"),
    ("turnover", lambda run, _: turnover(run), 0.05,
     "the queue turns over once in {:.1%} of a run, at most 5 % allowed"),
    ("initial weights", lambda run, _: initial_share(run), 0.05,
     "at half of a run {:.1%} of the slow branch are initial weights, at most 5 % allowed"),
)  # fmt: skip


def _of_configurations(cells: Sequence[CellResult], result: StudyResult) -> list[Check]:
    """Lag, length, queue and slow branch of the cells that have a queue or a slow branch: the worst cell of
    each."""
    study, checks = result.study, list[Check]()
    runs = {cell.name: (cell.cell, result.setup.config(study, cell.cell, 0)) for cell in cells}
    pairs = {
        name: (run, study.paper_config(cell, result.profile))
        for name, (cell, run) in runs.items()
        if run.memory
    }
    for kind, number, limit, words in LIMITS if pairs else ():
        numbers = [(number(*pair), name) for name, pair in pairs.items()]
        value, name = min(numbers) if kind == "length" else max(numbers)
        met = value >= limit - ROUNDING if kind == "length" else value <= limit + ROUNDING
        text = words.format(value).replace("%", " %").replace("  ", " ")
        text += f" ({name})" if max(numbers)[0] - min(numbers)[0] > ROUNDING else ""
        checks.append(Check(kind, value, limit, met, text if met else f"{TOO_SHORT}: {text}"))
    return checks


def gain(runs: Iterable[RunResult], task: str) -> Estimate:
    """What runs score at their selected checkpoint over the untrained encoder's [CLS]."""
    gains = []
    for run in runs:
        before, after = (
            math.nan if run.rows is None else run.rows.of(checkpoint, "spearman_all").get(task, math.nan)
            for checkpoint in ("untrained", "selected")
        )
        score = counted(run.status, None if math.isnan(after) else after, SCORED)
        gains += [] if math.isnan(before) or score is None else [score - before]
    return over_seeds(gains)


def against_bar(method: Estimate, simcse: Estimate) -> tuple[float, float]:
    """The method's gain minus a third of SimCSE's (at least 0), and half of its 95 % interval by Welch.

    Infinite where either has one run: then nothing is certain.
    """
    bar = LEAST_GAIN * max(0.0, simcse.mean)
    weighted = [(1.0, method), (LEAST_GAIN, simcse)] if bar else [(1.0, method)]
    if any(one.n < 2 for _, one in weighted):
        return method.mean - bar, math.inf
    squares = [((weight * one.sd) ** 2 / one.n, one.n - 1) for weight, one in weighted]
    total = sum(square for square, _ in squares)
    freedom = sum(square**2 / degrees for square, degrees in squares)
    half = -float(stdtrit(total**2 / freedom, 0.025)) * math.sqrt(total) if freedom else 0.0
    return method.mean - bar, half


def _trained(result: StudyResult, contrasts: Iterable[Contrast] | None = None) -> list[CellResult]:
    """The cells, of these contrasts or all, that run here and of which a number comes from training: not a
    time, a count of data, or a score without training."""
    read = [(cell.metric, cell) for cell in result.cells]
    if contrasts is not None:
        read = [(one.metric or cell.metric, cell) for one in contrasts for cell in cells_of([one], result)]
    names = {cell.name for metric, cell in read if metric.checkpoint in ("selected", "last", "curve")}
    return [cell for cell in result.cells if cell.name in names and not cell.unavailable]


def _gates(claim: Claim, result: StudyResult) -> list[Check]:
    """The checks that a claim has to pass. A claim on collapse does not require its method to learn."""
    contrasts = claim.predicate.contrasts()
    scored = [contrast for contrast in contrasts if contrast.of != "share" and claim.gate != "none"]
    failed = [check for check in _of_configurations(_trained(result, contrasts), result) if not check.met]
    return [*failed[:1], *(_learning(cell, result) for cell in _learners(_trained(result, scored), result))]


def _learners(cells: Sequence[CellResult], result: StudyResult) -> list[CellResult]:
    """For each method and encoder among these cells, the cell that has to have learnt.

    The study's reference where it is of that method; else the best of `must_learn`; else the best of all. A
    cell that a claim says collapses must not stand for what a scale can train, or the claim could never hold.
    """
    learners, trained = [], _trained(result)
    for key in dict.fromkeys(_method(cell, result) for cell in cells):
        same = [cell for cell in trained if _method(cell, result) == key]
        must = result.study.must_learn
        named = [cell for cell in same if any(matches(one, cell.cell.labels) for one in must)] or same
        groups = [[cell for cell in same if cell.cell.labels == result.study.reference], named]
        begun = [[cell for cell in group if cell.begun] for group in groups]
        chosen = next((group for group in (*begun, *groups) if group), [])
        learners += sorted(chosen, key=lambda cell: -np.nan_to_num(gain(cell.runs, "avg").mean, nan=-np.inf))[
            :1
        ]
    return learners


def _method(cell: CellResult, result: StudyResult) -> tuple[str, str]:
    return cell.cell.method or result.study.method, cell.cell.encoder


def _learning(cell: CellResult, result: StudyResult) -> Check:
    """A cell's gain against a third of SimCSE's."""
    task = result.study.metric.task if cell.metric.quantity == "spearman" else "avg"
    own, bar = gain(cell.runs, task), gain(_simcse(cell, result), task)
    command = "`run_study.py {} --scale " + result.scale.name
    command += "`" if result.profile == "paper" else f" --profile {result.profile}`"
    if not own.n or not bar.n:
        words = f"{cell.name} has no run: {command.format(result.study.name)} trains it"
        words = f"train SimCSE first: {command.format(SIMCSE.name)}" if own.n else words
        return Check("gain", math.nan, math.nan, None, words)
    above, half = against_bar(own, bar)
    met = None if abs(above) <= half else above > 0
    where = f"over the untrained [CLS] on {'the test average' if task == 'avg' else task}"
    words = f"runs of {cell.name} gain {_spoken(own)} {where}, SimCSE {_spoken(bar)}"
    close = ", which is too close to call" if met is None else ""
    return Check("gain", own.mean, own.mean - above, met, f"{words}; a third is required{close}")


def _spoken(of: Estimate) -> str:
    spread = f" ± {of.high - of.mean:.1f}" if of.n > 1 else ""
    return f"{of.mean:+.1f}{spread} (n = {of.n})".replace("-", "−")


def _simcse(cell: CellResult, result: StudyResult) -> Sequence[RunResult]:
    """SimCSE's runs on the cell's encoder: the scale's own, or the study's row on another encoder."""
    if cell.cell.encoder == "bert-base":
        return result.simcse
    rows = [one for one in _trained(result) if _method(one, result) == ("simcse", cell.cell.encoder)]
    return rows[0].runs if rows else ()
