"""Graded sentence pairs of the demo world: a development set and four test sets of different character.

    DEV      the four characters mixed, for choosing checkpoints
    Para     mostly the same scene in other words, or with a small change
    Length   an event without circumstances against one told with place, time and manner
    Roles    roles exchanged, or the statement denied, often with the very same words
    Mixed    every kind of change

A set is made of families. A family starts from one random frame of a reserved event (see `frame.reserved`: such events never
occur in the training text) and changes it in several ways; gold scores follow from the frames alone (`frame.gold`).
"""

from functools import cache
from random import Random
from typing import Any, NamedTuple

from core.demo.frame import (
    ALONE,
    MANNERS,
    OBJECTS,
    PERSONS,
    PLACES,
    QUALITIES,
    TIMES,
    TO_PERSON,
    TO_RECEIVER,
    TO_THING,
    TRAITS,
    Entity,
    Frame,
    concept,
    draw,
    gold,
    one,
    reserved,
    swapped,
)
from core.demo.grammar import render

DEV = "DEV"
TESTS = ("Para", "Length", "Roles", "Mixed")
FAMILIES = {"DEV": 160, "Para": 200, "Length": 200, "Roles": 200, "Mixed": 200}
PAIRS_A_FAMILY = 6
PLAIN = 0.6  # share of the sentences in the plain order (see `grammar.render`)


class Pair(NamedTuple):
    """Two sentences and their similarity in [0, 5]."""

    a: str
    b: str
    gold: float


def _another(rng: Random, groups: dict, old, group: str | None = None):
    """Return a concept other than `old`: of `group` if given, of any group otherwise."""
    while True:
        new = one(rng, groups[group]) if group else concept(rng, groups)
        if new is not old:
            return new


def action(rng: Random, frame: Frame) -> Frame:
    """Return the frame with another action of the same kind; half the time one of the same family."""
    verbs = (
        TO_RECEIVER
        if frame.receiver
        else ALONE
        if not frame.patient
        else (TO_PERSON if frame.patient.noun.group in PERSONS and frame.patient.noun in PERSONS[frame.patient.noun.group] else TO_THING)
    )
    return frame._replace(action=_another(rng, verbs, frame.action, frame.action.group if rng.random() < 0.5 else None))


def participant(rng: Random, frame: Frame) -> Frame:
    """Return the frame with another agent, patient or receiver; half the time one of the same topic."""
    slot = one(rng, [s for s in ("agent", "patient", "receiver") if getattr(frame, s)])
    old = getattr(frame, slot)
    group = old.noun.group if rng.random() < 0.5 else None
    if old.noun not in PERSONS[old.noun.group]:
        return frame._replace(**{slot: old._replace(noun=_another(rng, OBJECTS, old.noun, group))})
    present = [e for e in (frame.agent, frame.patient, frame.receiver) if e]
    while True:
        new = old._replace(noun=_another(rng, PERSONS, old.noun, group))
        if all(new.noun is not e.noun for e in present):
            return frame._replace(**{slot: new})


def attribute(rng: Random, frame: Frame) -> Frame:
    """Return the frame with the agent's or the patient's attribute added or exchanged."""
    slot = "patient" if frame.patient and rng.random() < 0.5 else "agent"
    entity = getattr(frame, slot)
    groups = TRAITS if entity.noun in PERSONS[entity.noun.group] else QUALITIES
    return frame._replace(**{slot: entity._replace(attribute=_another(rng, groups, entity.attribute))})


def detail(rng: Random, frame: Frame) -> Frame:
    """Return the frame with its place, time or manner added or exchanged."""
    slot, groups = one(rng, (("place", PLACES), ("time", TIMES), ("manner", MANNERS)))
    return frame._replace(**{slot: _another(rng, groups, getattr(frame, slot))})


def omission(rng: Random, frame: Frame) -> Frame:
    """Return the frame without one of its circumstances, if it has any."""
    filled = [s for s in ("place", "time", "manner") if getattr(frame, s)]
    return frame._replace(**{one(rng, filled): None}) if filled else frame


def bare(rng: Random, frame: Frame) -> Frame:
    """Return the frame without circumstances and attributes."""
    plain: dict[str, Any] = {s: Entity(getattr(frame, s).noun) for s in ("agent", "patient", "receiver") if getattr(frame, s)}
    return frame._replace(place=None, time=None, manner=None, **plain)


def full(rng: Random, frame: Frame) -> Frame:
    """Return the frame with every circumstance and every attribute filled."""
    filled = {}
    for slot in ("agent", "patient", "receiver"):
        entity = getattr(frame, slot)
        if entity and entity.attribute is None:
            groups = TRAITS if entity.noun in PERSONS[entity.noun.group] else QUALITIES
            filled[slot] = entity._replace(attribute=concept(rng, groups))
    for slot, groups in (("place", PLACES), ("time", TIMES), ("manner", MANNERS)):
        if getattr(frame, slot) is None:
            filled[slot] = concept(rng, groups)
    return frame._replace(**filled)


def short(rng: Random, frame: Frame) -> Frame:
    """Return the frame without circumstances."""
    return frame._replace(place=None, time=None, manner=None)


