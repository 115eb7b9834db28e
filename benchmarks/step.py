"""A training step as the trainer runs it, beside the plain step: `python -m benchmarks.step`. Both
take turns in blocks of steps within one process, so that whatever slows the machine slows both."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks import plain
from core.config import methods
from core.config.methods import base
from core.config.run import RunConfig
from core.config.scale import SCALES, Sources, at_scale
from core.config.vary import vary
from core.data.sources import demo_sources, local_places, local_sources
from core.encoder.processor import processor
from core.methods.contrastive import TrainingText
from core.training import job
from core.training.execution import Execution
from core.training.trainer import train, training_batches

CPU = torch.device("cpu")
ENDLESS = 1_000_000  # steps


class Setting(NamedTuple):
    """A scale, the sources that its runs would use, and a folder for token tables."""

    scale: str
    found: Sources
    cache: Path

    def mocose(self, precision: str) -> RunConfig:
        """MoCoSE's repaired base at this scale."""
        run = at_scale(base("mocose", "repaired"), SCALES[self.scale], self.found)
        return vary(run, {"train.precision": precision})

    @property
    def execution(self) -> Execution:
        """The places of the parts."""
        cache = str(self.cache)
        return Execution(results_dir=cache, cache_dir=cache, sources=self.found)


class OurTraining:
    """The trainer's own loop, timed from outside: at every batch that it takes."""

    def __init__(self, setting: Setting, config: RunConfig):
        self.config = config
        run = job.Run(config, setting.execution)
        encoder, tokenizer = job.load_encoder(run)
        self.text = job.training_text_of(run, tokenizer)
        self.model = methods.model(config.method).Model(config, encoder, CPU)
        endless = vary(config, {"train.steps": ENDLESS})
        self.batches = training_batches(endless, TrainingText(self.text.table), CPU)

    def block(self, steps: int) -> list[float]:
        """Seconds of each of `steps` steps after one that is not counted, batches included."""
        stamps: list[float] = []

        def stamped() -> Iterator[tuple]:
            for batch in islice(self.batches, steps + 2):
                stamps.append(time.perf_counter())
                yield batch

        config = vary(self.config, {"train.steps": steps + 2, "eval.every": steps + 2})
        train(config, self.model, stamped(), lambda step: 0.0, lambda message: None)
        return [after - before for before, after in pairwise(stamps[1:])]


def alternated(blocks: Mapping[str, Callable], rounds: int, steps: int) -> dict[str, float]:
    """Median seconds a step of each contestant over `rounds` rounds in which each has one block of
    `steps` steps. A round before them warms up and is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in blocks}
    for number in range(rounds + 1):
        for name, block in blocks.items():
            taken = block(steps if number else 2)
            if number:
                seconds[name] += taken
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def rows(setting: Setting, rounds: int, steps: int) -> Iterator[tuple[str, float, str]]:
    """Milliseconds of our step and of the plain one, taking turns, and their ratios."""
    ours = OurTraining(setting, setting.mocose("fp32"))
    bf16 = OurTraining(setting, setting.mocose("bf16"))
    folder = setting.found.encoder.folder
    assert folder is not None
    theirs = plain.PlainTraining(folder, ours.config, ours.text.table)
    blocks = {"ours": ours.block, "ours bf16": bf16.block, "plain": theirs.block}
    seconds = alternated(blocks, rounds, steps)
    for name, value in seconds.items():
        yield name, 1e3 * value, "ms"
    for name in ("ours", "ours bf16"):
        yield f"plain / {name}", seconds["plain"] / seconds[name], "x"


def main() -> None:
    """Print what is measured with the demo's encoder, or with --encoder on --data-dir."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="steps of a block")
    parser.add_argument(
        "--data-dir", type=Path, help="SentEval's data and the training text, for --encoder"
    )
    parser.add_argument(
        "--encoder", type=Path, help="an encoder at scale mini (default: the demo's own)"
    )
    options = parser.parse_args()
    cache = Path("~/.cache/run_study").expanduser()
    setting = Setting("demo", demo_sources(), cache)
    if options.encoder is not None and options.data_dir is not None:
        places = local_places(options.data_dir, {"bert-base": options.encoder}, cache)
        setting = Setting("mini", local_sources(places, cache), cache)
    torch.set_num_threads(options.threads)
    print(
        f"Scale {setting.scale} on {processor()}, torch {torch.__version__}, {options.threads} "
        "threads"
    )
    for name, value, unit in rows(setting, options.rounds, options.steps):
        print(f"{name:<46} {value:>10.4g} {unit}", flush=True)


if __name__ == "__main__":
    main()
