"""What the masked-language model reads: passages of one segment or two, from running text and from
single sentences.

The pair task asks whether the second segment goes on from the first. In one case of four there is
no second segment and nothing is asked: so does a sentence stand when it is scored.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from tools.pretraining import CLS, PAD, SEP

# most pieces of each of two segments, and of a segment that stands alone
SEGMENT = 16
LONGEST_ALONE = 40
POOL = 24  # batches that are drawn together and sorted by length, so that little is padded
NO_PAIR = -100  # the label that cross-entropy passes over


class Passages(NamedTuple):
    """A batch: ids, token types (B, L), and whether the second segment goes on from the first (B,):
    1, 0 or NO_PAIR."""

    ids: Tensor
    types: Tensor
    follows: Tensor


def documents(file: Path) -> list[list[str]]:
    """Sentences in running order, one a line; a blank line ends a document."""
    blocks = Path(file).read_text(encoding="utf-8").split("\n\n")
    texts = []
    for block in blocks:
        lines = [line for line in block.split("\n") if line.strip()]
        if lines:
            texts.append(lines)
    return texts


def examples(
    running: list[list[list[int]]], single: list[list[int]], choice: random.Random
) -> Iterator[tuple[list[int], list[int], int]]:
    """(first segment, second segment, follows), without end. `running` are documents of sentences,
    `single` sentences, as ids.

    Half come from running text (a sentence and the next), half from single sentences (a sentence's
    halves).
    """
    starts = []
    for d, document in enumerate(running):
        for s in range(len(document) - 1):
            starts.append((d, s))
    halves = [ids for ids in single if len(ids) >= 8]
    while True:
        from_text = choice.random() < 0.5
        if choice.random() < 0.25:
            d, s = choice.choice(starts)
            alone = running[d][s] if from_text else choice.choice(single)
            yield alone[:LONGEST_ALONE], [], NO_PAIR
            continue
        follows = int(choice.random() < 0.5)
        if from_text:
            d, s = choice.choice(starts)
            first = running[d][s]
            second = running[d][s + 1]
            if not follows:
                d, s = choice.choice(starts)
                second = running[d][s + 1]
        else:
            ids = choice.choice(halves)
            middle = len(ids) // 2
            first = ids[:middle]
            second = ids[middle:]
            if not follows:
                ids = choice.choice(halves)
                second = ids[len(ids) // 2 :]
        yield first[-SEGMENT:], second[:SEGMENT], follows


def batches(
    stream: Iterator[tuple[list[int], list[int], int]], size: int, choice: random.Random
) -> Iterator[Passages]:
    """Batches of `size` passages of similar length, without end."""
    while True:
        rows = sorted(
            (next(stream) for _ in range(POOL * size)), key=lambda row: len(row[0]) + len(row[1])
        )
        chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
        choice.shuffle(chunks)
        for chunk in chunks:
            yield batch(chunk)


def batch(rows: list[tuple[list[int], list[int], int]]) -> Passages:
    """[CLS] first [SEP] second [SEP], padded to the longest; a passage without second segment ends
    at the first [SEP]."""
    firsts = [[CLS, *first, SEP] for first, _, _ in rows]
    seconds = []
    for _, second, _ in rows:
        seconds.append([*second, SEP] if second else [])
    longest = max(len(first) + len(second) for first, second in zip(firsts, seconds, strict=True))
    ids = []
    types = []
    for first, second in zip(firsts, seconds, strict=True):
        rest = longest - len(first) - len(second)
        ids.append(first + second + [PAD] * rest)
        types.append([0] * len(first) + [1] * len(second) + [0] * rest)
    follows = [label for _, _, label in rows]
    return Passages(torch.tensor(ids), torch.tensor(types), torch.tensor(follows))
