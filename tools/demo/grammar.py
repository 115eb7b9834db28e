"""From a frame to an English sentence: synonyms, syntactic patterns, and the order of the
circumstances.

Every random choice is one `random()` of the given stream, and the choices do not depend on which
concepts fill the frame, so rendering two frames of the same shape from two equal streams gives the
same pattern.
"""

from random import Random
from typing import Any

from tools.demo.frame import Entity, Frame, one
from tools.demo.lexicon import Concept

Wording = dict[Concept, Any]  # which form, a word or a Verb, tells each concept
OPENERS = (
    "in fact",
    "as everyone knows",
    "people say that",
    "according to the newspaper",
    "it seems that",
)
_AN = ("a", "e", "i", "o", "u", "honest")  # no word of ours begins like "useful"


def form(rng: Random, concept: Concept, wording: Wording):
    """One of the concept's forms, all equally likely; but the one in `wording` if it has one, and
    note it there."""
    drawn = one(rng, concept.forms)
    return wording.setdefault(concept, drawn)


def noun_phrase(rng: Random, entity: Entity, wording: Wording) -> str:
    """The article, the attribute if there is one, and the noun."""
    words = form(rng, entity.noun, wording)
    article = rng.random()
    if entity.attribute is not None:
        words = form(rng, entity.attribute, wording) + " " + words
    else:
        rng.random()  # keeps the choices that follow the same with and without an attribute
    if article < 0.85:
        return "the " + words
    return ("an " if words.startswith(_AN) else "a ") + words


def _plain(s: str, verb: str, o: str, r: str, to_first: bool) -> str:
    """Return subject, verb phrase and objects in active order; `to_first` picks `gave the boy a
    ball`."""
    if r:
        return f"{s} {verb} {r} {o}" if to_first else f"{s} {verb} {o} to {r}"
    return f"{s} {verb} {o}" if o else f"{s} {verb}"


def clause(rng: Random, frame: Frame, manner: str, wording: Wording, plain: bool) -> str:
    """The frame without place and time, in one of the patterns: active, passive, cleft,
    pseudo-cleft.

    `plain` takes the active. A manner adverb stands before the verb in the active and before the
    participle in the passive; elsewhere at the end.
    """
    s = noun_phrase(rng, frame.agent, wording)
    o = noun_phrase(rng, frame.patient, wording) if frame.patient else ""
    r = noun_phrase(rng, frame.receiver, wording) if frame.receiver else ""
    verb = form(rng, frame.action, wording)
    pattern = rng.random()
    variant = rng.random() < 0.5
    denial = rng.random()
    inside = rng.random() < 0.5
    if plain:
        pattern = 0.0
    after = ""
    pseudo_cleft = pattern >= (0.95 if o else 0.94)
    # "the one who slept was a boy quietly" is no English
    if manner and not inside and not pseudo_cleft:
        after = " " + manner
        manner = ""
    before = manner + " " if manner else ""

    wrapped = frame.negated and denial >= 0.75
    if not frame.negated or wrapped:
        predicate = before + verb.past
        auxiliary = "was " + before
    elif denial < 0.35:
        predicate = f"did not {before}{verb.base}"
        auxiliary = "was not " + before
    elif denial < 0.6:
        predicate = f"never {before}{verb.past}"
        auxiliary = "was never " + before
    else:
        predicate = f"failed to {before}{verb.base}"
        auxiliary = "was not " + before

    if pattern < 0.62 or not o and pattern < 0.85:
        text = _plain(s, predicate, o, r, variant)
    elif o and pattern < 0.82:
        if not r:
            text = f"{o} {auxiliary}{verb.participle} by {s}"
        elif variant:
            text = f"{r} {auxiliary}{verb.participle} {o} by {s}"
        else:
            text = f"{o} {auxiliary}{verb.participle} to {r} by {s}"
    elif pattern < 0.9 or not o and pattern < 0.94:
        text = "it was " + _plain(s, "who " + predicate, o, r, variant)
    elif o and pattern < 0.95:
        text = f"it was {o} that {s} {predicate}" + (f" to {r}" if r else "")
    else:
        text = f"the one {_plain('who', predicate, o, r, variant)} was {s}"
    return ("it is not true that " if wrapped else "") + text + after


def render(
    rng: Random,
    frame: Frame,
    opener: float = 0.02,
    wording: Wording | None = None,
    plain: float = 0.0,
) -> str:
    """One sentence for the frame: capitalised, ending in a full stop.

    opener: the probability of an empty opening phrase. wording: forms to use, by concept; the forms
    that are drawn are added to it, so that a second sentence can be told in the very same words.
    plain: the probability of the plain order, which is the active voice with every circumstance at
    the end.
    """
    wording = {} if wording is None else wording
    manner = form(rng, frame.manner, wording) if frame.manner else ""
    place = form(rng, frame.place, wording) if frame.place else ""
    time = form(rng, frame.time, wording) if frame.time else ""
    order = rng.random() < 0.5
    place_front = rng.random() < 0.15
    time_front = rng.random() < 0.25
    plain = plain > 0 and rng.random() < plain
    text = clause(rng, frame, manner, wording, plain)
    if rng.random() < opener:
        phrase = one(rng, OPENERS)
        text = phrase + (" " if phrase.endswith("that") else ", ") + text
    fronts = [
        p for p, front in ((time, time_front), (place, place_front)) if p and front and not plain
    ]
    ends = [
        p for p, front in ((place, place_front), (time, time_front)) if p and (plain or not front)
    ]
    if order:
        fronts.reverse()
        ends.reverse()
    text = "".join(p + ", " for p in fronts) + " ".join([text, *ends])
    return text[0].upper() + text[1:] + "."
