"""Verdicts: what the runs say of each claim of a study, and what the paper's own numbers say of it.

A claim comes down to contrasts (`core.study.claim`), each paired by seed with its own scatter over
seeds. Claims are checked at fixed numbers of seeds (`core.report.statistics`); the interval beside
a verdict is the tested one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache, cached_property, partial
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from core.config.result import unit
from core.config.section import frozen
from core.report.comparability import (
    Check,
    Learns,
    Reasons,
    configurations,
    gate,
    learning,
    other_start,
    task_of,
    trained,
)
from core.report.contrasts import Direction, MeasuredContrast, direction, measured_contrasts
from core.report.results import CellResult, Loaded, StudyResult, gather, load_run
from core.report.statistics import (
    NOT_TESTED,
    Estimate,
    Settled,
    alpha_at,
    comparisons,
    decide,
    leaves,
    over_seeds,
)
from core.study.axes import Labels
from core.study.claim import Claim, Contrast, Pattern, Predicate, count_rules, truth
from core.study.reason import in_words
from core.study.resolution import ResolvedStudy, unmeasured
from core.study.study import Study

Outcome = Settled | Literal["not run", "no verdict"]
UNIT = "depends on the unit: points and Fisher's z have other signs"


@frozen
class Verdict:
    """The outcome for a claim, and its contrasts as measured.

    The effect is that of `weakest`, the weakest contrast that the claim needs; it lies above the
    claim's threshold, or below it if negative. `tested` is the effect with its tested bounds at the
    check that settled the claim, or the latest that all its cells have reached (n is 0 before the
    first). `barred` says why there is no verdict, or why a claim without runs cannot have these;
    `provisional` why a verdict would be provisional.
    """

    claim: Claim
    outcome: Outcome
    barred: Reasons
    provisional: Reasons
    contrasts: Mapping[Contrast, MeasuredContrast]
    weakest: MeasuredContrast
    tested: Estimate

    @property
    def direction(self) -> Direction:
        """Where an undecided claim's estimates point; empty for a claim with another outcome."""
        if self.outcome != "undecided":
            return ""
        return direction(self.claim.predicate, self.contrasts)

    @property
    def reason(self) -> str:
        """Why there is no verdict, why a verdict is provisional, how many rows have no run where
        other rows have runs, or that the start is not the papers'; empty without such a reason."""
        sentences = []
        if self.barred:
            sentences.append(in_words(self.barred))
        if self.provisional and self.outcome not in ("undecided", "not run"):
            sentences.append(f"provisional: {in_words(self.provisional)}")
        if self.outcome == "undecided" and any(
            measured.depends_on_unit for measured in self.contrasts.values()
        ):
            sentences.append(UNIT)
        if self.outcome == "not run" and not self.barred:
            begun = [cell.begun for cell in self.compared_cells]
            absent = begun.count(False)
            if 0 < absent < len(begun):
                sentences.append(f"{absent} of {len(begun)} rows have no run")
        if self.outcome != "not run":
            sentences += filter(None, [other_start(self.compared_cells)])
        return "; ".join(sentences)

    @property
    def compared_cells(self) -> list[CellResult]:
        """The cells that the claim compares."""
        cells = chain.from_iterable(measured.cells for measured in self.contrasts.values())
        return list({cell.name: cell for cell in cells}.values())

    @property
    def within_margin(self) -> bool:
        """Whether an effect smaller than the margin settled the claim: with every threshold moved
        by the margin, the estimates would not have the same outcome."""
        side = {"supported": 1, "contradicted": -1}.get(self.outcome)
        if side is None or self.claim.margin is None:
            return False
        shift = side * self.claim.margin
        beyond = {of: measured.estimate.mean > shift for of, measured in self.contrasts.items()}
        return truth(self.claim.predicate, beyond.get) is not (side == 1)

    @property
    def seeds(self) -> int:
        """How many seeds, from 0 on, all cells of the claim have."""
        return min(measured.seeds for measured in self.contrasts.values())


class Difference(NamedTuple):
    """A cell's difference to the cell with the labels `base`, paired by seed, with its tested
    interval: the one test of whether the two differ. `different` is yes, no, "no verdict" where the
    study has none, or empty where there is no test."""

    base: Labels
    tested: Estimate
    different: str


