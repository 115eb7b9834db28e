"""One run of this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from core.config.identity import run_id
from core.config.run import Execution, RunConfig
from core.data.encoders import DEMO_ENCODER
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
        self.encoder_folder = Path(execution.encoder_path or DEMO_ENCODER)
        self.encoder_name = execution.encoder_name
        for digest, folder, name in execution.other_encoders:
            if digest == config.encoder.digest:
                self.encoder_folder = Path(folder)
                self.encoder_name = name

    def note(self, sentence: str) -> None:
        """Say a sentence."""
        self.progress({"note": sentence})

    def enter(self, phase: str) -> None:
        """Say what the run does from now on."""
        self.progress({"phase": phase})
