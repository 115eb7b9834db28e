"""Claims that a user states about rows of a table, as text: `a > b`, `a = b within 0.5`,
`a best`."""

import re
from collections.abc import Sequence

from core.config.section import decimal
from core.errors import UserError
from core.formatting import shown
from core.study.claim import Claim, Predicate, all_of, best, greater, within

FORMS = "'a > b', 'a > b by 0.5', 'a = b within 0.5', 'a best' or 'a lowest'"
SOME_ROWS = 8  # that a message names


def stated_claim(text: str, rows: Sequence[str], margin: float | None = None) -> Claim:
    """The claim that a text states about these rows. Below `margin` a claim that is not shown may
    be equivalent. Raises UserError for a text of no form, or of several."""
    parsed = _parsed(text, rows)
    if len(parsed) != 1:
        some = ", ".join(map(shown, rows[:SOME_ROWS]))
        trouble = "can be read in several ways" if parsed else "is no claim on these rows"
        raise UserError(f"{shown(text)!r} {trouble}; write {FORMS}. The rows are {some}.")
    own_margin = None if " = " in f" {text} " else margin
    return Claim(key=text, text=text, predicate=parsed[0], margin=own_margin)


def _parsed(text: str, rows: Sequence[str]) -> list[Predicate]:
    """Every way to read a text as a claim on these rows."""
    parsed = []
    for left in rows:
        rest = text.removeprefix(left)
        if rest == text:
            continue
        others = [other for other in rows if other != left]
        if rest == " best":
            parsed.append(best(left, others))
        if rest == " lowest":
            parsed.append(all_of(*(greater(other, left) for other in others)))
        for right in others:
            stated = re.fullmatch(rf" ?([<>=]) ?{re.escape(right)}(?: (by|within) (\S+))?", rest)
            amount = decimal(stated[3] or "0") if stated else None
            if stated is None or amount is None:
                continue
            sign, word, _ = stated.groups()
            if sign == "=" and word == "within" and amount > 0:
                parsed.append(within([left, right], amount))
            elif sign != "=" and word != "within":
                pair = (left, right) if sign == ">" else (right, left)
                parsed.append(greater(*pair, amount))
    return parsed
