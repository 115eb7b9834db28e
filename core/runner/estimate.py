"""How long runs take: from finished runs of this machine, else by rates of its hardware."""

from __future__ import annotations

import contextlib
import socket
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from core.data.sources import Found
from core.runner import devices
from core.runner.cli import Options
from core.runner.plan import cost
from core.runner.rates import GPU, Rates, shapes
from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.spec.scale import SCALES, Scale
from core.store.store import Store

ENOUGH = 60  # runs read; more would not move a median
Key = tuple[str, bool, str, int]  # scale, whether transfer tasks are scored, method, batch size


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Seconds taken over `cost`, one number a finished run, by kind of run. `rates` answers for a scale without finished runs."""

    ratios: dict[Key, tuple[float, ...]] = field(default_factory=dict)
    rates: Callable[[RunConfig], float] = cost

    def of(self, scale: str) -> int:
        """The number of finished runs of a scale that the expectation rests on."""
        return sum(len(found) for (known, *_), found in self.ratios.items() if known == scale)

    def seconds(self, config: RunConfig) -> float:
        """Expected seconds of a run: its cost times the median ratio of runs like it, or else the rates' answer. Runs alike have the same
        method and batch size (fewer, larger steps cost less), else the same method, else the same scale."""
        wanted = _key(config)
        for known in (4, 3, 2, 1):
            if like := [ratio for key, found in self.ratios.items() if key[:known] == wanted[:known] for ratio in found]:
                return cost(config) * statistics.median(like)
        return self.rates(config)


def expectation(options: Options, scale: Scale, found: Found, store: Store, cache_dir: Path) -> tuple[History, Rates]:
    """What the runs of a command are expected to take, and the rates behind it. Of a cluster's machines and with --gpus no history counts."""
    encoders = shapes(found, SCALES[scale.name].generated)
    if options.gpus or options.cluster and options.device != "cpu":
        rates = Rates(gpu=GPU, encoders=encoders)
        return History(rates=rates.seconds), rates
    own = devices.resources(scale.name, options.device, options.jobs)
    rates = Rates(gpu=_gpu() if own.device == "cuda" else "", threads=own.threads, encoders=encoders, cache_dir=cache_dir)
    return (History(rates=rates.seconds) if options.cluster else history(store, own.device, own.threads, rates.seconds)), rates


def _gpu() -> str:
    """The name of this machine's first GPU."""
    with contextlib.suppress(OSError, subprocess.SubprocessError, IndexError):
        command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        listing = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return listing.stdout.splitlines()[0].strip()
    return "this machine's GPU"


def history(store: Store, device: str, threads: int, rates: Callable[[RunConfig], float] = cost) -> History:
    """The history of the user's runs on this host, on this kind of device, with this many threads; damaged files are passed over."""
    ratios: dict[Key, list[float]] = {}
    host = socket.gethostname()
    for identity in [identity for identity in store.runs() if store.has(identity)][:ENOUGH]:  # ids are hashes: a fair sample
        with contextlib.suppress(UserError):
            run = store.load(identity)
            recorded = run.provenance
            here = recorded.get("host") == host and str(recorded.get("device")).startswith(device)
            seconds = recorded.get("seconds")
            if here and recorded.get("threads") == threads and isinstance(seconds, dict) and run.status == "ok":
                ratios.setdefault(_key(run.config), []).append(sum(seconds.values()) / cost(run.config))
    return History(ratios={key: tuple(found) for key, found in ratios.items()}, rates=rates)


def _key(config: RunConfig) -> Key:
    return config.scale, config.eval.transfer, config.method, config.train.batch_size
