"""Verdicts: what the runs say of each claim of a study, and what the paper's own numbers say of it.

A claim comes down to contrasts (`core.spec.claim`). Each is tested by seeds, corrected by Holm over all contrasts of the study's
claims, and is then true, false or open; the claim follows by Kleene's logic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

from core.report.cells import CellResult, StudyResult
from core.report.statistics import ALPHA, LEVEL, holm
from core.spec.claim import Claim, Contrast, Joined, Predicate, holds_as_printed, truth

Outcome = Literal["supported", "contradicted", "undecided", "not run"]
UNSTABLE = 3.0  # a cell that scatters so many times more than the table's median cell has a spread of its own
MOST_SEEDS = 1000  # beyond so many, no number of seeds is named


class Evidence(NamedTuple):
    """How far a contrast lies above its threshold: effect with interval, error, degrees of freedom, n and p (corrected: p_holm).

    NaN where it cannot be known; n 0 where a cell has no run.
    """

    effect: float
    error: float
    freedom: float
    n: int
    p: float
    p_holm: float = np.nan

    @property
    def half(self) -> float:
        """Half of the 95 % interval, not corrected."""
        return float(stats.t.ppf((1 + LEVEL) / 2, self.freedom)) * self.error if self.freedom > 0 else np.nan

    @property
    def truth(self) -> bool | None:
        """Whether the contrast holds; None while it cannot be told."""
        return self.effect > 0 if self.p_holm < ALPHA else None

    @property
    def strength(self) -> float:
        """Effect in units of its error; by its sign alone where there is no error."""
        if self.error > 0:
            return self.effect / self.error
        return np.nan if np.isnan(self.effect) else float(np.sign(self.effect)) * np.inf if self.effect else 0.0


NOTHING = Evidence(np.nan, np.nan, 0, 0, np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome for a claim. The numbers are those of the contrast that decides it, the weakest that it needs.

    `seeds` is how many would decide it if effect and scatter stay as they are; None where it is decided or no number below a
    thousand would do. `printed`: whether it holds on the paper's printed numbers (None: not printed); `paper_runs`: the outcome on
    the paper's own single runs where they are known.
    """

    claim: Claim
    outcome: Outcome
    effect: float
    low: float
    high: float
    n: int
    p_holm: float
    seeds: int | None
    printed: bool | None
    paper_runs: Outcome


def verdicts(result: StudyResult) -> tuple[Verdict, ...]:
    """The verdict on every claim of a study, in its order."""
    claims = result.study.claims
    contrasts = list(dict.fromkeys(contrast for claim in claims for contrast in claim.predicate.contrasts()))
    ours = corrected({contrast: evidence(contrast, result) for contrast in contrasts})
    theirs = corrected({contrast: paper_evidence(contrast, result) for contrast in contrasts})
    numbers = {cell.cell.labels: cell.cell.published for cell in result.cells}
    found = []
    for claim in claims:
        predicate = claim.predicate
        shown = ours[deciding(predicate, ours)]
        outcome = outcome_of(predicate, ours)
        found.append(
            Verdict(
                claim=claim, outcome=outcome, effect=shown.effect, low=shown.effect - shown.half, high=shown.effect + shown.half,
                n=shown.n, p_holm=shown.p_holm,
                seeds=seeds_to_decide(predicate, ours, len(contrasts)) if outcome == "undecided" else None,
                printed=holds_as_printed(predicate, numbers), paper_runs=outcome_of(predicate, theirs),
            )
        )
    return tuple(found)


def outcome_of(predicate: Predicate, known: Mapping[Contrast, Evidence]) -> Outcome:
    """supported, contradicted or undecided; not run while a cell that it speaks of has no run and nothing is settled without it."""
    value = truth(predicate, lambda contrast: known[contrast].truth)
    if value is not None:
        return "supported" if value else "contradicted"
    return "not run" if any(known[contrast].n == 0 for contrast in predicate.contrasts()) else "undecided"


def corrected(found: Mapping[Contrast, Evidence]) -> dict[Contrast, Evidence]:
    """The same evidence with Holm's correction over all of it."""
    p_holm = holm([one.p for one in found.values()])
    return {contrast: one._replace(p_holm=float(p)) for (contrast, one), p in zip(found.items(), p_holm)}


def evidence(contrast: Contrast, result: StudyResult) -> Evidence:
    """A contrast on our runs, paired by seed.

    Where its weights sum to zero and all its cells scatter like the table, the error is the table's own: the residual of cells x
    seeds after both means, which has far more degrees of freedom than a few seeds of two cells. Else it is that of the contrast's
    own values over the seeds.
    """
    weights = _weights(contrast, result)
    by_cell = {cell.cell.labels: seed_values(cell) for cell in result.cells if cell.cell.labels in weights}
    seeds = sorted(set.intersection(*(set(values) for values in by_cell.values()))) if by_cell else []
    if not seeds:
        return NOTHING
    values = [sum(weight * by_cell[labels][seed] for labels, weight in weights.items()) - contrast.above for seed in seeds]
    effect, n = float(np.mean(values)), len(values)
    scatter, freedom = table_scatter(result)
    if abs(sum(weights.values())) < 1e-9 and set(weights) <= stable_cells(result) and freedom > n - 1:
        error = scatter * float(np.sqrt(sum(weight**2 for weight in weights.values()) / n))
    else:
        error, freedom = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else np.nan, n - 1
    return Evidence(effect, error, freedom, n, _p(effect, error, freedom))


