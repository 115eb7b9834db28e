"""How long runs take: as finished runs of this machine did, else by measured rates of a GPU or a timing of
the CPU; and what --plan says of it."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from core.data.encoders import DEMO_ENCODER, configuration
from core.data.sources import Found
from core.runner import devices
from core.runner.cli import Options
from core.runner.launch import PROJECT, environment
from core.runner.plan import Plan, checks, cost, tokens
from core.runner.progress import WEEKS, spoken
from core.spec.errors import UserError, counted, say
from core.spec.run import RunConfig
from core.spec.scale import Scale
from core.store.store import Store

TABLE = Path(__file__).with_name("rates.csv")  # bf16, batches of 64 sentences
GPU = "NVIDIA H100"
LIKE_IT = ("H100", "H200")  # the H200 has the H100's processor and more memory, so it has the H100's rates
DEFAULT_SPEED = 5e10  # operations a second of one thread, where a CPU cannot be timed
STEP = 1.5e11  # operations of a timed step at most: a second or two on a core
ENOUGH = 60  # runs read; more would not move a median
Key = tuple[str, str, bool, str, int]  # scale, digest of the encoder, with transfer tasks, method, batch size


class Shape(NamedTuple):
    """The sizes of an encoder that decide how long a step takes, by transformers' names; bert-base's by
    default."""

    num_hidden_layers: int = 12
    hidden_size: int = 768
    intermediate_size: int = 3072
    num_attention_heads: int = 12
    vocab_size: int = 30_522

    @property
    def products(self) -> int:
        """Multiplications of a token in a forward pass; the last layer has only keys and values of all
        tokens."""
        squared = self.hidden_size**2
        layer = 4 * squared + 2 * self.hidden_size * self.intermediate_size
        return (self.num_hidden_layers - 1) * layer + 2 * squared


BERT_BASE, MINI = Shape(), Shape(2, 384, 512)  # the encoders of the table


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Seconds over `cost`, a number for each finished run, by kind of run. `rates` answers where no run has
    ended."""

    ratios: dict[Key, list[float]] = field(default_factory=dict)
    rates: Callable[[RunConfig], float] = cost
    basis: str = ""  # what the rates rest on, in a few words

    def of(self, scale: str) -> int:
        """The number of finished runs of a scale that the estimate rests on."""
        return sum(len(ratios) for (name, *_), ratios in self.ratios.items() if name == scale)

    def seconds(self, config: RunConfig) -> float:
        """Expected seconds of a run: its cost times the median ratio of runs like it, else the rates' answer.
        Runs alike have one encoder, method and batch size (fewer, larger steps cost less), else one encoder
        and method, else one encoder."""
        wanted = _key(config)
        for known in (5, 4, 3, 2):
            if like := [
                r for key, ratios in self.ratios.items() if key[:known] == wanted[:known] for r in ratios
            ]:
                return cost(config) * statistics.median(like)
        return self.rates(config)


def expectation(options: Options, scale: Scale, found: Found, store: Store, cache_dir: Path) -> History:
    """What a command's runs are expected to take. With --cluster and --gpus no history counts. Runs that
    share a GPU take turns."""
    encoders = shapes(found, scale.generated)
    elsewhere = options.gpus or options.cluster and options.device != "cpu"
    resources = devices.resources(scale.name, "cpu" if elsewhere else options.device, options.jobs)
    turns = 1.0 if elsewhere else max(1.0, resources.jobs / max(1, resources.gpus))
    gpu = GPU if elsewhere else _gpu() if resources.device == "cuda" else ""
    basis = f"from rates of one {GPU} in bf16" if gpu else "from a timing of this CPU"
    if gpu and not any(name in gpu for name in LIKE_IT):
        basis += f", since those of {gpu} are not known"

    def seconds(config: RunConfig) -> float:
        encoder = encoders.get(config.encoder.digest, BERT_BASE)
        if gpu:
            return gpu_seconds(config, encoder) * turns
        precision = "bf16" if config.train.precision == "bf16" else "fp32"
        return cost(config) * token_seconds(encoder, precision, resources.threads, tokens(config), cache_dir)

    if elsewhere or options.cluster:
        return History(rates=seconds, basis=basis)
    return history(store, resources.device, resources.threads, seconds, basis)


def history(
    store: Store, device: str, threads: int, rates: Callable[[RunConfig], float] = cost, basis: str = ""
) -> History:
    """The history of your runs on this host, on this kind of device, with this many threads."""
    ratios: dict[Key, list[float]] = {}
    for identity in [run for run in store.runs() if store.has(run)][:ENOUGH]:  # ids are hashes: a fair sample
        with contextlib.suppress(UserError):  # a damaged file
            run = store.load(identity)
            made, seconds = run.provenance, run.provenance.get("seconds")
            here = made.get("host") == socket.gethostname() and made.get("threads") == threads
            same = here and str(made.get("device")).startswith(device) and run.status == "ok"
            if same and isinstance(seconds, dict):
                ratios.setdefault(_key(run.config), []).append(sum(seconds.values()) / cost(run.config))
    return History(ratios=ratios, rates=rates, basis=basis)


