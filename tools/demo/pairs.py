"""Graded sentence pairs of the demo world: a development set and four test sets of different
character.

    DEV      the four characters mixed, for choosing checkpoints
    Para     mostly the same scene in other words, or with a small change
    Length   an event without circumstances against one told with place, time and manner
    Roles    roles exchanged, or the statement denied, often with the very same words
    Mixed    every kind of change

A set is made of families. A family starts from one random frame of a reserved event (see
`frame.reserved`: such events never occur in the training text) and changes it in several ways; gold
scores follow from the frames alone (`frame.gold`).
"""

from functools import cache
from random import Random
from typing import NamedTuple

from tools.demo.changes import (
    bare,
    denial,
    full,
    long,
    omission,
    roles,
    same,
    short,
    some,
    stranger,
)
from tools.demo.frame import Frame, draw, gold, one, reserved
from tools.demo.grammar import Wording, render

DEV = "DEV"
TESTS = ("Para", "Length", "Roles", "Mixed")
FAMILIES = {"DEV": 160, "Para": 200, "Length": 200, "Roles": 200, "Mixed": 200}
PLAIN = 0.6  # share of the sentences in the plain order (see `grammar.render`)


class Pair(NamedTuple):
    """Two sentences and their similarity in [0, 5]."""

    a: str
    b: str
    gold: float


# For each character: the kinds of frame, and the changes, of which every new member of a family
# takes one.
OTHERS = ((stranger,), (stranger,))
TWO = (some, some)
THREE = (some, some, some)
CHARACTERS = {
    "Para": (
        (None,),
        ((same,), (same,), (same,), (omission,), (some,), (some,), TWO, THREE, *OTHERS),
    ),
    "Length": ((None,), ((same,), (same,), (some,), TWO, THREE, (denial,), *OTHERS)),
    "Roles": (
        ("person", "person", "receiver"),
        (
            *((same,),) * 3,
            *((roles,),) * 3,
            (denial,),
            (denial,),
            (roles, denial),
            (some,),
            THREE,
            (stranger,),
        ),
    ),
    "Mixed": (
        (None,),
        (
            (same,),
            (same,),
            (some,),
            TWO,
            THREE,
            (some, *THREE),
            (roles,),
            (denial,),
            (bare,),
            (full,),
            *OTHERS,
        ),
    ),
}
# Share of the real changes that keep the original's words and pattern otherwise. Where all do, the
# scores of equally trained models scatter less, since how a sentence is put no longer hides what
# was changed.
ECHO = {"Para": 1.0, "Length": 1.0, "Roles": 0.5, "Mixed": 1.0}


def _reworded(rng: Random, wording: Wording) -> Wording:
    """Return other synonyms for the concepts of `wording`, where they have any."""
    other = {}
    for concept_, form in wording.items():
        choices = [f for f in concept_.forms if f is not form]
        if choices:
            other[concept_] = one(rng, choices)
        else:
            other[concept_] = form
    return other


def _changed(rng: Random, frame: Frame, changes: tuple) -> Frame:
    """The frame after `changes`, drawn again until its event is a reserved one; the frame itself
    after 200 failures.

    A giving verb has nine alternatives, so it happens that no change of the action leads to a
    reserved event.
    """
    for _ in range(200):
        new = frame
        for change in changes:
            new = change(rng, new)
        if reserved(new):
            return new
    return frame


def _member(
    rng: Random, frame: Frame, kept: bool, wording: Wording, stream: str, echo: float
) -> str:
    """A sentence for a changed frame: in other words where the meaning was `kept`; else, `echo` of
    the time, in the same."""
    if kept:
        return render(rng, frame, 0.0, _reworded(rng, wording), PLAIN)
    if rng.random() < echo:
        return render(Random(stream), frame, 0.0, dict(wording), PLAIN)
    return render(rng, frame, 0.0, None, PLAIN)


def _family(rng: Random, character: str) -> list[Pair]:
    """Return six pairs among five sentences; of `Length`, two short ones against three long
    ones."""
    kinds, menu = CHARACTERS[character]
    origin = draw(rng, one(rng, kinds))
    while not reserved(origin):
        origin = draw(rng, one(rng, kinds))
    stream = f"{character} {rng.random()}"
    wording: Wording = {}
    if character == "Length":
        shapes = (short, short, long, long, long)
        links = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
    else:
        shapes = (same, same, same, same, same)
        links = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (3, 4)]
    frame = shapes[0](rng, origin)
    frames = [frame]
    texts = [render(Random(stream), frame, 0.0, wording, PLAIN)]
    for shape in shapes[1:]:
        changes = one(rng, menu)
        frame = shape(rng, _changed(rng, origin, changes))
        text = _member(rng, frame, changes == (same,), wording, stream, ECHO[character])
        for _ in range(20):  # a very short sentence has few other wordings
            if text not in texts:
                break
            text = render(rng, frame, 0.0, None, PLAIN)
        frames.append(frame)
        texts.append(text)
    return [Pair(texts[i], texts[j], round(gold(frames[i], frames[j]), 3)) for i, j in links]


@cache
def graded_pairs(name: str) -> tuple[Pair, ...]:
    """The pairs of DEV or of one of TESTS, always the same in the same order. Raises KeyError for
    another name."""
    rng = Random(f"demo pairs {name}")
    characters = TESTS if name == DEV else (name,)
    pairs: list[Pair] = []
    for number in range(FAMILIES[name]):
        pairs += _family(rng, characters[number % len(characters)])
    return tuple(pairs)
