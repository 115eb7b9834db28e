"""One run of this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from core.config.identity import run_id
from core.config.run import RunConfig
from core.data.encoders import DEMO_ENCODER
from core.data.sources import Execution
from core.store.store import Store


class Run:
    """A run's configuration and identity, where its parts lie, and what takes its messages: made
    once, and handed through."""

    def __init__(
        self,
        config: RunConfig,
        execution: Execution,
        progress: Callable[[dict], None] = lambda message: None,
    ):
        self.config = config
        self.execution = execution
        self.progress = progress
        self.id = run_id(config)
        self.device = torch.device(execution.device)
        self.cache = Path(execution.cache_dir)
        self.store = Store(execution.results_dir, None)
        self.sources = execution.sources
        self.encoder = self.sources.encoder_of(config.encoder.digest)
        self.encoder_folder = self.encoder.folder or DEMO_ENCODER

    def note(self, sentence: str) -> None:
        """Say a sentence."""
        self.progress({"note": sentence})

    def enter(self, phase: str) -> None:
        """Say what the run does from now on."""
        self.progress({"phase": phase})
