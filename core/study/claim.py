"""Claims: sentences of a paper as predicates over a study's cells, for the paper's numbers and for
our runs.

A predicate joins contrasts: a weighted sum of cells that the claim says is above a threshold. A
contrast is true, false or undecided, and predicates follow Kleene's logic (`all_of` is false if one
is false).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Annotated, Literal

from core.config.result import Metric
from core.config.section import ABOVE_0, Typed, frozen
from core.errors import UserError

# a cell by its labels along the axes; None stands for every label: the mean over those cells
Pattern = tuple[str | None, ...]
ROUNDING = 1e-9  # of printed or stored numbers, their sums and last bits: less is no difference
POINT = 1.0  # the margin of a claim that compares scores x 100 and states none
COLLAPSED = Metric(
    task="dev", title="Share of collapsed runs", quantity="collapsed", checkpoint="last"
)
HALF = 0.5  # of a cell's runs: what a claim on a share of runs asks about


@dataclass(frozen=True, slots=True)
class Term(Typed):
    """A cell in a contrast, with its weight."""

    weight: float
    cell: Pattern


@dataclass(frozen=True, slots=True)
class Contrast(Typed):
    """The sum of weight * cell over `terms` lies on this side of `threshold`, in the cells' unit.

    `metric` is what is read of the cells' runs; None: what the entries of the table show. `of` says
    what is compared: the value; its scatter over seeds, the absolute deviation from the cell's
    median (Brown and Forsythe); an interaction, which counts only if it has the same sign in
    Fisher's z; or, of a number that is 0 or 1 for each run, its share of a single cell's runs.
    """

    terms: tuple[Term, ...]
    threshold: float = 0.0
    side: Literal["above", "below"] = "above"
    metric: Metric | None = None
    of: Literal["value", "scatter", "interaction", "share"] = "value"

    def check(self) -> None:
        cells = [term.cell for term in self.terms if abs(term.weight) == 1.0]
        if self.of == "share" and (len(self.terms) != 1 or not cells or None in cells[0]):
            raise UserError("A share of runs is of one cell; use collapsed() or sound().")

    @property
    def sign(self) -> int:
        """1 for a sum that has to lie above, -1 for one that has to lie below."""
        return 1 if self.side == "above" else -1

    @property
    def pair(self) -> tuple[Pattern, ...]:
        """The two cells of a difference in what the table shows, the first less the second; empty
        of any other contrast."""
        plain = self.metric is None and self.of == "value"
        if not plain or [term.weight for term in self.terms] != [1.0, -1.0]:
            return ()
        return tuple(term.cell for term in self.terms)

    def beyond(self, total):
        """How far a sum, a number or an array, lies on the claim's side of the threshold."""
        return self.sign * (total - self.threshold)

    def contrasts(self) -> tuple[Contrast, ...]:
        """Itself: the only contrast in it."""
        return (self,)


@dataclass(frozen=True, slots=True)
class Joined(Typed):
    """Several predicates of which at least `needed` are true. The first `pairs` twos of them are
    the two sides of one comparison each: a sum above one number, and the same sum below
    another."""

    parts: tuple[Predicate, ...]
    needed: int
    pairs: int = field(default=0, compare=False)

    def check(self) -> None:
        if not 1 <= self.needed <= len(self.parts):
            raise UserError(
                f"{self.needed} of {len(self.parts)} comparisons cannot be needed; compare a cell "
                "with another."
            )

    def contrasts(self) -> tuple[Contrast, ...]:
        """Every contrast below, in order."""
        contrasts: tuple[Contrast, ...] = ()
        for part in self.parts:
            contrasts += part.contrasts()
        return contrasts

    def groups(self) -> list[Joined]:
        """Itself and every predicate with parts below, the outermost first."""
        groups = [self]
        for part in self.parts:
            if isinstance(part, Joined):
                groups += part.groups()
        return groups


Predicate = Contrast | Joined


