"""What decides a claim, in words: as its study states it."""

from __future__ import annotations

from collections.abc import Callable

from core.study.claim import Claim, Contrast, Labels, Predicate
from core.study.study import Study

MOST_LABELS = 12  # of a list; a longer one gives their number
MOST_STATED = 4  # statements of a claim that are spelled out; comparisons.csv has all
Naming = Callable[[Labels], str]


def criterion(claim: Claim, study: Study) -> str:
    """The comparisons that decide a claim, without a full stop."""
    contrasts = claim.predicate.contrasts()
    cells = [term.cell for contrast in contrasts for term in contrast.terms]
    axes = range(len(study.axes))
    places = [place for place in axes if len({cell[place] for cell in cells}) > 1]

    def name(cell: Labels) -> str:
        words = []
        for place in places or axes[:1]:
            words.append(cell[place] or f"every {study.axes[place].title.lower()}")
        return "/".join(words)

    words = [stated(claim.predicate, name)]
    for place in axes:
        if places and place not in places and cells[0][place] not in (None, "avg"):
            words.append(f"{study.axes[place].title.lower()} {cells[0][place]}")
    words += sorted({f"in {contrast.metric.title}" for contrast in contrasts if contrast.metric})
    return ", ".join(words)


def stated(predicate: Predicate, name: Naming) -> str:
    """A predicate in the words of its study; cells have the names that `name` gives."""
    if predicate.said is not None:
        groups = []
        for group in predicate.said.groups:
            names = list(dict.fromkeys(map(name, group)))
            long = len(names) > MOST_LABELS
            groups.append(f"{len(names)} others" if long else ", ".join(names))
        return predicate.said.form.format(*groups)
    if isinstance(predicate, Contrast):
        terms = [f"{term.weight:+.3g} × {name(term.cell)}" for term in predicate.terms]
        return f"{' '.join(terms)} above {predicate.above:g}"
    parts = [stated(part, name) for part in predicate.parts[:MOST_STATED]]
    left = len(predicate.parts) - len(parts)
    if left:
        parts.append(f"{left} more")
    if predicate.needed == len(predicate.parts):
        return "; and ".join(parts)
    if predicate.needed == 1:
        return "; or ".join(parts)
    return f"at least {predicate.needed} of these: {'; '.join(parts)}"
