"""Whether the chances that are said of open claims come true: those that would have been said at each look, against what later seeds did.

`python -m benchmarks.chances [--published DIR]` prints a Markdown table over every claim, profile and learning rate of the published
runs. About a minute of one core.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.data.sources import recorded
from core.report.cells import StudyResult, gather
from core.report.comparability import judged
from core.report.contrasts import Readings
from core.report.outlook import chances
from core.report.sequential import LOOKS, Samples, decide
from core.report.signflip import noise_sd
from core.spec.claim import Claim, Contrast
from core.spec.edition import Edition
from core.spec.profiles import PROFILES
from core.spec.scale import OTHER_RATES, SCALES
from core.store.store import Store
from studies import STUDIES, find

PUBLISHED = Path(__file__).resolve().parents[1] / "results" / "published"
BOUNDS = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)  # of the chances that are counted together


class Said(NamedTuple):
    """A chance that would have been said of a claim at a look with `seeds` seeds: to be settled with `then` of them, and whether it was."""

    claim: str
    seeds: int
    then: int
    chance: float
    settled: bool


def said_of(claim: Claim, readings: Readings, noise: float | None) -> Iterator[Said]:
    """The chances that would have been said of a claim while it was open, at each look, for each later look that all its cells have.

    At a look nothing is known but its seeds, and the noise study's SD as it is today.
    """
    contrasts = tuple(dict.fromkeys(claim.predicate.contrasts()))
    have = min(readings.seeds(contrast) for contrast in contrasts)
    claims = len(readings.result.study.claims)
    for n in (look for look in LOOKS if look < have):
        if decide(claim, until(readings, n), claims).outcome != "undecided":
            return
        for one in chances(claim, until(readings, n), claims, functools.partial(_always, n), readings.prior(noise)):
            if one.n <= have and one.best is not None:
                outcome = decide(claim, until(readings, one.n), claims).outcome
                yield Said(claim.key, n, one.n, one.best, outcome != "undecided")


def _always(n: int, contrast: Contrast) -> int:
    """So many seeds of any contrast."""
    return n


def until(readings: Readings, most: int) -> Samples:
    """What `readings` say of a contrast with at most so many seeds, as though there were no others."""

    def samples(contrast: Contrast, n: int) -> np.ndarray | None:
        return readings.samples(contrast, n) if n <= most else None

    return samples


def said_in(result: StudyResult, noise: float | None) -> Iterator[Said]:
    """The chances of every claim of a judged study that may have a verdict."""
    readings = Readings(result)
    for claim in result.study.claims:
        if not result.reason(claim.key):
            yield from said_of(claim, readings, noise)


def found(store: Store) -> set[Said]:
    """The chances of all published claims. Profiles whose runs are the same say the same, and are counted once."""
    every: set[Said] = set()
    for scale, at in recorded(store).items():
        for profile in PROFILES:
            usual = Edition(profile=profile, scale=SCALES[scale], sources=at.sources, seeds=1)
            noise = noise_sd(gather(find("noise"), usual, store))
            for edition in (usual, *(usual.at_rate(factor) for factor in OTHER_RATES)):
                loaded: dict = {}
                for study in STUDIES:
                    every |= set(said_in(judged(gather(study, edition, store, loaded=loaded)), noise))
    return every


def table(said: Iterable[Said]) -> list[str]:
    """Markdown: by range of the chance how many were said, their mean, and in how many of 100 the claim was settled by then; for the next
    look, and for looks further on."""
    by_distance: tuple[list[Said], list[Said]] = [], []
    for one in said:
        by_distance[LOOKS.index(one.then) - LOOKS.index(one.seeds) > 1].append(one)
    lines = ["| chance | next look: said | mean, % | settled, % | further on: said | mean, % | settled, % |", f"| --- |{' --: |' * 6}"]
    for low, high in pairwise(BOUNDS):
        inside = [[one for one in some if low <= one.chance and (one.chance < high or high == BOUNDS[-1])] for some in by_distance]
        lines.append(f"| {' | '.join([f'{low:g} to {high:g}', *_counted(inside[0]), *_counted(inside[1])])} |")
    return lines


def _counted(said: Sequence[Said]) -> list[str]:
    """How many, the mean of their chances and the share that came true, in %."""
    if not said:
        return ["0", "", ""]
    return [str(len(said)), *(f"{100 * np.mean(share):.0f}" for share in zip(*((one.chance, one.settled) for one in said), strict=True))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published", type=Path, default=PUBLISHED, metavar="DIR")
    published = parser.parse_args().published
    if not published.is_dir():
        parser.error(f"{published} is no folder of published results; give one with --published.")
    said = found(Store(published / "none", published))
    if not said:
        parser.error(f"{published} holds no claim with seeds beyond its first look; give a folder of published results with --published.")
    print(f"{len(said)} chances of open claims\n")
    print("\n".join(table(said)))


if __name__ == "__main__":
    main()
