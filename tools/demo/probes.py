"""Labelled sentences of the demo world, for probing what a sentence vector holds: four tasks whose
labels follow from the frame.

    Negation   is the statement denied? (2 labels)
    When       the kind of the time that is told (6 labels: part of the day, weekday, season, …)
    Roles      of a person from court and one from the sea, who acts on whom? (2 labels; active and passive alike)
    Verb       the family of the verb: approval, violence, pursuit, … (10 labels)

Labels are balanced. All events are reserved ones (see `frame.reserved`): they do not occur in the
training text.
"""

from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from random import Random
from typing import NamedTuple

from tools.demo.frame import PERSONS, TIMES, TO_PERSON, Frame, concept, draw, one, person, reserved
from tools.demo.grammar import render

TASKS = ("Negation", "When", "Roles", "Verb")
PARTS = {"train": 400, "dev": 200, "test": 300}  # a run spends under two seconds on all four tasks
SIDES = ("court", "sea")


class Labelled(NamedTuple):
    """A sentence and its label, counted from 0."""

    sentence: str
    label: int


def _negation(rng: Random, label: int) -> Frame:
    return draw(rng)._replace(negated=bool(label))


def _when(rng: Random, label: int) -> Frame:
    return draw(rng)._replace(time=one(rng, TIMES[tuple(TIMES)[label]]))


def _roles(rng: Random, label: int) -> Frame:
    frame = draw(rng, "person")
    topics = SIDES if label else SIDES[::-1]
    agent, patient = [
        person(rng, topic)._replace(noun=one(rng, PERSONS[topic])) for topic in topics
    ]
    return frame._replace(action=concept(rng, TO_PERSON), agent=agent, patient=patient)


def _verb(rng: Random, label: int) -> Frame:
    return draw(rng, "person")._replace(action=one(rng, TO_PERSON[tuple(TO_PERSON)[label]]))


_FRAMES = {
    "Negation": (_negation, 2),
    "When": (_when, len(TIMES)),
    "Roles": (_roles, 2),
    "Verb": (_verb, len(TO_PERSON)),
}


def _examples(name: str) -> Iterator[Labelled]:
    """Yield distinct labelled sentences for ever, label after label."""
    rng = Random(f"demo probe {name}")
    make, labels = _FRAMES[name]
    seen = set()
    for label in cycle(range(labels)):
        while True:
            frame = make(rng, label)
            if not reserved(frame):
                continue
            sentence = render(rng, frame)
            if sentence not in seen:
                break
        seen.add(sentence)
        yield Labelled(sentence, label)


@cache
def probe(name: str) -> dict[str, tuple[Labelled, ...]]:
    """One task's examples by part (train, dev, test), always the same; raise KeyError for a name
    not in TASKS."""
    examples = _examples(name)
    return {part: tuple(islice(examples, count)) for part, count in PARTS.items()}
