"""What benchmarks measure on, and how: contestants take turns in blocks of steps within one process, so that
whatever slows the machine slows them all."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from core.data.encoders import DEMO_ENCODER
from core.data.sources import Found, demo_sources, local_places, local_sources
from core.engine import job
from core.engine.encoder.bert import Encoder
from core.engine.processor import processor
from core.engine.tokens import TokenTable
from core.methods.mocose.settings import MoCoSERun
from core.spec.errors import UserError
from core.spec.methods import base
from core.spec.run import Execution, RunConfig
from core.spec.scale import DEMO, MINI, SCALES, at_scale
from core.spec.vary import vary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Block = Callable[[int], list[float]]  # runs this many steps and gives the seconds of those that count
Measured = Iterator[tuple[str, float, str]]  # what, value, unit


@dataclass(frozen=True)
class Setting:
    """One encoder and its data. `found` are the sources that a run at this scale would use."""

    scale: str
    found: Found
    cache: Path
    device: torch.device
    threads: int

    def config(self, method: str, **changes: object) -> RunConfig:
        """A run of a method's repaired base at this scale; double underscores in the changes stand for
        dots."""
        run = at_scale(base(method, "repaired"), SCALES[self.scale], self.found.sources)
        return vary(run, {name.replace("__", "."): value for name, value in changes.items()})

    def mocose(self) -> MoCoSERun:
        """MoCoSE's repaired base at this scale, in float32 whatever the scale has."""
        run = self.config("mocose", train__precision="fp32")
        assert isinstance(run, MoCoSERun)
        return run

    @property
    def execution(self) -> Execution:
        """The places of the parts."""
        places = self.found.places
        corpus, encoder = (None if p is None else str(p) for p in (places.corpus, places.encoder))
        return Execution(
            results_dir=str(self.cache), cache_dir=str(self.cache), corpus_path=corpus, encoder_path=encoder,
            device=self.device.type, threads=self.threads,
        )  # fmt: skip

    def encoder(self, config: RunConfig) -> tuple[Encoder, PreTrainedTokenizerBase]:
        """A fresh encoder with the run's dropout, and its tokenizer."""
        return job.load_encoder(config, self.execution)

    def table(self, config: RunConfig, tokenizer) -> TokenTable:
        """The training text as token ids."""
        return job.training_text_of(config, self.execution, tokenizer, self.device).table

    @property
    def folder(self) -> Path:
        """The encoder's folder."""
        return self.found.places.encoder or DEMO_ENCODER


def now(device: torch.device) -> float:
    """Seconds on a clock, once the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def alternated(blocks: Mapping[str, Block], rounds: int, steps: int) -> dict[str, float]:
    """Median seconds a step of each contestant over `rounds` rounds in which each has one block of `steps`
    steps.

    A round before them warms up and is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in blocks}
    for number in range(rounds + 1):
        for name, block in blocks.items():
            taken = block(steps if number else 2)
            if number:
                seconds[name] += taken
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def main(rows: Callable[[Setting, int, int], Measured], doc: str | None) -> int:
    """Print what `rows` measures with the demo's encoder, or with --encoder on --data-dir."""
    parser = argparse.ArgumentParser(description=doc, allow_abbrev=False)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="steps of a block")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--data-dir", type=Path, help="SentEval's data and the training text, for --encoder")
    parser.add_argument("--encoder", type=Path, help="an encoder at scale mini (default: the demo's own)")
    options = parser.parse_args()
    cache, device = Path("~/.cache/run_study").expanduser(), torch.device(options.device)
    try:
        found, scale = demo_sources(), DEMO.name
        if options.encoder is not None and options.data_dir is not None:
            found, scale = local_sources(local_places(options.data_dir, options.encoder), cache), MINI.name
        setting = Setting(scale, found, cache, device, options.threads)
        print(f"{setting.folder} on {processor()}, torch {torch.__version__}, {options.threads} threads")
        for what, value, unit in rows(setting, options.rounds, options.steps):
            print(f"{what:<46} {value:>10.4g} {unit}", flush=True)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
