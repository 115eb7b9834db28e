"""A training step: ours as the trainer runs it, the floor below it, and the plain step above it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np
import torch

from benchmarks import floor, plain
from benchmarks.setting import Setting
from benchmarks.timing import Row, alternated, now
from core.engine.step import own_stream
from core.engine.trainer import batch_indices, train, training_batches
from core.methods.contrastive import TrainingText
from core.methods.mocose.settings import MoCoSERun
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
        self.batches = training_batches(vary(config, {"train.steps": ENDLESS}), TrainingText(self.table, None, tokenizer), setting.device)

    def block(self, steps: int) -> list[float]:
        """Seconds of each of `steps` steps after one that is not counted, batches included."""
        stamps: list[float] = []
        config = vary(self.config, {"train.steps": steps + 2, "eval.every": steps + 2})
        with own_stream(self.device):
            train(config, self.model, self._stamped(stamps, steps + 2), lambda step: 0.0, lambda message: None)
        return [after - before for before, after in pairwise(stamps[1:])]

    def _stamped(self, stamps: list[float], count: int) -> Iterator[tuple]:
        for batch in islice(self.batches, count):
            stamps.append(now(self.device))
            yield batch


def rows(setting: Setting, rounds: int, steps: int) -> Iterator[Row]:
    """Floor, ours and plain of one setting, in one process, taking turns."""
    fp32 = setting.mocose()
    trained = {"ours": OurTraining(setting, fp32), "ours bf16": OurTraining(setting, vary(fp32, {"train.precision": "bf16"}))}
    table = trained["ours"].table
    plainly = plain.PlainTraining(setting, fp32, table)
    kinder = plain.PlainTraining(setting, fp32, table, target_gradient=False)
    blocks = {name: training.block for name, training in trained.items()}
    blocks |= {"plain": plainly.block, "plain, keys without gradient": kinder.block}
    torch.set_num_threads(setting.threads)
    seconds = alternated(blocks, rounds, steps)
    for name, value in seconds.items():
        yield Row("step", setting.name, f"{name}", 1e3 * value, "ms")
    for name in trained:
        target = _wanted_of_plain(setting, name)
        yield Row("step", setting.name, f"plain / {name}", seconds["plain"] / seconds[name], "x", target)
    kind = seconds["plain, keys without gradient"]
    yield Row("step", setting.name, "plain without gradients of keys / ours", kind / seconds["ours"], "x")
    if setting.device.type == "cpu":  # a GPU's products, launched one by one, would be timed with their launches
        yield from _floors(setting, fp32, trained, seconds)


def _floors(setting: Setting, config: MoCoSERun, trained: dict[str, OurTraining], seconds: dict[str, float]) -> Iterator[Row]:
    ours = trained["ours"]
    lengths = [np.array([len(ours.table[i]) for i in indices]) for indices in islice(batch_indices(config, len(ours.table)), 64)]
    products = floor.step_products(config, shape_of(setting), lengths, len(ours.model.queue.visible()))
    moved, bytes_rate = floor.state_bytes(ours.model), floor.bandwidth(setting.device)
    yield Row("floor", setting.name, "operations of a step", floor.operations(products) / 1e9, "GFLOP")
    yield Row("floor", setting.name, "tokens of a step", float(np.mean([n.sum() for n in lengths])), "tokens")
    yield Row("floor", setting.name, "state moved by AdamW and EMA", moved / 1e6, "MB")
    yield Row("floor", setting.name, "memory bandwidth", bytes_rate / 1e9, "GB/s")
    for name, dtype in (("ours", torch.float32), ("ours bf16", torch.bfloat16)):
        rate = floor.rates(products, setting.device, dtype)
        for (rows_, inner, columns, batch), value in rate.items():
            times = f"{batch} x " if batch > 1 else ""
            what = f"{times}{rows_} x {inner} x {columns}, {str(dtype).removeprefix('torch.')}"
            yield Row("rate", setting.name, what, value / 1e9, "GFLOP/s")
        least = floor.floor_seconds(products, rate, moved, bytes_rate)
        yield Row("floor", setting.name, f"floor of a step, {name}", 1e3 * least, "ms")
        target = _wanted_of_floor(setting, name)
        yield Row("step", setting.name, f"{name} / floor", seconds[name] / least, "x", target)


def _wanted_of_plain(setting: Setting, name: str) -> str:
    """What is wanted of plain / ours."""
    if setting.scale == "demo":
        return ">= 4.5" if name == "ours" and setting.device.type == "cpu" else ""
    if setting.device.type == "cuda":
        return ">= 8"
    return ">= 1.8" if name == "ours" else ">= 3"


def _wanted_of_floor(setting: Setting, name: str) -> str:
    """What is wanted of ours / floor."""
    return "<= 1.45" if name == "ours" and setting.scale != "demo" else ""


def shape_of(setting: Setting) -> floor.Shape:
    """The encoder's sizes."""
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(setting.folder, local_files_only=True)
    return floor.Shape(config.num_hidden_layers, config.hidden_size, config.intermediate_size, config.num_attention_heads)
