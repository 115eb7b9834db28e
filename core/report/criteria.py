"""What decides a claim, in words: its predicate as a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

from core.config.quantities import in_points
from core.config.result import Metric, unit
from core.report.shapes import (
    MEANS,
    by_weight,
    complete,
    flat,
    only_reads,
    paired,
    sides,
    thresholds,
    two_sided,
    without,
)
from core.study.claim import Claim, Contrast, Joined, Labels, Predicate
from core.study.study import Study

MOST_CRITERION_WORDS = 12  # of a list of cells; a longer one gives their number
MOST_LABELS = 7  # of an axis, likewise


def criterion(claim: Claim, study: Study) -> str:
    """The comparison that decides a claim, without a full stop."""
    every = [term.cell for part in claim.predicate.contrasts() for term in part.terms]
    metrics = {contrast.metric for contrast in claim.predicate.contrasts()}
    places = []
    shared = []
    for place in range(len(study.axes) - len(study.varied)):
        if None not in metrics and only_reads(study, place):
            continue
        if len({labels[place] for labels in every}) > 1:
            places.append(place)
        else:
            shared.append(place)
    if not places:
        places = shared[:1] or [0]
        shared = shared[1:]
    words = _Words(study, tuple(places)).whole(claim.predicate)
    where = [_where_words(study, place, every[0][place]) for place in shared]
    return ", ".join([words, *where, *_number_word(study, claim)])


def _where_words(study: Study, place: int, label: str | None) -> str:
    """A label that all cells of a claim have."""
    axis = study.axes[place]
    title = _title(study, place)
    if label is None:
        return f"mean over {title}s"
    if axis.name != "task":
        return f"at {title} {_quoted(label, 1)}"
    if label != "avg":
        return f"on {label}"
    return (
        "average of the transfer tasks" if study.tasks == "probes" else "average of the test sets"
    )


def _number_word(study: Study, claim: Claim) -> Iterable[str]:
    """Which number is compared, where the labels do not say so."""
    read: dict[str, None] = {}
    for contrast in claim.predicate.contrasts():
        if contrast.of == "share":
            return ()
        if contrast.metric is not None:
            read[f"in {_lower(contrast.metric.title)}"] = None
        elif study.metric.quantity == "spearman" and not study.tasks:
            read[
                "development set" if study.metric.task == "dev" else "average of the test sets"
            ] = None
    return read if len(read) == 1 else ()


@dataclass(frozen=True)
class _Words:
    """Phrases for the predicates of one claim; cells are named by their labels at some places."""

    study: Study
    places: tuple[int, ...]

    def of(self, predicate: Predicate) -> str:
        """A predicate in words."""
        if isinstance(predicate, Contrast):
            return self.contrast(predicate)
        predicate = flat(predicate)
        for form in (self.between, self.apart, self.each, self.alike, self.at_each):
            words = form(predicate)
            if words:
                return words
        parts = [self.of(part) for part in paired(predicate)]
        parts = self.shares(predicate) or parts
        if predicate.needed == 1:
            return ", or ".join(parts)
        if predicate.needed == len(predicate.parts):
            return ", and ".join(parts)
        return f"at least {predicate.needed} of {len(parts)}: {'; '.join(parts)}"

    def whole(self, predicate: Predicate) -> str:
        """A predicate in words that say of which axis bare numbers are."""
        words = self.of(predicate)
        label = predicate.contrasts()[0].terms[0].cell[self.places[0]] or ""
        if len(self.places) == 1 < len(self.study.axes) and label[:1].isdigit():
            return f"of {_title(self.study, self.places[0])}, {words}"
        return words

    def name(self, labels: Labels) -> str:
        """A cell by the labels that tell it from the claim's other cells."""
        words = []
        for place in self.places:
            label = labels[place]
            words.append(_quoted(label, 2) if label else f"every {_title(self.study, place)}")
        return "/".join(words)

    def listed(self, cells: Sequence[Labels], before: str = "", besides: int = 0) -> str:
        """Cells by name, or their number where the names are many words; `before` stands before two
        or more. `besides`: how many other cells the comparison has."""
        names = [self.name(labels) for labels in cells]
        if len(names) == 1:
            return names[0]
        words = _and(names)
        if len(words.split()) > MOST_CRITERION_WORDS and len(names) > 2:
            whole = len(names) + besides == len(self.matching(cells[0]))
            other = "other " if besides else ""
            words = f"the {other}{len(names)}" if whole else f"{len(names)} {other}cells"
        return f"{before}{words}"

    def matching(self, labels: Labels) -> set[Labels]:
        """The names of all cells that are run and share the places that are not named."""
        like = tuple(None if place in self.places else at for place, at in enumerate(labels))
        cells = [cell for cell in self.study.matching(like) if not cell.copied]
        return {tuple(cell.labels[place] for place in self.places) for cell in cells}

    def amount(self, value: float, contrast: Contrast) -> str:
        """A difference with its unit."""
        if not in_points(unit(self.metric(contrast))):
            return f"{value:.3g}"
        if value == 1.0:
            return "a point"
        return f"{value:.3g} points"

    def metric(self, contrast: Contrast) -> Metric:
        """What a contrast compares."""
        cells = self.study.matching(contrast.terms[0].cell)
        return contrast.metric or self.study.metric_of(cells[0])

    def compared(self, left: str, right: str, contrast: Contrast) -> str:
        """That left minus right is above the contrast's threshold."""
        if contrast.above > 0:
            return f"{left} more than {self.amount(contrast.above, contrast)} above {right}"
        if contrast.above < 0:
            return f"{right} less than {self.amount(-contrast.above, contrast)} above {left}"
        return f"{left} above {right}"

    def contrast(self, contrast: Contrast) -> str:
        """A contrast in words."""
        terms = contrast.terms
        if len(terms) == 1:
            return self.single(contrast)
        slope = self.slope(contrast)
        if slope:
            return slope
        if contrast.of == "scatter":
            (_, cells), (_, others) = by_weight(contrast)
            left = f"the mean scatter over seeds of {self.spread(cells)}"
            return self.compared(left, f"that of {self.spread(others)}", contrast)
        leads = self.leads(contrast)
        if leads:
            return leads
        ups = [self.weighted(weight, cells) for weight, cells in by_weight(contrast) if weight > 0]
        downs = [
            self.weighted(-weight, cells) for weight, cells in by_weight(contrast) if weight < 0
        ]
        return self.compared(" plus ".join(ups), " plus ".join(downs), contrast)

    def single(self, contrast: Contrast) -> str:
        """A contrast of one cell and a number."""
        (term,) = contrast.terms
        name = self.name(term.cell)
        if contrast.of == "share":
            share = "more" if term.weight > 0 else "fewer"
            return f"{share} than half of the runs of {name} collapsed"
        if term.weight > 0:
            return f"{name} above {self.amount(contrast.above, contrast)}"
        return f"{name} below {self.amount(-contrast.above, contrast)}"

    def weighted(self, weight: float, cells: Sequence[Labels]) -> str:
        """Cells of one weight: one cell, their mean, or each times the weight."""
        if len(cells) > 1 and abs(weight * len(cells) - 1.0) < MEANS:
            return self.mean(cells)
        times = "" if abs(weight - 1.0) < MEANS else f"{weight:.3g} × "
        return f"{times}{self.listed(cells, 'each of ')}"

    def leads(self, contrast: Contrast) -> str:
        """A lead that is above another lead; empty for another contrast."""
        groups = by_weight(contrast)
        ups = [cells for weight, cells in groups if weight > 0]
        downs = [cells for weight, cells in groups if weight < 0]
        if len(ups) != 2 or len(downs) != 2:
            return ""
        downs.sort(key=lambda cells: len(cells) != len(ups[0]))
        if len(ups[0]) == 1:
            left = f"{self.name(ups[0][0])} minus {self.name(downs[0][0])}"
            right = f"{self.name(downs[1][0])} minus {self.name(ups[1][0])}"
            return self.compared(left, right, contrast)
        moving = self.moving(ups[0])
        still = replace(self, places=tuple(place for place in self.places if place not in moving))
        over = replace(self, places=tuple(moving))
        left = (
            f"the mean of {still.name(ups[0][0])} minus {still.name(downs[0][0])} over "
            f"{over.listed(ups[0])}"
        )
        return self.compared(left, f"that over {over.listed(ups[1])}", contrast)

    def moving(self, cells: Sequence[Labels]) -> list[int]:
        """The places at which some cells differ."""
        return [place for place in self.places if len({cell[place] for cell in cells}) > 1]

    def mean(self, cells: Sequence[Labels]) -> str:
        """The mean of several cells."""
        if len(cells) == 1:
            return self.name(cells[0])
        return f"the mean of {self.spread(cells)}"

    def spread(self, cells: Sequence[Labels]) -> str:
        """Cells that a mean is taken of: those of one label over labels of another axis."""
        moving = self.moving(cells)
        if len(moving) != 1 or len(self.places) == 1:
            return self.listed(cells)
        still = replace(self, places=tuple(place for place in self.places if place not in moving))
        over = f"every {_title(self.study, moving[0])}"
        if len(cells) < len(self.study.axes[moving[0]].labels):
            over = replace(self, places=tuple(moving)).listed(cells)
        return f"{still.name(cells[0])} over {over}"

    def slope(self, contrast: Contrast) -> str:
        """A contrast whose weights rise or fall along one axis; empty for another."""
        for place in self.places:
            weights: dict[str | None, float] = {}
            for term in contrast.terms:
                weights.setdefault(term.cell[place], term.weight)
            if any(weights[term.cell[place]] != term.weight for term in contrast.terms):
                continue
            labels = [label for label in self.study.axes[place].labels if label in weights]
            ordered = [weights[label] for label in labels]
            if len(set(ordered)) < 3 or ordered not in (sorted(ordered), sorted(ordered)[::-1]):
                continue
            side = f"above {contrast.above:g}"
            if ordered[0] > ordered[-1]:
                side = f"below {0.0 - contrast.above:g}"
            title = _title(self.study, place)
            return f"the slope of the mean over {title}, {labels[0]} to {labels[-1]}, {side}"
        return ""

    def all_of_pairs(self, pairs: Iterable[Iterable[Labels]]) -> str:
        """The cells of these pairs by name."""
        cells = list(dict.fromkeys(chain.from_iterable(pairs)))
        return self.listed(cells, "any two of " if len(cells) > 2 else "")

    def between(self, predicate: Joined) -> str:
        """Differences of which both bounds are needed; empty for another predicate."""
        bounds = two_sided(predicate)
        if predicate.needed != len(predicate.parts) or not bounds:
            return ""
        first, low = next(iter(bounds.items()))
        high = -bounds[first[1], first[0]]
        contrast = predicate.contrasts()[0]
        pairs = [pair for place, pair in enumerate(bounds) if place % 2 == 0]
        if low == -high and complete(bounds) and len(set(bounds.values())) == 1:
            return f"{self.all_of_pairs(pairs)} less than {self.amount(high, contrast)} apart"
        alike = all((bounds[a, b], -bounds[b, a]) == (low, high) for a, b in pairs)
        if alike and len({pair[0] for pair in pairs}) == 1:
            others = self.listed([pair[1] for pair in pairs], "each of ", besides=1)
            upper = self.amount(high, contrast).replace("a point", "1 point")
            return f"{self.name(first[0])} minus {others} between {low:.3g} and {upper}"
        return ""

    def apart(self, predicate: Joined) -> str:
        """Cells of which some two differ; empty for another predicate."""
        bounds = two_sided(predicate)
        if predicate.needed != 1 or not complete(bounds) or len(set(bounds.values())) > 1:
            return ""
        cells = list(dict.fromkeys(cell for pair in bounds for cell in pair))
        by = predicate.contrasts()[0].above
        far = f"more than {self.amount(by, predicate.contrasts()[0])} " if by else ""
        return f"{self.listed(cells, 'some two of ')} {far}apart, in either direction"

    def each(self, predicate: Joined) -> str:
        """Each of some cells against each of others; empty for another predicate."""
        pairs = thresholds(predicate)
        if len(set(pairs.values())) != 1:
            return ""
        lefts = list(dict.fromkeys(left for left, _ in pairs))
        rights = list(dict.fromkeys(right for _, right in pairs))
        if set(product(lefts, rights)) != set(pairs):
            return ""
        quantity = "each of "
        if predicate.needed < len(predicate.parts):
            if len(lefts) > 1 and len(rights) > 1:
                return ""
            quantity = f"at least {predicate.needed} of "
        left = self.listed(lefts, quantity, besides=len(rights))
        right = self.listed(rights, quantity, besides=len(lefts))
        return self.compared(left, right, predicate.contrasts()[0])

    def alike(self, predicate: Joined) -> str:
        """Several cells of which each is above the same mean, or each of the same cells; empty
        for another predicate."""
        halves = [sides(part) for part in predicate.parts]
        rights = {half[1:] for half in halves}
        if len(rights) != 1 or any(not half for half in halves):
            return ""
        others, kind, _ = rights.pop()
        right = self.mean(others) if kind == "mean" else self.listed(others, "each of ")
        quantity = (
            "each of " if predicate.needed == len(halves) else f"at least {predicate.needed} of "
        )
        left = self.listed([half[0] for half in halves], quantity)
        return self.compared(left, right, predicate.contrasts()[0])

    def shares(self, predicate: Joined) -> list[str]:
        """The parts of a predicate of which any is enough, with shares of runs taken together."""
        shares = [part for part in predicate.parts if part.contrasts()[0].of == "share"]
        others = [part for part in predicate.parts if part not in shares]
        if len(shares) < 2 or predicate.needed > 1:
            return []
        cells = [part.contrasts()[0].terms[0].cell for part in shares]
        words = [self.of(part) for part in others]
        return [*words, f"more than half of the runs collapsed in one of {self.spread(cells)}"]

    def at_each(self, predicate: Joined) -> str:
        """The same comparison at several labels of an axis; empty for another predicate."""
        if len(self.places) < 2:
            return ""
        for place in self.places:
            groups = by_label(predicate, place)
            if not are_alike(groups, place, predicate):
                continue
            group = next(iter(groups.values()))
            rest = replace(self, places=tuple(at for at in self.places if at != place))
            inner: Predicate = group[0]
            if len(group) > 1:
                inner = Joined(tuple(group), len(group))
            return f"{rest.whole(inner)}, {self.at_labels(place, list(groups), predicate)}"
        return ""

    def at_labels(self, place: int, labels: list[str | None], predicate: Joined) -> str:
        """At which labels of an axis a comparison is made."""
        axis = self.study.axes[place]
        names = [str(label) for label in labels]
        title = _title(self.study, place)
        many = f"at least {predicate.needed} of"
        if predicate.needed == len(predicate.parts):
            many = "each of"
        if axis.name == "task" and {*names, "avg"} >= {*axis.labels}:
            return f"on {many} the {len(names)} {title}s"
        if axis.name == "task":
            return f"on {many} {_and(names)}"
        if len(names) > MOST_LABELS:
            return f"at {many} the {len(names)} labels of {title}"
        return f"at {many} {title} {_and(names)}"


