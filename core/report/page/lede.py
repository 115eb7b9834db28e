"""The page's first words: what is settled in the edition that tells most, the claims of the largest printed effects first."""

from __future__ import annotations

import math
from typing import NamedTuple

from core.report.claims import signed
from core.report.page.content import DEFAULT_PROFILE, Card, Page, Shown, Standing
from core.report.page.words import POINTS, asked
from core.spec.scale import SCALES

MOST = {"supported": 2, "contradicted": 2, "equivalent": 1}  # claims that are named of a kind
KINDS = {"supported": "Supported", "contradicted": "Contradicted", "equivalent": "Equivalent (what decides lies within the margin)"}
TELLING = ("paper", "mini", "demo")  # scales, by how much they tell of the papers


class Part(NamedTuple):
    """A piece of the answer, the claim to which it leads ("" for none), and whether it begins a line."""

    text: str
    anchor: str = ""
    begins: bool = False


def answer(page: Page) -> str:
    """The page's first words as plain text."""
    return "".join(part.text for part in lede(page))


def lede(page: Page) -> list[Part]:
    """The page's first words: whether the papers' own scale is begun, and of the edition that tells most what its settled claims say."""
    own = [edition for edition in page.begun if edition.scale == "paper"]
    parts = [] if own else [Part("No claim has been tested at the papers' own scale yet. ")]
    telling = most_telling(page)
    if telling is None:
        return [*parts, Part("No claim is settled yet.")]
    parts.append(Part(f"{_where(telling)}, the settled claims of the largest printed effects, in points for (+) or against (−) the claim."))
    for outcome, said in KINDS.items():
        chosen = _chosen(page, telling, outcome)
        for place, (card, one) in enumerate(chosen):
            parts += [
                Part("; ") if place else Part(f" {said}: ", begins=True),
                Part(card.claim.key, card.anchor),
                Part(f": {card.claim.text.rstrip('.')}{_effect(one)}"),
            ]
        parts += [Part(".")] if chosen else []
    return parts


def most_telling(page: Page) -> Shown | None:
    """The edition with a settled claim that is nearest to the papers: by scale, the default profile first; None without one."""
    settled = [edition for edition in page.begun if any(edition.counts.get(outcome) for outcome in KINDS)]
    return min(settled, key=lambda edition: (TELLING.index(edition.scale), edition.profile != DEFAULT_PROFILE), default=None)


def _where(edition: Shown) -> str:
    on = "On a made-up language, which says nothing of English" if SCALES[edition.scale].generated else "On English"
    said = "At the papers' own scale" if edition.scale == "paper" else on
    return f"{said} ({edition.sources}; profile {edition.profile})"


def _chosen(page: Page, edition: Shown, outcome: str) -> list[tuple[Card, Standing]]:
    """The claims of an outcome of which the paper prints the largest effects; claims in no points come last."""
    found = [(card, card.standings[edition.name]) for cards in page.cards.values() for card in cards if edition.name in card.standings]
    of_it = [(card, one) for card, one in found if one.verdict.outcome == outcome]
    return sorted(of_it, key=lambda each: _order(each[1]))[: MOST[outcome]]


def _order(one: Standing) -> tuple[bool, float]:
    printed = one.verdict.printed_effect
    return not one.in_points or printed is None, -abs(printed or 0.0)


def _effect(one: Standing) -> str:
    """By how much a claim is met (+) or missed (−), ours and as printed, or what is measured of that much asked; "" of what is in no
    points."""
    found = one.verdict
    if not one.in_points or not math.isfinite(found.effect):
        return ""
    if level := asked(found, POINTS):
        return f" (measured {level.measured}, asked: {level.threshold}{level.printed and f', printed {level.printed}'})"
    printed = "" if found.printed_effect is None else f", printed {signed(round(found.printed_effect, 2))}"
    return f" ({signed(round(found.effect, 2))}{printed})"
