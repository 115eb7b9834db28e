"""The transfer tasks in a run: accuracies of the selected checkpoint, and of the encoder as it was before training (MoCoSE, Table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from core.data.transfer import TransferTask, load_probes, load_transfer
from core.engine.encoder.bert import Encoder
from core.engine.evaluation.baselines import FirstLast, LastMean, Untrained, kept_path, kept_rows
from core.engine.evaluation.scorer import SentenceModel, array, table_vectors
from core.engine.tokens import cached_table, tokenise
from core.spec.result import Row
from core.spec.run import Execution, RunConfig

UNTRAINED = ("untrained", "untrained_first_last", "untrained_last")


class Probing:
    """The tasks of one run, or the demo's own, and how their sentences are encoded: each distinct one once (D42)."""

    def __init__(self, config: RunConfig, execution: Execution, tokenizer, max_length: int, device: torch.device):
        self.config, self.execution, self.tokenizer = config, execution, tokenizer
        self.max_length, self.device = max_length, device

    def rows(self, model: SentenceModel, checkpoint: str, step: int) -> list[Row]:
        """`accuracy_test` and `accuracy_dev` of each task and of `avg_transfer`."""
        return self._rows(self._tasks(), lambda sentences: self._vectors(model, sentences), checkpoint, step)

    def untrained_rows(self, encoder: Encoder) -> list[Row]:
        """The same at step 0 for the encoder's own [CLS], its first-last average (first transformer layer, D77) and its last layer's mean.

        Kept on disk by encoder and evaluation data, whose digest covers how probes are fitted: it takes as long as two finished runs'.
        """
        tasks = self._tasks()
        wanted = [
            (checkpoint, task, metric)
            for checkpoint in UNTRAINED
            for task in (*(task.name for task in tasks), "avg_transfer")
            for metric in ("accuracy_test", "accuracy_dev")
        ]

        def made() -> list[Row]:
            return [
                *self._rows(tasks, lambda sentences: self._vectors(Untrained(encoder), sentences), "untrained", 0),
                *self._rows(
                    tasks, lambda sentences: np.split(self._vectors(FirstLast(encoder), sentences), 2, axis=1)[0], "untrained_first_last", 0
                ),
                *self._rows(tasks, lambda sentences: self._vectors(LastMean(encoder), sentences), "untrained_last", 0),
            ]

        return kept_rows(kept_path(self.config, Path(self.execution.cache_dir), "transfer"), wanted, made)

    def _tasks(self) -> list[TransferTask]:
        path = self.execution.evaluation_path
        return load_transfer(Path(path)) if path is not None else load_probes()

    def _vectors(self, model: SentenceModel, sentences: Sequence[str]) -> np.ndarray:
        """(sentences, dim) float32. The sentences are always the same, so their token table is kept under the data's name."""
        table = cached_table(
            Path(self.execution.cache_dir),
            ["transfer", self.config.eval.digest, self.max_length, self.config.encoder.digest],
            lambda: tokenise(self.tokenizer, sentences, self.max_length),
        )
        return array(table_vectors(model, table, np.arange(len(sentences)), self.device))

    @staticmethod
    def _rows(tasks: Sequence[TransferTask], encode, checkpoint: str, step: int) -> list[Row]:
        from core.engine.evaluation.probes import transfer_accuracies, transfer_rows  # few runs need scikit-learn

        return [row._replace(checkpoint=checkpoint) for row in transfer_rows(transfer_accuracies(tasks, encode), step)]
