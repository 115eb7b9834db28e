"""One run of this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from core.config.identity import run_id
from core.config.run import RunConfig
from core.config.scale import EncoderSource, Sources
from core.data.encoders import DEMO_ENCODER
from core.store.store import Store
from core.training.execution import Execution


@dataclass(frozen=True)
class Run:
    """A run's configuration and identity, where its parts lie, and what takes its messages: made
    once, and handed through."""

    config: RunConfig
    execution: Execution
    progress: Callable[[dict], None] = lambda message: None

    @property
    def id(self) -> str:
        """The run's identity, which follows from its configuration."""
        return run_id(self.config)

    @property
    def device(self) -> torch.device:
        """The device that it trains on."""
        return torch.device(self.execution.device)

    @property
    def cache(self) -> Path:
        """The folder of files that can be made again."""
        return Path(self.execution.cache_dir)

    @property
    def store(self) -> Store:
        """The user's own runs."""
        return Store(self.execution.results_dir, None)

    @property
    def sources(self) -> Sources:
        """Text, sets and encoders."""
        return self.execution.sources

    @property
    def encoder(self) -> EncoderSource:
        """The encoder that it starts from."""
        return self.sources.encoder_of(self.config.encoder.digest)

    @property
    def encoder_folder(self) -> Path:
        """The folder of that encoder."""
        return self.encoder.folder or DEMO_ENCODER

    def note(self, sentence: str) -> None:
        """Say a sentence."""
        self.progress({"note": sentence})

    def enter(self, phase: str) -> None:
        """Say what the run does from now on."""
        self.progress({"phase": phase})
