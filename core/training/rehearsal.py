"""Short trainings of a method on a few sentences, for its trial."""

from __future__ import annotations

import copy
import io
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.config.run import Execution, RunConfig
from core.config.vary import vary
from core.encoder.bert import Encoder
from core.encoder.tokens import TokenTable
from core.errors import UserError
from core.methods.contrastive import TrainingText
from core.training.attributes import in_place
from core.training.job import load_encoder, new_model, present_text
from core.training.optimiser import adamw
from core.training.step import Step, step_for
from core.training.trainer import training_batches

STEPS = 3
TRIAL_SENTENCES = 16
TRIAL_RATE = 1e-4  # of the steps: enough to move every weight, and too little to diverge


class Material(NamedTuple):
    """What a trial is made of: a run of few sentences a step, its encoder and text."""

    config: RunConfig
    encoder: Encoder
    text: TrainingText
    device: torch.device

    @classmethod
    def of(cls, config: RunConfig, execution: Execution) -> Material:
        """Load what a run needs. Raises UserError for data that is not what the run names."""
        device = torch.device(execution.device)
        torch.set_num_threads(execution.threads)
        encoder, tokenizer = load_encoder(config, execution)
        text = present_text(config, execution, tokenizer, device)
        return cls(smaller(config), encoder, with_columns(text, config.columns), device)


def with_columns(text: TrainingText, count: int) -> TrainingText:
    """The text with so many columns. Those that it lacks are made up of its other sentences."""
    columns = list(text.columns)
    for number in range(len(columns) + 1, count):
        columns.append(moved(text.table, number))
    return text._replace(columns=tuple(columns))


def moved(table: TokenTable, by: int) -> TokenTable:
    """The same sentences, each so many places earlier; the first ones come last."""
    by %= len(table)
    lengths = np.roll(np.diff(table.offsets), -by)
    ids = np.roll(table.ids, -int(table.offsets[by]))
    return TokenTable(ids, np.concatenate([[0], np.cumsum(lengths)]))


def smaller(config: RunConfig) -> RunConfig:
    """The run with few sentences a step, where its method allows that."""
    steps = max(config.train.steps, 2 * STEPS)
    size = min(config.train.batch_size, TRIAL_SENTENCES)
    try:
        return vary(config, {"train.steps": steps, "train.batch_size": size})
    except UserError:
        return vary(config, {"train.steps": steps})


class Training:
    """A training of the method on the material, from its first step or from a state."""

    def __init__(self, material: Material, done: int = 0, captures: bool | None = None):
        config, encoder, text, device = material
        self.model = new_model(config, copy.deepcopy(encoder), device)
        self.optimiser = adamw(config.train, self.model, self.model.new_layers())
        if captures is not None:
            self.step: Step = Step(config.train, self.model, self.optimiser, None, captures)
        elif device.type == "cpu":
            self.step = WatchedStep(config.train, self.model, self.optimiser, None, False)
        else:
            self.step = step_for(config.train, self.model, self.optimiser, device)
        self.batches = training_batches(config, text, device, done)
        self.losses: list[float] = []
        self.model.train()

    def advance(self, steps: int) -> None:
        """Train so many more steps."""
        for _ in range(steps):
            batch = next(self.batches)
            self.losses.append(float(self.step(batch, TRIAL_RATE)))

    def state(self) -> dict[str, Any]:
        """The content of a checkpoint, copied."""
        content = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict()}
        return copy.deepcopy(content)

    def resume(self, content: dict[str, Any]) -> None:
        """Take over the content of a checkpoint, as it comes from a file."""
        file = io.BytesIO()
        torch.save(content, file)
        file.seek(0)
        read = torch.load(file, weights_only=True)
        self.model.load_state_dict(read["model"])
        self.optimiser.load_state_dict(read["optimiser"])


class WatchedStep(Step):
    """A step that notes what a CUDA graph would freeze: numbers, and tensors in new memory."""

    def __init__(self, *words: Any):
        super().__init__(*words)
        self.frozen: set[str] = set()

    def _body(self, batch: tuple) -> Tensor:
        form = self.model.form()
        before = in_place(self.model)
        loss = super()._body(batch)
        if self.model.form() == form:
            after = in_place(self.model)
            self.frozen |= {name for name in before if after.get(name) != before[name]}
        return loss
