"""Whether a study's runs can carry the paper's experiment, by their configurations and scores.

A run that is too short, or trained at too high a rate, is another experiment: its queue still holds
its first entries, its slow branch lags too far behind. A claim on such a cell, or on a method that
does not learn here, has no verdict; where learning is too close to call, the verdict is
provisional. Estimates are shown all the same.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
import scipy

from core.config import methods
from core.config.run import RunConfig
from core.config.scale import OWN_SCORES
from core.report.contrasts import MeasuredContrast, measured_contrasts
from core.report.numbers import number
from core.report.quantities import ALL, imputed, worst_of
from core.report.results import CellResult, RunResult, StudyResult
from core.report.run_lengths import (
    LEAST_LENGTH,
    MOST_LAG,
    initial_share,
    lag,
    length,
    passes,
    too_few_steps,
    turnover,
)
from core.report.statistics import Estimate, over_seeds
from core.study.claim import ROUNDING, Claim, Contrast, truth
from core.study.reason import Reason
from core.study.registered import KNOWN_DATA, rows_of
from core.study.study import SIMCSE, Metric, Study

START = "note that the start differs from the papers': it was trained contrastively before"
LEAST_GAIN = 1 / 3  # of SimCSE's gain over the same untrained vector
PAPER_PASSES = 1.0  # over these
SCORE_METRIC = Metric(task="avg", title="")  # failed runs count as a score of 0 here as everywhere
AFTER_TRAINING = ("selected", "last", "curve")  # checkpoints

CheckKind = Literal["turnover", "initial weights", "lag", "length", "passes", "gain"]
MethodKey = tuple[str, str]  # a method and its encoder
Reasons = tuple[Reason, ...]
Learns = Callable[[str], Mapping[MethodKey, "Check"]]  # whether each method learns, by task


class Check(NamedTuple):
    """One condition: its number, in words too, and whether it is met.

    `met` is None without a run (the number is NaN), or too close to call; a verdict is provisional
    then. `reason` says why there is no verdict where the condition is not met.
    """

    kind: CheckKind
    value: float
    limit: float
    met: bool | None
    reason: Reason


def gate(
    claim: Claim,
    of_claim: Sequence[MeasuredContrast],
    learns: Learns,
    result: StudyResult,
) -> tuple[Reasons, Reasons]:
    """Why a claim has no verdict, and why its verdict is provisional; empty where it is neither.

    `learns` is `learning` by task. A claim on collapse does not require its method to learn. A
    claim on one model's property requires that the untrained encoder does not show it. Of scores
    that a user brings nothing is required but scatter.
    """
    if result.setup.scale is OWN_SCORES:
        return without_scatter(of_claim), ()
    configured = configurations(trained(result, of_claim))
    checks = [check for check in configured if not check.met][:1]
    if claim.gate != "none":
        scored = [measured for measured in of_claim if measured.contrast.of != "share"]
        needed = dict.fromkeys(_method(cell, result.study) for cell in trained(result, scored))
        metrics = chain.from_iterable(measured.metrics for measured in scored)
        learnt = learns(task_of(metrics))
        checks += [learnt[method] for method in needed if method in learnt]

    begun = all(measured.begun for measured in of_claim)
    failed = []
    close = []
    for check in checks:
        has_number = not math.isnan(check.value)
        if check.met is False or (begun and not has_number):
            failed.append(check.reason)
        elif check.met is None and has_number:
            close.append(check.reason)
    untrained = before_training(claim, begun, result)
    if untrained is not None:
        failed.append(untrained)
    return tuple(dict.fromkeys(failed)), () if failed else tuple(dict.fromkeys(close))


def without_scatter(of_claim: Iterable[MeasuredContrast]) -> Reasons:
    """Why a user's scores carry no verdict: a row, or a difference, is one number under all
    seeds."""
    reasons = []
    for measured in of_claim:
        flat = [cell.name for cell in measured.cells if len(set(cell.by_seed.values())) == 1]
        if not flat and np.ptp(measured.beyond(measured.values)) <= ROUNDING:
            flat = ["The difference"]
        for name in flat:
            reasons.append(Reason("no scatter", f"{name} has no scatter over its seeds"))
    return tuple(dict.fromkeys(reasons))


def before_training(claim: Claim, begun: bool, result: StudyResult) -> Reason | None:
    """Why what a claim says is not owed to training, by the untrained encoder's numbers; None if
    it may be. Where these are missing, a claim whose runs have `begun` waits for them."""
    if claim.untrained is None:
        return None
    untrained = measured_contrasts(result, claim.untrained.contrasts())

    def holds(contrast: Contrast) -> bool | None:
        estimate = untrained[contrast].estimate
        return estimate.mean > ROUNDING if estimate.n else None

    shown = truth(claim.untrained, holds)
    if shown is None and begun:
        return Reason(
            "untrained unmeasured", f"measure the untrained encoder first: `{result.command}`"
        )
    if not shown:
        return None
    words = "the untrained encoder shows it"
    if all(contrast.of == "share" for contrast in untrained):
        words = "the untrained encoder's vectors count as collapsed, too"
    return Reason("untrained shows it", words)


def other_start(cells: Iterable[CellResult]) -> str:
    """What stands beside a claim where all its runs start from an encoder that had been trained
    contrastively before, unlike the papers': a difference's sign can depend on it. Else empty; a
    claim on several starts names them."""
    contrastive = {row["encoder"] for row in rows_of(KNOWN_DATA) if row["start"] == "contrastive"}
    starts = {cell.config(0).encoder.digest for cell in cells if cell.begun and cell.trains}
    return START if starts and starts <= contrastive else ""


class Limit(NamedTuple):
    """A limit of a run's number, given the paper's run: at most, or with `least` at least, the
    limit. `words` give both."""

    kind: CheckKind
    number: Callable[[RunConfig, RunConfig], float]
    limit: float
    words: str
    least: bool = False


LIMITS = (
    Limit(
        "lag",
        lag,
        MOST_LAG,
        "queue and slow branch lag {:.2g} times as far as the paper's; at most 3 times is allowed",
    ),
    Limit(
        "length",
        length,
        LEAST_LENGTH,
        "learning rate × sentences read is {:.2g} times the paper's; at least a third is required",
        least=True,
    ),
    Limit(
        "turnover",
        lambda run, _: turnover(run),
        0.05,
        "the queue turns over once in {:.1%} of a run; at most 5% is allowed",
    ),
    Limit(
        "initial weights",
        lambda run, _: initial_share(run),
        0.05,
        "at half of a run {:.1%} of the slow branch are initial weights; at most 5% is allowed",
    ),
)


def configurations(cells: Iterable[CellResult]) -> list[Check]:
    """The worst cell by lag, length, queue and slow branch, of those with a queue or a slow branch;
    then how often the text is read, which bars nothing."""
    runs = []
    pairs = {}  # of those with a memory: the run here and the paper's
    for cell in cells:
        run = cell.config(0)
        runs.append(run)
        if run.memory and cell.paper is not None:
            pairs[cell.name] = (run, cell.paper)
    checks = []
    for limit in LIMITS if pairs else ():
        numbers = sorted((limit.number(*pair), name) for name, pair in pairs.items())
        value, name = numbers[0 if limit.least else -1]
        met = abs(value - limit.limit) <= ROUNDING or (value > limit.limit) == limit.least
        words = limit.words.format(value).replace("%", " %")
        if numbers[-1][0] - numbers[0][0] > ROUNDING:
            words += f" ({name})"
        run, paper = pairs[name]
        if not met and too_few_steps(run, paper):
            words = f"{run.train.steps:,} steps are too few to test a queue or a moving average"
        checks.append(Check(limit.kind, value, limit.limit, met, Reason("too short", words)))
    if runs:
        most = max(map(passes, runs))
        times = f"{most:.0f}" if most >= 10 else f"{most:.2g}"
        words = f"a run reads its text {times} times, the paper's once"
        checks.append(Check("passes", most, PAPER_PASSES, True, Reason("passes", words)))
    return checks


def task_of(metrics: Iterable[Metric]) -> str:
    """The score that shows whether methods learn of which these numbers are read: the development
    set's, where they are of it alone, else the average of the test sets."""
    return "dev" if {metric.task for metric in metrics} == {"dev"} else "avg"


