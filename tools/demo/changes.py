"""What can become of a frame: another action, other roles, more detail or less. The families of
`tools.demo.pairs` are made of these.

A change takes the stream that it draws from and the frame, and returns a new frame.
"""

from random import Random
from typing import Any

from tools.demo.frame import Entity, Frame, concept, draw, one, swapped
from tools.demo.lexicon import MANNERS, OBJECTS, PERSONS, PLACES, QUALITIES, TIMES, TRAITS
from tools.demo.verbs import ALONE, TO_PERSON, TO_RECEIVER, TO_THING


def _another(rng: Random, groups: dict, old, group: str | None = None):
    """A concept other than `old`: of `group` if given, of any group otherwise."""
    while True:
        if group is None:
            new = concept(rng, groups)
        else:
            new = one(rng, groups[group])
        if new is not old:
            return new


def _is_person(entity: Entity) -> bool:
    return entity.noun in PERSONS[entity.noun.group]


def _kind(frame: Frame) -> str:
    """What the frame's verb takes: one of the kinds of `draw`."""
    if frame.receiver:
        return "receiver"
    if not frame.patient:
        return "alone"
    if _is_person(frame.patient):
        return "person"
    return "thing"


def _adjectives(entity: Entity) -> dict:
    return TRAITS if _is_person(entity) else QUALITIES


def action(rng: Random, frame: Frame) -> Frame:
    """The frame with another action of the same kind; half the time one of the same family."""
    verbs = {"receiver": TO_RECEIVER, "alone": ALONE, "person": TO_PERSON, "thing": TO_THING}
    group = None
    if rng.random() < 0.5:
        group = frame.action.group
    return frame._replace(action=_another(rng, verbs[_kind(frame)], frame.action, group))


def participant(rng: Random, frame: Frame) -> Frame:
    """The frame with another agent, patient or receiver; half the time one of the same topic."""
    slot = one(rng, [s for s in ("agent", "patient", "receiver") if getattr(frame, s)])
    old = getattr(frame, slot)
    group = None
    if rng.random() < 0.5:
        group = old.noun.group
    if not _is_person(old):
        return frame._replace(**{slot: old._replace(noun=_another(rng, OBJECTS, old.noun, group))})
    present = [e for e in (frame.agent, frame.patient, frame.receiver) if e]
    while True:
        new = old._replace(noun=_another(rng, PERSONS, old.noun, group))
        if all(new.noun is not e.noun for e in present):
            return frame._replace(**{slot: new})


def attribute(rng: Random, frame: Frame) -> Frame:
    """The frame with the agent's or the patient's attribute added or exchanged."""
    slot = "agent"
    if frame.patient and rng.random() < 0.5:
        slot = "patient"
    entity = getattr(frame, slot)
    new = _another(rng, _adjectives(entity), entity.attribute)
    return frame._replace(**{slot: entity._replace(attribute=new)})


def detail(rng: Random, frame: Frame) -> Frame:
    """The frame with its place, time or manner added or exchanged."""
    slot, groups = one(rng, (("place", PLACES), ("time", TIMES), ("manner", MANNERS)))
    return frame._replace(**{slot: _another(rng, groups, getattr(frame, slot))})


def omission(rng: Random, frame: Frame) -> Frame:
    """The frame without one of its circumstances, if it has any."""
    filled = [s for s in ("place", "time", "manner") if getattr(frame, s)]
    if not filled:
        return frame
    emptied: dict[str, Any] = {one(rng, filled): None}
    return frame._replace(**emptied)


def bare(rng: Random, frame: Frame) -> Frame:
    """The frame without circumstances and attributes."""
    plain: dict[str, Any] = {}
    for slot in ("agent", "patient", "receiver"):
        entity = getattr(frame, slot)
        if entity:
            plain[slot] = Entity(entity.noun)
    return short(rng, frame)._replace(**plain)


def full(rng: Random, frame: Frame) -> Frame:
    """The frame with every circumstance and every attribute filled."""
    filled: dict[str, Any] = {}
    for slot in ("agent", "patient", "receiver"):
        entity = getattr(frame, slot)
        if entity and entity.attribute is None:
            filled[slot] = entity._replace(attribute=concept(rng, _adjectives(entity)))
    return long(rng, frame._replace(**filled))


def short(rng: Random, frame: Frame) -> Frame:
    """The frame without circumstances."""
    return frame._replace(place=None, time=None, manner=None)


def long(rng: Random, frame: Frame) -> Frame:
    """The frame with every circumstance filled."""
    filled: dict[str, Any] = {}
    for slot, groups in (("place", PLACES), ("time", TIMES), ("manner", MANNERS)):
        if getattr(frame, slot) is None:
            filled[slot] = concept(rng, groups)
    return frame._replace(**filled)


def same(rng: Random, frame: Frame) -> Frame:
    """The frame itself: the change is in the words."""
    return frame


def roles(rng: Random, frame: Frame) -> Frame:
    """The frame with its persons' roles exchanged, if it has two."""
    return swapped(frame)


def denial(rng: Random, frame: Frame) -> Frame:
    """The frame with its negation turned round."""
    return frame._replace(negated=not frame.negated)


def stranger(rng: Random, frame: Frame) -> Frame:
    """Another frame of the same kind."""
    return draw(rng, _kind(frame))


def some(rng: Random, frame: Frame) -> Frame:
    """The frame after one change of what it says, of any slot."""
    return one(rng, (action, action, participant, participant, detail, attribute))(rng, frame)
