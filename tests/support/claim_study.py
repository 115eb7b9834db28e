"""A small study of four cells under given claims, and its results from given scores: for tests of verdicts."""

from fake_store import FakeStore, add_simcse, config_of, edition

from core.report.verdicts import study_result
from core.spec.claim import Claim
from core.spec.scale import MINI
from core.spec.study import Study
from core.spec.table import Axis, Cell, FigureSpec, Metric

SIZES = {"a": 128, "b": 256, "c": 512, "d": 1024}
A, B, C, D = ((name,) for name in SIZES)


def study(*claims, margin=1.0, published=None, runs=None):
    published, runs = published or {}, runs or {}
    return Study(
        name="mocose-small", paper="mocose", title="Table 0", caption="Small", method="mocose",
        axes=(Axis(name="size", title="Size", labels=tuple(SIZES)),), rows=None, columns="size",
        cells=tuple(
            Cell(labels=(name,), changes={"queue.size": size}, published=published.get(name), published_runs=runs.get(name, ()))
            for name, size in SIZES.items()
        ),
        metric=Metric(task="avg", title="Average"), figure=FigureSpec(x="size"), reference=("a",),
        claims=tuple(Claim(key=f"X.{place}", text="A claim.", predicate=one, margin=margin) for place, one in enumerate(claims)),
    )  # fmt: skip


def result(one, **values):
    """The study judged at scale mini, where SimCSE gains 30 points over an untrained encoder that scores 0."""
    store, scale = FakeStore(), MINI
    for label, numbers in values.items():
        for seed, number in enumerate(numbers):
            number, status = number if isinstance(number, tuple) else (number, "ok")
            store.add(config_of(one, (label,), seed, scale=scale), number, scale=scale, status=status, untrained=0.0)
    at = edition(max(map(len, values.values()), default=3), scale=scale)
    add_simcse(store, at, 29.0, 30.0, 31.0)
    return study_result(one, at, store)


def around(mean, n, step=0.1):
    """n values that scatter a little around a mean, none twice in a row."""
    return [mean + step * ((7 * seed) % 5 - 2) for seed in range(n)]
