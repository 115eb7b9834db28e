"""A training step as the trainer runs it, beside the plain step: `python -m benchmarks.step`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice, pairwise

import torch

from benchmarks import plain
from benchmarks.setting import Measured, Setting, alternated, main, now
from core.engine.step import own_stream
from core.engine.trainer import train, training_batches
from core.methods.contrastive import TrainingText
from core.spec import methods
from core.spec.run import RunConfig
from core.spec.vary import vary

ENDLESS = 1_000_000  # steps


class OurTraining:
    """The trainer's own loop, timed from outside: at every batch that it asks for."""

    def __init__(self, setting: Setting, config: RunConfig):
        self.config, self.device = config, setting.device
        encoder, tokenizer = setting.encoder(config)
        self.table = setting.table(config, tokenizer)
        self.model = methods.model(config.method).Model(config, encoder, setting.device)
        self.batches = training_batches(
            vary(config, {"train.steps": ENDLESS}), TrainingText(self.table, None, tokenizer), setting.device
        )

    def block(self, steps: int) -> list[float]:
        """Seconds of each of `steps` steps after one that is not counted, batches included."""
        stamps: list[float] = []
        config = vary(self.config, {"train.steps": steps + 2, "eval.every": steps + 2})
        with own_stream(self.device):
            train(
                config, self.model, self._stamped(stamps, steps + 2), lambda step: 0.0, lambda message: None
            )
        return [after - before for before, after in pairwise(stamps[1:])]

    def _stamped(self, stamps: list[float], count: int) -> Iterator[tuple]:
        for batch in islice(self.batches, count):
            stamps.append(now(self.device))
            yield batch


def rows(setting: Setting, rounds: int, steps: int) -> Measured:
    """Milliseconds of our step and of the plain one, taking turns, and their ratios."""
    fp32 = setting.mocose()
    ours = OurTraining(setting, fp32)
    blocks = {
        "ours": ours.block,
        "ours bf16": OurTraining(setting, vary(fp32, {"train.precision": "bf16"})).block,
        "plain": plain.PlainTraining(setting, fp32, ours.table).block,
        "plain, keys without gradient": plain.PlainTraining(
            setting, fp32, ours.table, target_gradient=False
        ).block,
    }
    torch.set_num_threads(setting.threads)
    seconds = alternated(blocks, rounds, steps)
    for name, value in seconds.items():
        yield name, 1e3 * value, "ms"
    for theirs, name in (("plain", "ours"), ("plain", "ours bf16"), ("plain, keys without gradient", "ours")):
        yield f"{theirs} / {name}", seconds[theirs] / seconds[name], "x"


if __name__ == "__main__":
    sys.exit(main(rows, __doc__))
