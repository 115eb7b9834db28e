"""A training step on a GPU at two encoders' shapes: python -m benchmarks.gpu_step [--tiny]

Weights and sentences are random. Lengths are Wikipedia's: normal(25.7, 6.5), rounded, 6 to 32
tokens. A step starts with the method's own views of a batch. `--tiny` does a few steps of a small
encoder on any machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from transformers import BertConfig, BertModel

from core.config import methods
from core.config.methods import base
from core.config.vary import vary
from core.encoder.bert import Encoder
from core.encoder.tokens import TokenTable
from core.methods.contrastive import TrainingText
from core.training.optimiser import adamw, learning_rate
from core.training.step import own_stream, step_for
from core.training.trainer import training_batches

RUNS = (("mocose", "paper"), ("mocose", "repaired"), ("simcse", "paper"), ("esimcse", "paper"))
SIZES = "num_hidden_layers hidden_size num_attention_heads intermediate_size vocab_size".split()
SHAPES = {
    "bert-base": (12, 768, 12, 3072, 30_522), "mini": (2, 384, 12, 512, 14_260), "tiny": (2, 32, 2, 64, 100),
}  # fmt: skip
ROWS = 20_000  # sentences


def now(device: torch.device) -> float:
    """Seconds on a clock, once the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def table_of(vocabulary: int) -> TokenTable:
    """Random sentences."""
    draw = np.random.default_rng(0)
    lengths = np.clip(np.round(draw.normal(25.7, 6.5, ROWS)), 6, 32).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return TokenTable(draw.integers(5, vocabulary, offsets[-1]).astype(np.int32), offsets)


class Measured(NamedTuple):
    """What steps took, in milliseconds: the median of single steps, and of a block of steps the
    mean, and the host's. `kernels` are of one step, None on a CPU; `memory` is GiB at most."""

    single: float
    block: float
    host: float
    kernels: int | None
    memory: float


class Lengths(NamedTuple):
    """How many steps are run: to warm up, one by one, and in a block; and the sentences of each."""

    warm: int
    singles: int
    block: int
    batch: int


# warm until queues are full and every width has its graph
ALL_STEPS = Lengths(warm=40, singles=30, block=100, batch=64)
FEW_STEPS = Lengths(warm=2, singles=1, block=1, batch=8)


def training_steps(
    shape: str, method: str, profile_: str, device: torch.device, batch: int, most: int
) -> Callable[[int], None]:
    """A function that trains so many steps of a method with an encoder of this shape, `most` in
    all."""
    config = vary(
        base(method, profile_),
        {
            "data.digest": "0" * 64,
            "encoder.digest": "0" * 64,
            "eval.digest": "0" * 64,
            "train.batch_size": batch,
            "train.steps": most,
            "data.rows": ROWS,
            "train.precision": "bf16",
        },
    )
    torch.manual_seed(0)
    sizes: dict[str, int] = dict(zip(SIZES, SHAPES[shape], strict=True))
    bert = BertModel(BertConfig(**sizes, attn_implementation="eager"))
    encoder = Encoder(bert, hidden_dropout=0.1, attention_dropout=0.1)
    model = methods.model(method).Model(config, encoder, device).train()
    optimiser = adamw(config.train, model, model.new_layers())
    train_step = step_for(config.train, model, optimiser, device)
    text = TrainingText(table_of(sizes["vocab_size"]))
    batches = enumerate(training_batches(config, text, device), start=1)

    def steps(count: int) -> None:
        for _ in range(count):
            number, sentences = next(batches)
            train_step(sentences, learning_rate(config.train, number))

    return steps


def measured(
    shape: str, method: str, profile_: str, device: torch.device, lengths: Lengths
) -> Measured:
    """What the steps of a method take with an encoder of this shape."""
    most = lengths.warm + lengths.singles + lengths.block + 1
    steps = training_steps(shape, method, profile_, device, lengths.batch, most)

    # The times
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    steps(lengths.warm)
    single = []
    for _ in range(lengths.singles):
        began = now(device)
        steps(1)
        single.append(now(device) - began)
    began = now(device)
    steps(lengths.block)
    host = time.perf_counter() - began
    whole = now(device) - began

    # Kernels and memory of a GPU
    kernels = None
    memory = 0.0
    if device.type == "cuda":
        with profile(activities=[ProfilerActivity.CUDA]) as watched:
            steps(1)
            torch.cuda.synchronize(device)
        cuda = torch.autograd.DeviceType.CUDA
        kernels = sum(event.device_type == cuda for event in watched.events())
        memory = torch.cuda.max_memory_allocated(device) / 2**30
    return Measured(
        single=1e3 * statistics.median(single),
        block=1e3 * whole / lengths.block,
        host=1e3 * host / lengths.block,
        kernels=kernels,
        memory=memory,
    )


def main(argv: list[str]) -> int:
    """Print the table; 0, or 2 with a sentence where there is no GPU."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.gpu_step", description=__doc__, allow_abbrev=False
    )
    parser.add_argument(
        "--tiny", action="store_true", help="a small encoder and few steps, on any machine"
    )
    few = parser.parse_args(argv).tiny
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not few and device.type == "cpu":
        print(
            "There is no GPU here; give --tiny to try the script. Nothing was measured.",
            file=sys.stderr,
        )
        return 2
    print(
        f"{'encoder':<10} {'run':<16} {'ms':>7} {'of 100':>7} {'host':>7} {'kernels':>8} {'GiB':>6}"
    )
    shapes: tuple[str, ...] = ("bert-base", "mini")
    lengths = ALL_STEPS
    if few:
        shapes = ("tiny",)
        lengths = FEW_STEPS
    for shape, (method, profile_) in product(shapes, RUNS):
        with own_stream(device):
            step = measured(shape, method, profile_, device, lengths)
        name = f"{method} {profile_}"
        times = f"{step.single:7.2f} {step.block:7.2f} {step.host:7.2f}"
        count = "-" if step.kernels is None else step.kernels
        print(f"{shape:<10} {name:<16} {times} {count:>8} {step.memory:6.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
