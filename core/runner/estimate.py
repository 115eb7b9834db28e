"""How long runs take: as finished runs of this machine took, else by the measured rates of an H100,
and of a core of a CPU. Rates are of a scale's own encoder; another takes as much longer as its
layers have more weights."""

from __future__ import annotations

import contextlib
import csv
import functools
import socket
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from core.config.run import RunConfig
from core.config.scale import SCALES, EncoderSource, Scale, Sources
from core.data.encoders import configuration
from core.errors import UserError
from core.formatting import counted
from core.runner.orders import Machine, PlannedMachine
from core.store.records import believed
from core.store.store import Store

TABLE = Path(__file__).with_name("rates.csv")  # bf16, batches of 64 sentences
GPU = "NVIDIA H100"
SIZES = {"demo": "2x384", "mini": "2x384", "paper": "12x768"}  # measured encoders, by scale
SHAPES = {"demo": (2, 128), "mini": (2, 384), "paper": (12, 768)}  # layers and width, by scale
LARGE = 24  # layers of bert-large and roberta-large
CPU_TOKENS = {
    "demo": 18_700.0,
    "mini": 4_700.0,
    "paper": 76.0,
}  # a second of a core, as published runs
ENOUGH = 100  # runs read; more would not move a median
# Mean tokens of a training sentence, distinct sentences of the development set, and of all test
# sets: of the made-up language, and of Wikipedia and SentEval.
GENERATED_TEXT = (13, 800, 3_997)
REAL_TEXT = (25, 2_909, 26_296)
# Scoring a sentence takes a quarter of SimCSE's training on it (0.23 to 0.26 on two CPUs at demo
# and mini).
SCORING_SHARE = 0.25
# All transfer tasks, in sentences that SimCSE trains on in the same time: of SentEval, 122,000
# sentences to score, and about 180 paths of regressions, of which one on 8,530 vectors took a core
# 10.5 s with 768 numbers each and 3.0 s with 384.
PROBES = {"demo": 2_000, "mini": 132_000, "paper": 36_000}


class Expectation(NamedTuple):
    """What a command's runs are expected to take, each by `seconds`, `jobs` at once. `where` says
    on what, and from which measurements."""

    seconds: Callable[[RunConfig], float]
    jobs: int
    where: str
    gpu: bool

    def wall(self, configs: Iterable[RunConfig]) -> float:
        """Seconds of these runs by the clock."""
        seconds = list(map(self.seconds, configs))
        return max(max(seconds, default=0.0), sum(seconds) / self.jobs)


def expectation(machine: Machine, scale: Scale, sources: Sources, store: Store) -> Expectation:
    """What a command's runs are expected to take. Runs that share a GPU take turns."""
    here = machine.resources(scale.name)
    gpus = machine.gpus if isinstance(machine, PlannedMachine) else None
    gpu = bool(gpus) or "cuda" in (here.device, machine.device)
    jobs = gpus or here.jobs
    sharing = 1.0
    if here.gpus:
        sharing = max(1.0, here.jobs / here.gpus)

    def rate(config: RunConfig) -> float:
        if gpu:
            return gpu_seconds(config, sources) * sharing
        tokens_a_second = CPU_TOKENS.get(config.scale, CPU_TOKENS["paper"]) * here.threads
        return cost(config) * size(config, sources) / tokens_a_second

    # how many times as long as by the rates your runs of this scale and machine took
    wanted = (scale.name, "ok", socket.gethostname(), here.threads)
    factors = []
    # ids are hashes: a fair sample
    for identity in [] if machine.elsewhere else store.own_runs()[:ENOUGH]:
        with contextlib.suppress(UserError), believed(identity):  # a damaged or foreign file
            run = store.load(identity)
            about = run.provenance
            same = wanted == (run.config.scale, run.status, about.get("host"), about.get("threads"))
            seconds: Any = about.get("seconds")
            if same and str(about.get("device")).startswith(here.device) and seconds:
                factors.append(sum(seconds.values()) / rate(run.config))
    basis = f"from rates of one {GPU}" if gpu else "from rates of another CPU"
    factor = 1.0
    if factors:
        factor = statistics.median(factors)
        basis = f"from {counted(len(factors), 'finished run')} on this machine"
    where = f"on {jobs} {GPU}" if gpus else f"with {jobs} at once on {here.device}"
    return Expectation(lambda config: factor * rate(config), jobs, f"{where} ({basis})", gpu)


