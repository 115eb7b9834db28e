"""Semantic frames: who did what to whom, where, when and how; and the gold similarity of two of
them.

Gold rule, in [0, 5]. Every slot has a weight and a similarity in [0, 1]:

    slot                        weight   similarity
    action                      2        same concept 1, same family 0.4, else 0
    agent, patient, receiver    2        same concept 1, same topic 0.3, else 0; times 1 / 0.9 / 0.75 where the
                                         attributes are equal / present on one side only /
                                         different; at least 0.3 where the participant has another
                                         role in the other frame
    place, time, manner         1        same concept 1, same topic or family 0.3, else 0 (manner: same or 0)

A slot that neither frame fills does not count; a participant filled on one side only counts in full
with similarity 0; a circumstance (place, time, manner) filled on one side only counts with half its
weight and similarity 0, since leaving something unsaid is less than contradicting it. The weighted
mean is halved where exactly one frame is negated:

    gold = 5 · (½ if one is negated and one is not else 1) · Σ w·s / Σ w
"""

import itertools
from random import Random
from typing import NamedTuple
from zlib import crc32

from tools.demo.lexicon import MANNERS, OBJECTS, PERSONS, PLACES, QUALITIES, TIMES, TRAITS, Concept
from tools.demo.verbs import ALONE, HABITS, TO_PERSON, TO_RECEIVER, TO_THING


class Entity(NamedTuple):
    """A participant: its noun and, perhaps, one attribute."""

    noun: Concept
    attribute: Concept | None = None


class Frame(NamedTuple):
    """One event. `patient` is a person or a thing; only giving verbs have a `receiver`."""

    action: Concept
    agent: Entity
    patient: Entity | None = None
    receiver: Entity | None = None
    place: Concept | None = None
    time: Concept | None = None
    manner: Concept | None = None
    negated: bool = False


def _flat(groups: dict) -> tuple:
    return tuple(itertools.chain.from_iterable(groups.values()))


TOPICS = tuple(PERSONS)
DETAILS = 0.4  # the probability of each of place, time and manner
GROUPS = (
    PERSONS,
    OBJECTS,
    PLACES,
    TIMES,
    MANNERS,
    TRAITS,
    QUALITIES,
    ALONE,
    TO_PERSON,
    TO_THING,
    TO_RECEIVER,
)
ALL = {id(groups): _flat(groups) for groups in GROUPS}


def one(rng: Random, items):
    """One item, all equally likely (only `random()` is used: its stream is fixed across Python
    versions)."""
    return items[int(rng.random() * len(items))]


def concept(rng: Random, groups: dict, topic: str | None = None) -> Concept:
    """A concept of `groups`: of `topic` in three draws of four where there is one, of any group
    otherwise."""
    if topic is not None and rng.random() < 0.75:
        return one(rng, groups[topic])
    return one(rng, ALL[id(groups)])


def person(rng: Random, topic: str) -> Entity:
    """A person, with an attribute in one case of three."""
    return _entity(rng, PERSONS, TRAITS, topic)


def thing(rng: Random, topic: str) -> Entity:
    """A thing, with an attribute in one case of three."""
    return _entity(rng, OBJECTS, QUALITIES, topic)


def _entity(rng: Random, nouns: dict, adjectives: dict, topic: str) -> Entity:
    noun = concept(rng, nouns, topic)
    if rng.random() < 0.35:
        return Entity(noun, concept(rng, adjectives))
    return Entity(noun)


def other_person(rng: Random, topic: str, *present) -> Entity:
    """A person whose noun is none of `present`, so that nobody acts on himself."""
    while True:
        entity = person(rng, topic)
        if all(entity.noun is not p.noun for p in present):
            return entity


