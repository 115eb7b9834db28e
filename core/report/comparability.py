"""Whether a study's runs can carry the paper's experiment, by their configurations and scores.

A run that is too short, or trained at too high a rate, is another experiment: its queue still holds
its first entries, its slow branch lags too far behind. A claim on such a cell, or on a method that
does not learn here, has no verdict; where learning is too close to call, the verdict is
provisional. Estimates are shown all the same.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from core.report.contrasts import Reading, readings
from core.report.quantities import counted, worst_of
from core.report.results import CellResult, RunResult, StudyResult
from core.report.statistics import Estimate, over_seeds
from core.spec.claim import ROUNDING, Claim, Contrast, matches, truth
from core.spec.run import RunConfig
from core.spec.setup import Setup
from core.spec.study import SIMCSE, Metric, Study

LEAST_GAIN = 1 / 3  # of SimCSE's gain over the same untrained vector
PAPER_SENTENCES = 1_000_000  # that a run of the papers reads
PAPER_PASSES = 1.0  # over these
SCORED = Metric(task="avg", title="")  # failed runs count as a score of 0 here as everywhere
TOO_SHORT = "too short to judge"
SHOWN_UNTRAINED = "the untrained encoder shows it"
COLLAPSED_UNTRAINED = "the untrained encoder's vectors count as collapsed, too"
ALL = "spearman_all"

Kind = Literal["turnover", "initial weights", "lag", "length", "passes", "gain"]
Method = tuple[str, str]  # a method and its encoder


class Check(NamedTuple):
    """One condition: its number, in words too, and whether it is met.

    None: without a run (the number is NaN), or too close to call; a verdict is provisional then.
    """

    kind: Kind
    value: float
    limit: float
    met: bool | None
    words: str


def gate(
    claim: Claim, own: Sequence[Reading], learns: Mapping[Method, Check], result: StudyResult
) -> tuple[str, str]:
    """Why a claim has no verdict, and why its verdict is provisional; empty where it is neither.

    `own` are the claim's readings, `learns` comes from `learning`. A claim on collapse does not
    require its method to learn. A claim on one model's property requires that the untrained encoder
    does not show it.
    """
    scored = [each for each in own if each.contrast.of != "share" and claim.gate != "none"]
    methods = dict.fromkeys(_method(cell, result.study) for cell in trained(result, scored))
    failing = [check for check in configurations(trained(result, own), result) if not check.met]
    checks = [*failing[:1], *(learns[method] for method in methods if method in learns)]
    begun = all(cell.begun for each in own for cell in each.cells)
    ran = [check for check in checks if begun or not math.isnan(check.value)]
    failed = [check.words for check in ran if check.met is False or math.isnan(check.value)]
    if words := before_training(claim, begun, result):
        failed.append(words)
    close = [check.words for check in ran if check.met is None and not failed]
    return "; ".join(dict.fromkeys(failed)), "; ".join(dict.fromkeys(close))


def before_training(claim: Claim, begun: bool, result: StudyResult) -> str:
    """Why what a claim says is not owed to training, by the untrained encoder's numbers; empty if
    it may be. Where these are missing, a claim whose runs have `begun` waits for them."""
    if claim.untrained is None:
        return ""
    untrained = readings(result, claim.untrained.contrasts())

    def holds(contrast: Contrast) -> bool | None:
        values = untrained[contrast].under(untrained[contrast].seeds)
        return None if values is None else float(values.mean()) > ROUNDING

    shown = truth(claim.untrained, holds)
    if shown is None and begun:
        return f"measure the untrained encoder first: {_command(result.study.name, result.setup)}"
    if not shown:
        return ""
    shares = all(contrast.of == "share" for contrast in untrained)
    return COLLAPSED_UNTRAINED if shares else SHOWN_UNTRAINED


def turnover(run: RunConfig) -> float:
    """Share of the run until every entry of its queue has been replaced once; 0 without a queue."""
    return math.ceil(run.kept / run.train.batch_size) / run.train.steps


@functools.cache  # a product over half of a run's steps, for every cell of every study
def initial_share(run: RunConfig) -> float:
    """Share of the initial weights left in the slow branch at half of the run."""
    return run.initial_share(run.train.steps // 2)


def lag(run: RunConfig, paper: RunConfig) -> float:
    """Lag of slow branch and queue over the paper's: rate x (1 / (1 - decay) + queue / batch)."""
    rates = [one.train.learning_rate * max(1.0, one.train.new_layer_factor) for one in (run, paper)]
    memory = 1.0 if paper.memory in (0.0, run.memory) else run.memory / paper.memory
    return rates[0] / rates[1] * memory


