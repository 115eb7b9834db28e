"""The generated world: vocabulary, distinct and reproducible text, patterns, and the gold rule on frames made by hand."""

import hashlib
import re
import time
from itertools import islice
from random import Random

import pytest

from tools.demo.corpus import passages, training_sentences
from tools.demo.frame import Entity, Frame, draw, gold, reserved, swapped
from tools.demo.grammar import render
from tools.demo.lexicon import MANNERS, OBJECTS, PERSONS, PLACES, QUALITIES, TIMES, TRAITS
from tools.demo.verbs import ALONE, TO_PERSON, TO_RECEIVER, TO_THING

FIRST_THOUSAND = "93c674230f5628400348ebde48eeae8f99e8c295a221030956dfec7d63689915"


def concept(groups, name):
    return next(c for group in groups.values() for c in group if c.name == name)


def entity(name, attribute=None, groups=PERSONS, attributes=TRAITS):
    return Entity(concept(groups, name), concept(attributes, attribute) if attribute else None)


PRAISE = Frame(concept(TO_PERSON, "praise"), entity("doctor", "old"), entity("thief"), place=concept(PLACES, "in the kitchen"))


def test_the_first_thousand_sentences_are_pinned():
    text = "\n".join(training_sentences(1000))
    assert hashlib.sha256(text.encode()).hexdigest() == FIRST_THOUSAND


def test_sentences_are_distinct_and_a_longer_list_begins_with_a_shorter_one():
    sentences = training_sentences(20_000)
    assert len(sentences) == len(set(sentences)) == 20_000
    assert training_sentences(500) == sentences[:500]
    assert not set(training_sentences(500, seed=1)) <= set(sentences)


def test_twenty_thousand_sentences_take_a_moment():
    begin = time.process_time()
    training_sentences(20_000)
    assert time.process_time() - begin < 1.5


def test_vocabulary_has_at_least_six_hundred_words():
    words = set(re.findall("[a-z]+", " ".join(training_sentences(20_000)).lower()))
    assert len(words) >= 600


def test_every_surface_form_belongs_to_one_concept():
    seen = {}
    for groups in (PERSONS, OBJECTS, PLACES, TIMES, MANNERS, TRAITS, QUALITIES):
        for c in (c for group in groups.values() for c in group):
            for form in c.forms:
                assert seen.setdefault(form, c.name) == c.name
    for groups in (ALONE, TO_PERSON, TO_THING, TO_RECEIVER):
        for c in (c for group in groups.values() for c in group):
            for verb in c.forms:
                for form in {verb.base, verb.past, verb.participle}:
                    assert seen.setdefault(form, c.name) == c.name


def test_sentences_look_like_english():
    for sentence in training_sentences(3000):
        assert re.fullmatch("[A-Z][a-z ,]*[a-z]\\.", sentence), sentence
        assert "  " not in sentence and " ," not in sentence
        assert not re.search(r"\b(a [aeio]|an [^aeiouh])", sentence.lower()), sentence


def test_length_varies():
    lengths = [len(s.split()) for s in training_sentences(3000)]
    assert min(lengths) <= 4 and max(lengths) >= 18


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(The|An?) (\w+ )?doctor (\w+ )?praised",
        r"was praised by|was commended by",
        r"^It was .* who ",
        r"^It was .* that ",
        r"^The one who ",
        r"^In the kitchen, ",
    ],
)
def test_syntactic_patterns_occur(pattern):
    rng = Random(1)
    assert any(re.search(pattern, render(rng, PRAISE)) for _ in range(400))


def test_negation_is_heard():
    rng = Random(1)
    for _ in range(100):
        assert re.search(r"\bnot\b|never|failed to", render(rng, PRAISE._replace(negated=True)))
        assert not re.search(r"\bnot\b|never|failed to", render(rng, PRAISE))


def test_equal_streams_and_wordings_give_the_same_words_with_the_roles_exchanged():
    for seed in range(50):
        wording = {}
        a = render(Random(seed), PRAISE, wording=wording)
        b = render(Random(seed), swapped(PRAISE), wording=wording)
        words_a, words_b = (sorted(w for w in s.lower()[:-1].split() if w not in ("a", "an")) for s in (a, b))
        assert a != b and words_a == words_b


def test_most_passages_tell_one_scene():
    shared = sum(len(set(a.lower().split()) & set(b.lower().split())) >= 3 for a, b in islice(passages(0), 2000))
    assert 1300 < shared < 1700  # four in five do, and strangers rarely share three words


def test_gold_of_one_scene_is_five():
    assert gold(PRAISE, PRAISE) == 5.0


def test_gold_of_strangers_is_near_zero():
    other = Frame(concept(TO_THING, "bury"), entity("sailor"), entity("clock", groups=OBJECTS), time=concept(TIMES, "once"))
    assert gold(PRAISE, other) < 0.3


def test_gold_falls_with_exchanged_roles_and_with_negation():
    denied = PRAISE._replace(negated=True)
    assert gold(PRAISE, swapped(PRAISE)) < 3.7
    assert gold(PRAISE, denied) == 2.5
    assert gold(denied, denied) == 5.0
    assert gold(PRAISE, swapped(denied)) < gold(PRAISE, swapped(PRAISE))


def test_gold_orders_small_and_large_changes():
    attribute = PRAISE._replace(agent=entity("doctor", "young"))
    unsaid = PRAISE._replace(place=None)
    elsewhere = PRAISE._replace(place=concept(PLACES, "on the beach"))
    colleague = PRAISE._replace(agent=entity("nurse", "old"))
    somebody = PRAISE._replace(agent=entity("sailor", "old"))
    assert 5.0 > gold(PRAISE, unsaid) > gold(PRAISE, elsewhere) > gold(PRAISE, colleague) > gold(PRAISE, somebody) > 2.0
    assert 5.0 > gold(PRAISE, attribute) > gold(PRAISE, colleague)


def test_gold_follows_the_rule_to_the_digit():
    blame = PRAISE._replace(action=concept(TO_PERSON, "blame"), agent=entity("nurse"), place=None)
    expected = 5 * (2 * 0 + 2 * 0.9 * 0.3 + 2 * 1 + 0.5 * 0) / (2 + 2 + 2 + 0.5)
    assert gold(PRAISE, blame) == pytest.approx(expected) == gold(blame, PRAISE)


def test_gold_is_symmetric_and_bounded():
    rng = Random(3)
    for _ in range(2000):
        a, b = draw(rng), draw(rng)
        assert 0.0 <= gold(a, b) <= 5.0
        assert gold(a, b) == pytest.approx(gold(b, a))


def test_reservation_ignores_roles_negation_and_circumstances():
    rng = Random(4)
    frames = [draw(rng, "person") for _ in range(4000)]
    assert 0.10 < sum(map(reserved, frames)) / len(frames) < 0.15
    for frame in frames:
        assert reserved(frame) == reserved(swapped(frame)._replace(negated=True, place=None, time=None))


def test_swapping_one_person_is_refused():
    with pytest.raises(ValueError, match="one person"):
        swapped(draw(Random(1), "thing"))
