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
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from core.report.contrasts import Readings, cells_of, weights
from core.report.looks import LOOKS, decide
from core.report.quantities import LATE, counted, curve
from core.report.results import CellResult, NoRuns, RunResult, StudyResult, gather
from core.report.statistics import Estimate, over_seeds
from core.spec.baseline import SIMCSE
from core.spec.claim import ROUNDING, Claim, Contrast, matches
from core.spec.run import RunConfig
from core.spec.setup import Setup
from core.spec.study import Study
from core.spec.table import Metric

MOST_TURNOVER = 0.05  # share of the run in which the queue still turns over for the first time
MOST_INITIAL = 0.05  # share of the initial weights left in the slow branch at half of the run
MOST_LAG = 3.0  # times the paper's: rate x steps that a slow branch and a queue look back
LEAST_LENGTH = 1 / 3  # of the paper's: rate x steps x batch
LEAST_GAIN = 1 / 3  # of SimCSE's gain over the same untrained vector
MOST_FIRST = 0.5  # share of seeds whose selected checkpoint is the first
LEAST_LATE = 4  # checks in the last third of a run, for a range over them
PAPER_SENTENCES = 1_000_000  # that a run of the papers reads
SCORED = Metric(task="avg", title="")  # failed runs count as a score of 0 here as everywhere
TOO_SHORT = "too short to judge"

Kind = Literal["turnover", "initial weights", "lag", "length", "updates", "gain", "selected"]


@dataclass(frozen=True, slots=True)
class Check:
    """One condition: its number, in words too, and whether it is met.

    None: unknown before a run, or too close to call (`words` say which); a verdict is provisional then.
    """

    kind: Kind
    value: float
    limit: float
    met: bool | None
    words: str

    @property
    def unknown(self) -> bool:
        """Whether there is no number yet."""
        return math.isnan(self.value)


@dataclass(frozen=True, slots=True)
class Comparability:
    """What a study's configurations and runs allow. `checks` has the worst cell of each kind; `no_verdict`
    says why a claim, by key, has no verdict, and `provisional` why its verdict is provisional."""

    checks: tuple[Check, ...]
    no_verdict: Mapping[str, str]
    provisional: Mapping[str, str]


def comparability(result: StudyResult) -> Comparability:
    """The checks of a study, and what they mean for each claim."""
    readings, no_verdict, provisional = Readings(result), dict[str, str](), dict[str, str]()
    for claim in result.study.claims:
        gates = _gates(claim, result)
        whys = [check.words for check in gates if check.met is False]
        begun = all(cell.begun for cell in _cells(claim.predicate.contrasts(), result))
        whys += [check.words for check in gates if check.unknown and begun]
        whys += [*_too_coarse(claim, result), *_cut_short(claim, readings)]
        close = [check.words for check in gates if check.met is None and not check.unknown]
        if whys:
            no_verdict[claim.key] = "; ".join(dict.fromkeys(whys))
        elif close:
            provisional[claim.key] = "; ".join(dict.fromkeys(close))
    trained = [cell for cell in result.cells if not cell.unavailable and _is_trained(cell.metric)]
    learning = [check for cell in _learners(trained, result) for check in _learning(cell, result)]
    checks = (*_of_configurations(trained, result), *_updates(trained, result), *_worst(learning))
    return Comparability(checks, no_verdict, provisional)


def by_configuration(study: Study, setup: Setup) -> StudyResult:
    """A study without a run: its configurations alone say which claims this scale can judge."""
    return gather(study, setup, NoRuns())


def judged_at(studies: Sequence[Study], setup: Setup) -> list[str]:
    """Which claims of each study this scale can judge, and why not the others."""
    lines = []
    for study in (study for study in studies if study.claims):
        reasons: dict[str, list[str]] = {}
        for key, why in comparability(by_configuration(study, setup)).no_verdict.items():
            reasons.setdefault(why, []).append(key)
        number, none = len(study.claims), sum(map(len, reasons.values()))
        lines.append(f"{study.name}: scale {setup.scale.name} can judge {number - none} of {number} claims.")
        lines += [f"  No verdict on {', '.join(keys)}: {why}." for why, keys in reasons.items()]
    return lines


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