def gain(runs: Iterable[RunResult], task: str, made_up: bool) -> Estimate:
    """What runs score at their selected checkpoint over the best untrained vector; in a `made_up`
    language over their own vector before training."""
    stored = []
    for run in runs:
        if run.rows is not None:
            before = run.rows.before_training(ALL, made_up).get(task)
            after = run.rows.of("selected", ALL).get(task)
            stored.append((run.status, before, after))
    scores = [after for status, _, after in stored if status != "diverged" and after is not None]
    worst = worst_of(SCORE_METRIC, scores)
    gains = []
    for status, before, after in stored:
        score = imputed(status, after, SCORE_METRIC, worst)
        if score is not None and before is not None:
            gains.append(score - before)
    return over_seeds(gains)


def against_bar(method: Estimate, simcse: Estimate) -> tuple[float, float]:
    """The method's gain minus a third of SimCSE's (at least 0), and half of its 95 % interval by
    Welch; an infinite one where either has one run."""
    bar = LEAST_GAIN * max(0.0, simcse.mean)
    weighted = [(1.0, method)]
    if bar:
        weighted.append((LEAST_GAIN, simcse))
    if any(estimate.n < 2 for _, estimate in weighted):
        return method.mean - bar, math.inf
    squares = []
    for weight, estimate in weighted:
        squares.append(((weight * estimate.sd) ** 2 / estimate.n, estimate.n - 1))
    total = sum(square for square, _ in squares)
    freedom = sum(square**2 / degrees for square, degrees in squares)
    if not freedom:
        return method.mean - bar, 0.0
    half = -float(scipy.special.stdtrit(total**2 / freedom, 0.025)) * math.sqrt(total)
    return method.mean - bar, half