def draw(rng: Random, kind: str | None = None) -> Frame:
    """A random frame. `kind` is what the verb takes: alone, person, thing or receiver; None mixes
    them 1 : 4 : 3 : 2."""
    topic = one(rng, TOPICS)
    habits = HABITS[topic]
    agent = person(rng, topic)
    if kind is None:
        kind = one(rng, ("alone", *["person"] * 4, *["thing"] * 3, *["receiver"] * 2))
    patient = None
    receiver = None
    if kind == "alone":
        action = concept(rng, ALONE, habits[0])
    elif kind == "person":
        action = concept(rng, TO_PERSON, habits[1])
        patient = other_person(rng, topic, agent)
    elif kind == "thing":
        action = concept(rng, TO_THING, habits[2])
        patient = thing(rng, topic)
    else:
        action = concept(rng, TO_RECEIVER, habits[3])
        patient = thing(rng, topic)
        receiver = other_person(rng, topic, agent)
    place = None
    time = None
    manner = None
    if rng.random() < DETAILS:
        place = concept(rng, PLACES, topic)
    if rng.random() < DETAILS:
        time = concept(rng, TIMES)
    if rng.random() < DETAILS:
        manner = concept(rng, MANNERS)
    return Frame(action, agent, patient, receiver, place, time, manner, rng.random() < 0.15)


def reserved(frame: Frame) -> bool:
    """Whether the frame's event (action and participants, whoever plays which role) is kept for
    evaluation.

    One event in eight is. Swapping roles, negating, and changing attributes or circumstances keep
    the answer.
    """
    names = sorted(e.noun.name for e in (frame.agent, frame.patient, frame.receiver) if e)
    return crc32("|".join([frame.action.name, *names]).encode()) % 8 == 0


def swapped(frame: Frame) -> Frame:
    """The frame with the two persons' roles exchanged; the frame itself if it has one person
    only."""
    if frame.receiver is not None:
        return frame._replace(agent=frame.receiver, receiver=frame.agent)
    if frame.patient is None or frame.patient.noun.name not in _PERSON_NAMES:
        return frame
    return frame._replace(agent=frame.patient, patient=frame.agent)


_PERSON_NAMES = {c.name for c in ALL[id(PERSONS)]}


def _related(a: Concept, b: Concept, partial: float) -> float:
    if a is b:
        return 1.0
    if a.group == b.group:
        return partial
    return 0.0


def _alike(a: Entity, b: Entity) -> float:
    if (a.noun.name in _PERSON_NAMES) != (b.noun.name in _PERSON_NAMES):
        return 0.0
    nouns = _related(a.noun, b.noun, 0.3)
    if a.attribute is b.attribute:
        return nouns
    if a.attribute is None or b.attribute is None:
        return 0.9 * nouns
    return 0.75 * nouns


def gold(a: Frame, b: Frame) -> float:
    """The similarity of two frames in [0, 5] by the rule at the head of this module; symmetric."""
    total = 2.0 * _related(a.action, b.action, 0.4)
    weight = 2.0
    nouns_a = {e.noun for e in (a.agent, a.patient, a.receiver) if e}
    nouns_b = {e.noun for e in (b.agent, b.patient, b.receiver) if e}
    for x, y in ((a.agent, b.agent), (a.patient, b.patient), (a.receiver, b.receiver)):
        if x is None and y is None:
            continue
        score = 0.0
        if x and y:
            score = _alike(x, y)
        if (x is not None and x.noun in nouns_b) or (y is not None and y.noun in nouns_a):
            score = max(score, 0.3)  # it has another role in the other frame
        total += 2.0 * score
        weight += 2.0
    for here, there, partial in (
        (a.place, b.place, 0.3),
        (a.time, b.time, 0.3),
        (a.manner, b.manner, 0.0),
    ):
        if here is None and there is None:
            continue
        if here is None or there is None:
            weight += 0.5
        else:
            total += _related(here, there, partial)
            weight += 1.0
    if a.negated != b.negated:
        return 2.5 * total / weight
    return 5.0 * total / weight
