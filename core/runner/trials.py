"""Trials of methods before their first runs, in a process with torch (`core.training.trial`)."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple
from typing import NamedTuple

from core.config.identity import canonical_json
from core.config.method_code import code_digest
from core.config.methods import own_sections
from core.config.run import Execution, RunConfig
from core.config.scale import at_scale
from core.config.vary import vary
from core.errors import UserError, say
from core.runner.devices import PROJECT, cache_folder
from core.runner.launch import environment
from core.store import cache
from core.study.grid import Grid

VERSION = 3  # raised when a trial learns to see another mistake
PASSED = b"[]"


class Trials(NamedTuple):
    """What trials of methods found, in sentences, and the methods that could not be tried."""

    faults: list[str]
    untried: list[str]


def tried(
    runs: Iterable[RunConfig], execution: Execution, module: str, anew: bool = False
) -> Trials:
    """Try a run of each method, encoder and way through the method's code, unless the same code has
    passed before. `anew`: try them all."""
    folder = cache_folder() / "trials"
    waiting: dict[str, RunConfig] = {}  # by the names under which their passing is kept
    for config in runs:
        if config.rewriting is not None:
            config = vary(config, {"text": None})  # rewriting takes minutes
        digest = code_digest(config.method)
        key = [
            VERSION,
            config.method,
            digest,
            execution.device,
            config.encoder.digest,
            ways(config),
        ]
        name = cache.key_digest(key)
        if name not in waiting and (anew or cache.find(folder, name, "json") is None):
            waiting[name] = config
    if not waiting:
        return Trials([], [])
    faults = []
    answers = _answers([*waiting.values()], execution, module)
    for name, sentences in zip(waiting, answers, strict=False):
        faults += sentences
        if not sentences:
            with contextlib.suppress(UserError):  # the cache cannot be written
                cache.keep(folder, name, "json", PASSED)
    return Trials(faults, [run.method for run in waiting.values()][len(answers) :])


def ways(config: RunConfig) -> list[list[str | bool | None]]:
    """What decides the way through a method's code: the values of its own sections, but of numbers
    whether they are 0."""
    ways = []
    for section in own_sections(config).values():
        values = [] if section is None else astuple(section)
        ways.append([v if v is None or isinstance(v, (str, bool)) else bool(v) for v in values])
    return ways


def without_columns(grids: Iterable[Grid]) -> list[RunConfig]:
    """A run of each cell that a text with too few columns leaves out; a trial makes them up."""
    runs = []
    for grid in grids:
        setup = grid.setup
        for cell in grid.cells:
            if cell.unavailable is not None and cell.unavailable.kind == "no columns":
                encoder = cell.cell.encoder
                runs.append(at_scale(cell.paper, setup.scale, setup.sources, encoder))
    return runs


def _answers(configs: Sequence[RunConfig], execution: Execution, module: str) -> list[list[str]]:
    """The sentences of each run's trial, up to the first that the process could not do."""
    request = {"execution": asdict(execution), "configs": [canonical_json(run) for run in configs]}
    done = subprocess.run(
        [sys.executable, "-m", module],
        cwd=PROJECT,
        env=environment(execution.threads),
        input=json.dumps(request),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) < len(configs):
        last = (done.stderr.splitlines() or [f"exit status {done.returncode}"])[-1]
        say(f"A trial of method {configs[len(answers)].method} was not possible: {last[:200]}")
    return answers
