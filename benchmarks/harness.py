"""Everything but training: what a run costs besides its steps, planning, rendering, tokenising."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import studies
from benchmarks.setting import Setting
from benchmarks.timing import Row
from core.data.sources import demo_sources
from core.data.text import training_text
from core.engine.tokens import cached_table, tokenise
from core.runner.plan import plan
from core.spec.conditions import Edition
from core.spec.scale import DEMO
from core.store.store import Store

HOME = Path(__file__).resolve().parents[1]
STUDY, SHORT = "esimcse-table11", ("--set", "train.steps=4", "--set", "eval.every=4")
RUNS_TO_PLAN = 2_000
SENTENCES = 1_000_000


def rows() -> Iterator[Row]:
    """Seconds a run, to plan, and to render."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _per_run(Path(folder))
        yield from _planning(Path(folder))
        began = time.perf_counter()
        _command(Path(folder), "--all", "--regenerate-figures")
        yield Row("harness", "demo", "rendering everything stored", time.perf_counter() - began, "s", "<= 20")


def _per_run(folder: Path) -> Iterator[Row]:
    """The slope over two numbers of runs: what a further run costs, without the command's own start and its report.

    One slot; the runs have four steps, since their training and evaluation are subtracted.
    """
    outside, loads, counts = [], [], []
    for name, seeds in (("warm", 1), ("few", 1), ("many", 4)):
        results = folder / name
        began = time.perf_counter()
        _command(results, STUDY, "--scale", "demo", "--device", "cpu", "--jobs", "1", "--seeds", str(seeds), *SHORT)
        wall = time.perf_counter() - began
        store = Store(results, None)
        seconds = [cast(dict[str, float], store.load(identity).provenance["seconds"]) for identity in store.runs()]
        outside.append(wall - sum(s["train"] + s["evaluate"] for s in seconds))
        loads.append(sum(s["load"] for s in seconds) / len(seconds))
        counts.append(len(seconds))
    slope = (outside[2] - outside[1]) / (counts[2] - counts[1])
    yield Row("harness", "demo", "a run outside training and evaluation", slope, "s", "<= 0.3", f"{counts[2]} runs against {counts[1]}")
    yield Row("harness", "demo", "of it loading and the first check", loads[2], "s")
    yield Row("harness", "demo", "a command, once (imports, report)", outside[1] - slope * counts[1], "s")


def _planning(folder: Path) -> Iterator[Row]:
    cells = sum(len(study.cells) for study in studies.STUDIES)
    seeds = -(-RUNS_TO_PLAN // cells)
    store = Store(folder / "empty", None)
    store.prepare()
    sources = demo_sources().sources
    began = time.perf_counter()
    found = plan(studies.STUDIES, Edition(profile="paper", scale=DEMO, sources=sources, seeds=seeds), store)
    seconds = (time.perf_counter() - began) * RUNS_TO_PLAN / found.entries
    yield Row("harness", "demo", f"planning {RUNS_TO_PLAN} runs", seconds, "s", "<= 2", f"{found.entries} entries, {len(found.runs)} runs")


def _command(results: Path, *arguments: str) -> None:
    """One command of the project with slots and results of its own."""
    temporary = results / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(temporary), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "run_study.py", *arguments, "--results-dir", str(results)],
        cwd=HOME, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"run_study.py {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-2000:]}")


def token_rows(setting: Setting, sentences: int) -> Iterator[Row]:
    """Tokenising the training text, repeated to so many sentences, and loading the table that was kept."""
    config = setting.mocose()
    _, tokenizer = setting.encoder(config)
    texts = training_text(config.data, setting.execution.corpus_path)
    texts = (texts * (sentences // len(texts) + 1))[:sentences]
    with tempfile.TemporaryDirectory() as folder:
        taken = []
        for _ in range(2):
            began = time.perf_counter()
            table = cached_table(Path(folder), ["benchmark"], lambda: tokenise(tokenizer, texts, config.data.max_length))
            taken.append(time.perf_counter() - began)
    if len(table) != sentences:
        raise AssertionError(f"{len(table)} of {sentences} sentences are in the table")
    scale = SENTENCES / sentences
    note = "" if scale == 1 else f"from {sentences} sentences"
    yield Row("tokens", setting.name, "tokenising a million sentences", taken[0] * scale, "s", "<= 60", note)
    yield Row("tokens", setting.name, "loading them again", taken[1] * scale, "s", "<= 1", note)
