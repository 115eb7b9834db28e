"""Why something cannot be run or judged: a kind for code, and words for people."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

ReasonKind = Literal[
    # a cell, or a number of a cell, that this scale cannot have
    "copied",
    "no encoder",
    "no transfer tasks",
    "no such score",
    "no masked words",
    "no hub model",
    "no columns",
    # runs that cannot carry the paper's experiment
    "too short",
    "passes",
    "gain",
    "no baseline",
    "no run",
    "no score",
    "no scatter",
    # what the untrained encoder shows
    "untrained unmeasured",
    "untrained shows it",
]


class Reason(NamedTuple):
    """Code looks at `kind` alone. `words` have no full stop."""

    kind: ReasonKind
    words: str


def in_words(reasons: Iterable[Reason]) -> str:
    """The words of reasons, each once."""
    return "; ".join(dict.fromkeys(reason.words for reason in reasons))
