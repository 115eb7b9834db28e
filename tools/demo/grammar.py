"""From a frame to an English sentence: synonyms, syntactic patterns, and the order of the
circumstances.

Every random choice is one `random()` of the given stream, and the choices do not depend on which
concepts fill the frame, so rendering two frames of the same shape from two equal streams gives the
same pattern.
"""

from random import Random
from typing import Any

from tools.demo.frame import Entity, Frame, one
from tools.demo.lexicon import Concept, Verb

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
    if words.startswith(_AN):
        return "an " + words
    return "a " + words


def _plain(s: str, verb: str, o: str, r: str, to_first: bool) -> str:
    """Return subject, verb phrase and objects in active order; `to_first` picks `gave the boy a
    ball`."""
    if r and to_first:
        return f"{s} {verb} {r} {o}"
    if r:
        return f"{s} {verb} {o} to {r}"
    if o:
        return f"{s} {verb} {o}"
    return f"{s} {verb}"


def clause(rng: Random, frame: Frame, manner: str, wording: Wording, plain: bool) -> str:
    """The frame without place and time, in one of the patterns: active, passive, cleft,
    pseudo-cleft.

    `plain` takes the active. A manner adverb stands before the verb in the active and before the
    participle in the passive; elsewhere at the end.
    """
    # The words and the choices
    s = noun_phrase(rng, frame.agent, wording)
    o = ""
    r = ""
    if frame.patient:
        o = noun_phrase(rng, frame.patient, wording)
    if frame.receiver:
        r = noun_phrase(rng, frame.receiver, wording)
    verb = form(rng, frame.action, wording)
    pattern = rng.random()
    variant = rng.random() < 0.5
    denial = rng.random()
    inside = rng.random() < 0.5
    if plain:
        pattern = 0.0

    # Where the manner stands
    before = ""
    after = ""
    pseudo_cleft = pattern >= (0.95 if o else 0.94)
    # "the one who slept was a boy quietly" is no English
    if manner and (inside or pseudo_cleft):
        before = manner + " "
    elif manner:
        after = " " + manner

    wrapped = frame.negated and denial >= 0.75
    predicate, auxiliary = _verb_phrase(verb, before, frame.negated and not wrapped, denial)
    text = _sentence(s, o, r, predicate, f"{auxiliary}{verb.participle}", pattern, variant) + after
    if wrapped:
        return "it is not true that " + text
    return text


def _verb_phrase(verb: Verb, before: str, negated: bool, denial: float) -> tuple[str, str]:
    """The predicate, and what stands before the participle in the passive; `denial` picks how a
    clause is negated."""
    if not negated:
        return before + verb.past, "was " + before
    if denial < 0.35:
        return f"did not {before}{verb.base}", "was not " + before
    if denial < 0.6:
        return f"never {before}{verb.past}", "was never " + before
    return f"failed to {before}{verb.base}", "was not " + before


def _sentence(
    s: str, o: str, r: str, predicate: str, passive: str, pattern: float, variant: bool
) -> str:
    """Subject, objects and predicate in the order that `pattern` and `variant` pick."""
    if pattern < 0.62 or not o and pattern < 0.85:
        return _plain(s, predicate, o, r, variant)
    if o and pattern < 0.82:
        if not r:
            return f"{o} {passive} by {s}"
        if variant:
            return f"{r} {passive} {o} by {s}"
        return f"{o} {passive} to {r} by {s}"
    if pattern < 0.9 or not o and pattern < 0.94:
        return "it was " + _plain(s, "who " + predicate, o, r, variant)
    if o and pattern < 0.95:
        cleft = f"it was {o} that {s} {predicate}"
        if r:
            cleft += f" to {r}"
        return cleft
    return f"the one {_plain('who', predicate, o, r, variant)} was {s}"


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
    if wording is None:
        wording = {}
    manner = ""
    place = ""
    time = ""
    if frame.manner:
        manner = form(rng, frame.manner, wording)
    if frame.place:
        place = form(rng, frame.place, wording)
    if frame.time:
        time = form(rng, frame.time, wording)
    order = rng.random() < 0.5
    place_front = rng.random() < 0.15
    time_front = rng.random() < 0.25
    plain = plain > 0 and rng.random() < plain
    text = clause(rng, frame, manner, wording, plain)
    if rng.random() < opener:
        phrase = one(rng, OPENERS)
        if phrase.endswith("that"):
            text = f"{phrase} {text}"
        else:
            text = f"{phrase}, {text}"
    fronts = []
    ends: list[str] = []
    for circumstance, front in ((time, time_front), (place, place_front)):
        if circumstance and front and not plain:
            fronts.append(circumstance)
        elif circumstance:
            ends.insert(0, circumstance)
    if order:
        fronts.reverse()
        ends.reverse()
    text = "".join(p + ", " for p in fronts) + " ".join([text, *ends])
    return text[0].upper() + text[1:] + "."