def _key(config: RunConfig) -> Key:
    return config.scale, config.encoder.digest, config.eval.transfer, config.method, config.train.batch_size


def _gpu() -> str:
    """The name of this machine's first GPU."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    with contextlib.suppress(OSError, subprocess.SubprocessError, IndexError):
        listing = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return listing.stdout.splitlines()[0].strip()
    return "this GPU"


def shapes(found: Found, generated: bool) -> dict[str, Shape]:
    """The shapes of a command's encoders, by digest; encoders not fetched yet have the papers' shapes."""
    own = DEMO_ENCODER if generated else found.places.encoder
    folders = [own, *(folder for _, folder, _ in found.places.others)]
    encoders = itertools.zip_longest(found.sources.encoders(), folders)  # folders may lack at the end
    return {one.digest: shape(folder, one.hidden) for one, folder in encoders if one is not None}


def shape(folder: Path | None, hidden: int) -> Shape:
    """The shape of the encoder in a folder, or of the papers' encoder of this width."""
    usual = Shape(24 if hidden > 768 else 12, hidden, 4 * hidden, max(1, hidden // 64))
    about = {} if folder is None else configuration(folder)
    return usual._replace(**{name: about[name] for name in Shape._fields if type(about.get(name)) is int})


def gpu_seconds(config: RunConfig, encoder: Shape) -> float:
    """Seconds of a run by the table. They are linear in the work of a batch through the two measured
    encoders. Less work than the smaller encoder's takes as long, since a step then waits for its launches."""

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
    A method without rows has SimCSE's."""
    rows = [row for row in csv.DictReader(TABLE.read_text().splitlines()) if row["encoder"] == encoder]
    rows = [row for row in rows if row["what"] == what] or [row for row in rows if row["what"] == "simcse"]
    row = min(rows, key=lambda row: abs(float(row["passes"] or 0) - passes))
    return float(row["seconds"]) * (passes / float(row["passes"]) if row["passes"] else 1.0)


@cache
def token_seconds(encoder: Shape, precision: str, threads: int, length: int, cache_dir: Path) -> float:
    """Seconds in which a CPU trains SimCSE on a token of the text; a process of its own times and keeps
    them."""
    batch = max(4, min(64, int(STEP / (12 * encoder.products * length))))
    asked = {
        "encoder": encoder._asdict(),
        "precision": precision,
        "threads": threads,
        "batch": batch,
        "length": length,
    }
    words = json.dumps({**asked, "cache": str(cache_dir / "rates.json")})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "core.engine.speed", words], cwd=PROJECT, env=environment(threads),
            capture_output=True, text=True, check=True, timeout=180,
        )  # fmt: skip
        return float(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        why, speed = type(error).__name__, f"{DEFAULT_SPEED / 1e9:.0f} billion operations a second"
        say(f"This CPU could not be timed ({why}); times assume {speed} for each thread.")
        return 12 * encoder.products / DEFAULT_SPEED / threads


def tell_plan(options: Options, plan: Plan, scale: Scale, found: Found, store: Store) -> int:
    """Print what would be trained and what it would cost; the exit status."""
    estimate = expectation(options, scale, found, store, devices.cache_folder())
    seconds = [estimate.seconds(run.config) for run in plan.missing]
    resources = None if options.gpus else devices.resources(scale.name, options.device, options.jobs)
    jobs = resources.jobs if resources is not None else options.gpus or 1
    left = max(max(seconds, default=0.0), sum(seconds) / min(jobs, max(1, len(plan.missing))))
    finished = estimate.of(plan.runs[0].config.scale) if plan.runs else 0
    basis = f"from {finished} finished ones on this machine" if finished else estimate.basis
    runs, done = len(plan.runs), len(plan.runs) - len(plan.missing)
    shared = f", which {plan.entries} cells × seeds share" if plan.entries > runs else ""
    print(f"{counted(runs, 'run')}{shared}: {done or 'none'} done, {runs - done or 'none'} to train.")
    where = f"with {jobs} at once on {resources.device}" if resources is not None else f"on {jobs} {GPU}"
    weeks = left > WEEKS and resources is not None and resources.device == "cpu"
    need = f", so this needs a GPU; --gpus 1 plans for one {GPU}" if weeks else ""
    print(f"About {spoken(left)} {where} ({basis}){need}.")
    return 0
