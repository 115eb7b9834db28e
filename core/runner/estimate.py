"""How long runs take: as finished runs of this machine took, else by the measured rates of an H100,
and of a core of a CPU."""

from __future__ import annotations

import contextlib
import csv
import functools
import socket
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.config.run import RunConfig
from core.config.scale import Scale
from core.errors import UserError, counted
from core.runner import devices
from core.runner.cli import Options
from core.runner.plan import PlannedRun, checks, cost
from core.store.records import believed
from core.store.store import Store

TABLE = Path(__file__).with_name("rates.csv")  # bf16, batches of 64 sentences
GPU = "NVIDIA H100"
SIZES = {"demo": "2x384", "mini": "2x384", "paper": "12x768"}  # measured encoders, by scale
CPU_TOKENS = {
    "demo": 18_700.0,
    "mini": 4_700.0,
    "paper": 76.0,
}  # a second of a core, as published runs
ENOUGH = 100  # runs read; more would not move a median


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


def expectation(options: Options, scale: Scale, store: Store) -> Expectation:
    """What a command's runs are expected to take. Runs that share a GPU take turns."""
    elsewhere = options.gpus or options.cluster
    device = "cpu" if elsewhere else options.device
    here = devices.resources(scale.name, device, options.jobs)
    gpu = bool(options.gpus) or "cuda" in (here.device, options.device)
    jobs = options.gpus or here.jobs
    sharing = 1.0
    if here.gpus:
        sharing = max(1.0, here.jobs / here.gpus)

    def rate(config: RunConfig) -> float:
        if gpu:
            return gpu_seconds(config) * sharing
        return cost(config) / CPU_TOKENS.get(config.scale, CPU_TOKENS["paper"]) / here.threads

    # how many times as long as by the rates your runs of this scale and machine took
    wanted = (scale.name, "ok", socket.gethostname(), here.threads)
    factors = []
    # ids are hashes: a fair sample
    for identity in [] if elsewhere else store.own_runs()[:ENOUGH]:
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
    where = f"on {jobs} {GPU}" if options.gpus else f"with {jobs} at once on {here.device}"
    return Expectation(lambda config: factor * rate(config), jobs, f"{where} ({basis})", gpu)


def gpu_seconds(config: RunConfig, size: str = "") -> float:
    """Seconds of a run by the table, through the encoder of its scale or of another measured
    size."""
    of = functools.partial(_measured, size or SIZES.get(config.scale, SIZES["paper"]))
    total = config.train.steps * config.train.batch_size / 64 * of(config.method, config.passes)
    total += checks(config) * of("check") + of("start and final scoring")
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