def gpu_seconds(config: RunConfig, sources: Sources | None = None) -> float:
    """Seconds of a run by the table, through the encoder that it uses of these sources, or without
    them through the scale's own."""
    of = functools.partial(_measured, SIZES.get(config.scale, SIZES["paper"]))
    larger = size(config, sources) if sources else 1.0
    steps = config.train.steps * config.train.batch_size / 64 * of(config.method, config.passes)
    total = larger * (steps + checks(config) * of("check")) + of("start and final scoring")
    return total + of("transfer tasks") if config.eval.transfer else total


@functools.cache
def _measured(encoder: str, what: str, passes: float = 1.0) -> float:
    """Seconds of the table; a step's are of the method's row with the nearest passes, stretched to
    `passes`. A method without rows has SimCSE's."""
    table = csv.DictReader(TABLE.read_text().splitlines())
    rows = [row for row in table if row["encoder"] == encoder]
    own = [row for row in rows if row["what"] == what]
    own = own or [row for row in rows if row["what"] == "simcse"]
    row = min(own, key=lambda row: abs(float(row["passes"] or 0) - passes))
    return float(row["seconds"]) * (passes / float(row["passes"]) if row["passes"] else 1.0)


def size(config: RunConfig, sources: Sources) -> float:
    """How many times the weights of the scale's own encoder the layers of a run's encoder have."""
    own_layers, own_width = SHAPES.get(config.scale, SHAPES["paper"])
    encoder = sources.encoder_of(config.encoder.digest)
    return _layers(encoder, own_layers) / own_layers * (encoder.hidden / own_width) ** 2


@functools.cache
def _layers(encoder: EncoderSource, usual: int) -> int:
    """How many layers an encoder has, as its folder says, or its name where it is not here."""
    if encoder.folder is not None:
        return int(configuration(encoder.folder).get("num_hidden_layers", usual))
    return LARGE if encoder.stands_for.endswith("-large") else usual


def tokens(config: RunConfig) -> int:
    """Mean tokens of a training sentence of a run."""
    return min(config.data.max_length, _text_sizes(config)[0])


def checks(config: RunConfig) -> float:
    """Checks of a run, in development checks; a check that scores the test sets, too, counts as
    several (D40)."""
    _, development, tests = _text_sizes(config)
    number = config.train.steps // config.eval.every + 2
    if config.select.metric == "sts_test_avg":
        return number * (1 + tests / development)
    return number


def training_share(config: RunConfig) -> float:
    """The share of a run's work that is its training steps."""
    return tokens(config) * _trained(config) / max(1.0, cost(config))


def _trained(config: RunConfig) -> float:
    """The sentences of a run's training steps, each as much work as one of SimCSE's."""
    return config.train.steps * config.train.batch_size * config.passes / 6


def cost(config: RunConfig) -> float:
    """The work of a run, in tokens of text that SimCSE trains on in the same time."""
    _, development, tests = _text_sizes(config)
    trained = _trained(config)
    scored = checks(config) * development + 1.5 * (development + tests)  # mostly two checkpoints
    probed = 0
    if config.eval.transfer:
        probed = PROBES.get(config.scale, PROBES["paper"])
    return tokens(config) * (trained + SCORING_SHARE * scored + probed)


def _text_sizes(config: RunConfig) -> tuple[int, int, int]:
    if config.scale in SCALES and SCALES[config.scale].generated:
        return GENERATED_TEXT
    return REAL_TEXT
