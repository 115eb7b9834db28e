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
from itertools import product

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from transformers import BertConfig, BertModel

from core.engine.encoder.bert import Encoder
from core.engine.optimiser import adamw, learning_rate
from core.engine.step import own_stream, step_for
from core.engine.tokens import TokenTable
from core.engine.trainer import training_batches
from core.methods.contrastive import TrainingText
from core.spec import methods
from core.spec.methods import base
from core.spec.vary import vary

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


def measured(
    shape: str, method: str, profile_: str, device: torch.device, few: bool
) -> tuple[float, float, float, int | None, float]:
    """Median ms of 30 single steps; ms and the host's ms a step of a block of 100; kernels a step,
    None on a CPU; GiB at most."""
    # warm until queues are full and every width has its graph
    warm, singles, block = (2, 1, 1) if few else (40, 30, 100)
    zero: dict[str, object] = dict.fromkeys(
        ("data.digest", "encoder.digest", "eval.digest"), "0" * 64
    )
    config = vary(
        base(method, profile_),
        zero
        | {
            "train.batch_size": 8 if few else 64,
            "train.steps": warm + singles + block + 1,
            "data.rows": ROWS,
            "train.precision": "bf16",
        },
    )
    torch.manual_seed(0)
    sizes: dict[str, int] = dict(zip(SIZES, SHAPES[shape], strict=True))
    bert = BertModel(BertConfig(**sizes, attn_implementation="eager"))
    encoder = Encoder(bert, hidden_dropout=0.1, attention_dropout=0.1)
    model = methods.model(method).Model(config, encoder, device).train()
    train_step = step_for(
        config.train, model, adamw(config.train, model, model.new_layers()), device
    )
    batches = enumerate(
        training_batches(config, TrainingText(table_of(sizes["vocab_size"])), device), start=1
    )

    def steps(count: int) -> None:
        for _ in range(count):
            number, batch = next(batches)
            train_step(batch, learning_rate(config.train, number))

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    steps(warm)
    single = []
    for _ in range(singles):
        began = now(device)
        steps(1)
        single.append(now(device) - began)
    began = now(device)
    steps(block)
    host = time.perf_counter() - began
    whole = now(device) - began
    kernels = None
    memory = 0.0
    if device.type == "cuda":
        with profile(activities=[ProfilerActivity.CUDA]) as watched:
            steps(1)
            torch.cuda.synchronize(device)
        kernels = sum(
            event.device_type == torch.autograd.DeviceType.CUDA for event in watched.events()
        )
        memory = torch.cuda.max_memory_allocated(device) / 2**30
    return 1e3 * statistics.median(single), 1e3 * whole / block, 1e3 * host / block, kernels, memory


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
    for shape, (method, profile_) in product(("tiny",) if few else ("bert-base", "mini"), RUNS):
        with own_stream(device):
            *times, kernels, memory = measured(shape, method, profile_, device, few)
        name = f"{method} {profile_}"
        count = "-" if kernels is None else kernels
        all_times = " ".join(f"{value:7.2f}" for value in times)
        print(f"{shape:<10} {name:<16} {all_times} {count:>8} {memory:6.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