def gain(runs: Iterable[RunResult], task: str) -> Estimate:
    """What runs score at their selected checkpoint over the untrained encoder's [CLS]."""
    gains = []
    for run in runs:
        before, after = (_score(run, checkpoint, task) for checkpoint in ("untrained", "selected"))
        score = counted(run.status, after, SCORED)
        if before is not None and score is not None:
            gains.append(score - before)
    return over_seeds(gains)


def against_bar(method: Estimate, simcse: Estimate) -> tuple[float, float]:
    """The method's gain minus a third of SimCSE's (at least 0), and half of its 95 % interval by Welch.

    Infinite where either has one run: then nothing is certain.
    """
    bar = LEAST_GAIN * max(0.0, simcse.mean)
    weights_of = ((1.0, method), (LEAST_GAIN if bar else 0.0, simcse))
    if any(weight and one.n < 2 for weight, one in weights_of):
        return method.mean - bar, math.inf
    squares = [((weight * one.sd) ** 2 / one.n, one.n - 1) for weight, one in weights_of if weight]
    total = sum(square for square, _ in squares)
    freedom = sum(square**2 / degrees for square, degrees in squares)
    half = -float(stdtrit(total**2 / freedom, 0.025)) * math.sqrt(total) if freedom else 0.0
    return method.mean - bar, half


def _is_trained(metric: Metric) -> bool:
    """Whether a number comes from training: not a time, a count of data, or a score without training."""
    return metric.checkpoint in ("selected", "last", "curve")


def _cells(contrasts: Iterable[Contrast], result: StudyResult, trained: bool = False) -> list[CellResult]:
    """The cells of these contrasts; with `trained` those that run here and whose numbers come from
    training."""
    labels = {
        cell.cell.labels
        for contrast in contrasts
        for cell in cells_of(weights(contrast, result), result)
        if not trained or (_is_trained(contrast.metric or cell.metric) and not cell.unavailable)
    }
    return cells_of(labels, result)


def _gates(claim: Claim, result: StudyResult) -> list[Check]:
    """The checks that a claim has to pass. A claim on collapse does not require its method to learn."""
    contrasts = claim.predicate.contrasts()
    cells = _cells(contrasts, result, trained=True)
    failed = [check for check in _of_configurations(cells, result) if not check.met]
    scored = [one for one in contrasts if one.of != "share" and claim.gate != "none"]
    learners = _learners(_cells(scored, result, trained=True), result)
    learning = [check for cell in learners for check in _learning(cell, result)]
    return [*failed[:1], *_updates(cells, result), *learning]


def _of_configurations(cells: Sequence[CellResult], result: StudyResult) -> list[Check]:
    """Lag, length, queue and slow branch of the cells that have a queue or a slow branch: the worst cell of
    each."""
    study, pairs = result.study, list[tuple[CellResult, RunConfig, RunConfig]]()
    for cell in cells:
        run = result.setup.config(study, cell.cell, 0)
        if run.memory:
            pairs.append((cell, run, study.paper_config(cell.cell, result.profile)))
    limits: tuple[tuple[Kind, Callable[[RunConfig, RunConfig], float], float, str], ...] = (
        ("lag", lag, MOST_LAG,
         "queue and slow branch lag {:.2g} times as far as the paper's, at most 3 allowed"),
        ("length", length, LEAST_LENGTH,
         "rate × sentences read is {:.2g} times the paper's, at least a third required"),
        ("turnover", lambda run, _: turnover(run), MOST_TURNOVER,
         "the queue turns over once in {:.1%} of a run, at most 5 % allowed"),
        ("initial weights", lambda run, _: initial_share(run), MOST_INITIAL,
         "at half of a run {:.1%} of the slow branch are initial weights, at most 5 % allowed"),
    )  # fmt: skip
    checks = []
    for kind, number, limit, words in limits if pairs else ():
        numbers = [(number(run, paper), "/".join(cell.cell.labels)) for cell, run, paper in pairs]
        value, name = min(numbers) if kind == "length" else max(numbers)
        met = value >= limit - ROUNDING if kind == "length" else value <= limit + ROUNDING
        text = words.format(value).replace("%", " %").replace("  ", " ")
        text += f" ({name})" if max(numbers)[0] - min(numbers)[0] > ROUNDING else ""
        checks.append(Check(kind, value, limit, met, text if met else f"{TOO_SHORT}: {text}"))
    return checks


