"""How long runs take: by measured rates of a GPU or a timing of the CPU, and as much longer or
shorter as finished runs of this machine took."""

from __future__ import annotations

import contextlib
import csv
import functools
import json
import signal
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.config.run import RunConfig
from core.config.scale import Scale
from core.data.encoders import DEMO_ENCODER, configuration
from core.data.sources import Found
from core.errors import UserError, counted, say
from core.runner import devices
from core.runner.cli import Options
from core.runner.devices import PROJECT
from core.runner.launch import environment
from core.runner.plan import PlannedRun, checks, cost, tokens
from core.store.store import Store

TABLE = Path(__file__).with_name("rates.csv")  # bf16, batches of 64 sentences
GPU = "NVIDIA H100"
DEFAULT_SPEED = 5e10  # operations a second of one thread, where a CPU cannot be timed
STEP = 1.5e11  # operations of a timed step at most: a second or two on a core
STOPPED = (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP)  # exit statuses of a stopped timing
MPS_MEASURED = 8  # runs at once with MPS in the table
ENOUGH = 100  # runs read; more would not move a median


class Shape(NamedTuple):
    """The sizes of an encoder that decide how long a step takes, by transformers' names;
    bert-base's by default."""

    num_hidden_layers: int = 12
    hidden_size: int = 768
    intermediate_size: int = 3072
    num_attention_heads: int = 12
    vocab_size: int = 30_522

    @property
    def products(self) -> int:
        """Multiplications of a token in a forward pass; of the last layer only its keys and values
        count."""
        layer = 2 * self.hidden_size * (2 * self.hidden_size + self.intermediate_size)
        return (self.num_hidden_layers - 1) * layer + 2 * self.hidden_size**2


# the encoders of the table
BERT_BASE = Shape()
MINI_SHAPE = Shape(2, 384, 512)


class Expectation(NamedTuple):
    """What a command's runs are expected to take, each by `seconds`, `jobs` at once. `where` says
    on what, and from which measurements."""

    seconds: Callable[[RunConfig], float]
    jobs: int
    where: str
    gpu: bool

    def wall(self, runs: Sequence[PlannedRun]) -> float:
        """Seconds of these runs by the clock."""
        seconds = [self.seconds(run.config) for run in runs]
        return max(max(seconds, default=0.0), sum(seconds) / self.jobs)


def expectation(options: Options, scale: Scale, found: Found, store: Store) -> Expectation:
    """What a command's runs are expected to take. Runs that share a GPU take turns, but for what
    NVIDIA's MPS was measured to gain."""
    # How many at once, on what
    elsewhere = options.gpus or options.cluster
    device = "cpu" if elsewhere else options.device
    resources = devices.resources(scale.name, device, options.jobs)
    if options.gpus:
        gpu = True
        jobs = options.gpus
        where = f"on {jobs} {GPU}"
    else:
        gpu = resources.device == "cuda"
        jobs = resources.jobs
        if options.cluster:
            gpu = options.device != "cpu"
            jobs = options.jobs or 1
        kind = "cuda" if gpu else "cpu"
        where = f"with {jobs} at once on {kind}"
        if resources.mps:
            where += " through NVIDIA's MPS"

    # How long one run takes
    sharing = 1.0
    if resources.gpus:
        sharing = max(1.0, resources.jobs / resources.gpus)
    encoders = shapes(found, scale.generated)

    def rate(config: RunConfig, runs: float = sharing, mps: bool = resources.mps) -> float:
        encoder = encoders.get(config.encoder.digest, BERT_BASE)
        if gpu:
            return gpu_seconds(config, encoder) * runs / mps_gain(encoder, runs if mps else 1.0)
        precision = "bf16" if config.train.precision == "bf16" else "fp32"
        return cost(config) * token_seconds(encoder, precision, resources.threads, tokens(config))

    # How much longer or shorter the runs of this machine took
    longer: list[float] = []
    if not elsewhere:
        longer = list(_longer(store, scale, resources, encoders, rate))
    factor = 1.0
    if longer:
        factor = statistics.median(longer)
        basis = f"from {counted(len(longer), 'finished run')} on this machine"
    elif gpu:
        basis = f"from rates of one {GPU} in bf16"
    else:
        basis = "from a timing of this CPU"
    return Expectation(lambda config: factor * rate(config), jobs, f"{where} ({basis})", gpu)