def paper_evidence(contrast: Contrast, result: StudyResult) -> Evidence:
    """A contrast on the paper's own single runs, taken as independent (Welch); nothing where they are not known."""
    weights = _weights(contrast, result)
    runs = {cell.cell.labels: cell.cell.published_runs for cell in result.cells if cell.cell.labels in weights}
    if any(len(values) < 2 for values in runs.values()):
        return NOTHING
    parts = [weights[labels] ** 2 * np.var(values, ddof=1) / len(values) for labels, values in runs.items()]
    effect = float(sum(weights[labels] * np.mean(values) for labels, values in runs.items()) - contrast.above)
    spread = sum(part**2 / (len(values) - 1) for part, values in zip(parts, runs.values()))
    freedom = sum(parts) ** 2 / spread if spread > 0 else 1.0
    error = float(np.sqrt(sum(parts)))
    return Evidence(effect, error, float(freedom), min(len(values) for values in runs.values()), _p(effect, error, freedom))


def seed_values(cell: CellResult) -> dict[int, float]:
    """A cell's values by seed; a collapsed run without a Spearman counts as 0: constant cosines order nothing."""
    found = {run.seed: run.value for run in cell.runs if run.value is not None}
    if cell.metric.quantity == "spearman":
        found |= {run.seed: 0.0 for run in cell.runs if run.value is None and run.status == "collapsed"}
    return found


def stable_cells(result: StudyResult) -> set[tuple[str, ...]]:
    """The cells of the study's own metric whose SD over seeds is at most three times the median cell's."""
    spreads = {
        cell.cell.labels: cell.estimate.sd for cell in result.cells
        if cell.metric == result.study.metric and cell.estimate.n > 1 and cell.estimate.n == len(cell.runs)
    }
    if not spreads:
        return set()
    limit = UNSTABLE * float(np.median(list(spreads.values())))
    return {labels for labels, spread in spreads.items() if spread <= limit}


def table_scatter(result: StudyResult) -> tuple[float, int]:
    """The residual SD of stable cells x seeds after cell and seed means, and its degrees of freedom; (NaN, 0) if there is none."""
    kept = stable_cells(result)
    rows = [[run.value for run in cell.runs] for cell in result.cells if cell.cell.labels in kept]
    if len(rows) < 2 or len(rows[0]) < 2:
        return np.nan, 0
    table = np.array(rows, dtype=float)  # (cells, seeds)
    residual = table - table.mean(1, keepdims=True) - table.mean(0, keepdims=True) + table.mean()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return float(np.sqrt((residual**2).sum() / freedom)), freedom


def deciding(predicate: Predicate, known: Mapping[Contrast, Evidence]) -> Contrast:
    """The contrast on which a predicate turns: of those it needs, the weakest."""
    if isinstance(predicate, Contrast):
        return predicate
    parts = [deciding(part, known) for part in predicate.parts]
    settled = truth(predicate, lambda contrast: known[contrast].truth)
    unknown = np.inf if settled is False else -np.inf  # what has no run decides nothing that is settled without it
    strengths = {contrast: known[contrast].strength for contrast in parts}
    ordered = sorted(parts, key=lambda contrast: unknown if np.isnan(strengths[contrast]) else strengths[contrast], reverse=True)
    return ordered[predicate.needed - 1]


def seeds_to_decide(predicate: Predicate, known: Mapping[Contrast, Evidence], contrasts: int) -> int | None:
    """Seeds after which an open predicate would be decided, effects and scatter being as they are; None if a thousand would not do."""
    needed = _seeds(predicate, known, contrasts)[1]
    return int(needed) if needed <= MOST_SEEDS else None


def _seeds(predicate: Predicate, known: Mapping[Contrast, Evidence], contrasts: int) -> tuple[bool, float]:
    """Which way a predicate leans, and the seeds that settle it so."""
    if isinstance(predicate, Joined):
        leaning = [_seeds(part, known, contrasts) for part in predicate.parts]
        yes = sorted(seeds for way, seeds in leaning if way)
        no = sorted(seeds for way, seeds in leaning if not way)
        against = len(leaning) - predicate.needed + 1
        return (True, yes[predicate.needed - 1]) if len(yes) >= predicate.needed else (False, no[against - 1])
    one = known[predicate]
    if one.truth is not None:
        return one.truth, one.n
    if not one.error > 0 or one.effect == 0:
        return one.effect > 0, np.inf
    quantile = stats.norm.ppf(1 - ALPHA / (2 * contrasts))
    return one.effect > 0, max(one.n + 1, np.ceil((quantile * one.error * np.sqrt(one.n) / one.effect) ** 2))


def _weights(contrast: Contrast, result: StudyResult) -> dict[tuple[str, ...], float]:
    """The weight of each cell in a contrast; a wildcard spreads its weight over the cells that it matches."""
    weights: dict[tuple[str, ...], float] = {}
    for term in contrast.terms:
        cells = result.study.matching(term.cell)
        for cell in cells:
            weights[cell.labels] = weights.get(cell.labels, 0.0) + term.weight / len(cells)
    return weights


def _p(effect: float, error: float, freedom: float) -> float:
    """Two-sided p of an effect; without any scatter 0, or 1 if the effect is 0 too."""
    if np.isnan(error) or freedom < 1:
        return np.nan
    if error == 0:
        return 1.0 if effect == 0 else 0.0
    return float(2 * stats.t.sf(abs(effect) / error, freedom))