@frozen
class JudgedStudy(StudyResult):
    """A study with its checks and its verdicts, in the claims' order; with `--vary`, those of each
    part in turn, and no checks of the whole. `checks` has the worst cell of each kind."""

    checks: tuple[Check, ...]
    verdicts: tuple[Verdict, ...]
    by_value: tuple[JudgedStudy, ...] = ()

    @property
    def parts(self) -> tuple[JudgedStudy, ...]:
        """The study at each combination of varied values; itself if nothing is varied."""
        return self.by_value or (self,)

    @cached_property
    def differences(self) -> dict[Pattern, Difference]:
        """The difference of each cell to the cell that `base_labels` names."""
        differences: dict[Pattern, Difference] = {}
        for part in self.by_value:
            differences |= part.differences
        if differences:
            return differences
        cells = self.by_labels
        bases = {labels: base_labels(labels, self.study) for labels in cells}
        by_base: dict[Labels, dict[Labels, dict[int, float]]] = {}
        for labels, cell in cells.items():
            other = cells.get(bases[labels])
            if other is not None and same_unit(cell, other) and cell.unavailable is None:
                by_base.setdefault(bases[labels], {})[labels] = cell.by_seed
        tested: dict[Labels, Estimate] = {}
        for base, like in by_base.items():
            if like.get(base):
                tested |= comparisons(like, base, self.study.claims)
        unmarked = why_unmarked(self)
        for labels in cells:
            of_cell = tested.get(labels, NOT_TESTED)
            different = ""
            if of_cell.n:
                different = "yes" if of_cell.distinguishable else "no"
                different = "no verdict" if unmarked else different
            differences[labels] = Difference(bases[labels], of_cell, different)
        return differences


def judged(result: StudyResult) -> JudgedStudy:
    """The verdict on every claim of a study."""
    divided = result.divided()
    if len(divided) > 1:
        parts = tuple(map(judged, divided))
        verdicts = tuple(chain.from_iterable(part.verdicts for part in parts))
        return JudgedStudy(**vars(result) | {"by_value": parts, "checks": (), "verdicts": verdicts})
    read = measured_contrasts(result)
    learns = cache(partial(learning, result))
    checked = learns(task_of(cell.metric for cell in result.cells)).values()
    from_worst = sorted(checked, key=lambda check: (False, None, True).index(check.met))
    checks = (*configurations(trained(result)), *from_worst[:1])
    verdicts = tuple(_verdict(claim, read, learns, result) for claim in result.study.claims)
    return JudgedStudy(**vars(result) | {"checks": checks, "verdicts": verdicts})


def base_pattern(study: Study) -> Pattern:
    """Labels of the cell that other cells are compared with. None stands for the other cell's own
    label. Empty without such a cell."""
    if study.figure is not None and study.figure.base:
        return study.figure.base
    return study.reference or ()


def base_labels(labels: Labels, study: Study) -> Labels:
    """The labels of the cell that the cell with `labels` is compared with; empty without such a
    cell."""
    if study.figure is not None and study.figure.against:
        first, *others = labels
        return (study.figure.against.get(first, first), *others)
    pattern = zip(labels, base_pattern(study), strict=False)
    return tuple(label if fixed is None else fixed for label, fixed in pattern)


def same_unit(cell: CellResult, base: CellResult) -> bool:
    """Whether the numbers of two cells have one unit."""
    return unit(cell.metric) == unit(base.metric)


def study_result(resolved: ResolvedStudy, store=None, loaded: Loaded | None = None) -> JudgedStudy:
    """A study judged on its stored runs; without a store judged on no run. The runs that were read
    are added to `loaded`."""
    return judged(gather(resolved, store, loaded=loaded))


