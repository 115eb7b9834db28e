"""Claims that a user states about rows of a table, as text: `a > b`, `a = b within 0.5`, `a best`."""

from __future__ import annotations

from collections.abc import Sequence

from core.config.section import decimal
from core.errors import UserError, nearest, shown
from core.study.claim import Claim, Predicate, all_of, best, greater, within

FORMS = "'a > b', 'a > b by 0.5', 'a = b within 0.5', 'a best' or 'a lowest'"
SIGNS = (">", "<", "=")
AMOUNTS = {">": " by ", "<": " by ", "=": " within "}  # the word before a claim's number
SIDES = (" best", " lowest")
SOME_ROWS = 8  # that a message names


def stated_claim(text: str, rows: Sequence[str], key: str, margin: float | None = None) -> Claim:
    """The claim that a text states about these rows. Below `margin` a claim that is not shown may
    be equivalent. Raises UserError for a text of no form, or with a name that is no row."""
    predicate = _predicate(" ".join(text.split()), rows)
    own_margin = None if " = " in f" {text} " else margin
    return Claim(key=key, text=text, predicate=predicate, margin=own_margin, printed="not printed")


def _of_one_row(text: str, rows: Sequence[str]) -> Predicate | None:
    """The claim that a row is best or lowest; None for another claim."""
    for side in SIDES:
        name = text.removesuffix(side)
        if name == text or name not in rows:
            continue
        others = [row for row in rows if row != name]
        if side == " best":
            return best(name, others)
        return all_of(*(greater(other, name) for other in others))
    return None


def _predicate(text: str, rows: Sequence[str]) -> Predicate:
    of_one = _of_one_row(text, rows)
    if of_one is not None:
        return of_one
    unknown = ""
    for place, sign in enumerate(text):
        if sign not in SIGNS:
            continue
        left = text[:place].strip()
        right, amount = _amount(text[place + 1 :].strip(), sign, rows)
        unknown = unknown or next((name for name in (left, right) if name not in rows), "")
        if left in rows and right in rows:
            return _two_rows(left, sign, right, amount, text)
    for side in SIDES:
        unknown = unknown or text.removesuffix(side) * text.endswith(side)
    if not unknown:
        raise UserError(f"{shown(text)!r} is no claim; write {FORMS}.")
    some = ", ".join(map(shown, rows[:SOME_ROWS]))
    raise UserError(
        f"The claim {shown(text)!r} names {shown(unknown)!r}, which is no row; "
        f"{nearest(unknown, rows, f'the rows are {some}.')}"
    )


def _amount(text: str, sign: str, rows: Sequence[str]) -> tuple[str, float | None]:
    """The row on the right of a sign, and the number behind it; None without one."""
    if text in rows:
        return text, None
    name, word, written = text.rpartition(AMOUNTS[sign])
    amount = decimal(written)
    if not word or amount is None:
        return text, None
    return name.strip(), amount


def _two_rows(left: str, sign: str, right: str, amount: float | None, text: str) -> Predicate:
    """Two rows compared. Raises UserError for one row twice, and for a margin that is none."""
    if left == right:
        raise UserError(f"The claim {shown(text)!r} compares a row with itself; name two rows.")
    if sign == "=":
        if amount is None or amount <= 0:
            raise UserError(
                f"The claim {shown(text)!r} has no margin above 0; write 'a = b within 0.5'."
            )
        return within([left, right], amount)
    if sign == "<":
        left, right = right, left
    return greater(left, right, amount or 0.0)
