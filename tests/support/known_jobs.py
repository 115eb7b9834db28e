"""Studies whose truth is known, and a job without torch that gives their scores: level of the cell
plus normal scatter, by seed.

`<cache_dir>/behaviour.json` maps run ids (or "*") to what to do besides, as for the fake job.
"""

from __future__ import annotations

import random
from dataclasses import replace

from core.config.identity import run_id
from core.config.result import Result
from core.config.scale import SCALES
from core.study.claim import Claim, all_of, greater
from core.study.study import Axis, Cell, FigureSpec, Metric, Study
from tests.support import fake_jobs

LEVELS = {128: 56.0, 256: 50.0, 384: 53.0, 512: 53.0}  # by queue size
DRAWN = dict(zip(LEVELS, (256, 512, 1024, 2048), strict=True))  # which numbers a size draws
SD = 0.1
# chosen so that what no run can tell is seen early: at 12 seeds, and everything else by 5
SALT = 25
NAMES = dict(zip("abcd", LEVELS, strict=True))


def run(config, execution, progress) -> Result:
    """Note the start and behave as the fake job does; then the known score in every place."""
    made = fake_jobs.run(config, execution, progress)
    return replace(
        made,
        rows=tuple(row._replace(value=score(config)) for row in made.rows),
        provenance=made.provenance | {"made": run_id(config)},
    )


def score(config) -> float:
    """A run's score: reproducible by cell and seed, whatever the rest of the configuration."""
    return LEVELS[config.queue.size] + random.Random(
        f"{SALT} {DRAWN[config.queue.size]} {config.seed.model}"
    ).gauss(0.0, SD)


def off(config, execution, progress) -> Result:
    """On a CPU, but for a fiftieth of a point."""
    made = on_cpu(config, execution, progress)
    return replace(made, rows=tuple(row._replace(value=row.value + 0.02) for row in made.rows))


def on_gpu(config, execution, progress) -> Result:
    """The same as `off`, on another kind of device."""
    made = off(config, execution, progress)
    return replace(made, provenance=made.provenance | {"device": "cuda: made up"})


def on_cpu(config, execution, progress) -> Result:
    """The known score, on a CPU."""
    made = run(config, execution, progress)
    return replace(made, provenance=made.provenance | {"device": "cpu: made up"})


def study(name: str, claims: tuple[Claim, ...]) -> Study:
    """A table of the four cells with these claims."""
    return Study(
        name=name,
        paper="mocose",
        title=name,
        caption="Known",
        method="mocose",
        axes=(Axis(name="size", title="Size", labels=tuple(NAMES)),),
        rows=None,
        columns="size",
        cells=tuple(
            Cell(labels=(label,), changes={"queue.size": size}) for label, size in NAMES.items()
        ),
        metric=Metric(task="avg", title="Average"),
        figure=FigureSpec(x="size"),
        reference=("a",),
        claims=claims,
    )


A, B, C, D = ((label,) for label in NAMES)
ONE = study(
    "mocose-one",
    (
        Claim(key="K1", text="a is better than b.", predicate=greater(A, B), gate="none"),
        Claim(key="K2", text="t", predicate=all_of(greater(A, B), greater(B, C)), gate="none"),
        Claim(key="K3", text="t", predicate=greater(C, D), margin=1.0, gate="none"),
        Claim(key="K4", text="t", predicate=greater(C, D), gate="none"),
    ),
)
TWO = study(
    "mocose-two",
    (Claim(key="L1", text="d is better than b.", predicate=greater(D, B), gate="none"),),
)
STUDIES = (ONE, TWO)
assert SCALES["mini"].seeds == 3  # what the tests count on
