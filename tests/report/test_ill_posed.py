"""Claims that say nothing whatever the runs are withheld with the reason, and others are not."""

from dataclasses import replace

import pytest
from fake_store import FakeStore, edition
from small_study import result, small, stored

from core.report.cells import gather
from core.report.comparability import judged
from core.report.notes import of_runs
from core.report.verdicts import verdicts
from core.spec.claim import Claim, above, greater, of_metric
from core.spec.methods import PROFILES
from core.spec.table import Axis, Cell, Metric

A, B, C = ("a",), ("b",), ("c",)
COSINE = Metric(task="dev", title="Cosine", quantity="mean_cosine", checkpoint="last")
DEV, MISSING = Metric(task="dev", title="Development"), Metric(task="STS12", title="STS12")
CELLS = (Cell(labels=A), Cell(labels=B, changes={"ema.start": 0.85}), Cell(labels=C, changes={"ema.start": 0.5}))


def study(*claims, **cells):
    """Three cells, of which a and b are one run; by name, the cells' own metrics."""
    made = tuple(replace(cell, metric=cells.get(cell.labels[0])) for cell in CELLS)
    numbered = tuple(replace(claim, key=f"K{number}") for number, claim in enumerate(claims))
    return small(axes=(Axis(name="size", title="Size", labels=("a", "b", "c")),), cells=made, claims=numbered, reference=None)


def claim(predicate, **stated):
    return Claim(key="", text="", predicate=predicate, **stated)


@pytest.mark.parametrize(
    ("predicate", "stated", "metrics", "why"),
    [
        (greater(A, B), {}, {}, "a and b are one run here, which would be compared with itself"),
        (greater(A, B), {}, {"b": DEV}, ""),
        (greater(B, C), {}, {}, ""),
        (greater(A, C), {}, {"c": COSINE}, "a and c are numbers of different kinds: Spearman × 100 and cosine"),
        (of_metric(greater(B, C), COSINE), {}, {}, "K0's margin is a point, and its numbers are no such points (cosine); the claim needs"),
        (of_metric(greater(B, C), COSINE), {"margin": 0.05}, {}, ""),
        (above(A, 0.3, COSINE), {"margin": None}, {}, ""),
        (of_metric(greater(B, C), MISSING), {}, {}, "scale demo has no test set STS12"),
    ],
)
def test_what_says_nothing_is_withheld(predicate, stated, metrics, why):
    found = judged(result(study(claim(predicate, **stated), **metrics), FakeStore()))
    said = found.withheld.get("K0", "")
    assert said.startswith(why) and bool(said) == bool(why)
    assert (verdicts(found)[0].outcome == "not comparable") == bool(why)


def test_a_whole_number_is_a_threshold():
    one = study(claim(greater(A, C, by=1)), claim(greater(A, C, by=1.0)))
    found = verdicts(judged(result(one, stored(one, a=[53.0, 54.0, 55.0], c=[50.0, 51.5, 52.0]))))
    assert found[0].effect == found[1].effect == pytest.approx(8.5 / 3 - 1)


def test_a_table_names_cells_that_are_the_same_runs():
    def said(one):
        return [note for note in of_runs(result(one, FakeStore())) if note.startswith("The same runs")]

    assert said(study()) == ["The same runs, and so one number: a, b."] and said(study(b=DEV)) == []


def test_a_table_names_what_the_study_does_not_change_in_another_method_s_rows():
    other = (Cell(labels=A), Cell(labels=B, method="simcse"), Cell(labels=C, method="simcse", changes={"data.max_length": 40}))
    one = replace(study(), cells=other, base_changes={"data.max_length": 24, "queue.size": 256}, by_profile={})
    for profile in PROFILES:
        said = " ".join(of_runs(gather(one, edition(1, profile), FakeStore())))
        assert said.count("Not changed in rows of another method") == 1
        assert "Not changed in rows of another method: data.max_length=24 (b)." in said
