"""A store in memory with made-up runs, for the report's tests: the same methods as the real one,
nothing on disk."""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from resolved import config_at

from core.config.identity import run_id
from core.config.scale import DEMO, EncoderSource, Scale, Sources
from core.study.reason import Reason
from core.study.resolution import resolve
from core.study.setup import Setup
from core.study.study import SIMCSE

SOURCES = Sources(
    corpus_digest="c" * 8,
    corpus_rows=40_000,
    corpus_name="demo text",
    evaluation_digest="v" * 8,
    evaluation_name="demo pairs",
    transfer_digest="t" * 8,
    encoders=(EncoderSource("bert-base", "e" * 8, 128, "demo_bert 2x128", masked_words=True),),
)


def made_setup(
    seeds: int = 3, profile: str = "paper", scale: Scale = DEMO, sources: Sources = SOURCES
) -> Setup:
    """A setup on the store's made-up data."""
    return Setup(profile=profile, scale=scale, sources=sources, seeds=seeds)


def as_table(frame: pd.DataFrame) -> pa.Table:
    """A run's rows as the store keeps them: NaN is a number, not a missing one."""
    return pa.table({name: pa.array(frame[name].tolist()) for name in frame.columns})


@dataclass
class FakeRun:
    """What `Store.load` returns, as far as the report reads it."""

    run_id: str
    config: object
    status: str
    rows: pd.DataFrame
    provenance: dict
    source: str = "own"

    @property
    def table(self) -> pa.Table:
        return as_table(self.rows)


@dataclass
class FakeStore:
    """Runs by id."""

    runs: dict[str, FakeRun] = field(default_factory=dict)
    pairs: dict[str, pd.DataFrame] = field(default_factory=dict)

    def has(self, run_id: str, use_published: bool = True) -> bool:
        return run_id in self.runs and (use_published or self.runs[run_id].source == "own")

    def content(self, run_id: str) -> str:
        run = self.runs.get(run_id)
        return (
            ""
            if run is None
            else f"{run.source} {run.status} {run.provenance} {as_table(run.rows)}"
        )

    def load(self, run_id: str) -> FakeRun:
        return self.runs[run_id]

    def load_pairs(self, run_id: str) -> pd.DataFrame | None:
        return self.pairs.get(run_id)

    def add(
        self,
        config,
        value: float,
        *,
        scale: Scale = DEMO,
        status: str = "ok",
        source: str = "own",
        provenance=None,
        untrained=None,
    ) -> FakeRun:
        """Store a run whose average and dev score are `value` under every aggregate (NaN if
        diverged), the untrained encoder's where given."""
        if status == "diverged":
            value = float("nan")
        tests = zip(scale.tests, np.linspace(-1, 1, len(scale.tests)), strict=True)
        rows = []
        for task, offset in (*tests, ("avg", 0.0), ("dev", 0.0)):
            for aggregate in ("all", "mean", "wmean"):
                metric = f"spearman_{aggregate}"
                rows.append(("selected", task, metric, 300, value + offset))
                rows.append(("last", task, metric, 300, value + offset - 1))
        rows += [
            ("curve", "dev", "spearman_all", step, value * step / 300) for step in (100, 200, 300)
        ]
        if untrained is not None:
            rows += [("untrained", task, "spearman_all", 0, untrained) for task in ("avg", "dev")]
        frame = pd.DataFrame(rows, columns=["checkpoint", "task", "metric", "step", "value"])
        provenance = provenance or {"device": "cpu", "torch": "2.9.0"}
        made = FakeRun(run_id(config), config, status, frame, provenance, source)
        self.runs[made.run_id] = made
        return made


def add_simcse(store: FakeStore, at: Setup, *values: float, untrained: float = 0.0) -> None:
    """SimCSE's own runs, the bar for other methods, with these scores."""
    for seed, value in enumerate(values):
        store.add(
            config_at(at, SIMCSE, SIMCSE.cells[0], seed), value, scale=at.scale, untrained=untrained
        )


def config_of(study, labels, seed: int, profile: str = "paper", scale: Scale = DEMO):
    """The configuration of a cell, by its labels."""
    cell = next(cell for cell in study.cells if cell.labels == tuple(labels))
    return config_at(made_setup(profile=profile, scale=scale), study, cell, seed)


def filled(
    study, seeds: int = 3, level: float = 52.0, spread: float = 0.8, scale: Scale = DEMO, skip=()
) -> FakeStore:
    """A store with every run of a study but those in `skip` ((labels, seed)): cells lie a point
    apart, seeds scatter by `spread`."""
    store = FakeStore()
    at = made_setup(seeds, scale=scale)
    places = {cell.labels: place for place, cell in enumerate(study.at(scale).cells)}
    for resolved_cell in resolve(study, at).available:
        cell = resolved_cell.cell
        for seed, config in enumerate(resolved_cell.configs[:seeds]):
            noise = random.Random(f"{cell.labels}{seed}").random() - 0.5
            if (cell.labels, seed) not in skip:
                value = level + (places[cell.labels] * 7) % 5 + spread * noise
                store.add(config, value, scale=scale)
    return store


@contextmanager
def reworded():
    """Every reason has other words, without a word of a figure's title."""
    original = Reason.__new__

    def other(cls, kind, words, brief=""):
        return original(cls, kind, f"other words; {words[::-1]}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reason, "__new__", other)
        yield
