"""Trials of methods before their first runs, in a process with torch (`core.training.trial`)."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict

from core.config.identity import canonical_json
from core.config.method_code import code_digest
from core.config.run import Execution, RunConfig
from core.errors import UserError, say
from core.runner.devices import PROJECT, cache_folder
from core.runner.launch import environment
from core.runner.plan import PlannedRun
from core.store import cache

VERSION = 1  # raised when a trial learns to see another mistake
PASSED = b"[]"


def trial_faults(
    runs: Sequence[PlannedRun], execution: Execution, module: str, anew: bool = False
) -> list[str]:
    """What is wrong with the methods of these runs, in sentences: the first run of each method is
    tried, unless the same code has passed before. `anew`: try them all."""
    folder = cache_folder() / "trials"
    waiting: dict[str, RunConfig] = {}  # by the names under which their passing is kept
    methods = set()
    for planned in runs:
        config = planned.config
        if config.method in methods:
            continue
        methods.add(config.method)
        digest = code_digest(config.method)
        key = [VERSION, config.method, digest, execution.device]
        name = cache.key_digest(key)
        if anew or cache.find(folder, name, "json") is None:
            waiting[name] = config
    if not waiting:
        return []
    faults = []
    answers = _tried([*waiting.values()], execution, module)
    for name, sentences in zip(waiting, answers, strict=False):
        faults += sentences
        if not sentences:
            with contextlib.suppress(UserError):  # the cache cannot be written
                cache.keep(folder, name, "json", PASSED)
    return faults


def _tried(configs: Sequence[RunConfig], execution: Execution, module: str) -> list[list[str]]:
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
