"""Trials of methods before their first runs, in children of the warm process."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple

from core.config.identity import canonical_json
from core.config.method_code import code_digest
from core.config.methods import own_sections
from core.config.run import RunConfig
from core.config.scale import at_scale
from core.config.vary import vary
from core.data.encoders import versions
from core.errors import UserError, say
from core.runner.devices import cache_folder
from core.runner.launch import Launcher, Stop, diagnosis
from core.runner.worker import Message, try_method
from core.store import cache, code
from core.study.grid import Grid

PASSED = b"[]"


def tried(
    runs: Iterable[RunConfig], launcher: Launcher, trial: str, stop: Stop, anew: bool = False
) -> tuple[list[str], list[str]]:
    """Try a run of each method, encoder and way through the method's code by the function `trial`
    (module:function), unless the same code has passed before. `anew`: try them all. Returns what
    was found, in sentences, and the methods that could not be tried. Raises UserError if no process
    can be started."""
    execution = launcher.order.execution
    folder = cache_folder() / "trials"
    core_digest = code.digest()
    method_digest = functools.cache(code_digest)  # of files that may lie elsewhere
    waiting: dict[str, RunConfig] = {}  # by the names under which their passing is kept
    for config in runs:
        if config.rewriting is not None:
            config = vary(config, {"text": None})  # rewriting takes minutes
        key = [
            core_digest,
            *versions(),
            method_digest(config.method),
            config.method,
            execution.device,
            config.encoder.digest,
            config.data.columns,
            config.train.precision,
            ways(config),
        ]
        name = cache.key_digest(key)
        if name not in waiting and (anew or cache.find(folder, name, "json") is None):
            waiting[name] = config

    def report_of(config: RunConfig) -> Message:
        call = functools.partial(try_method, trial, canonical_json(config), execution)
        return launcher.call(call, stop)[0]

    faults: list[str] = []
    untried = []
    with ThreadPoolExecutor(launcher.jobs) as threads:
        reports = threads.map(report_of, waiting.values())
        for (name, config), report in zip(waiting.items(), reports, strict=True):
            if report.faults:
                faults += report.faults
            elif report.faults is not None:
                with contextlib.suppress(UserError):  # the cache cannot be written
                    cache.keep(folder, name, "json", PASSED)
            elif not stop.asked:
                say(f"A trial of method {config.method} was not possible: {diagnosis(report)}")
                untried.append(config.method)
    return faults, untried


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
            lacks = cell.unavailable is not None and cell.unavailable.kind == "no columns"
            if lacks and cell.paper is not None:
                encoder = cell.cell.encoder
                runs.append(at_scale(cell.paper, setup.scale, setup.sources, encoder))
    return runs