def _longer(
    store: Store,
    scale: Scale,
    resources: devices.Resources,
    encoders: dict[str, Shape],
    rate: Callable[..., float],
) -> Iterator[float]:
    """How many times as long as by the rates your runs of this scale, encoders and machine took.
    `rate` takes a run's configuration, and how many runs shared its GPU and whether through MPS if
    the run recorded that."""
    wanted = (scale.name, "ok", socket.gethostname(), resources.threads)
    # ids are hashes: a fair sample
    for identity in [run for run in store.runs() if store.has(run)][:ENOUGH]:
        with contextlib.suppress(UserError):  # a damaged file
            run = store.load(identity)
            about = run.provenance
            same = wanted == (run.config.scale, run.status, about.get("host"), about.get("threads"))
            same = same and str(about.get("device")).startswith(resources.device)
            seconds = about.get("seconds")
            if same and run.config.encoder.digest in encoders and isinstance(seconds, dict):
                shared: tuple[Any, ...] = ()
                runs = about.get("gpu_runs")
                if isinstance(runs, int):
                    shared = (runs, about.get("mps"))
                yield sum(seconds.values()) / rate(run.config, *shared)


def shapes(found: Found, generated: bool) -> dict[str, Shape]:
    """The shapes of a command's encoders by digest: by their folders, or the papers' of that width
    where an encoder is not fetched yet."""
    folders = {"bert-base": found.places.encoder, **found.places.others}
    if generated:
        folders["bert-base"] = DEMO_ENCODER
    by_digest = {}
    for encoder in found.sources.encoders():
        width = encoder.hidden
        layers = 24 if width > 768 else 12
        shape = Shape(layers, width, 4 * width, max(1, width // 64))
        folder = folders.get(encoder.stands_for)
        if folder is not None:
            about = configuration(folder)
            sizes = {name: about[name] for name in Shape._fields if type(about.get(name)) is int}
            shape = shape._replace(**sizes)
        by_digest[encoder.digest] = shape
    return by_digest


def gpu_seconds(config: RunConfig, encoder: Shape = BERT_BASE) -> float:
    """Seconds of a run by the table. They are linear in the work of a batch through the two
    measured encoders. Less work than the smaller encoder's takes as long, since a step then waits
    for its launches."""

    def seconds(what: str, sentences: int = 64) -> float:
        small = _measured("2x384", what, config.passes)
        large = _measured("12x768", what, config.passes)
        least = MINI_SHAPE.products / BERT_BASE.products
        work = encoder.products / BERT_BASE.products * sentences / 64
        return max(small, small + (large - small) * (work - least) / (1 - least))

    total = config.train.steps * seconds(config.method, config.train.batch_size)
    total += checks(config) * seconds("check") + seconds("start and final scoring")
    if config.eval.transfer:
        total += seconds("transfer tasks")
    return total


def mps_gain(encoder: Shape, runs: float) -> float:
    """How many times the steps of one run alone so many at once make together through NVIDIA's MPS.

    Eight at mini's shape were measured. The gain rises evenly from one run to eight, and no
    further. It falls evenly with the work of a step, to nothing at bert-base's shape, where none
    was measured.
    """
    alone = _measured("2x384", "mocose alone beside MPS", 1.0)
    eight = _measured("2x384", "mocose, eight at once with MPS", 1.0)
    most = MPS_MEASURED * alone / eight
    least = MINI_SHAPE.products / BERT_BASE.products
    work = encoder.products / BERT_BASE.products
    share = min(1.0, max(0.0, (1 - work) / (1 - least)))
    return 1 + (most - 1) * share * (min(runs, MPS_MEASURED) - 1) / (MPS_MEASURED - 1)


@functools.cache
def _measured(encoder: str, what: str, passes: float) -> float:
    """Seconds of the table; a step's are of the method's row with the nearest passes, stretched to
    `passes`. A method without rows has SimCSE's."""
    table = csv.DictReader(TABLE.read_text().splitlines())
    rows = [row for row in table if row["encoder"] == encoder]
    own = [row for row in rows if row["what"] == what]
    if not own:
        own = [row for row in rows if row["what"] == "simcse"]
    row = min(own, key=lambda row: abs(float(row["passes"] or 0) - passes))
    seconds = float(row["seconds"])
    if row["passes"]:
        seconds *= passes / float(row["passes"])
    return seconds


@functools.cache
def token_seconds(encoder: Shape, precision: str, threads: int, length: int) -> float:
    """Seconds in which a CPU trains SimCSE on a token of the text, timed and kept by a process of
    its own."""
    words = json.dumps(
        {
            "encoder": encoder._asdict(),
            "precision": precision,
            "threads": threads,
            "length": length,
            "batch": max(4, min(64, int(STEP / (12 * encoder.products * length)))),
            "cache": str(devices.cache_folder() / "rates"),
        }
    )
    try:
        done = subprocess.run(
            [sys.executable, "-m", "core.training.speed", words],
            cwd=PROJECT,
            env=environment(threads),
            capture_output=True,
            text=True,
            check=True,
            timeout=180,
        )
        *notes, seconds = done.stdout.splitlines()
        for note in notes:
            say(note)
        return float(seconds)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        speed = f"{DEFAULT_SPEED / 1e9:.0f} billion operations a second"
        status = getattr(error, "returncode", 0)
        if status not in STOPPED:
            say(f"This CPU could not be timed; times assume {speed} for each thread.")
        return 12 * encoder.products / DEFAULT_SPEED / threads
