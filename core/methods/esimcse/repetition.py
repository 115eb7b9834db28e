"""ESimCSE's repetition: some tokens, or words, of a sentence are written twice, or are followed by a
stop-word or a mask (D61 - D64, D72)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from core.methods.contrastive import TrainingText
from core.methods.esimcse.settings import ESimCSERun, Repetition
from core.spec.errors import UserError

# Which list the paper used is not known (the released code refers to one that is commented out, D72). This
# list is ours: articles, conjunctions, prepositions, pronouns, auxiliaries and a few adverbs.
STOP_WORDS = tuple(
    """ a an the this that these those and or but if because as until while of at by for with about against
    between into through during before after above below to from up down in out on off over under again
    further then once here there when where why how all any both each few more most other some such no nor not
    only own same so than too very i me my we us our you your he him his she her it its they them their what
    which who whom am is are was were be been being have has had do does did can could will would shall should
    may might must just now """.split()
)


def positions(dup: Repetition, length: int, stream: random.Random) -> list[int]:
    """Places, in order, of what is written twice: a uniform count, then distinct uniform places.

    With `protect_special`, sub-word repetition leaves out the first and last token ([CLS], [SEP]) and word
    repetition the last word (D63).
    """
    if dup.protect_special:
        allowed = range(1, length - 1) if dup.unit == "subword" else range(length - 1)
    else:
        allowed = range(length)
    count = stream.randint(0, dup.largest_count(length))
    return sorted(stream.sample(allowed, min(count, len(allowed))))


def repeat_tokens(tokens: np.ndarray, dup: Repetition, max_length: int, stream: random.Random) -> np.ndarray:
    """Token ids with the drawn ones doubled, (N + count,); cut at max_length only with `recut` (D62)."""
    times = np.ones(len(tokens), np.intp)
    times[positions(dup, len(tokens), stream)] = 2
    doubled = np.repeat(tokens, times)
    if dup.recut and len(doubled) > max_length:
        doubled = np.concatenate([doubled[: max_length - 1], tokens[-1:]])
    return doubled


def repeat_words(
    sentence: str, dup: Repetition, stream: random.Random, inserted: tuple[str, ...] = ()
) -> str:
    """The sentence with each drawn blank-separated word followed by itself or, where `inserted` is not empty,
    by one of those words, drawn evenly and for each place anew (D72)."""
    words = sentence.split()
    if len(words) < 2:
        return sentence
    chosen = set(positions(dup, len(words), stream))
    written = []
    for place, word in enumerate(words):
        written.append(word)
        if place in chosen:
            written.append(stream.choice(inserted) if inserted else word)
    return " ".join(written)


def repeater(
    config: ESimCSERun, text: TrainingText, rng: random.Random
) -> Callable[[Sequence[int]], list[np.ndarray]]:
    """The function that makes the second views of the sentences at these places of the text, in token ids."""
    dup, longest = config.dup, config.data.max_length
    inserted = insertions(dup, text.tokenizer) if dup is not None else ()

    def repeated(indices: Sequence[int]) -> list[np.ndarray]:
        if dup is None:
            return [text.table[i] for i in indices]
        streams = [(i, stream_for(dup, rng, int(i))) for i in indices]
        if dup.unit == "subword":
            return [repeat_tokens(text.table[i], dup, longest, stream) for i, stream in streams]
        assert text.sentences is not None, "such a run reads words"
        written = [repeat_words(text.sentences[i], dup, stream, inserted) for i, stream in streams]
        encoded = text.tokenizer(written, truncation=True, max_length=longest)["input_ids"]
        return [np.array(ids, dtype=np.int32) for ids in encoded]

    return repeated


def insertions(dup: Repetition, tokenizer) -> tuple[str, ...]:
    """What follows the drawn words: the words themselves (empty), the tokenizer's mask, or stop-words (D72).

    Of the stop-words those that the vocabulary has whole, so that a small one does not turn them into
    letters. Raises UserError if there is no mask or no such word.
    """
    if dup.unit == "mask":
        if tokenizer.mask_token is None:
            raise UserError(
                "dup.unit=mask needs a tokenizer with a mask token, which this encoder's has not; "
                "take another unit."
            )
        return (tokenizer.mask_token,)
    if dup.unit != "stopword":
        return ()
    unknown = tokenizer.unk_token
    # the blank makes it a word of its own in RoBERTa
    pieces = {word: tokenizer.tokenize(f" {word}") for word in STOP_WORDS}
    whole = tuple(word for word, found in pieces.items() if len(found) == 1 and found != [unknown])
    if not whole:
        raise UserError(
            "dup.unit=stopword needs English function words in the encoder's vocabulary, which has "
            "none; take another unit."
        )
    return whole


def stream_for(dup: Repetition, drawing: random.Random, index: int) -> random.Random:
    """Where a sentence's repetition is drawn from: the run's stream, or with resample=static one fixed by the
    sentence's place in the text, the same for every seed (D64)."""
    return drawing if dup.resample == "per_epoch" else random.Random(f"static/{index}")
