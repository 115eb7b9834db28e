"""The training loop: batches, AdamW, linear decay, clipping, development checks, divergence."""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from core.engine.checkpoint import Checkpoint, CheckpointFile, TrainingState
from core.engine.optimiser import adamw, learning_rate
from core.engine.step import step_for
from core.engine.streams import numpy_stream, python_stream
from core.methods.contrastive import Batch, Contrastive, TrainingText, batched
from core.spec import methods
from core.spec.run import RunConfig

REPORT_SECONDS = 0.5  # least time between two progress reports
NO_WAITING = ("cpu",)  # devices whose numbers can be read at any time


class Training(NamedTuple):
    """What the loop leaves. `losses` are (step, mean training loss since the previous entry).

    `diverged_at` is the first step whose loss or gradient was not finite; `selected` is from
    before. `step_seconds` is of this attempt: the median of single steps on a CPU, and on a GPU,
    which works on while the clock is read, of means between two checks.
    """

    selected: Checkpoint | None
    losses: list[tuple[int, float]]
    diverged_at: int | None
    step_seconds: float | None


def train(
    config: RunConfig,
    model: Contrastive,
    batches: Iterable[tuple],
    check: Callable[[int], float],
    progress: Callable[[dict], None],
    file: CheckpointFile | None = None,
) -> Training:
    """Train `model` on `batches`, each a tuple of arguments of `model.loss`; `check(step)` scores
    the model.

    Checks come every `eval.every` steps and after the last one (D86), and draw from none of the
    training's streams. The best score is kept, the earlier one of equals; with select.metric=last
    the last. `file` writes checkpoints and restores the last one; `batches` must then begin after
    its step. A run of no steps keeps the model as it is.
    """
    device = next(model.parameters()).device
    at_once = device.type in NO_WAITING
    optimiser = adamw(config.train, model, model.new_layers())
    at = file.restored(optimiser) if file is not None else TrainingState()
    selected = at.selected
    losses = list(at.losses)
    pending = list(at.pending)
    score = at.score
    train_step = step_for(config.train, model, optimiser, device)
    diverged_at = None
    if config.train.steps == 0:
        selected = _checkpoint(model, 0, math.nan)
    started = reported = time.monotonic()
    model.train()
    # seconds a step: batch, loss, backward, optimiser, moving average and queue
    laps: list[float] = []
    lap_step = at.step
    lap_began = started
    for step, batch in enumerate(batches, start=at.step + 1):
        pending.append(train_step(batch, learning_rate(config.train, step)))
        checks = step % config.eval.every == 0 or step == config.train.steps
        due = file if file is not None and file.due() else None
        if at_once or checks or due:  # a GPU finishes the step first
            latest = pending[-1:] if at_once else pending
            finite = torch.isfinite(torch.stack(latest)).tolist()
            if not all(finite):
                diverged_at = step - len(finite) + 1 + finite.index(False)
                break
        if checks or at_once:
            laps.append((time.monotonic() - lap_began) / (step - lap_step))
        if checks:
            losses.append((step, float(torch.stack(pending).mean())))
            pending.clear()
            score = check(step)
            better = selected is None or score > selected.score or math.isnan(selected.score)
            if better or config.select.metric == "last":
                selected = _checkpoint(model, step, score)
            model.train()
        now = time.monotonic()
        if checks or now - reported > REPORT_SECONDS:
            reported = now
            rate = (step - at.step) / (now - started)
            progress(
                {
                    "phase": "train",
                    "step": step,
                    "total": config.train.steps,
                    "rate": rate,
                    "dev": score,
                    "loss": losses[-1][1] if checks else None,
                }
            )
        if due:
            due.write(TrainingState(step, selected, losses, pending, score), model, optimiser)
        if checks or due or at_once:  # neither checks nor checkpoints count
            lap_step = step
            lap_began = time.monotonic()
    return Training(selected, losses, diverged_at, statistics.median(laps) if laps else None)


def _checkpoint(model: Contrastive, step: int, score: float) -> Checkpoint:
    """The weights that are scored, as they are after this step."""
    state = model.scored_parts().state_dict()
    return Checkpoint(step, score, {name: value.clone() for name, value in state.items()})


def batch_indices(config: RunConfig, rows: int) -> Iterator[np.ndarray]:
    """Sentence indices of each step, (batch,) or less for a ragged last batch of an epoch (D37),
    without end. Each epoch is a fresh permutation from the stream `order` of seed.data."""
    stream = numpy_stream(config.seed.data, "order")
    size = config.train.batch_size
    while True:
        order = stream.permutation(rows)
        stop = rows - rows % size if config.data.drop_last else rows
        for start in range(0, stop, size):
            yield order[start : start + size]


def training_batches(
    config: RunConfig, text: TrainingText, device: torch.device, done: int = 0
) -> Iterator[tuple[Batch, ...]]:
    """The arguments of `model.loss` for each training step after the first `done` steps. Batches of
    skipped steps are made, too (0.1 ms each), so that later random draws stay the same."""
    model = methods.model(config.method).Model
    drawing = python_stream(config.seed.data, "augmentation")
    batcher = functools.partial(batched, device, config.longest)
    for step, indices in zip(
        range(config.train.steps), batch_indices(config, len(text.table)), strict=False
    ):
        batch = model.batch(config, text, batcher, drawing, indices)
        if step >= done:
            yield batch