@frozen
class Claim(Typed):
    """A checkable sentence of a paper.

    `key` is table or figure and a number (T3.1); `text` what the claim says, in our words; `quote`
    the paper's own, and `place` where they stand. `margin` is the difference, in the predicate's
    unit, below which a claim may be "equivalent"; None: a point for scores without a threshold
    (`study` puts it in), and no margin for any other claim. `gate` says what a verdict requires of
    the methods compared: that each has learnt, or nothing, as for a claim on collapse. `note` is a
    reservation that goes with any verdict. `untrained` is of the encoder before training: if it
    holds there, training is not the reason, and the claim has no verdict.
    """

    key: str
    text: str
    predicate: Predicate
    quote: str = ""
    place: str = ""
    margin: Annotated[float | None, "below it, a claim may be equivalent", ABOVE_0] = None
    note: str = ""
    gate: Literal["learns", "none"] = "learns"
    untrained: Predicate | None = None

    def contrasts(self) -> tuple[Contrast, ...]:
        """The contrasts of its predicate, then those on the untrained encoder."""
        untrained = () if self.untrained is None else self.untrained.contrasts()
        return self.predicate.contrasts() + untrained

    def cells(self) -> tuple[Pattern, ...]:
        """The labels of its cells, in order."""
        cells = []
        for contrast in self.contrasts():
            cells += [term.cell for term in contrast.terms]
        return tuple(cells)


def count_rules(claims: Iterable[Claim]) -> int:
    """How many rules these claims test: equal ones are tested once."""
    return len({(claim.predicate, claim.margin) for claim in claims})


def weighted(
    cells: Sequence[Pattern | str], weights: Sequence[float], above: float = 0.0
) -> Contrast:
    """The sum of the cells, each times its weight, is greater than `above`."""
    terms = zip(weights, cells, strict=True)
    return Contrast(tuple(Term(weight, labels_of(cell)) for weight, cell in terms), above)


def greater(a: Pattern | str, b: Pattern | str, by: float = 0.0) -> Contrast:
    """a > b + by. With a negative `by`: a is not worse than b by that margin."""
    return weighted([a, b], [1, -1], by)


def less(a: Pattern | str, b: Pattern | str, by: float = 0.0) -> Contrast:
    """a < b + by."""
    return replace(greater(a, b, by), side="below")


def above(a: Pattern | str, value: float, metric: Metric | None = None) -> Contrast:
    """a > value."""
    return replace(weighted([a], [1], value), metric=metric)


def below(a: Pattern | str, value: float, metric: Metric | None = None) -> Contrast:
    """a < value."""
    return replace(above(a, value, metric), side="below")


def mean_above(
    cells: Sequence[Pattern | str], others: Sequence[Pattern | str], by: float = 0.0
) -> Contrast:
    """The mean of `cells` is greater than the mean of `others` + by."""
    weights = [1 / len(cells)] * len(cells) + [-1 / len(others)] * len(others)
    return weighted([*cells, *others], weights, by)


def falls(cells: Sequence[Pattern | str], x: Sequence[int]) -> Contrast:
    """The least-squares slope of the cells over `x`, a whole number for each, is below zero."""
    n = len(cells)
    # n times the deviations from the mean: whole numbers, whose sums are exact
    deviations = [sum(x) - n * value for value in x]
    square = sum(deviation**2 for deviation in deviations)
    return weighted(cells, [n * deviation / square for deviation in deviations])


def mean_scatters_more(
    cells: Sequence[Pattern | str], others: Sequence[Pattern | str], by: float = 0.0
) -> Contrast:
    """The mean scatter of `cells` over seeds exceeds that of `others` by more than `by`, in the
    mean absolute deviation from the median (Brown and Forsythe)."""
    return replace(mean_above(cells, others, by), of="scatter")


def interaction(predicate: Predicate) -> Predicate:
    """Differences of differences of correlations, between models or sets of unlike level: the same
    comparisons, each decided only if its sign does not depend on the unit (a removable interaction,
    Loftus 1978)."""
    return changed(predicate, lambda contrast: replace(contrast, of="interaction"))


