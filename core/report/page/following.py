"""What to run next: of each open claim the first look that may well settle it, and of all claims the one that is worth most."""

from __future__ import annotations

from typing import NamedTuple

from core.report.contrasts import Readings
from core.report.next_runs import Next, next_runs
from core.report.outlook import FUTILE
from core.report.page.content import Card, Page, Shown, Standing
from core.spec.scale import SCALES


class NextOfAll(NamedTuple):
    """The claim to run next: where it stands, and the minutes and outcomes of its edition's open claims that runs may settle."""

    edition: Shown
    card: Card
    one: Standing
    minutes: float
    undecided: int
    not_run: int

    @property
    def open_claims(self) -> str:
        """How many open claims there are, and what they are."""
        parts = [(self.undecided, "undecided"), (self.not_run, "not run")]
        many = self.undecided + self.not_run
        return f"{many} claim{'s' if many > 1 else ''} ({', '.join(f'{count} {what}' for count, what in parts if count)})"


def next_of_all(page: Page) -> NextOfAll | None:
    """Of all editions the open claim with the largest chance a minute at its next look, and what the open claims of its edition take to
    reach theirs. A claim whose chance there is too small to be worth a run comes after all others. None without an open claim."""
    found = [
        (chance >= FUTILE, chance / max(then.minutes, 0.1), edition, card, one)
        for edition in page.begun
        for card, one, then in open_claims(page, edition)
        if then.runs and (chance := then.chance)
    ]
    if not found:
        return None
    _, _, edition, card, one = max(found, key=lambda each: each[:2])
    beside = [(one.verdict.outcome, then.minutes) for _, one, then in open_claims(page, edition) if then.runs]
    outcomes = [outcome for outcome, _ in beside]
    return NextOfAll(edition, card, one, sum(minutes for _, minutes in beside), outcomes.count("undecided"), outcomes.count("not run"))


def open_claims(page: Page, edition: Shown) -> list[tuple[Card, Standing, Next]]:
    """The open claims of an edition that more runs may settle, and what to run next for each."""
    found = [(card, card.standings.get(edition.name)) for cards in page.cards.values() for card in cards]
    return [(card, one, one.next) for card, one in found if one is not None and one.next is not None and not one.next.futile]


def next_of(card: Card) -> tuple[Standing, Next] | None:
    """Where a claim is open and what would settle it there: at the largest scale that is begun, and there first where it has a chance."""
    found = [(one, hopeful(one)) for one in card.standings.values()]
    known = [(one, then) for one, then in found if then is not None]
    scales = list(SCALES)
    return max(
        known, key=lambda each: (not each[1].futile, scales.index(each[0].result.scale.name), each[1].chance is not None), default=None
    )


def hopeful(one: Standing) -> Next | None:
    """The first look at which an open claim has a real chance to be settled, as its next look is given; the next look itself where no
    chance is known, or none is real at any look left."""
    then = one.next
    if then is None or then.chance is None or then.chance >= FUTILE:
        return then
    look = next((each for each in one.verdict.chances if each.n > then.seeds and (each.best or 0.0) >= FUTILE), None)
    if look is None:
        return then
    return next_runs(one.verdict, Readings(one.result), least=look.n)
