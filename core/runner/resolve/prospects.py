"""What --resolve says: which runs come next and why, and how every claim stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.runner.pace import spoken
from core.runner.resolve.choosing import Choice
from core.runner.resolve.judging import Judge, Standing
from core.runner.resolve.ledger import Ledger
from core.spec.printable import counted


def next_words(choice: Choice, seconds: float) -> str:
    """What comes next, for which claim, why, and what it takes by the clock."""
    wish = choice.wish
    named = {
        "reference": "whose study's reference has not run",
        "first look": "whose first look is due",
        "begun": "whose runs are begun",
    }
    why = named.get(wish.leaning, f"whose chance to be {wish.leaning} with {wish.aim} seeds is {(wish.chance or 0.0):.0%}")
    return f"{wish.study} {wish.claim}, {why}: {counted(len(choice.runs), 'run')} to {counted(wish.n, 'seed')}, about {spoken(seconds)}"


def table(judges: Sequence[Judge], known: Mapping[str, Ledger]) -> list[str]:
    """A line for every claim with its verdict, its seeds and its prospects, and a line with the number of settled claims."""
    rows = [
        (f"{judge.study.name} {key}", known[judge.study.name].claims[key], standing)
        for judge in judges
        for key, standing in judge.standings.items()
    ]
    width = max((len(name) for name, _, _ in rows), default=0)
    lines = [
        f"{name:{width}}  {entry.outcome:12}  n = {entry.n:<3}  {prospect(standing) if standing.reason or not entry.settled else ''}".rstrip()
        for name, entry, standing in rows
    ]
    lines += [f"{judge.study.name} has no claims at this scale." for judge in judges if not judge.study.claims]
    hours = sum(ledger.spent["seconds"] for ledger in known.values()) / 3600
    settled = sum(entry.settled and not standing.reason for _, entry, standing in rows)
    return [*lines, f"{settled} of {len(rows)} claims are settled; the studies rest on {hours:.2f} hours of training."]


def prospect(standing: Standing) -> str:
    """The prospects of an open claim."""
    if standing.reason:
        return standing.reason
    if standing.futile:
        return "no look is left" if standing.chance is None else f"futile: a chance of {standing.chance:.1%} at best at every look left"
    if not standing.wishes:
        return "no run can settle it"
    return "its first look is due" if standing.chance is None else f"a chance of {standing.chance:.0%} left"
