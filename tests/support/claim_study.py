"""A small study of four cells under given claims, and its results from given scores: for tests of
verdicts."""

from fake_store import add_simcse, made_setup
from small_study import small, stored

from core.config.scale import MINI
from core.report.verdicts import study_result
from core.study.claim import Claim
from core.study.resolution import resolve
from core.study.study import Axis, Cell

SIZES = {"a": 128, "b": 256, "c": 512, "d": 1024}
A, B, C, D = ((name,) for name in SIZES)


def study(*claims, margin=1.0, published=None, runs=None):
    published = published or {}
    runs = runs or {}
    cells = []
    for name, size in SIZES.items():
        printed = {"published": published.get(name), "published_runs": runs.get(name, ())}
        cells.append(Cell(labels=(name,), changes={"queue.size": size}, **printed))
    numbered = (
        Claim(key=f"X.{n}", text="A claim.", predicate=one, margin=margin)
        for n, one in enumerate(claims)
    )
    axes = (Axis(name="size", title="Size", labels=tuple(SIZES)),)
    return small(axes=axes, cells=tuple(cells), claims=tuple(numbered))


def result(one, **values):
    """The study judged at scale mini, where SimCSE gains 30 points over an untrained encoder that
    scores 0."""
    at = made_setup(max(map(len, values.values()), default=3), scale=MINI)
    store = stored(one, scale=MINI, untrained=0.0, **values)
    add_simcse(store, at, 29.0, 30.0, 31.0)
    return study_result(resolve(one, at), store)


def around(mean, n, step=0.1):
    """n values that scatter a little around a mean, none twice in a row."""
    return [mean + step * ((7 * seed) % 5 - 2) for seed in range(n)]