def length(run: RunConfig, paper: RunConfig) -> float:
    """How far a run's weights can move, over the paper's: rate x steps x batch."""
    sentences = run.train.steps * run.train.batch_size / PAPER_SENTENCES
    return sentences * run.train.learning_rate / paper.train.learning_rate


def passes(run: RunConfig) -> float:
    """How often a run reads its training text."""
    return run.train.steps * run.train.batch_size / run.data.rows


LENGTH = (
    "learning rate × sentences read is {:.2g} times that of the paper's million sentences, at "
    "least a third "
    "required"
)
# at most, but for the length
LIMITS: tuple[tuple[Kind, Callable[[RunConfig, RunConfig], float], float, str], ...] = (
    (
        "lag",
        lag,
        3.0,
        "queue and slow branch lag {:.2g} times as far as the paper's, at most 3 allowed",
    ),
    ("length", length, 1 / 3, LENGTH),
    (
        "turnover",
        lambda run, _: turnover(run),
        0.05,
        "the queue turns over once in {:.1%} of a run, at most 5% allowed",
    ),
    (
        "initial weights",
        lambda run, _: initial_share(run),
        0.05,
        "at half of a run {:.1%} of the slow branch are initial weights, at most 5% allowed",
    ),
)


def configurations(cells: Iterable[CellResult], result: StudyResult) -> list[Check]:
    """The worst cell by lag, length, queue and slow branch, of those with a queue or a slow branch;
    then how often the text is read, which bars nothing."""
    study = result.study
    setup = result.setup
    checks = list[Check]()
    runs = [(cell.name, cell.cell, setup.config(study, cell.cell, 0)) for cell in cells]
    pairs = {
        name: (run, study.paper_config(cell, setup.profile))
        for name, cell, run in runs
        if run.memory
    }
    for kind, number, limit, words in LIMITS if pairs else ():
        numbers = sorted((number(*pair), name) for name, pair in pairs.items())
        value, name = numbers[0] if kind == "length" else numbers[-1]
        met = value >= limit - ROUNDING if kind == "length" else value <= limit + ROUNDING
        text = words.format(value).replace("%", " %")
        text += f" ({name})" if numbers[-1][0] - numbers[0][0] > ROUNDING else ""
        checks.append(Check(kind, value, limit, met, text if met else f"{TOO_SHORT}: {text}"))
    if runs:
        most = max(passes(run) for _, _, run in runs)
        spoken = f"{most:.0f}" if most >= 10 else f"{most:.2g}"
        words = f"passes over the text: {spoken}, the paper's {PAPER_PASSES:.0f}"
        checks.append(Check("passes", most, PAPER_PASSES, True, words))
    return checks


def gain(runs: Iterable[RunResult], task: str) -> Estimate:
    """What runs score at their selected checkpoint over the untrained encoder's [CLS]."""
    stored = [(run.status, run.rows) for run in runs if run.rows is not None]
    before, after = (
        [rows.of(at, ALL).get(task) for _, rows in stored] for at in ("untrained", "selected")
    )
    both = [(status, number) for (status, _), number in zip(stored, after, strict=True)]
    sound = [number for status, number in both if status != "diverged" and number is not None]
    scores = [counted(status, number, SCORED, worst_of(SCORED, sound)) for status, number in both]
    pairs = zip(scores, before, strict=True)
    return over_seeds(
        [score - start for score, start in pairs if score is not None and start is not None]
    )


def against_bar(method: Estimate, simcse: Estimate) -> tuple[float, float]:
    """The method's gain minus a third of SimCSE's (at least 0), and half of its 95 % interval by
    Welch; an infinite one where either has one run."""
    bar = LEAST_GAIN * max(0.0, simcse.mean)
    weighted = [(1.0, method), (LEAST_GAIN, simcse)] if bar else [(1.0, method)]
    if any(one.n < 2 for _, one in weighted):
        return method.mean - bar, math.inf
    squares = [((weight * one.sd) ** 2 / one.n, one.n - 1) for weight, one in weighted]
    total = sum(square for square, _ in squares)
    freedom = sum(square**2 / degrees for square, degrees in squares)
    half = -float(stdtrit(total**2 / freedom, 0.025)) * math.sqrt(total) if freedom else 0.0
    return method.mean - bar, half