def _lower(title: str) -> str:
    """A title within a sentence; an abbreviation stays as it is."""
    if title[1:2].isupper():
        return title
    return title[:1].lower() + title[1:]


def _title(study: Study, place: int) -> str:
    """The title of an axis within a sentence."""
    return _lower(study.axes[place].title)


def _quoted(label: str, most: int) -> str:
    """A label, in quotation marks if it has more words than `most` or a comma."""
    if "," in label or len(label.split()) > most:
        return f"“{label}”"
    return label


def _and(names: Sequence[str]) -> str:
    """Names as a list in a sentence."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def by_label(predicate: Joined, place: int) -> dict[str | None, list[Contrast]]:
    """The comparisons of a claim by their cells' label at a place; empty if one has several."""
    groups: dict[str | None, list[Contrast]] = {}
    for part in predicate.parts:
        labels = {term.cell[place] for term in part.contrasts()[0].terms}
        if isinstance(part, Joined) or len(labels) > 1:
            return {}
        groups.setdefault(labels.pop(), []).append(part)
    return groups


def are_alike(
    groups: Mapping[str | None, Sequence[Contrast]], place: int, predicate: Joined
) -> bool:
    """Whether several groups make the same comparisons but for their label; where some are enough,
    each group has one."""
    stripped = [[without(part, place) for part in group] for group in groups.values()]
    if len(stripped) < 2 or any(group != stripped[0] for group in stripped):
        return False
    return predicate.needed == len(predicate.parts) or len(stripped[0]) == 1