def long(rng: Random, frame: Frame) -> Frame:
    """Return the frame with every circumstance filled."""
    filled: dict[str, Any] = {
        slot: concept(rng, groups)
        for slot, groups in (("place", PLACES), ("time", TIMES), ("manner", MANNERS))
        if getattr(frame, slot) is None
    }
    return frame._replace(**filled)


def same(rng: Random, frame: Frame) -> Frame:
    """Return the frame itself: the change is in the words."""
    return frame


def roles(rng: Random, frame: Frame) -> Frame:
    """Return the frame with its persons' roles exchanged, or itself where it has one person only."""
    try:
        return swapped(frame)
    except ValueError:
        return frame


def denial(rng: Random, frame: Frame) -> Frame:
    """Return the frame with its negation turned round."""
    return frame._replace(negated=not frame.negated)


def stranger(rng: Random, frame: Frame) -> Frame:
    """Return another frame of the same kind."""
    return draw(
        rng,
        "receiver"
        if frame.receiver
        else "alone"
        if not frame.patient
        else "person"
        if frame.patient.noun in PERSONS[frame.patient.noun.group]
        else "thing",
    )


def some(rng: Random, frame: Frame) -> Frame:
    """Return the frame after one change of what it says, of any slot."""
    return one(rng, (action, action, participant, participant, detail, attribute))(rng, frame)


# For each character: the kinds of frame, and the changes, of which every new member of a family takes one.
CHARACTERS = {
    "Para": (
        (None,),
        ((same,), (same,), (same,), (omission,), (some,), (some,), (some, some), (some, some, some), (stranger,), (stranger,)),
    ),
    "Length": ((None,), ((same,), (same,), (some,), (some, some), (some, some, some), (denial,), (stranger,), (stranger,))),
    "Roles": (
        ("person", "person", "receiver"),
        (
            (same,),
            (same,),
            (same,),
            (roles,),
            (roles,),
            (roles,),
            (denial,),
            (denial,),
            (roles, denial),
            (some,),
            (some, some, some),
            (stranger,),
        ),
    ),
    "Mixed": (
        (None,),
        (
            (same,),
            (same,),
            (some,),
            (some, some),
            (some, some, some),
            (some, some, some, some),
            (roles,),
            (denial,),
            (bare,),
            (full,),
            (stranger,),
            (stranger,),
        ),
    ),
}
# Share of the real changes that keep the original's words and pattern otherwise. Where all do, the scores of equally trained
# models scatter less, since how a sentence is put no longer hides what was changed.
ECHO = {"Para": 1.0, "Length": 1.0, "Roles": 0.5, "Mixed": 1.0}


def _reworded(rng: Random, wording: dict) -> dict:
    """Return other synonyms for the concepts of `wording`, where they have any."""
    other = {}
    for concept_, form in wording.items():
        choices = [f for f in concept_.forms if f is not form]
        other[concept_] = one(rng, choices) if choices else form
    return other


def _changed(rng: Random, frame: Frame, changes: tuple) -> Frame:
    """Return the frame after `changes`, drawn again until its event is a reserved one; the frame itself after 200 failures.

    A giving verb has nine alternatives, so it happens that no change of the action leads to a reserved event.
    """
    for _ in range(200):
        new = frame
        for change in changes:
            new = change(rng, new)
        if reserved(new):
            return new
    return frame


def _member(rng: Random, frame: Frame, kept: bool, wording: dict, stream: str, echo: float) -> str:
    """Return a sentence for a changed frame: in other words where the meaning was `kept`; else, `echo` of the time, in the same."""
    if kept:
        return render(rng, frame, 0.0, _reworded(rng, wording), PLAIN)
    if rng.random() < echo:
        return render(Random(stream), frame, 0.0, dict(wording), PLAIN)
    return render(rng, frame, 0.0, None, PLAIN)


def _family(rng: Random, character: str) -> list[Pair]:
    """Return six pairs among five sentences; of `Length`, two short ones against three long ones."""
    kinds, menu = CHARACTERS[character]
    origin = draw(rng, one(rng, kinds))
    while not reserved(origin):
        origin = draw(rng, one(rng, kinds))
    stream, wording = f"{character} {rng.random()}", {}
    shapes = (short, short, long, long, long) if character == "Length" else (same,) * 5
    frame = shapes[0](rng, origin)
    frames, texts = [frame], [render(Random(stream), frame, 0.0, wording, PLAIN)]
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
    if character == "Length":
        links = [(i, j) for i in (0, 1) for j in (2, 3, 4)]
    else:
        links = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (3, 4)]
    return [Pair(texts[i], texts[j], round(gold(frames[i], frames[j]), 3)) for i, j in links]


@cache
def _pairs(name: str) -> tuple[Pair, ...]:
    rng = Random(f"demo pairs {name}")
    pairs = []
    for i in range(FAMILIES[name]):
        pairs.extend(_family(rng, TESTS[i % len(TESTS)] if name == DEV else name))
    return tuple(pairs)


def graded_pairs(name: str) -> list[Pair]:
    """Return the pairs of DEV or of one of TESTS, always the same ones in the same order.

    Raises ValueError for any other name.
    """
    if name not in FAMILIES:
        raise ValueError(f"there is no demo set {name!r}; take one of {', '.join(FAMILIES)}.")
    return list(_pairs(name))
