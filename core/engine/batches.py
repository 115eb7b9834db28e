"""Training batches: which sentences make up each step, and what the method makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from core.engine.encoder.packing import Packed
from core.engine.streams import numpy_stream, python_stream
from core.methods.contrastive import TrainingText
from core.spec import methods
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


def training_batches(config: RunConfig, text: TrainingText, device: torch.device, done: int = 0) -> Iterator[tuple[Packed | None, ...]]:
    """The arguments of `model.loss` for each training step after the first `done` steps. The draws of skipped steps are made, too, so
    that the later draws stay the same."""
    steps = batch_indices(config, len(text.table))
    views = methods.model(config.method).Views(config, text, device, python_stream(config.seed.data, "augmentation"))
    for step in range(config.train.steps):
        indices = next(steps)
        if step < done:
            views.skip(indices)
        else:
            yield views.make(indices)
