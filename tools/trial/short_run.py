"""Runs of a few steps on a few sentences, for the trial of a method."""

from __future__ import annotations

import contextlib
import copy
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.config.run import RunConfig
from core.config.section import Section, fields_of
from core.config.vary import vary
from core.encoder.bert import Encoder
from core.encoder.packing import pack, padded, token_matrix
from core.encoder.tokens import TokenTable
from core.errors import UserError
from core.methods.contrastive import Batches, Contrastive, TrainingText
from core.training.checkpoint import TrainingState
from core.training.execution import Execution
from core.training.job import load_encoder, new_model, training_text_of
from core.training.run import Run
from core.training.trainer import train, training_batches

STEPS = 3
SENTENCES = 16  # of a step
SCORED = 8  # sentences whose vectors are compared
NEAR = 1e-3  # of a largest number: other batches round otherwise
RATE = 1e-4  # of the first step: enough to move every weight, and too little to diverge


def own_sections(run: RunConfig) -> dict[str, Section | None]:
    """The sections of a run that its method brings in."""
    common = fields_of(RunConfig)
    own = (field for name, field in fields_of(type(run)).items() if name not in common)
    return {field.public: getattr(run, field.name) for field in own}


class ShortRun(NamedTuple):
    """What a short run leaves: its model, the losses of its steps up to the first that is not
    finite, and what a checkpoint holds of it."""

    model: Contrastive
    losses: list[float]
    state: bytes


class Material(NamedTuple):
    """What the short runs of a trial have in common."""

    run: Run
    encoder: Encoder
    text: TrainingText

    @classmethod
    def of(cls, config: RunConfig, execution: Execution) -> Material:
        """Load what a run needs. Raises UserError for data that is not what the run names."""
        run = Run(config, execution)
        torch.set_num_threads(execution.threads)
        encoder, tokenizer = load_encoder(run)
        text = training_text_of(run, tokenizer)
        with contextlib.suppress(UserError):  # its method may need larger batches
            size = min(config.train.batch_size, SENTENCES)
            config = vary(config, {"train.batch_size": size})
        short = {
            "train.steps": 2 * STEPS,
            "eval.every": 2 * STEPS,  # no check, which sets modes
            "train.learning_rate": RATE,
            "train.warmup_fraction": 0.0,
        }
        run = Run(vary(config, short), execution)

        # columns that the text lacks are made up of its other sentences
        count = min(STEPS * config.train.batch_size, len(text.table))
        tables = [few(table, count) for table in (text.table, *text.columns)]
        for number in range(len(tables), config.columns):
            tables.append(few(text.table, count, number))
        return cls(run, encoder, text._replace(table=tables[0], columns=tuple(tables[1:])))

    def batches(self, start: int = 0, stop: int = STEPS) -> Iterator[Batches]:
        """The arguments of `loss` for the steps after `start`, up to `stop`."""
        run = self.run
        return islice(training_batches(run.config, self.text, run.device, start), stop - start)

    def model(self, changes: Mapping[str, object] | None = None) -> Contrastive:
        """A new model, under a configuration with these changes. Raises UserError."""
        config = vary(self.run.config, changes or {})
        return new_model(config, copy.deepcopy(self.encoder), self.run.device).train()

    def trained(
        self,
        batches: Iterable[Batches] = (),
        scored: bool = False,
        state: bytes = b"",
        captures: bool = True,
        changes: Mapping[str, object] | None = None,
    ) -> ShortRun:
        """A run over these batches, or over the first ones, which scores after each step or does
        not, from nothing or from what another left. Without `captures` a GPU replays no step."""
        model = self.model(changes)
        model.capturable = model.capturable and captures
        kept: dict[str, Any] = {}
        if state:
            kept = torch.load(io.BytesIO(state), weights_only=True)
            model.load_state_dict(kept["model"])
        losses: list[float] = []
        left: dict[str, Any] = {}

        def restored(optimiser: torch.optim.Optimizer) -> TrainingState:
            if not kept:
                return TrainingState()
            groups = optimiser.state_dict()["param_groups"]
            optimiser.load_state_dict({"state": kept["optimiser"], "param_groups": groups})
            return TrainingState(step=kept["step"])

        def write(at: TrainingState, _: Contrastive, optimiser: torch.optim.Optimizer) -> None:
            losses[:] = map(float, at.pending)
            left.update(step=at.step, optimiser=optimiser.state_dict()["state"])
            if scored:
                self.vectors(model)

        file: Any = SimpleNamespace(restored=restored, due=lambda: True, write=write)
        train(
            self.run.config, model, batches or self.batches(), lambda _: 0.0, lambda _: None, file
        )
        content = io.BytesIO()
        torch.save({**left, "model": model.state_dict()}, content)
        return ShortRun(model, losses, content.getvalue())

    @torch.inference_mode()
    def vectors(self, model: Contrastive, part: slice = slice(SCORED), padding: int = 0) -> Tensor:
        """The scored vectors of a part of the sentences; the model is in its mode afterwards."""
        table = self.text.table
        texts = [table[i] for i in range(len(table))[part]]
        batch = pack(texts, self.run.device)
        if padding:
            matrix = token_matrix(texts, max(map(len, texts)) + padding)
            batch = padded(matrix.to(self.run.device))
        mode = model.training
        model.eval()
        scored = model.sentence_vectors(batch)
        model.train(mode)
        return scored

    def tokens(self) -> list[int]:
        """A checksum of the token ids of the text and of each of its columns."""
        return [zlib.crc32(table.ids.data) for table in (self.text.table, *self.text.columns)]


def few(table: TokenTable, count: int, by: int = 0) -> TokenTable:
    """The first sentences of a table, each so many places earlier; the first ones come last."""
    sentences = [table[(i + by) % count] for i in range(count)]
    return TokenTable(np.concatenate(sentences), np.cumsum([0, *map(len, sentences)]))
