"""How often a study has a wrong verdict: made-up studies of known truth, put to the functions that
decide.

`python -m benchmarks.simulation [--studies 4000]` prints Markdown tables: the share of studies with
at least one wrong verdict, by truth, scatter and way of checking; the whole rule, with the bar for
"learns" and its own noise; and the share of claims that are settled by a number of seeds. About
seven minutes of one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import binomtest
from tabulate import tabulate

from core.report.comparability import against_bar
from core.report.statistics import LOOKS, alpha_at, claim_p, over_seeds, scatter_by_seed, settled
from core.study import claim as predicates
from core.study.claim import (
    ROUNDING,
    Claim,
    Contrast,
    all_of,
    any_of,
    collapsed,
    greater,
    sound,
    truth,
)

CELLS = tuple((name,) for name in "abcdef")
A, B, C, D, E, F = CELLS
CLAIMS = tuple(
    Claim(key=key, text=key, predicate=predicate, margin=margin)
    for key, predicate, margin in (
        ("greater", greater(A, B), 1.0),
        ("best of 6", predicates.best(A, CELLS), 1.0),
        ("all of", all_of(greater(A, B), greater(B, C)), 1.0),
        (
            "at least 2 of 3",
            predicates.some_of(2, [greater(A, C), greater(B, C), greater(D, C)]),
            1.0,
        ),
        ("within", predicates.within((A, B, C), 1.0), None),
        ("differ", predicates.differ((D, E, F)), 1.0),
        ("any of", any_of(greater(C, A), greater(D, B)), 1.0),
        ("gains", predicates.gains(A, B, 1.5, 1.0), None),
        ("scatters more", predicates.mean_scatters_more([A], [B]), 1.0),
    )
)
COLLAPSE = tuple(
    Claim(key=str(number), text="Collapse.", predicate=predicate, margin=None)
    for number, predicate in enumerate(
        (
            collapsed(A),
            sound(B),
            all_of(collapsed(C), collapsed(D)),
            any_of(collapsed(C), collapsed(D)),
            all_of(collapsed(E), sound(F)),
        )
    )
)
TRUTHS = {
    "all equal": (76.0,) * 6,
    "as printed": (77.24, 76.49, 76.0, 75.2, 75.6, 76.1),
    "one exact tie": (76.49, 76.49, 76.0, 75.2, 75.6, 76.1),
    # a hair beyond it: "within" and "equivalent" are wrong
    "at the margin": (77.0, 76.0 - 1e-6, 75.0, 75.0, 75.0, 75.0),
}
SEEDS = ", ".join(map(str, LOOKS))  # heads of columns
SIMCSE_GAIN = 14.0  # points over the untrained encoder, as at scale mini
# mean absolute deviation of one unit of SD
MEAN_ABSOLUTE = {"normal": np.sqrt(2 / np.pi), "t3": 2 / np.pi}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What studies are drawn from: means of six cells; SD of a run, that of cell a `wide` times as
    large; `shared`: the correlation of cells under one seed; `tails`: normal, or Student's t with 3
    degrees, both with the same SD; `fails`: how many runs of cell a score 0."""

    truth: str
    sd: float
    wide: float = 1.0
    shared: float = 0.0
    tails: str = "normal"
    fails: float = 0.0

    def spreads(self) -> np.ndarray:
        """SD by cell."""
        return np.array([self.sd * self.wide, *[self.sd] * (len(CELLS) - 1)])

    def value(self, contrast: Contrast, shift: float = 0.0) -> bool:
        """Whether a contrast is true, plus a shift."""
        means = np.array(TRUTHS[self.truth])
        absolute = MEAN_ABSOLUTE[self.tails] * self.spreads()
        # failures are below half, so the median is a healthy run's
        absolute[0] = (1 - self.fails) * absolute[0] + self.fails * means[0]
        means[0] *= 1 - self.fails
        values = absolute if contrast.of == "scatter" else means
        total = sum(term.weight * values[CELLS.index(term.cell)] for term in contrast.terms)
        return contrast.beyond(float(total)) + shift > ROUNDING

    def draw(
        self, studies: int, generator: np.random.Generator, seeds: int = LOOKS[-1]
    ) -> np.ndarray:
        """Runs of studies, (studies, cells, seeds)."""
        common = self._noise((studies, 1, seeds), generator)
        own = self._noise((studies, len(CELLS), seeds), generator)
        noise = np.sqrt(self.shared) * common + np.sqrt(1 - self.shared) * own
        runs = np.array(TRUTHS[self.truth])[:, None] + self.spreads()[:, None] * noise
        if self.fails:
            runs[:, 0] *= generator.random((studies, seeds)) >= self.fails
        return runs

    def _noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        if self.tails == "normal":
            return generator.standard_normal(shape)
        return generator.standard_t(3, shape) / np.sqrt(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """Studies of runs of two kinds: `share` of a cell's runs collapse; `shared`: how often a seed
    does to all cells what it does to one."""

    share: float
    shared: float = 0.0

    def value(self, contrast: Contrast, shift: float = 0.0) -> bool:
        """Whether a contrast is true, plus a shift."""
        total = sum(term.weight * self.share for term in contrast.terms)
        return contrast.beyond(total) + shift > ROUNDING

    def draw(
        self, studies: int, generator: np.random.Generator, seeds: int = LOOKS[-1]
    ) -> np.ndarray:
        """Runs of studies, (studies, cells, seeds): 1 for a run that collapses, 0 for one that does
        not."""
        common = generator.random((studies, 1, seeds))
        own = generator.random((studies, len(CELLS), seeds))
        alike = generator.random((studies, 1, seeds)) < self.shared
        return (np.where(alike, common, own) < self.share).astype(float)


def values_of(contrast: Contrast, runs: np.ndarray, n: int) -> np.ndarray:
    """A contrast's values on seeds 0 … n-1, (studies, n), as `core.report.contrasts` has them."""
    cells = runs[:, [CELLS.index(term.cell) for term in contrast.terms], :n]  # (studies, terms, n)
    weights = np.array([term.weight for term in contrast.terms])
    if contrast.of == "scatter":
        return scatter_by_seed(cells, contrast.sign * weights, contrast.sign * contrast.threshold)
    return contrast.beyond(weights @ cells)


def outcomes(claim: Claim, runs: np.ndarray, claims: int = len(CLAIMS)) -> np.ndarray:
    """What `decide` gives each study, as an index into CODED: (looks, studies). A missing run is
    NaN."""
    outcome = np.zeros(len(runs), dtype=int)
    by_look = []
    for n in LOOKS:
        here = settled(_p(claim, runs, n), alpha_at(n, claims))
        outcome = np.where(outcome == 0, here, outcome)
        by_look.append(outcome)
    return np.stack(by_look)


def _p(claim: Claim, runs: np.ndarray, n: int) -> tuple[np.ndarray, ...]:
    contrasts = set(claim.predicate.contrasts())
    return claim_p(claim, {contrast: values_of(contrast, runs, n) for contrast in contrasts})


def wrong(claim: Claim, world: World | Kinds, outcome: np.ndarray) -> np.ndarray:
    """Whether verdicts are wrong: supported though false, contradicted though true, equivalent
    though beyond the margin."""
    holds = truth(claim.predicate, world.value)
    margin = claim.margin or 0.0
    low = truth(claim.predicate, lambda contrast: world.value(contrast, margin))
    high = truth(claim.predicate, lambda contrast: world.value(contrast, -margin))
    if holds:
        errs = outcome == 2
    else:
        errs = outcome == 1
    if high or not low:
        errs = errs | (outcome == 3)
    return errs


def studies_in_error(world: World, runs: np.ndarray) -> np.ndarray:
    """Whether each study errs on each claim where all seeds are looked at every time, (claims,
    studies)."""
    return np.array([wrong(claim, world, outcomes(claim, runs)[-1]) for claim in CLAIMS])


def chased(world: World, runs: np.ndarray) -> np.ndarray:
    """Whether a study errs where only the most promising open claim gets more seeds, up to its next
    look, until all are settled or full. The first verdict of a claim stays."""
    cells = []  # of each claim
    for claim in CLAIMS:
        indices = set()
        for contrast in claim.predicate.contrasts():
            indices |= {CELLS.index(term.cell) for term in contrast.terms}
        cells.append(sorted(indices))
    looks = np.zeros((len(runs), len(CELLS)), dtype=int)  # the latest look of each cell
    outcome = np.zeros((len(CLAIMS), len(runs)), dtype=int)
    seeds = np.arange(runs.shape[2])
    for _ in range(2 * len(LOOKS)):
        there = np.where(seeds < np.array(LOOKS)[looks][:, :, None], runs, np.nan)
        promise = np.full((len(CLAIMS), len(runs)), np.inf)
        for place, claim in enumerate(CLAIMS):
            outcome[place] = np.where(
                outcome[place] == 0, outcomes(claim, there)[-1], outcome[place]
            )
            reached = looks[:, cells[place]].min(1)
            for look in set(reached.tolist()):
                mine = (reached == look) & (outcome[place] == 0) & (look < len(LOOKS) - 1)
                promise[place, mine] = np.minimum(*_p(claim, runs[mine], LOOKS[look])[:2])
        chosen = promise.argmin(0)
        for place in range(len(CLAIMS)):
            mine = (chosen == place) & np.isfinite(promise[place])
            target = looks[mine][:, cells[place]].min(1, keepdims=True) + 1
            latest = np.maximum(looks[mine][:, cells[place]], target)
            looks[np.ix_(np.flatnonzero(mine), np.array(cells[place]))] = latest
    errs = [wrong(claim, world, outcome[place]) for place, claim in enumerate(CLAIMS)]
    return np.any(errs, axis=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Studies of a method whose reference, cell a, truly gains `ratio` times the bar, a third of
    SimCSE's gain of 14 points. SimCSE has so many seeds, which scatter as the cells do."""

    world: World
    ratio: float
    seeds: int

    def shown(self, studies: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """By study, whether at any check it shows: a wrong verdict, provisional ones counted; any
        verdict; a provisional one; one that is not provisional."""
        runs = self.world.draw(studies, generator)
        untrained = TRUTHS[self.world.truth][0] - self.ratio * SIMCSE_GAIN / 3
        simcse = SIMCSE_GAIN + self.world.sd * self.world._noise((studies, self.seeds), generator)
        by_claim = [(claim, outcomes(claim, runs)) for claim in CLAIMS]  # each (looks, studies)
        names = ("wrong", "any", "provisional", "firm")
        shown = {name: np.zeros(studies, dtype=bool) for name in names}
        for look, n in enumerate(LOOKS):
            above = np.zeros(studies)
            half = np.zeros(studies)
            for place in range(studies):
                gains = runs[place, 0, :n] - untrained
                bar = against_bar(over_seeds(gains), over_seeds(simcse[place]))
                above[place], half[place] = bar
            is_open = above > -half
            is_close = np.abs(above) <= half
            verdict = np.zeros(studies, dtype=bool)
            errs = np.zeros(studies, dtype=bool)
            for claim, by_look in by_claim:
                verdict |= by_look[look] > 0
                errs |= wrong(claim, self.world, by_look[look])
            shown["wrong"] |= errs & is_open
            shown["any"] |= verdict & is_open
            shown["provisional"] |= verdict & is_close
            shown["firm"] |= verdict & is_open & ~is_close
        return shown


def worlds() -> Iterator[World]:
    """Every truth under every scatter: three SDs, one cell with five times as much, seeds shared by
    0, 0.5 and 0.9, heavy tails."""
    scatters = (
        (1.0, 0.0, "normal"), (1.0, 0.5, "normal"), (1.0, 0.9, "normal"), (5.0, 0.0, "normal"),
        (5.0, 0.9, "normal"), (1.0, 0.0, "t3"), (5.0, 0.5, "t3"),
    )  # fmt: skip
    for name, sd, (wide, shared, shape) in product(TRUTHS, (0.35, 0.84, 1.9), scatters):
        yield World(truth=name, sd=sd, wide=wide, shared=shared, tails=shape)


def collapse_outcomes(runs: np.ndarray) -> np.ndarray:
    """The outcomes of the claims on collapse, (claims, looks, studies)."""
    return np.stack([outcomes(claim, runs, len(COLLAPSE)) for claim in COLLAPSE])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    studies = parser.parse_args().studies

    _print_errors(studies)
    _print_failures(studies)
    _print_collapse(studies)
    _print_rule(studies)
    _print_settled(studies)


def _drawn(world: World | Kinds, studies: int, place: int) -> np.ndarray:
    return world.draw(studies, np.random.default_rng(place))


def _print_errors(studies: int) -> None:
    rows = []
    for place, world in enumerate(worlds()):
        errors = _errors(world, _drawn(world, studies, place))
        rows.append((world.truth, world.sd, world.wide, world.shared, world.tails, *errors))
    _print(
        f"{len(CLAIMS)} claims, a wrong verdict in % of {studies} studies, and the worst claim",
        "truth, SD, cell a ×, shared, tails, at every check, runs chased, which claim",
        rows,
    )


def _print_failures(studies: int) -> None:
    rows = []
    for place, fails in enumerate((0.02, 0.1, 0.3)):
        world = World(truth="as printed", sd=0.84, fails=fails)
        errs = studies_in_error(world, _drawn(world, studies, place)).any(0).mean()
        rows.append((world.truth, world.sd, f"{fails:.0%}", 100 * errs))
    _print(
        "Rare failures: cell a scores 0 in so many of its runs",
        "truth, SD, fails, at every check",
        rows,
    )


def _print_collapse(studies: int) -> None:
    rows = []
    for place, (share, shared) in enumerate(product((0.03, 0.3, 0.5, 0.7, 0.97), (0.0, 0.9))):
        kinds = Kinds(share=share, shared=shared)
        by_claim = collapse_outcomes(_drawn(kinds, studies, place))
        errs = []
        for claim, by_look in zip(COLLAPSE, by_claim, strict=True):
            errs.append(wrong(claim, kinds, by_look[-1]))
        wrong_share = 100 * np.any(errs, axis=0).mean()
        rows.append((f"{share:.0%}", shared, wrong_share, *(100 * (by_claim > 0).mean((0, 2)))))
    _print(
        f"{len(COLLAPSE)} claims on collapse, settled by so many seeds, in %",
        f"collapse, shared, wrong, {SEEDS}",
        rows,
    )


def _print_rule(studies: int) -> None:
    rows = []
    cases = product((0.7, 1.0, 1.3), (0.35, 0.84, 1.9), (1, 3, 12))
    for place, (ratio, sd, few) in enumerate(cases):
        world = World(truth="all equal", sd=sd, shared=0.5)
        learning = Learning(world=world, ratio=ratio, seeds=few)
        shown = learning.shown(studies, np.random.default_rng(place))
        rows.append((ratio, sd, few, *map(_share, shown.values())))
    _print(
        "The whole rule, without effects: % of studies that show a verdict at some check",
        "gain / bar, SD, seeds of SimCSE, wrong, any verdict, provisional, firm",
        rows,
    )


def _print_settled(studies: int) -> None:
    rows = []
    for name, sd in product(("all equal", "as printed"), (0.35, 0.84, 1.9)):
        runs = _drawn(World(truth=name, sd=sd, shared=0.5), studies // 4, 1)
        # (looks,)
        share = np.mean([(outcomes(claim, runs) > 0).mean(1) for claim in CLAIMS], axis=0)
        rows.append((name, sd, *(100 * share)))
    _print(
        "Claims settled by so many seeds, in %, seeds shared by 0.5", f"truth, SD, {SEEDS}", rows
    )


def _print(title: str, heads: str, rows: Iterable[tuple]) -> None:
    table = tabulate(rows, heads.split(", "), tablefmt="pipe", floatfmt=".3g")
    print(f"{title}\n\n{table}\n", flush=True)


def _errors(world: World, runs: np.ndarray) -> tuple[float, float, str]:
    """Studies with a wrong verdict in %, at every number of seeds and chased, and the worst
    claim."""
    by_claim = studies_in_error(world, runs)
    worst = int(by_claim.mean(1).argmax())
    few = max(1, len(runs) // 8)
    which = ""
    if by_claim.any():
        which = f"{CLAIMS[worst].key} ({100 * by_claim[worst].mean():.1f})"
    return 100 * by_claim.any(0).mean(), 100 * chased(world, runs[:few]).mean(), which


def _share(studies: np.ndarray) -> str:
    """A share of studies in percent, with its 95 % interval (Clopper and Pearson)."""
    low, high = binomtest(int(studies.sum()), len(studies)).proportion_ci(0.95, "exact")
    return f"{100 * studies.mean():.1f} ({100 * low:.1f} to {100 * high:.1f})"


if __name__ == "__main__":
    main()