def _updates(cells: Sequence[CellResult], result: StudyResult) -> list[Check]:
    """Equal numbers of updates, or equal epochs where batches differ, as they do in the papers."""
    trains = [result.setup.config(result.study, cell.cell, 0).train for cell in cells]
    if not trains:
        return []
    steps = sorted(one.steps for one in trains)
    sentences = [one.steps * one.batch_size for one in trains]
    if steps[0] == steps[-1]:
        return [Check("updates", 1.0, 1.0, True, f"every cell has {steps[0]} updates")]
    # ragged last batch
    epochs = len({one.batch_size for one in trains}) > 1 and max(sentences) <= 1.01 * min(sentences)
    words = f"cells have {steps[0]} to {steps[-1]} updates"
    words += ", equal epochs of other batch sizes" if epochs else ", which the paper's do not"
    return [Check("updates", steps[-1] / steps[0], 1.0, epochs, words)]


def _learners(cells: Sequence[CellResult], result: StudyResult) -> list[CellResult]:
    """For each method and encoder among these cells, the cell that has to have learnt.

    The study's reference where it is of that method; else the best of `must_learn`; else the best of all. A
    cell that a claim says collapses must not stand for what a scale can train, or the claim could never hold.
    """
    learners = []
    trained = [cell for cell in result.cells if cell.runs and _is_trained(cell.metric)]
    for key in dict.fromkeys(_method(cell, result) for cell in cells):
        same = [cell for cell in trained if _method(cell, result) == key]
        named = [
            cell for cell in same if any(matches(one, cell.cell.labels) for one in result.study.must_learn)
        ]
        begun = [cell for cell in named or same if cell.begun]
        reference = [cell for cell in same if cell.cell.labels == result.study.reference]
        chosen = [cell for cell in reference if cell.begun or not begun] or begun or named or same
        learners += [max(chosen, key=_mean_score)] if chosen else []
    return learners


def _method(cell: CellResult, result: StudyResult) -> tuple[str, str]:
    return cell.cell.method or result.study.method, cell.cell.encoder


def _mean_score(cell: CellResult) -> float:
    """Mean average score of a cell's runs at the selected checkpoint, whatever the cell shows."""
    scores = [counted(run.status, _score(run, "selected", "avg"), SCORED) for run in cell.runs]
    return float(np.mean([score for score in scores if score is not None] or [-np.inf]))


def _learning(cell: CellResult, result: StudyResult) -> list[Check]:
    """A cell's gain against a third of SimCSE's, and how often its selected checkpoint is the first."""
    name = "/".join(cell.cell.labels)
    task = result.study.metric.task if cell.metric.quantity == "spearman" else "avg"
    own = gain(cell.runs, task)
    if not own.n:
        words = f"{name} has no run: {_command(result.study.name, result)} trains it"
        return [Check("gain", math.nan, math.nan, None, words)]
    bar = gain(_simcse(cell, result), task)
    if not bar.n:
        return [
            Check("gain", math.nan, math.nan, None, f"train SimCSE first: {_command(SIMCSE.name, result)}")
        ]
    above, half = against_bar(own, bar)
    limit = own.mean - above
    met = None if abs(above) <= half else above > 0
    words = (
        f"{name} gains {_spoken(own)} over the untrained [CLS], SimCSE {_spoken(bar)}; a third is required"
    )
    words = f"{words}, which is too close to call" if met is None else words
    first = _first_selected(cell, result)
    at_first = f"{name} is best at its first check in {100 * first:.3g} % of its seeds, at most 50 % allowed"
    return [
        Check("gain", own.mean, limit, met, words),
        Check("selected", first, MOST_FIRST, first <= MOST_FIRST, at_first),
    ]


