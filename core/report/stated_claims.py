"""Claims that a user states about rows of a table, as text: `a > b`, `a = b within 0.5`, `a best`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.config.section import decimal
from core.errors import UserError, shown
from core.study.claim import Claim, Predicate, all_of, best, greater, within

FORMS = "'a > b', 'a > b by 0.5', 'a = b within 0.5', 'a best' or 'a lowest'"
SOME_ROWS = 8  # that a message names


def stated_claim(text: str, rows: Sequence[str], key: str, margin: float | None = None) -> Claim:
    """The claim that a text states about these rows. Below `margin` a claim that is not shown may
    be equivalent. Raises UserError for a text of no form."""
    predicate = _predicate(" ".join(text.split()), rows)
    if predicate is None:
        some = ", ".join(map(shown, rows[:SOME_ROWS]))
        raise UserError(
            f"{shown(text)!r} is no claim on these rows; write {FORMS}. The rows are {some}."
        )
    own_margin = None if " = " in f" {text} " else margin
    return Claim(key=key, text=text, predicate=predicate, margin=own_margin, printed="not printed")


def _predicate(text: str, rows: Sequence[str]) -> Predicate | None:
    """What a text says of these rows; None for a text of no form."""
    name = "|".join(map(re.escape, rows))
    of_one = re.fullmatch(rf"({name}) (best|lowest)", text)
    if of_one:
        row = of_one[1]
        others = [other for other in rows if other != row]
        if of_one[2] == "best":
            return best(row, others)
        return all_of(*(greater(other, row) for other in others))
    of_two = re.fullmatch(rf"({name}) ?([<>=]) ?({name})(?: (by|within) (\S+))?", text)
    if not of_two:
        return None
    left, sign, right, word, written = of_two.groups()
    amount = decimal(written or "0")
    if left == right or amount is None or word not in (None, "within" if sign == "=" else "by"):
        return None
    if sign == "=":
        return within([left, right], amount) if amount > 0 else None
    if sign == "<":
        left, right = right, left
    return greater(left, right, amount)
