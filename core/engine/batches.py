"""Training batches: which sentences make up each step, and what each method is given of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from core.engine.encoder.packing import Packed, pack
from core.methods.repetition import insertions, repeat_tokens, repeat_words, stream_for
from core.engine.streams import numpy_stream, python_stream
from core.engine.tokens import TokenTable
from core.spec.run import RunConfig


def batch_indices(config: RunConfig, rows: int) -> Iterator[np.ndarray]:
    """Sentence indices of each step, (batch,) or less for a ragged last batch of an epoch (D37), without end.

    Each epoch is a fresh permutation from the stream `order` of seed.data, so order never depends on anything else.
    """
    stream = numpy_stream(config.seed.data, "order")
    size = config.train.batch_size
    while True:
        order = stream.permutation(rows)
        stop = rows - rows % size if config.data.drop_last else rows
        for start in range(0, stop, size):
            yield order[start : start + size]


def training_batches(
    config: RunConfig, table: TokenTable, texts: list[str] | None, tokenizer, device: torch.device,
    rewritten: TokenTable | None = None, done: int = 0,
) -> Iterator[tuple[Packed | None, ...]]:
    """The arguments of `model.loss` for each of `train.steps` steps but the first `done`, whose draws are made all the same.

    MoCoSE gets the batch once and makes its views itself, or also what its target branch reads, from `rewritten`. SimCSE and
    ESimCSE get both views in one batch of 2B and, with a queue, what goes through the momentum encoder. `texts` and `tokenizer`
    are needed for word repetition alone.
    """
    steps = batch_indices(config, len(table))
    drawing = python_stream(config.seed.data, "augmentation")
    inserted = insertions(config.dup, tokenizer) if config.dup is not None else ()
    for step in range(config.train.steps):
        indices = next(steps)
        if step < done and (config.method == "mocose" or config.dup is None or config.dup.resample != "per_epoch"):
            continue  # nothing is drawn from a stream that goes on
        first = [table[i] for i in indices]
        if config.method == "mocose":
            second = () if rewritten is None else (pack([rewritten[i] for i in indices], device),)
            yield (pack(first, device), *second)
            continue
        second = first
        if config.dup is not None and config.dup.unit == "subword":
            second = [
                repeat_tokens(tokens, config.dup, config.data.max_length, stream_for(config.dup, drawing, int(i)))
                for tokens, i in zip(first, indices)
            ]
        elif config.dup is not None:
            repeated = [
                repeat_words(texts[i], config.dup, stream_for(config.dup, drawing, int(i)), inserted) for i in indices
            ]
            if step < done:
                continue
            encoded = tokenizer(repeated, truncation=True, max_length=config.data.max_length)["input_ids"]
            second = [np.array(ids, dtype=np.int32) for ids in encoded]
        if step < done:
            continue
        kept = None
        if config.queue is not None:
            kept = pack(second if config.queue.view == "repeated" else first, device)
        yield pack(first + second, device), kept
