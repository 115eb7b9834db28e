"""ESimCSE's repetition: ranges against a table of the released code's, places, lengths, and who
draws; its queue."""

import itertools
import random

import numpy as np
import pytest
import tiny
import torch

from core.errors import UserError
from core.methods.contrastive import TrainingText
from core.methods.esimcse.model import VectorQueue
from core.methods.esimcse.repetition import (
    insertions,
    repeat_tokens,
    repeat_words,
    repeated,
    repeated_places,
)
from core.methods.esimcse.settings import MomentumQueue, Repetition

PAPER = Repetition(rate=0.32, cap=None)
RELEASED = Repetition(rate=0.32, range="released")


@pytest.mark.parametrize(
    "length,released,paper", [(6, 0, 2), (8, 1, 2), (16, 4, 5), (24, 6, 7), (32, 9, 10)]
)
def test_largest_count_of_the_released_code(length, released, paper):
    assert RELEASED.largest_count(length) == released
    assert PAPER.largest_count(length) == paper


def test_a_cap_is_idle_where_it_changes_no_count():
    for rate, cap, range_ in itertools.product(
        (0.08, 0.32, 0.34, 0.36, 1.0), (1, 2, 9, 10, 11), ("paper", "released")
    ):
        capped, free = (Repetition(rate=rate, cap=one, range=range_) for one in (cap, None))
        alike = all(capped.largest_count(n) == free.largest_count(n) for n in range(3, 33))
        # what the code draws keeps the code's own cap
        assert capped.cap_is_idle(32) == (alike and range_ == "paper"), (rate, cap, range_)
        assert not free.cap_is_idle(32)
    # a sentence of any number of words
    assert not Repetition(rate=0.32, unit="word").cap_is_idle(32)


def test_special_tokens_are_protected_or_not():
    tokens = np.arange(8)
    stream = random.Random(0)
    assert not any(set(repeated_places(PAPER, 8, stream)) & {0, 7} for _ in range(300))
    free = Repetition(rate=0.32, cap=None, protect_special=False)
    assert any(set(repeated_places(free, 8, stream)) & {0, 7} for _ in range(300))
    doubled = repeat_tokens(tokens, PAPER, 32, random.Random(3))
    assert sorted(set(doubled)) == list(tokens)


def test_cut_again_keeps_the_last_token():
    tokens = np.arange(32)
    longest = max(len(repeat_tokens(tokens, PAPER, 32, random.Random(s))) for s in range(60))
    assert longest > 32  # up to 41 tokens without recut
    recut = Repetition(rate=0.32, recut=True)
    again = [repeat_tokens(tokens, recut, 32, random.Random(seed)) for seed in range(60)]
    assert all(len(one) == 32 and one[-1] == 31 for one in again)


def test_static_repetition_is_the_sentence_s_own():
    text = TrainingText([np.arange(20)] * 9)  # the same sentence at nine places

    def views(seed, resample):
        config = tiny.config("esimcse", dup__resample=resample)
        return [view.tolist() for view in repeated(config, text, random.Random(seed), range(9))]

    assert views(5, "static") == views(9, "static")
    assert len({tuple(view) for view in views(5, "static")}) > 1
    assert views(5, "per_epoch") != views(9, "per_epoch")


def naive_insertion(sentence, dup, stream, inserted):
    """Places first, then a word for each, written from the back."""
    words = sentence.split()
    places = repeated_places(dup, len(words), stream)
    fillers = [
        inserted[stream._randbelow(len(inserted))] if inserted else words[place] for place in places
    ]
    for place, filler in reversed(list(zip(places, fillers, strict=True))):
        words.insert(place + 1, filler)
    return " ".join(words)


@pytest.mark.parametrize(
    "unit,inserted", [("word", ()), ("stopword", ("the", "of", "in")), ("mask", ("[MASK]",))]
)
def test_words_and_insertions_against_a_second_formulation(unit, inserted):  # D72
    dup = Repetition(rate=0.5, unit=unit)
    lengths = set()
    for seed in range(60):
        found = repeat_words("A b c d e f", dup, random.Random(seed), inserted)
        assert found == naive_insertion("A b c d e f", dup, random.Random(seed), inserted)
        own = [word for word in found.split() if word not in inserted]
        assert list(dict.fromkeys(own)) == list("Abcdef")
        # the last word is never doubled
        assert found.split()[-2] != "f" and found.split()[0] == "A"
        lengths.add(len(found.split()))
    assert lengths == {6, 7, 8, 9}
    assert repeat_words("alone", dup, random.Random(0), inserted) == "alone"


def test_a_tokenizer_without_masks_or_english_is_refused():
    class Bare:
        mask_token = None
        unk_token = "[UNK]"

        def tokenize(self, text):
            return ["[UNK]"]

    with pytest.raises(UserError, match="needs a tokenizer with a mask token"):
        insertions("mask", Bare())
    with pytest.raises(UserError, match="function words"):
        insertions("stopword", Bare())


@pytest.mark.parametrize("cut,expected", [(True, 3), (False, 5)])
def test_first_batch_is_cut_or_not(cut, expected):
    queue = VectorQueue(MomentumQueue(size=3, cut_first_batch=cut))
    for width in (expected, 3):
        queue.push(torch.from_numpy(np.arange(5.0)[:, None]))
        assert len(queue.entries) == width
