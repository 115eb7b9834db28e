"""The shapes of predicates, which cells a comparison has on either side, and of axes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.study.claim import Contrast, Joined, Labels, Predicate
from core.study.study import Cell, Study

MEANS = 1e-9  # weights of a mean add up to 1, but for rounding


def sides(part: Predicate) -> tuple:
    """A single cell, the cells that it is above, whether it is above their mean or above each, and
    by how much; empty for another predicate."""
    contrasts = part.contrasts()
    if isinstance(part, Joined):
        pairs = [compared_cells(contrast) for contrast in contrasts]
        if not all(pairs) or len({pair[0] for pair in pairs}) > 1:
            return ()
        if part.needed < len(pairs) or len({contrast.above for contrast in contrasts}) > 1:
            return ()
        return (pairs[0][0], tuple(pair[1] for pair in pairs), "each", contrasts[0].above)
    groups = by_weight(part)
    if len(groups) != 2 or len(groups[0][1]) != 1 or part.of != "value":
        return ()
    (_, (cell,)), (weight, others) = groups
    if abs(weight * len(others) + 1.0) > MEANS:
        return ()
    return (cell, tuple(others), "mean", part.above)


def flat(predicate: Joined) -> Joined:
    """A predicate without parts that need all of theirs, where all are needed."""
    if predicate.needed < len(predicate.parts):
        return predicate
    parts: list[Predicate] = []
    for part in predicate.parts:
        if isinstance(part, Joined) and part.needed == len(part.parts):
            parts += flat(part).parts
        else:
            parts.append(part)
    return Joined(tuple(parts), len(parts))


def paired(predicate: Joined) -> list[Predicate]:
    """The parts, each with the part that is its other bound."""
    bounds = [part for part in predicate.parts]
    if predicate.needed < len(bounds):
        return bounds
    joined: list[Predicate] = []
    while bounds:
        part = bounds.pop(0)
        if isinstance(part, Contrast):
            turned = [
                other for other in bounds if set(compared_cells(other)) == set(compared_cells(part))
            ]
            if turned and compared_cells(part):
                bounds.remove(turned[0])
                part = Joined((part, turned[0]), 2)
        joined.append(part)
    return joined


def compared_cells(part: Predicate) -> tuple[Labels, ...]:
    """The two cells of a contrast of one cell with another; empty for another predicate."""
    if not isinstance(part, Contrast) or part.of != "value":
        return ()
    if [term.weight for term in part.terms] != [1.0, -1.0]:
        return ()
    return (part.terms[0].cell, part.terms[1].cell)


def thresholds(predicate: Joined) -> dict[tuple[Labels, ...], float]:
    """The threshold of each contrast by its two cells; empty if a part is another predicate."""
    pairs: dict[tuple[Labels, ...], float] = {}
    for part in predicate.parts:
        pair = compared_cells(part)
        if not pair:
            return {}
        pairs[pair] = part.contrasts()[0].above
    return pairs


def two_sided(predicate: Joined) -> dict[tuple[Labels, ...], float]:
    """Likewise, if each comparison is there in both directions."""
    pairs = thresholds(predicate)
    ordered: dict[tuple[Labels, ...], float] = {}
    for a, b in pairs:
        if (b, a) not in pairs:
            return {}
        if (a, b) not in ordered:
            ordered[a, b] = pairs[a, b]
            ordered[b, a] = pairs[b, a]
    return ordered


def complete(pairs: Iterable[tuple[Labels, ...]]) -> bool:
    """Whether each two of the cells are compared."""
    cells = {cell for pair in pairs for cell in pair}
    return bool(cells) and len(set(pairs)) == len(cells) * (len(cells) - 1)


def by_weight(contrast: Contrast) -> list[tuple[float, list[Labels]]]:
    """The cells of each weight; of a contrast of four single cells each alone."""
    if {abs(term.weight) for term in contrast.terms} == {1.0}:
        return [(term.weight, [term.cell]) for term in contrast.terms]
    groups: dict[float, list[Labels]] = {}
    for term in contrast.terms:
        groups.setdefault(term.weight, []).append(term.cell)
    return list(groups.items())


def without(contrast: Contrast, place: int) -> Contrast:
    """A contrast without one label of its cells."""
    terms = []
    for term in contrast.terms:
        terms.append(replace(term, cell=(*term.cell[:place], *term.cell[place + 1 :])))
    return replace(contrast, terms=tuple(terms))


def only_reads(study: Study, place: int) -> bool:
    """Whether the labels of an axis say what is read of a run, and change no run."""
    runs: dict[tuple[str, ...], Cell] = {}
    for cell in study.cells:
        others = (*cell.labels[:place], *cell.labels[place + 1 :])
        first = runs.setdefault(others, cell)
        if (first.changes, first.method, first.encoder) != (
            cell.changes,
            cell.method,
            cell.encoder,
        ):
            return False
    return True
