"""How often a few seeds point somewhere, and how often to the wrong side, on the published runs of
scale demo.

`python -m benchmarks.pointing [--draws 2000]`: for every comparison of a claim with at least 18
seeds, seeds are drawn at random, few at a time. They point to a side if their 95 % interval leaves
zero out. They are wrong if the 95 % interval over all seeds lies on the other side. About a minute
of one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import numpy as np
from scipy.special import stdtrit
from tabulate import tabulate

import studies
from core.api import load
from core.errors import UserError
from core.report.contrasts import measured_contrasts

MANY = 18  # seeds whose interval counts as the truth


def side(values: np.ndarray) -> np.ndarray:
    """1 where the 95 % interval of values (..., seeds) lies above zero, -1 below, else 0."""
    n = values.shape[-1]
    mean = values.mean(-1)
    half = -stdtrit(n - 1, 0.025) * values.std(-1, ddof=1) / np.sqrt(n)
    return np.sign(mean) * (np.abs(mean) > half)


def shares_pointing(
    comparisons: Iterable[np.ndarray], seeds: int, draws: int, generator: np.random.Generator
) -> tuple[float, float]:
    """The share of draws that point somewhere, and of these the share on the wrong side."""
    pointing = []
    wrong = []
    for values in comparisons:
        order = generator.random((draws, len(values))).argsort(axis=1)[:, :seeds]
        few = side(values[order])
        pointing.append(np.mean(few != 0))
        wrong.append(np.mean(few * side(values) < 0))
    return float(np.mean(pointing)), float(np.sum(wrong) / np.sum(pointing))


def published() -> list[np.ndarray]:
    """The values of every comparison with many seeds, each by seed; equal ones stand once."""
    results = load()
    comparisons: dict[bytes, np.ndarray] = {}
    for study in studies.STUDIES:
        try:
            result = results.study(study.name, scale="demo")
        except UserError:
            continue
        for measured in measured_contrasts(result).values():
            values = measured.under(measured.seeds)
            if values is None or len(values) < MANY or values.std() == 0:
                continue
            if measured.contrast.of == "value":
                comparisons[
                    np.abs(values + measured.contrast.sign * measured.contrast.threshold).tobytes()
                ] = values
    return list(comparisons.values())


def main() -> None:
    """Print the shares for three and for five seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    comparisons = published()
    generator = np.random.default_rng(0)
    rows = []
    for seeds in (3, 5):
        pointing, wrong = shares_pointing(comparisons, seeds, draws, generator)
        rows.append((seeds, 100 * pointing, 100 * wrong))
    print(f"{len(comparisons)} comparisons with {MANY} seeds and more, {draws} draws of each\n")
    heads = ("seeds", "point somewhere, %", "of these to the wrong side, %")
    print(tabulate(rows, heads, tablefmt="pipe", floatfmt=".2g"))


if __name__ == "__main__":
    main()
