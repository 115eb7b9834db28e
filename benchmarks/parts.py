"""What ESimCSE's parts cost: the steps of its Table 6, taking turns. Claim E6.4 speaks of them; its runs are not timed side by side."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.setting import Setting
from benchmarks.step import OurTraining
from benchmarks.timing import Row, alternated
from core.spec.conditions import Edition
from core.spec.scale import SCALES
from studies import find


def rows(setting: Setting, rounds: int, steps: int) -> Iterator[Row]:
    """Milliseconds a step of each row of Table 6, profile paper, and how many times SimCSE's that is.

    The momentum encoder encodes the batch once more, without a gradient; repetition makes half of the views longer.
    """
    study = find("esimcse-table6")
    edition = Edition(profile="paper", scale=SCALES[setting.scale], sources=setting.found.sources, seeds=1)
    trained = {"/".join(cell.labels): OurTraining(setting, edition.config(study, cell, 0)) for cell in study.cells}
    torch.set_num_threads(setting.threads)
    seconds = alternated({name: training.block for name, training in trained.items()}, rounds, steps)
    baseline = next(iter(seconds))
    for name, value in seconds.items():
        yield Row("parts", setting.name, name, 1e3 * value, "ms")
    for name in list(seconds)[1:]:
        yield Row("parts", setting.name, f"{name} / {baseline}", seconds[name] / seconds[baseline], "x")