def any_of(*parts: Predicate) -> Predicate:
    """At least one part holds."""
    if len(parts) == 1:
        return parts[0]
    return Joined(parts, 1)


def all_of(*parts: Predicate, pairs: int = 0) -> Predicate:
    """Every part holds. The first `pairs` twos are the two bounds of one number each."""
    if len(parts) == 1:
        return parts[0]
    return Joined(parts, len(parts), pairs)


def some_of(needed: int, parts: Sequence[Predicate]) -> Joined:
    """At least `needed` of the parts hold."""
    return Joined(tuple(parts), needed)


def each_above(
    cells: Sequence[Pattern | str], others: Iterable[Pattern | str], by: float = 0.0
) -> Predicate:
    """Each of the cells is greater than each of the others + by; the cells themselves among the
    others are passed over."""
    own = [labels_of(cell) for cell in cells]
    others = [other for other in others if labels_of(other) not in own]
    return all_of(*(greater(cell, other, by) for cell, other in product(cells, others)))


def best(a: Pattern | str, others: Iterable[Pattern | str], by: float = 0.0) -> Predicate:
    """a is greater than each of the others; a itself among them is passed over."""
    return each_above([a], others, by)


def _both_ways(cells: Iterable[Pattern | str], by: float) -> list[Contrast]:
    """Of each two cells, that the first exceeds the second by more than `by`, and the other way
    round: that it lies below the second by more."""
    contrasts = []
    for a, b in combinations(cells, 2):
        contrasts += [greater(a, b, by), less(a, b, 0.0 - by)]
    return contrasts


def within(cells: Iterable[Pattern | str], margin: float) -> Predicate:
    """No two cells differ by `margin` or more: no effect that matters."""
    if margin <= 0:
        raise UserError(f"No cells lie within {margin:g} of each other; give a margin above 0.")
    contrasts = _both_ways(cells, -margin)
    return all_of(*contrasts, pairs=len(contrasts) // 2)


def differ(cells: Iterable[Pattern | str], by: float = 0.0) -> Predicate:
    """Some two of the cells differ by more than `by`, in either direction; give the claim a
    margin."""
    contrasts = _both_ways(cells, by)
    return Joined(tuple(contrasts), 1, pairs=len(contrasts) // 2)


def between(
    a: Pattern | str, others: Sequence[Pattern | str], low: float, high: float
) -> Predicate:
    """a exceeds each of the others by more than `low` and by less than `high`."""
    sides = []
    for other in others:
        sides += [greater(a, other, low), less(a, other, high)]
    return all_of(*sides, pairs=len(others))


def gains(a: Pattern | str, b: Pattern | str, printed: float, margin: float) -> Predicate:
    """a exceeds b by the printed gain, to within the margin."""
    return between(a, [b], printed - margin, printed + margin)


def collapsed(a: Pattern | str, checkpoint: str = "last") -> Contrast:
    """More than half of a's runs have collapsed vectors at a checkpoint: a mean cosine above 0.95
    or an effective rank below 2.

    Measured on distinct sentences of the development set. All three bounds are ours: an untrained
    BERT's [CLS] has a mean cosine of 0.8 and more, so a lower bound would find it collapsed before
    training.
    """
    return replace(above(a, HALF, replace(COLLAPSED, checkpoint=checkpoint)), of="share")


def sound(a: Pattern | str) -> Contrast:
    """Fewer than half of a's runs have collapsed vectors at the last checkpoint."""
    return replace(below(a, HALF, COLLAPSED), of="share")


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
    if len(parts) - parts.count(False) < predicate.needed:
        return False
    return None


def matches(wanted: Pattern, labels: Pattern) -> bool:
    """Whether a cell has these labels, None matching any."""
    return len(wanted) == len(labels) and all(
        want in (None, have) for want, have in zip(wanted, labels, strict=False)
    )


def labels_of(cell: Pattern | str) -> Pattern:
    """The labels of a cell; a bare label is a cell of one axis."""
    return (cell,) if isinstance(cell, str) else tuple(cell)
