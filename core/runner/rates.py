"""Seconds of runs on hardware without finished runs: rates of a GPU, or a timing of this machine's CPU."""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from core.data.encoders import DEMO_ENCODER, configuration
from core.data.sources import Found
from core.runner.launch import PROJECT, environment
from core.runner.plan import checks, cost, tokens
from core.spec.errors import say
from core.spec.run import RunConfig

TABLE = Path(__file__).with_name("rates.csv")  # bf16, batches of 64 sentences
GPU = "NVIDIA H100"
LIKE_IT = ("H100", "H200")  # the H200 has the H100's processor and more memory, so it has the H100's rates
DEFAULT_SPEED = 5e10  # operations a second of one thread, where a CPU cannot be timed
STEP = 1.5e11  # operations of a timed step at most: a second or two on a core


class Shape(NamedTuple):
    """The sizes of an encoder that decide how long a step takes, by transformers' names; bert-base's by default."""

    num_hidden_layers: int = 12
    hidden_size: int = 768
    intermediate_size: int = 3072
    num_attention_heads: int = 12
    vocab_size: int = 30_522

    @property
    def products(self) -> int:
        """Multiplications of a token in a forward pass; the last layer has only keys and values of all tokens."""
        squared = self.hidden_size**2
        layer = 4 * squared + 2 * self.hidden_size * self.intermediate_size
        return (self.num_hidden_layers - 1) * layer + 2 * squared


BERT_BASE, MINI = Shape(), Shape(2, 384, 512)  # those that the table has


def shapes(found: Found, generated: bool) -> dict[str, Shape]:
    """The shapes of a command's encoders, by digest; those not fetched yet have the papers' shapes."""
    own = DEMO_ENCODER if generated else found.places.encoder
    folders = [own, *(folder for _, folder, _ in found.places.others)]
    encoders = itertools.zip_longest(found.sources.encoders(), folders)  # folders may lack at the end
    return {
        encoder.digest: shape(folder, encoder.hidden) for encoder, folder in encoders if encoder is not None
    }


def shape(folder: Path | None, hidden: int) -> Shape:
    """The shape of the encoder in a folder, or of the papers' encoder of this width."""
    usual = Shape(24 if hidden > 768 else 12, hidden, 4 * hidden, max(1, hidden // 64))
    about = {} if folder is None else configuration(folder)
    return usual._replace(**{name: about[name] for name in Shape._fields if type(about.get(name)) is int})


def gpu_seconds(config: RunConfig, encoder: Shape) -> float:
    """Seconds of a run by the table. They are linear in the work of a batch through the two measured encoders.

    Less work than the smaller encoder's takes as long, since a step then waits for its launches.
    """

    def seconds(what: str, sentences: int = 64) -> float:
        small, large = (_measured(name, what, config.passes) for name in ("2x384", "12x768"))
        least = MINI.products / BERT_BASE.products
        work = encoder.products / BERT_BASE.products * sentences / 64
        return max(small, small + (large - small) * (work - least) / (1 - least))

    trained = config.train.steps * seconds(config.method, config.train.batch_size)
    scored = checks(config) * seconds("check") + seconds("start and final scoring")
    return trained + scored + (seconds("transfer tasks") if config.eval.transfer else 0.0)


@cache
def _measured(encoder: str, what: str, passes: float) -> float:
    """Seconds of the table; a step's are of the method's row with the nearest passes, stretched to `passes`.

    A method without rows has SimCSE's.
    """
    rows = [row for row in csv.DictReader(TABLE.read_text().splitlines()) if row["encoder"] == encoder]
    rows = [row for row in rows if row["what"] == what] or [row for row in rows if row["what"] == "simcse"]
    row = min(rows, key=lambda row: abs(float(row["passes"] or 0) - passes))
    return float(row["seconds"]) * (passes / float(row["passes"]) if row["passes"] else 1.0)


def cpu_seconds(config: RunConfig, encoder: Shape, threads: int, cache_dir: Path) -> float:
    """Seconds of a run with so many threads, from a timing of this machine's CPU."""
    precision = "bf16" if config.train.precision == "bf16" else "fp32"
    return cost(config) * token_seconds(encoder, precision, threads, tokens(config), cache_dir)


@cache
def token_seconds(encoder: Shape, precision: str, threads: int, length: int, cache_dir: Path) -> float:
    """Seconds in which a CPU trains SimCSE on a token of the text; a process of its own times and keeps them."""
    batch = max(4, min(64, int(STEP / (12 * encoder.products * length))))
    asked = {
        "encoder": encoder._asdict(),
        "precision": precision,
        "threads": threads,
        "batch": batch,
        "length": length,
    }
    words = json.dumps({**asked, "cache": str(cache_dir / "rates.json")})
    command = [sys.executable, "-m", "core.engine.speed", words]
    try:
        done = subprocess.run(
            command,
            cwd=PROJECT,
            env=environment(threads),
            capture_output=True,
            text=True,
            check=True,
            timeout=180,
        )
        return float(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        why, speed = type(error).__name__, f"{DEFAULT_SPEED / 1e9:.0f} billion operations a second"
        say(f"This CPU could not be timed ({why}); times assume {speed} for each thread.")
        return 12 * encoder.products / DEFAULT_SPEED / threads