def _spoken(of: Estimate) -> str:
    spread = f" ± {of.high - of.mean:.1f}" if of.n > 1 else ""
    return f"{of.mean:+.1f}{spread} (n = {of.n})".replace("-", "−")


def _first_selected(cell: CellResult, result: StudyResult) -> float:
    """In which share of a cell's runs the selected checkpoint is the first check after the start; diverged
    runs aside."""
    firsts = []
    for run in cell.runs:
        if run.rows is None or run.status == "diverged":
            continue
        selected = run.rows.one("selected", "avg", "spearman_all")
        checks = [step for step in curve(run.rows, result.aggregate).index if step > 0]
        if selected is not None and np.isfinite(selected.value):
            firsts.append(selected.step <= min(checks, default=0))
    return float(np.mean(firsts)) if firsts else 0.0


def _simcse(cell: CellResult, result: StudyResult) -> Sequence[RunResult]:
    """SimCSE's runs on the cell's encoder: the scale's own, or the study's row on another encoder."""
    if cell.cell.encoder == "bert-base":
        return result.simcse
    rows = (one for one in result.cells if _method(one, result) == ("simcse", cell.cell.encoder))
    return next((one.runs for one in rows if _is_trained(one.metric)), ())


def _command(study: str, result: StudyResult) -> str:
    """The command that trains a study at this scale under this profile."""
    profile = "" if result.profile == "paper" else f" --profile {result.profile}"
    return f"`run_study.py {study} --scale {result.scale.name}{profile}`"


def _score(run: RunResult, checkpoint: str, task: str) -> float | None:
    number = None if run.rows is None else run.rows.one(checkpoint, task, "spearman_all")
    return None if number is None or not np.isfinite(number.value) else number.value


def _worst(checks: Sequence[Check]) -> list[Check]:
    """The worst check of each kind: a failed one, else one that is open, else the first."""
    kinds = dict.fromkeys(check.kind for check in checks)
    order = {False: 0, None: 1, True: 2}
    return [
        min((one for one in checks if one.kind == kind), key=lambda one: order[one.met]) for kind in kinds
    ]


def _too_coarse(claim: Claim, result: StudyResult) -> list[str]:
    """A reason if a late range that the claim reads would be taken over fewer checks than LEAST_LATE."""
    for contrast in claim.predicate.contrasts():
        for cell in cells_of(weights(contrast, result), result):
            if (contrast.metric or cell.metric).quantity == "curve_late_range" and not cell.unavailable:
                run = result.setup.config(result.study, cell.cell, 0)
                steps = {*range(run.eval.every, run.train.steps, run.eval.every), run.train.steps}
                late = sum(step >= LATE * run.train.steps for step in steps)
                if late < LEAST_LATE:
                    return [
                        f"{TOO_SHORT}: a range requires {LEAST_LATE} checks in the last third, not {late}"
                    ]
    return []


def _cut_short(claim: Claim, readings: Readings) -> list[str]:
    """A reason if an undecided claim can never reach its next check: a run has failed, and what is read of it
    has no worst value to count it by."""
    failed = [
        one for contrast in claim.predicate.contrasts() if (one := readings.failed(contrast)) is not None
    ]
    if not failed:
        return []
    decision = decide(claim, readings.samples, len(readings.result.study.claims))
    seed, name, status, quantity = min(failed)
    if decision.outcome != "undecided" or seed >= next((n for n in LOOKS if n > decision.n), 0):
        return []
    return [f"seed {seed} of {name} {status}, and {quantity} has no worst value to count that run by"]