def learning(result: StudyResult) -> dict[Method, Check]:
    """Whether each method and encoder of a study learns: the gain of one of its cells against a
    third of SimCSE's on that encoder, by the scale's own runs or the study's row."""
    by_method: dict[Method, list[CellResult]] = {}
    for cell in trained(result):
        by_method.setdefault(_method(cell, result.study), []).append(cell)
    checks = {}
    for method, cells in by_method.items():
        rows = by_method.get(("simcse", method[1]))
        simcse = result.simcse if method[1] == "bert-base" else rows[0].runs if rows else ()
        checks[method] = _learning(_learner(cells, result.study), simcse, result)
    return checks


def _learner(cells: Sequence[CellResult], study: Study) -> CellResult:
    """The cell of a method that has to have learnt: the study's reference, else the best of
    `must_learn`, else the best of all. Cells with a run come first.

    A cell that a claim says collapses must not stand for what a scale can train, or the claim could
    never hold.
    """
    must = [
        cell
        for cell in cells
        if any(matches(labels, cell.cell.labels) for labels in study.must_learn)
    ]

    def order(cell: CellResult) -> tuple[float, ...]:
        stands = cell.cell.labels == study.reference, cell in (must or cells)
        best = np.nan_to_num(gain(cell.runs, "avg").mean, nan=-np.inf)
        return (*(cell.begun and each for each in stands), *stands, best)

    return max(cells, key=order)


def trained(result: StudyResult, of: Iterable[Reading] | None = None) -> list[CellResult]:
    """The cells, of these contrasts or all, that run here and of which a number comes from
    training: not a time, a count of data, or a number without training."""
    read = [(cell.metric, cell) for cell in result.cells]
    if of is not None:
        read = [(each.contrast.metric or cell.metric, cell) for each in of for cell in each.cells]
    names = {
        cell.name for metric, cell in read if metric.checkpoint in ("selected", "last", "curve")
    }
    here = [cell for cell in result.cells if cell.name in names and not cell.unavailable]
    return [cell for cell in here if result.setup.config(result.study, cell.cell, 0).trains]


def _method(cell: CellResult, study: Study) -> Method:
    return cell.cell.method or study.method, cell.cell.encoder


def _learning(cell: CellResult, simcse: Sequence[RunResult], result: StudyResult) -> Check:
    """A cell's gain against a third of SimCSE's."""
    task = result.study.metric.task if cell.metric.quantity == "spearman" else "avg"
    own = gain(cell.runs, task)
    bar = gain(simcse, task)
    if not own.n or not bar.n:
        name = "SimCSE" if own.n else cell.name
        words = f"{name} has no run: {_command(result.study.name, result.setup)} trains it"
        if own.n:
            words = f"train SimCSE first: {_command(SIMCSE.name, result.setup)}"
        if any(run.rows is not None for run in (simcse if own.n else cell.runs)):
            words = f"the stored runs of {name} lack a score before or after training"
        return Check("gain", math.nan, math.nan, None, words)
    above, half = against_bar(own, bar)
    met = None if abs(above) <= half else above > 0
    where = f"over the untrained [CLS] on {'the test average' if task == 'avg' else task}"
    gains = f"gain {_spoken(own)} {where}, SimCSE {_spoken(bar)}"
    words = f"runs of {cell.name} {gains}; a third is required"
    if math.isinf(half):
        words += ", and one run has no interval"
    elif met is None:
        words += ", which is too close to call"
    return Check("gain", own.mean, own.mean - above, met, words)


def _command(study: str, setup: Setup) -> str:
    profile = "" if setup.profile == "paper" else f" --profile {setup.profile}"
    return f"`run_study.py {study} --scale {setup.scale.name}{profile}`"


def _spoken(of: Estimate) -> str:
    spread = f" ± {of.high - of.mean:.1f}" if of.n > 1 else ""
    return f"{of.mean:+.1f}{spread} (n = {of.n})".replace("-", "−")
