"""ESimCSE's repetition: some tokens, or words, of a sentence are written twice, or are followed by
a stop-word or a mask (D61 - D64, D72)."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence

import numpy as np

from core.errors import UserError
from core.methods.contrastive import TrainingText
from core.methods.esimcse.settings import ESimCSERun, Repetition

# Which list the paper used is not known (the released code refers to one that is commented out,
# D72). This list is ours: articles, conjunctions, prepositions, pronouns, auxiliaries and a few
# adverbs.
STOP_WORDS = tuple(
    """
    a an the this that these those and or but if because as until while of at by for with about
    against between into through during before after above below to from up down in out on off
    over under again further then once here there when where why how all any both each few more
    most other some such no nor not only own same so than too very i me my we us our you your he
    him his she her it its they them their what which who whom am is are was were be been being
    have has had do does did can could will would shall should may might must just now
    """.split()
)


def repeated_places(dup: Repetition, length: int, stream: random.Random) -> list[int]:
    """Places, in order, of what is written twice: a uniform count, then distinct uniform places.

    With `protect_special`, sub-word repetition leaves out the first and last token ([CLS], [SEP])
    and word repetition the last word (D63).
    """
    first = int(dup.protect_special and dup.unit == "subword")
    allowed = range(first, length - dup.protect_special)
    count = stream.randint(0, dup.largest_count(length))
    return sorted(stream.sample(allowed, min(count, len(allowed))))


def repeat_tokens(
    tokens: np.ndarray, dup: Repetition, max_length: int, stream: random.Random
) -> np.ndarray:
    """Token ids with the drawn ones doubled, (N + count,); cut at max_length only with `recut`
    (D62)."""
    times = np.ones(len(tokens), np.intp)
    times[repeated_places(dup, len(tokens), stream)] = 2
    doubled = np.repeat(tokens, times)
    if dup.recut and len(doubled) > max_length:
        doubled = np.concatenate([doubled[: max_length - 1], tokens[-1:]])
    return doubled


def repeat_words(
    sentence: str, dup: Repetition, stream: random.Random, inserted: tuple[str, ...] = ()
) -> str:
    """The sentence with each drawn blank-separated word followed by itself or, where `inserted` is
    not empty, by one of those words, drawn evenly and for each place anew (D72)."""
    words = sentence.split()
    if len(words) < 2:
        return sentence
    for place in repeated_places(dup, len(words), stream):
        following = words[place]
        if inserted:
            following = stream.choice(inserted)
        words[place] += f" {following}"
    return " ".join(words)


def repeated(
    config: ESimCSERun, text: TrainingText, rng: random.Random, places: Sequence[int]
) -> list[np.ndarray]:
    """The second views of the sentences at these places of the text, in token ids. Repetitions are
    drawn from `rng`, or with resample=static from a stream of the sentence's place, the same for
    every seed (D64)."""
    dup = config.dup
    longest = config.data.max_length
    if dup is None:
        return [text.table[i] for i in places]
    streams = [rng] * len(places)
    if dup.resample == "static":
        streams = [random.Random(f"static/{i}") for i in places]
    drawn = list(zip(places, streams, strict=True))
    if dup.unit == "subword":
        return [repeat_tokens(text.table[i], dup, longest, stream) for i, stream in drawn]
    inserted = insertions(dup.unit, text.tokenizer)
    sentences = text.sentences()
    written = [repeat_words(sentences[i], dup, stream, inserted) for i, stream in drawn]
    encoded = text.tokenizer(written, truncation=True, max_length=longest)["input_ids"]
    return [np.array(ids, dtype=np.int32) for ids in encoded]


@functools.cache  # asked in each step
def insertions(unit: str, tokenizer) -> tuple[str, ...]:
    """What follows the drawn words: the words themselves (empty), the tokenizer's mask, or the
    stop-words that its vocabulary has whole (D72). Raises UserError if there is no mask or no such
    word."""
    if unit == "word":
        return ()
    needed = "a tokenizer with a mask token"
    words = [tokenizer.mask_token]
    if unit == "stopword":
        needed = "English function words in the vocabulary"
        unknown = [tokenizer.unk_token]
        # with a blank for RoBERTa
        pieces = {word: tokenizer.tokenize(f" {word}") for word in STOP_WORDS}
        words = [word for word, tokens in pieces.items() if len(tokens) == 1 and tokens != unknown]
    if not any(words):
        raise UserError(
            f"dup.unit={unit} needs {needed}, but this encoder has none; take another unit."
        )
    return tuple(words)
