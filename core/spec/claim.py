"""Claims: sentences of a paper as predicates over a study's cells, so that the paper's numbers and our runs
are asked the same.

Every predicate comes down to contrasts: a weighted sum of cells that the claim says is above a threshold.
What the numbers say of one contrast is true, false or open; predicates join these by Kleene's logic (`all_of`
is false if one is false, true if all are true).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Literal

from core.spec.errors import refuse
from core.spec.section import ABOVE_0, Typed
from core.spec.table import Metric

# a cell by its labels along the axes; None stands for every label: the mean over those cells
Labels = tuple[str | None, ...]
ROUNDING = 1e-9  # of sums of printed or stored numbers: less is no difference
POINT = 1.0  # the margin of a claim that states none, in scores x 100
Printed = Literal["holds", "fails", "not printed"]
Gate = Literal["learns", "none"]
COLLAPSED = Metric(task="dev", title="Share of collapsed runs", quantity="collapsed", checkpoint="last")
HALF = 0.5  # of a cell's runs: what a claim on a share of runs asks about


@dataclass(frozen=True, slots=True)
class Term(Typed):
    """A cell in a contrast, with its weight."""

    weight: float
    cell: Labels


@dataclass(frozen=True, slots=True)
class Contrast(Typed):
    """The sum of weight * cell over `terms` is greater than `above`, in the unit of the cells (Spearman x
    100, say).

    `metric` is what is read of the cells' runs; None: what the entries of the table show. `of` says what of
    it is compared: the value itself; its scatter over seeds, which is the absolute deviation from the cell's
    median (Brown and Forsythe); or, of a number that is 0 or 1 for each run, its share of a single cell's
    runs.
    """

    terms: tuple[Term, ...]
    above: float = 0.0
    metric: Metric | None = None
    of: Literal["value", "scatter", "share"] = "value"

    def check(self):
        one = len(self.terms) == 1 and abs(self.terms[0].weight) == 1.0 and None not in self.terms[0].cell
        refuse(
            self.of == "share" and not one,
            "A share of runs is of one cell, by its own labels; use collapsed() or sound() for each cell.",
        )

    def contrasts(self) -> tuple[Contrast, ...]:
        """Itself: the only contrast in it."""
        return (self,)


@dataclass(frozen=True, slots=True)
class Joined(Typed):
    """Several predicates of which at least `needed` are true."""

    parts: tuple[Predicate, ...]
    needed: int

    def check(self):
        refuse(
            not 1 <= self.needed <= len(self.parts),
            f"{self.needed} of {len(self.parts)} comparisons cannot be needed; compare a cell with another.",
        )

    def contrasts(self) -> tuple[Contrast, ...]:
        """Every contrast below, in order."""
        return tuple(contrast for part in self.parts for contrast in part.contrasts())


Predicate = Contrast | Joined


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Typed):
    """A checkable sentence of a paper. `printed` is whether it holds on the paper's own numbers, by their
    sign alone.

    `key` is table or figure and a number (T3.1, E11.2, F5.1); `text` what the claim says, in our words;
    `quote` the paper's own, and `place` where they stand. `decided_by` is the comparison that decides it, in
    words that a reader can check against the table. `margin` is the difference, in the unit of the predicate,
    below which a claim may be "equivalent". None: the predicate has a margin of its own. `gate` says what a
    verdict requires of the methods that the claim compares: that each has learnt, or nothing, as for a claim
    on collapse or on time. `read_to` is the reading error of printed numbers that stand in a figure: what
    lies within it is "not printed". `note` is a reservation that goes with any verdict.
    """

    key: str
    text: str
    predicate: Predicate
    quote: str = ""
    place: str = ""
    decided_by: str = ""
    margin: Annotated[float | None, "below it, a claim may be equivalent", ABOVE_0] = POINT
    printed: Printed = "holds"
    note: str = ""
    gate: Gate = "learns"
    read_to: float = 0.0

    def cells(self) -> tuple[Labels, ...]:
        """The labels of its cells, in order."""
        return tuple(term.cell for contrast in self.predicate.contrasts() for term in contrast.terms)


def greater(a: Labels, b: Labels, by: float = 0.0) -> Contrast:
    """a > b + by. With a negative `by`: a is not worse than b by that margin."""
    return Contrast((Term(1.0, tuple(a)), Term(-1.0, tuple(b))), by)


def above(a: Labels, value: float, metric: Metric | None = None) -> Contrast:
    """a > value."""
    return Contrast((Term(1.0, tuple(a)),), value, metric)


def below(a: Labels, value: float, metric: Metric | None = None) -> Contrast:
    """a < value."""
    return Contrast((Term(-1.0, tuple(a)),), -value, metric)


def mean_scatters_more(cells: Sequence[Labels], others: Sequence[Labels], by: float = 0.0) -> Contrast:
    """The mean scatter of `cells` over seeds exceeds that of `others` by more than `by`, in the mean absolute
    deviation from the median (Brown and Forsythe)."""
    return replace(mean_above(cells, others, by), of="scatter")


def slope(cells: Sequence[Labels], x: Sequence[float], above: float = 0.0) -> Contrast:
    """The least-squares slope of the cells over x, which varies, is greater than `above`."""
    mean = sum(x) / len(x)
    square = sum((value - mean) ** 2 for value in x)
    return Contrast(
        tuple(Term((value - mean) / square, tuple(cell)) for cell, value in zip(cells, x, strict=True)), above
    )


def mean_above(cells: Sequence[Labels], others: Sequence[Labels], by: float = 0.0) -> Contrast:
    """The mean of `cells` is greater than the mean of `others` + by."""
    return Contrast(
        (
            *(Term(1.0 / len(cells), tuple(cell)) for cell in cells),
            *(Term(-1.0 / len(others), tuple(cell)) for cell in others),
        ),
        by,
    )


def any_of(*parts: Predicate) -> Predicate:
    """At least one part holds."""
    return parts[0] if len(parts) == 1 else Joined(parts, 1)


def all_of(*parts: Predicate) -> Predicate:
    """Every part holds."""
    return parts[0] if len(parts) == 1 else Joined(parts, len(parts))


def at_least(needed: int, parts: Sequence[Predicate]) -> Joined:
    """At least `needed` of the parts hold."""
    return Joined(tuple(parts), needed)


def best(a: Labels, others: Iterable[Labels], by: float = 0.0) -> Predicate:
    """a is greater than each of the others; a itself among them is passed over."""
    return all_of(*(greater(a, other, by) for other in others if tuple(other) != tuple(a)))


def within(cells: Iterable[Labels], margin: float) -> Predicate:
    """No two cells differ by `margin` or more: no effect that matters."""
    pairs = list(combinations([tuple(cell) for cell in cells], 2))
    return all_of(*(greater(x, y, -margin) for a, b in pairs for x, y in ((a, b), (b, a))))


def differ(cells: Iterable[Labels], by: float = 0.0) -> Predicate:
    """Some two of the cells differ by more than `by`, in either direction; give the claim a margin."""
    pairs = list(combinations([tuple(cell) for cell in cells], 2))
    return any_of(*(greater(x, y, by) for a, b in pairs for x, y in ((a, b), (b, a))))


def gains(a: Labels, b: Labels, printed: float, margin: float) -> Predicate:
    """a exceeds b by the printed gain, to within the margin."""
    return all_of(greater(a, b, printed - margin), greater(b, a, -printed - margin))


def interacts(gain: tuple[Labels, Labels], less: tuple[Labels, Labels]) -> Contrast:
    """The step from gain[0] to gain[1] is greater than that from less[0] to less[1]."""
    return Contrast((Term(1.0, gain[1]), Term(-1.0, gain[0]), Term(-1.0, less[1]), Term(1.0, less[0])))


def collapsed(a: Labels) -> Contrast:
    """More than half of a's runs have collapsed vectors at the last checkpoint: a mean cosine above 0.95 or
    an effective rank below 2.

    Measured on distinct sentences of the development set (`mean_cosine`, `effective_rank` of a run's rows).
    All three bounds are ours: an untrained BERT's [CLS] has a mean cosine of 0.8 and more, so that a lower
    bound would find it collapsed before training.
    """
    return Contrast((Term(1.0, tuple(a)),), HALF, COLLAPSED, of="share")


def sound(a: Labels) -> Contrast:
    """Fewer than half of a's runs have collapsed vectors at the last checkpoint."""
    return Contrast((Term(-1.0, tuple(a)),), -HALF, COLLAPSED, of="share")


def of_metric(predicate: Predicate, metric: Metric) -> Predicate:
    """The same comparisons of another number of the same runs."""
    return changed(predicate, lambda contrast: replace(contrast, metric=metric))


def changed(predicate: Predicate, change: Callable[[Contrast], Contrast]) -> Predicate:
    """A predicate with each of its contrasts changed."""
    if isinstance(predicate, Contrast):
        return change(predicate)
    return replace(predicate, parts=tuple(changed(part, change) for part in predicate.parts))


def truth(predicate: Predicate, of: Callable[[Contrast], bool | None]) -> bool | None:
    """Kleene's value of a predicate, given that of each of its contrasts."""
    if isinstance(predicate, Contrast):
        return of(predicate)
    parts = [truth(part, of) for part in predicate.parts]
    if parts.count(True) >= predicate.needed:
        return True
    return False if len(parts) - parts.count(False) < predicate.needed else None


def matches(wanted: Labels, labels: Labels) -> bool:
    """Whether a cell has these labels, None matching any."""
    return len(wanted) == len(labels) and all(
        want is None or want == have for want, have in zip(wanted, labels, strict=True)
    )
