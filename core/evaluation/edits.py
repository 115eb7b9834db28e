"""How far a small edit moves a sentence: cosines of sentences and their edited copies (ESimCSE,
Table 2).

The paper shows one sentence; here are means over 100 of the development set, the same copies in all
runs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import torch

from core.config.result import Measurement
from core.data.sts import StsSet
from core.encoder.streams import python_stream
from core.encoder.tokens import TokenTable, tokenise
from core.encoder.vectors import array, cosines
from core.evaluation.scoring import table_vectors
from core.methods.contrastive import Contrastive

SENTENCES = 100
FEWEST_WORDS = 6  # of a sentence that is edited
EDITS = ("itself", "insertion", "deletion", "repetition", "repetition_subword")


def edited_sentences(dev: StsSet) -> list[str]:
    """The first 100 distinct sentences of at least 6 words, first sentence before second, in file
    order."""
    texts: dict[str, None] = {}
    for pair in zip(dev.a, dev.b, strict=True):
        texts.update(dict.fromkeys(pair))
    long_enough = [text for text in texts if len(text.split()) >= FEWEST_WORDS]
    return long_enough[:SENTENCES]


def insertion(words: Sequence[str], other: Sequence[str], stream: random.Random) -> list[str]:
    """The words with one word of another sentence put anywhere among them, ends included."""
    place = stream.randrange(len(words) + 1)
    word = stream.choice(other)
    return [*words[:place], word, *words[place:]]


def with_copies(words: Sequence, times: int, stream: random.Random) -> list:
    """The words with one of them written so many times: 0 is deletion, 2 repetition."""
    place = stream.randrange(len(words))
    return [*words[:place], *[words[place]] * times, *words[place + 1 :]]


def edited_copies(sentences: Sequence[str], tokenizer, max_length: int) -> TokenTable:
    """Token ids of n sentences, two or more, and of their copies by kind of edit in the order of
    EDITS: 6 n rows. Sentences are cut one token below the encoder's limit `max_length`, so that one
    can be repeated."""
    stream = python_stream(0, "edits")
    words = [sentence.split() for sentence in sentences]
    texts = [*sentences, *sentences]
    for i, sentence in enumerate(words):
        other = words[(i + stream.randrange(1, len(words))) % len(words)]
        texts.append(" ".join(insertion(sentence, other, stream)))
    for times in (0, 2):
        for sentence in words:
            texts.append(" ".join(with_copies(sentence, times, stream)))
    table = tokenise(tokenizer, texts, max_length - 1)
    arrays = [table[i] for i in range(len(table))]
    for tokens in arrays[: len(sentences)]:  # neither [CLS] nor [SEP] is repeated
        arrays.append(
            np.array([tokens[0], *with_copies(list(tokens[1:-1]), 2, stream), tokens[-1]])
        )
    return TokenTable(np.concatenate(arrays), np.cumsum([0, *map(len, arrays)], dtype=np.int64))


def edit_rows(
    model: Contrastive, dev: StsSet, tokenizer, device: torch.device, step: int
) -> list[Measurement]:
    """Mean cosine between sentence and copy by kind of edit; no rows where there is nothing to
    insert from.

    `itself` is encoded like the other copies: 1 up to rounding, and less where evaluation is random
    (D21).
    """
    sentences = edited_sentences(dev)
    if len(sentences) < 2:
        return []
    copies = edited_copies(sentences, tokenizer, model.encoder.max_positions)
    vectors = array(table_vectors(model, copies, np.arange(len(copies)), device))  # (6 n, dim)
    plain, *edited = np.split(vectors, 1 + len(EDITS))  # (n, dim) each
    rows = []
    for edit, copy in zip(EDITS, edited, strict=True):
        mean = float(cosines(plain, copy).mean(dtype=np.float64))
        if np.isfinite(mean):
            rows.append(Measurement("selected", "edits", f"cosine_{edit}", step, mean))
    return rows