def learning(result: StudyResult, task: str) -> dict[MethodKey, Check]:
    """Whether each method and encoder of a study learns: the gain of one of its cells on a task
    against a third of SimCSE's on that encoder, by the scale's own runs or the study's row.

    The cell is the study's reference, else the best of `must_learn`, else the best of all; cells
    with a run come first. One that a claim says collapses must not stand for what a scale can
    train, or the claim could never hold.
    """
    study = result.study
    by_method: dict[MethodKey, list[CellResult]] = {}
    for cell in trained(result):
        by_method.setdefault(_method(cell, study), []).append(cell)
    wanted = [of.labels for labels in study.must_learn for of in study.matching(labels)]
    checks = {}
    for method, cells in by_method.items():
        encoder = method[1]
        simcse: Sequence[CellResult] = by_method.get(("simcse", encoder), ())
        if encoder == "bert-base":
            simcse = result.simcse
        bar = simcse[0].runs if simcse else ()
        must = [cell for cell in cells if cell.cell.labels in wanted] or cells
        shows = []
        for cell in cells:
            stands = (cell.cell.labels == study.reference, cell in must)
            mean = gain(cell.runs, task, result.setup.scale.generated).mean
            best = -math.inf if math.isnan(mean) else mean
            shows.append((*(cell.begun and stand for stand in stands), *stands, best))
        learner = cells[shows.index(max(shows))]
        checks[method] = _learning(learner, bar, result, task)
    return checks


def trained(result: StudyResult, of: Iterable[MeasuredContrast] | None = None) -> list[CellResult]:
    """The cells, of these contrasts or all, that run here and of which a number comes from
    training: not a time, a count of data, or a number without training."""
    pairs = [(cell, cell.metric) for cell in result.cells]
    if of is not None:
        pairs = [
            pair for measured in of for pair in zip(measured.cells, measured.metrics, strict=True)
        ]
    names = {cell.name for cell, metric in pairs if metric.checkpoint in AFTER_TRAINING}
    return [cell for cell in result.cells if cell.name in names and cell.trains]


def _method(cell: CellResult, study: Study) -> MethodKey:
    return cell.cell.method or study.method, cell.cell.encoder


def _learning(
    cell: CellResult, simcse: Sequence[RunResult], result: StudyResult, task: str
) -> Check:
    """A cell's gain on a task against a third of SimCSE's, in words: "SimCSE learns here: +7.0 ±
    0.4 over the best untrained vector". Another method's gain has SimCSE's beside it."""
    made_up = result.setup.scale.generated
    method = gain(cell.runs, task, made_up)
    bar = gain(simcse, task, made_up)
    if not method.n or not bar.n:
        lacking, runs = ("SimCSE", simcse) if method.n else (cell.name, cell.runs)
        if any(run.rows is not None for run in runs):
            reason = Reason(
                "no score", f"the stored runs of {lacking} lack a score before or after training"
            )
        elif method.n:
            command = result.setup.command(SIMCSE.name)
            reason = Reason("no baseline", f"train SimCSE first: `{command}`")
        else:
            reason = Reason("no run", f"{cell.name} has no run: `{result.command}` trains it")
        return Check("gain", math.nan, math.nan, None, reason)

    above, half = against_bar(method, bar)
    scale = result.setup.scale
    key, encoder = _method(cell, result.study)
    name = methods.method(key).title
    if encoder != "bert-base":
        name += f" on {encoder}"
    met = None
    words = f"whether {name} learns here is too close to call"
    if abs(above) > half:
        met = above > 0
        words = f"{name} learns here" if met else f"{name} does not learn here"
    elif min(method.n, bar.n) < 2:
        words = f"one run does not show whether {name} learns here"
    vector = "its vector before training" if scale.generated else "the best untrained vector"
    words += f": {_gained(method)} over {vector}"
    if task == "dev":
        words += f" on {scale.dev}"
    if key != SIMCSE.method:
        words += f"; a third of SimCSE's {_gained(bar)} is required"
    return Check("gain", method.mean, method.mean - above, met, Reason("gain", words))


def _gained(estimate: Estimate) -> str:
    """A gain with half of its interval."""
    spread = ""
    if estimate.n > 1:
        spread = f" ± {number(estimate.high - estimate.mean, 1)}"
    return f"{number(estimate.mean, 1, signed=True)}{spread}"