def _verdict(
    claim: Claim,
    every: Mapping[Contrast, MeasuredContrast],
    learns: Learns,
    result: StudyResult,
) -> Verdict:
    """The verdict on a claim by its contrasts as measured."""
    read = {contrast: every[contrast] for contrast in claim.predicate.contrasts()}
    claims = count_rules(result.study.claims)
    of_claim = list(read.values())
    barred, provisional = gate(claim, of_claim, learns, result)

    def samples(contrast: Contrast, seeds: int) -> np.ndarray | None:
        measured = read[contrast]
        return None if measured.depends_on_unit else measured.under(seeds)

    decided, n = decide(claim, samples, claims)
    outcome: Outcome = decided
    if barred:
        outcome = "no verdict"
    elif decided == "undecided" and not all(measured.seeds for measured in of_claim):
        # why the claim cannot be run here: missing cells, or a number that runs do not store
        outcome = "not run"
        reasons = []
        for measured in of_claim:
            for cell, metric in zip(measured.cells, measured.metrics, strict=True):
                reason = cell.unavailable
                if reason is None:
                    transfer = cell.config(0).eval.transfer
                    reason = unmeasured(metric, transfer, result.setup.scale)
                reasons.append(reason)
        barred = tuple(dict.fromkeys(filter(None, reasons)))

    # the weakest comparison that the claim needs, with its tested bounds
    strengths = _strengths(of_claim, n, decided == "contradicted")
    weakest = read[_weakest_needed(claim.predicate, strengths)]
    level = alpha_at(n, claims)
    divisors = {contrast: (sup, con) for contrast, sup, con in leaves(claim.predicate)}
    sup, con = divisors[weakest.contrast]
    share = weakest.contrast.of == "share"
    return Verdict(
        claim=claim,
        outcome=outcome,
        barred=barred,
        provisional=provisional,
        contrasts=read,
        weakest=weakest,
        tested=over_seeds(weakest.under(n), level / sup, level / con, share),
    )


def _strengths(
    read: Collection[MeasuredContrast], seeds: int, refuted: bool
) -> dict[Contrast, float]:
    """How far each contrast is above zero in units of its error, on the first `seeds` seeds or (0)
    on all stored seeds. The error of a single value counts as 1.

    Where no contrast has a run, how far each contrast is above zero in the paper. A contrast
    without a number counts as the strongest if the claim is refuted without that contrast, else as
    the weakest."""
    begun = any(measured.seeds for measured in read)
    strengths = {}
    for measured in read:
        estimate = over_seeds(measured.under(seeds or measured.seeds))
        error = 1.0
        if estimate.n > 1:
            error = estimate.sd / np.sqrt(estimate.n)
        strength = 0.0
        if error > 0:
            strength = estimate.mean / error
        elif estimate.mean:
            strength = np.copysign(np.inf, estimate.mean)
        if not begun and measured.printed is not None:
            strength = measured.printed
        if np.isnan(strength):
            strength = np.inf if refuted else -np.inf
        strengths[measured.contrast] = float(strength)
    return strengths


def _weakest_needed(predicate: Predicate, strengths: Mapping[Contrast, float]) -> Contrast:
    """The weakest contrast that a predicate needs: where u of its parts are needed, the u-th
    strongest."""
    if isinstance(predicate, Contrast):
        return predicate
    parts = [_weakest_needed(part, strengths) for part in predicate.parts]
    return sorted(parts, key=strengths.__getitem__, reverse=True)[predicate.needed - 1]


def why_unmarked(result: JudgedStudy) -> Reasons:
    """Why a figure marks no row: no claim with runs has a verdict, or, in a study without claims,
    the method does not learn. Empty if the figure may mark rows."""
    if not result.study.claims:
        gains = (check for check in result.checks if check.kind == "gain")
        return tuple(check.reason for check in gains if check.met is False)
    ran = [verdict for verdict in result.verdicts if verdict.outcome != "not run"]
    if any(verdict.outcome != "no verdict" for verdict in ran):
        return ()
    return tuple(dict.fromkeys(chain.from_iterable(verdict.barred for verdict in ran)))


def reasons(result: JudgedStudy) -> list[str]:
    """Why claims have no verdict: a sentence for each reason, which names the claims."""
    barred: dict[Reasons, list[str]] = {}
    for verdict in result.verdicts:
        if verdict.outcome == "no verdict":
            barred.setdefault(verdict.barred, []).append(verdict.claim.key)
    return [f"No verdict on {', '.join(keys)}: {in_words(why)}." for why, keys in barred.items()]


def judgeable_claims(resolved: ResolvedStudy, store=None) -> tuple[int, list[str]]:
    """How many of a study's claims its scale can judge, and sentences on why it cannot judge the
    other claims.

    Reads only the first stored run of each cell that claims have on the untrained encoder: reading
    all runs took a minute.
    """
    loaded = {}
    for claim in resolved.study.claims:
        if claim.untrained is not None:
            for cell in resolved.cells_of(claim.untrained.contrasts()):
                for run in cell.run_ids[:1]:
                    loaded[run] = load_run(store, run, seed=0)
    result = study_result(resolved, loaded=loaded)
    return sum(not verdict.barred for verdict in result.verdicts), reasons(result)
