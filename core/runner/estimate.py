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
from core.runner.rates import BERT_BASE, GPU, LIKE_IT, cpu_seconds, gpu_seconds, shapes
from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.spec.scale import Scale
from core.store.store import Store

ENOUGH = 60  # runs read; more would not move a median
Key = tuple[str, str, bool, str, int]  # scale, digest of the encoder, with transfer tasks, method, batch size


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Seconds over `cost`, one number a finished run, by kind of run. `rates` answers where no run has ended."""

    ratios: dict[Key, tuple[float, ...]] = field(default_factory=dict)
    rates: Callable[[RunConfig], float] = cost
    basis: str = ""  # what the rates rest on, in a few words

    def of(self, scale: str) -> int:
        """The number of finished runs of a scale that the expectation rests on."""
        return sum(len(found) for (known, *_), found in self.ratios.items() if known == scale)

    def seconds(self, config: RunConfig) -> float:
        """Expected seconds of a run: its cost times the median ratio of runs like it, else the rates' answer.

        Runs alike have one encoder, method and batch size (fewer, larger steps cost less), else one encoder and method,
        else one encoder.
        """
        wanted = _key(config)
        for known in (5, 4, 3, 2):
            if like := [
                ratio
                for key, found in self.ratios.items()
                if key[:known] == wanted[:known]
                for ratio in found
            ]:
                return cost(config) * statistics.median(like)
        return self.rates(config)


def expectation(options: Options, scale: Scale, found: Found, store: Store, cache_dir: Path) -> History:
    """What a command's runs are expected to take. With --cluster and --gpus no history counts. Runs that share a GPU take turns."""
    encoders = shapes(found, scale.generated)
    elsewhere = options.gpus or options.cluster and options.device != "cpu"
    resources = devices.resources(scale.name, "cpu" if elsewhere else options.device, options.jobs)

    def seconds(config: RunConfig) -> float:
        encoder = encoders.get(config.encoder.digest, BERT_BASE)
        if gpu:
            return gpu_seconds(config, encoder) * turns
        return cpu_seconds(config, encoder, resources.threads, cache_dir)

    turns = 1.0 if elsewhere else max(1.0, resources.jobs / max(1, len(set(resources.gpus))))
    gpu = GPU if elsewhere else _gpu() if resources.device == "cuda" else ""
    basis = f"from rates of one {GPU} in bf16" if gpu else "from a timing of this CPU"
    if gpu and not any(name in gpu for name in LIKE_IT):
        basis += f", since those of {gpu} are not known"
    if elsewhere or options.cluster:
        return History(rates=seconds, basis=basis)
    return history(store, resources.device, resources.threads, seconds, basis)


def _gpu() -> str:
    """The name of this machine's first GPU."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    with contextlib.suppress(OSError, subprocess.SubprocessError, IndexError):
        listing = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return listing.stdout.splitlines()[0].strip()
    return "this GPU"


def history(
    store: Store,
    device: str,
    threads: int,
    rates: Callable[[RunConfig], float] = cost,
    basis: str = "",
) -> History:
    """The history of the user's runs on this host, on this kind of device, with this many threads; damaged files are passed over."""
    ratios: dict[Key, list[float]] = {}
    host = socket.gethostname()
    for identity in [identity for identity in store.runs() if store.has(identity)][
        :ENOUGH
    ]:  # ids are hashes: a fair sample
        with contextlib.suppress(UserError):
            run = store.load(identity)
            recorded = run.provenance
            here = recorded.get("host") == host and str(recorded.get("device")).startswith(device)
            seconds = recorded.get("seconds")
            if (
                here
                and recorded.get("threads") == threads
                and isinstance(seconds, dict)
                and run.status == "ok"
            ):
                ratios.setdefault(_key(run.config), []).append(sum(seconds.values()) / cost(run.config))
    return History(ratios={key: tuple(found) for key, found in ratios.items()}, rates=rates, basis=basis)


def _key(config: RunConfig) -> Key:
    return config.scale, config.encoder.digest, config.eval.transfer, config.method, config.train.batch_size
