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

from core.config import methods
from core.config.run import RunConfig
from core.encoder.streams import numpy_stream, python_stream, seed_libraries
from core.evaluation.scoring import Candidate
from core.methods.contrastive import Batch, Contrastive, TrainingText, device_batch
from core.training.checkpoint import CheckpointFile, TrainingState
from core.training.optimiser import adamw, learning_rate
from core.training.step import step_for

REPORT_SECONDS = 0.5  # least time between two progress reports
NO_WAITING = ("cpu",)  # devices whose numbers can be read at any time


class TrainingResult(NamedTuple):
    """What the loop leaves. `losses` are (step, mean training loss since the previous entry).

    `diverged_at` is the first step whose loss or gradient was not finite; `selected` is from
    before. `step_seconds` is of this attempt: the median of single steps on a CPU, and on a GPU,
    which works on while the clock is read, of means between two checks.
    """

    selected: Candidate | None
    losses: list[tuple[int, float]]
    diverged_at: int | None
    step_seconds: float | None


class Losses:
    """The training losses: (step, mean) at each check, and `pending` since the last check."""

    def __init__(self, state: TrainingState, at_once: bool):
        self.means = list(state.losses)
        self.pending = list(state.pending)
        self.at_once = at_once

    def first_not_finite(self, step: int) -> int | None:
        """The step up to `step` whose loss was the first that is not finite. Reading losses makes
        a GPU wait; where numbers are read at once, earlier losses were read before."""
        latest = self.pending[-1:] if self.at_once else self.pending
        finite = torch.isfinite(torch.stack(latest)).tolist()
        if all(finite):
            return None
        return step - len(finite) + 1 + finite.index(False)

    def close(self, step: int) -> float:
        """The mean since the last check, which becomes this check's entry."""
        mean = float(torch.stack(self.pending).mean())
        self.means.append((step, mean))
        self.pending.clear()
        return mean


class BestCheckpoint:
    """The best checkpoint so far, the earlier of equals; with select.metric=last the last one."""

    def __init__(self, config: RunConfig, model: Contrastive, state: TrainingState):
        self.keeps_last = config.select.metric == "last"
        self.model = model
        self.score = state.score
        self.selected = state.selected
        if config.train.steps == 0:
            self.select(0, math.nan)

    def consider(self, step: int, score: float) -> None:
        """Select the model as it is if its score is the best."""
        self.score = score
        best = self.selected
        if best is None or self.keeps_last or score > best.score or math.isnan(best.score):
            self.select(step, score)

    def select(self, step: int, score: float) -> None:
        """Select the weights that are scored, as they are after this step."""
        state = self.model.scored_parts().state_dict()
        weights = {name: value.clone() for name, value in state.items()}
        self.selected = Candidate(step, score, weights)


def train(
    config: RunConfig,
    model: Contrastive,
    batches: Iterable[tuple],
    check: Callable[[int], float],
    progress: Callable[[dict], None],
    file: CheckpointFile | None = None,
) -> TrainingResult:
    """Train `model` on `batches`, each a tuple of arguments of `model.loss`; `check(step)` scores
    the model.

    Checks come every `eval.every` steps and after the last one (D86), and draw from none of the
    training's streams. `file` writes checkpoints and restores the last one; `batches` must then
    begin after its step. A run of no steps keeps the model as it is.
    """
    device = next(model.parameters()).device
    at_once = device.type in NO_WAITING
    optimiser = adamw(config.train, model, model.new_layers())
    state = TrainingState() if file is None else file.restored(optimiser)
    losses = Losses(state, at_once)
    selection = BestCheckpoint(config, model, state)
    train_step = step_for(config.train, model, optimiser, device)
    started = reported = time.monotonic()
    laps: list[float] = []  # seconds a step, in which neither checks nor checkpoints count
    lap_step = state.step
    lap_began = started
    diverged_at = None
    model.train()
    for step, batch in enumerate(batches, start=state.step + 1):
        # one step
        losses.pending.append(train_step(batch, learning_rate(config.train, step)))
        checks = step % config.eval.every == 0 or step == config.train.steps
        writes = file is not None and file.due()
        timed = at_once or checks
        reads = timed or writes  # a GPU finishes the step first
        if reads:
            diverged_at = losses.first_not_finite(step)
            if diverged_at is not None:
                break
        if timed:
            laps.append((time.monotonic() - lap_began) / (step - lap_step))

        # a check
        loss = None
        if checks:
            loss = losses.close(step)
            selection.consider(step, check(step))
            model.train()

        # a report
        now = time.monotonic()
        if checks or now - reported > REPORT_SECONDS:
            reported = now
            report = {
                "phase": "train",
                "step": step,
                "total": config.train.steps,
                "rate": (step - state.step) / (now - started),
                "dev": selection.score,
                "loss": loss,
            }
            progress(report)

        # a checkpoint
        if file is not None and writes:
            reached = TrainingState(
                step, selection.selected, losses.means, losses.pending, selection.score
            )
            file.write(reached, model, optimiser)
        if reads:
            lap_step = step
            lap_began = time.monotonic()
    step_seconds = statistics.median(laps) if laps else None
    return TrainingResult(selection.selected, losses.means, diverged_at, step_seconds)


def batch_indices(config: RunConfig, rows: int) -> Iterator[np.ndarray]:
    """Sentence indices of each step, (batch,) or less for a ragged last batch of an epoch (D37),
    without end. Each epoch is a fresh permutation from the stream `order` of seed.data."""
    stream = numpy_stream(config.seed.data, "order")
    size = config.train.batch_size
    while True:
        order = stream.permutation(rows)
        stop = rows
        if config.data.drop_last:
            stop -= rows % size
        for start in range(0, stop, size):
            yield order[start : start + size]


def training_batches(
    config: RunConfig, text: TrainingText, device: torch.device, done: int = 0
) -> Iterator[tuple[Batch, ...]]:
    """The arguments of `model.loss` for each training step after the first `done` steps. Batches of
    skipped steps are made, too (0.1 ms each), so that later random draws stay the same. What a step
    draws without naming a stream depends on the seed and the step alone."""
    model = methods.model(config.method).Model
    drawing = python_stream(config.seed.data, "augmentation")
    batcher = functools.partial(device_batch, device, config.longest)
    indices = batch_indices(config, len(text.table))
    for step in range(config.train.steps):
        seed_libraries(config.seed.data, f"step {step}")
        batch = model.batch(config, text, batcher, drawing, next(indices))
        if step >= done:
            yield batch
