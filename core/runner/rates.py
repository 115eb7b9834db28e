"""Seconds of runs on hardware that has no finished runs: measured rates of a GPU, or a timing of this machine's CPU."""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from core.data.encoders import configuration
from core.data.sources import DEMO_ENCODER, Found
from core.runner.plan import checks, cost, tokens
from core.spec.run import RunConfig
from core.store.console import say

PROJECT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("rates.csv")  # bf16, batches of 64 sentences of scale paper's length
GPU = "NVIDIA H100"
SAME_GPUS = ("H100", "H200")  # the H200 has the H100's processor and more memory, so it has the H100's rates
DEFAULT_SPEED = 5e10  # operations a second of one thread, where a CPU cannot be timed
TIMING_LIMIT = 180.0  # seconds


class Shape(NamedTuple):
    """The sizes of an encoder that decide how long a step takes."""

    layers: int = 12
    hidden: int = 768
    intermediate: int = 3072
    heads: int = 12
    vocabulary: int = 30_522

    @property
    def products(self) -> float:
        """Multiplications that one token needs in a forward pass; of the last layer only keys and values of all tokens are computed."""
        layer = 4 * self.hidden**2 + 2 * self.hidden * self.intermediate
        return (self.layers - 1) * layer + 2 * self.hidden**2


BERT_BASE, MINI = Shape(), Shape(2, 384, 512)


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Expected seconds of a run on a GPU named `gpu`, or, if that is empty, on this machine's CPU with so many threads a run."""

    gpu: str = ""
    threads: int = 1
    cache_dir: Path = Path()
    encoders: Mapping[str, Shape] = field(default_factory=dict)  # by digest

    def seconds(self, config: RunConfig) -> float:
        """Expected seconds of a run on one slot."""
        shape = self.encoders.get(config.encoder.digest, BERT_BASE)
        if self.gpu:
            return gpu_seconds(config, shape)
        precision = "bf16" if config.train.precision == "bf16" else "fp32"
        return cost(config) * token_seconds(shape, precision, self.threads, tokens(config), self.cache_dir)

    @property
    def basis(self) -> str:
        """What the seconds rest on, in a few words."""
        if not self.gpu:
            return "from a timing of this CPU"
        known = any(name in self.gpu for name in SAME_GPUS)
        return f"from rates of one {GPU}" if known else f"from rates of one {GPU}, since those of {self.gpu} are not known"


def shapes(found: Found, generated: bool) -> dict[str, Shape]:
    """The shapes of a command's encoders, by digest; an encoder that is not fetched yet has the shape that its width has in the papers."""
    own, *others = found.sources.encoders()
    folders = [folder for _, folder, _ in found.places.others]
    sizes = {one.digest: shape(folder, one.hidden) for one, folder in itertools.zip_longest(others, folders) if one is not None}
    return {**sizes, own.digest: shape(DEMO_ENCODER if generated else found.places.encoder, own.hidden)}


def shape(folder: Path | None, hidden: int) -> Shape:
    """The shape of the encoder in a folder, or of the papers' encoder of this width."""
    about = configuration(folder) if folder is not None else {"hidden_size": hidden, "num_hidden_layers": 24 if hidden > 768 else 12}
    width = about["hidden_size"]
    usual = Shape(hidden=width, intermediate=4 * width, heads=max(1, width // 64))
    names = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")
    return Shape(*(about.get(name, default) for name, default in zip(names, usual, strict=True)))


def gpu_seconds(config: RunConfig, encoder: Shape) -> float:
    """Seconds of a run by the table of rates. Between and beyond the two measured encoders time is linear in the work of a batch."""

    def seconds(what: str, sentences: int = 64) -> float:
        (small, large), base = [_measured(name, what, config.passes) for name in ("2x384", "12x768")], BERT_BASE.products
        work = encoder.products / base * sentences / 64
        return max(small / 2, small + (large - small) * (work - MINI.products / base) / (1 - MINI.products / base))

    found = config.train.steps * seconds(config.method, config.train.batch_size) + checks(config) * seconds("check")
    return found + seconds("start and final scoring") + (seconds("transfer tasks") if config.eval.transfer else 0.0)


def _measured(encoder: str, what: str, passes: float) -> float:
    """Seconds of the table: of a method's step with the nearest number of passes, stretched to so many. A method without rows is SimCSE."""
    rows = [row for row in _table() if row["encoder"] == encoder]
    rows = [row for row in rows if row["what"] == what] or [row for row in rows if row["what"] == "simcse"]
    row = min(rows, key=lambda row: abs(float(row["passes"] or 0) - passes))
    return float(row["seconds"]) * (passes / float(row["passes"]) if row["passes"] else 1.0)


@cache
def _table() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


@cache
def token_seconds(encoder: Shape, precision: str, threads: int, length: int, cache_dir: Path) -> float:
    """Seconds that a CPU needs to train SimCSE for a token of the text; timed in a process of its own, which keeps what it found."""
    asked = {"encoder": encoder, "precision": precision, "threads": threads, "length": length, "cache": str(cache_dir / "rates.json")}
    command = [sys.executable, "-m", "core.engine.speed", json.dumps(asked)]
    try:
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=TIMING_LIMIT)
        return float(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        say(f"This CPU could not be timed ({type(error).__name__}); times assume {DEFAULT_SPEED:.0e} operations a second and thread.")
        return 12 * encoder.products / DEFAULT_SPEED / threads
