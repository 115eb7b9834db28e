"""Results as pandas DataFrames, for notebooks and scripts:

    from core.api import load
    results = load()              # this checkout's results, published runs among them
    results.compare("esimcse-table7", "ESimCSE", "unsup-SimCSE", scale="mini")
    results.runs(scale="demo"); results.scores(); results.curves(); results.pairs()
    results.table("table5", scale="demo")

Nothing is trained, drawn or written, and torch is not loaded.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

import studies
from core.data import sources as finding
from core.report import frames, verdicts
from core.spec.errors import UserError
from core.spec.identity import NUMERICS, canonical_json
from core.spec.methods import PROFILES
from core.spec.scale import SCALES
from core.spec.setup import Setup
from core.store.records import CorruptRun, MissingRun, OtherVersion, StoredRun
from core.store.store import Store

HOME = Path(__file__).resolve().parents[1]
# columns of runs.csv
DRAWN = {"run_id": str, "study": str, "cell": str, "profile": str, "seed": "Int64"}


def load(results_dir: str | Path | None = None, published: bool = True) -> Results:
    """The results of a folder (without one, this checkout's `results`), and the project's published
    runs beside them if `published`. Raises UserError if the folder is not there."""
    folder = HOME / "results" if results_dir is None else Path(os.path.expanduser(results_dir))
    if not folder.is_dir():
        raise UserError(f"{folder} is no results folder; give the one that --results-dir named.")
    return Results(Store(folder, HOME / "results" / "published" if published else None))


@dataclass(frozen=True)
class Results:
    """The runs of one store. Every frame has the run's id in the column `run`."""

    store: Store

    def runs(self, scale: str | None = None) -> pd.DataFrame:
        """One row a run: study, cell, profile, seed, scale, status, source, average test score x
        100, seconds, host, encoder, and every field of its configuration by path
        (`loss.temperature`, …).

        Study, cell, profile and seed are those of `runs.csv`: empty for runs that have not been
        drawn.
        """
        wanted = SCALES if scale is None else (scale,)
        if not {*wanted} <= {*SCALES}:
            raise UserError(f"There is no scale {scale!r}; scales are {', '.join(SCALES)}.")
        rows: dict[str, dict] = {}
        packs = [self.store.packs[name] for name in wanted if name in self.store.packs]
        # thousands: none is loaded by itself
        for footers, averages in (pack.averages() for pack in packs):
            scores = _averages(averages)
            rows |= {footer["run_id"]: _run_row(footer, "published", scores) for footer in footers}
        for own in self._each(own=True):
            footer = {
                "run_id": own.run_id,
                "config": canonical_json(own.config),
                "status": own.status,
            }
            footer["provenance"] = json.dumps(own.provenance, default=str)
            rows[own.run_id] = _run_row(footer, "own", _averages(own.table, own.run_id))
        frame = pd.DataFrame(
            [
                row
                for row in rows.values()
                if row.pop("numerics") == NUMERICS and row["scale"] in wanted
            ]
        )
        if not len(frame):
            return frame
        drawn = frame[["run"]].join(self._drawn(), on="run")
        return pd.concat([drawn, frame.drop(columns="run")], axis=1)

    def _drawn(self) -> pd.DataFrame:
        """Study, cell, seed and profiles of each run by the `runs.csv` of both folders."""
        folders = [
            root / name
            for root in (self.store.root, self.store.published)
            if root
            for name in SCALES
        ]
        files = [path for folder in folders for path in sorted(folder.glob("*/runs.csv"))]
        parts = [pd.read_csv(path, usecols=list(DRAWN), dtype=DRAWN) for path in files]
        joined = pd.concat(parts or [pd.DataFrame(columns=list(DRAWN))])
        each = dict.fromkeys(list(DRAWN)[1:], "first")
        return joined.groupby("run_id").agg(
            each | {"profile": lambda names: " ".join(dict.fromkeys(names))}
        )

    def scores(self) -> pd.DataFrame:
        """One row a number that a run left: run, checkpoint, task, metric, step, value. Scores are
        x 100."""
        return _joined((run.run_id, run.rows) for run in self._each())

    def curves(self) -> pd.DataFrame:
        """One row a check: run, step, dev (Spearman x 100 on the development set), mean training
        loss."""
        return _joined((run.run_id, _curve(run)) for run in self._each())

    def pairs(self) -> pd.DataFrame:
        """One row a test pair of your own runs: run, task, subset, gold, cosine, words_a,
        words_b."""
        parts = []
        for run in self._each(own=True):
            with contextlib.suppress(CorruptRun, MissingRun):
                parts.append((run.run_id, self.store.load_pairs(run.run_id)))
        return _joined((run, frame) for run, frame in parts if frame is not None)

    def table(self, study: str, scale: str = "demo", **setup: Any) -> pd.DataFrame:
        """A study's table, one row a cell, with the columns of its CSV file. `setup` is that of
        `study`."""
        return frames.cell_frame(self.study(study, scale, **setup))

    def claims(self, study: str, scale: str = "demo", **setup: Any) -> pd.DataFrame:
        """A study's claims, one row each, with the columns of claims.csv: verdict, effect,
        bounds."""
        return frames.claim_frame([self.study(study, scale, **setup)])

    def comparisons(self, study: str, scale: str = "demo", **setup: Any) -> pd.DataFrame:
        """Every comparison of a study's claims, one row each, with the columns of
        comparisons.csv."""
        return frames.comparison_frame([self.study(study, scale, **setup)])

    def seeds(self, study: str, scale: str = "demo", **setup: Any) -> pd.DataFrame:
        """One row a cell and seed of a study: its labels, run, status, and the value that counts in
        means."""
        return frames.value_frame(self.study(study, scale, **setup))

    def compare(
        self, study: str, a: str | float, b: str | float, scale: str = "demo", **setup: Any
    ) -> pd.DataFrame:
        """Row `a` of a study minus row `b`, paired by seed, with its 95 % and its tested interval:
        a line for each pair of cells that differ in these labels alone, the average over the test
        sets first.

        A row is a label, or all labels of a cell as in `half/512`. Raises UserError for unknown
        labels."""
        return frames.pair_frame(self.study(study, scale, **setup), str(a), str(b))

    def study(
        self,
        study: str,
        scale: str = "demo",
        profile: str = PROFILES[0],
        seeds: int | None = None,
        settings: str | Sequence[str] = (),
        vary: str | Sequence[str] = (),
    ) -> verdicts.Judged:
        """What tables, figures and verdicts of a study are made of. `settings` are one or several
        of `--set`, such as `loss.temperature=0.1`, and `vary` of `--vary`, such as
        `loss.temperature=0.05,0.1`.

        Raises UserError for names that are not there, and for settings that the command would
        refuse."""
        hint = f"scales are {', '.join(SCALES)}, profiles {', '.join(PROFILES)}"
        if scale not in SCALES or profile not in PROFILES:
            raise UserError(f"There is no scale {scale!r} under {profile!r}; {hint}.")
        if seeds is not None and seeds < 1:
            raise UserError(
                f"{seeds} is no number of seeds; give at least 1, or None for the scale's own."
            )
        where = SCALES[scale]
        stored = finding.recorded_sources(SCALES[scale], self.store)
        if stored is None:
            raise UserError(
                f"No run of scale {scale} is stored in {self.store.root}; train one first."
            )
        setup = Setup(
            profile=profile, scale=where, sources=stored.sources, seeds=seeds or where.seeds
        )
        changes, fields = (
            (text,) if isinstance(text, str) else tuple(text) for text in (settings, vary)
        )
        wanted = studies.find(study)
        varied = setup.varied(wanted, changes, fields) if changes or fields else wanted
        return verdicts.study_result(varied, setup, self.store)

    def _each(self, own: bool = False) -> Iterator[StoredRun]:
        """Every run that can be believed, or your own alone; damaged runs, those of another version
        of the code, and those that went meanwhile, are left out."""
        for run in self.store.runs():
            with contextlib.suppress(CorruptRun, OtherVersion, MissingRun):
                if not own or self.store.has(run):
                    yield self.store.load(run)


def _averages(table: pa.Table, run: str = "") -> dict[tuple[str, str], float]:
    """The average test scores of selected checkpoints, by run and aggregation."""
    return {
        (row.get("run_id", run), row["metric"]): row["value"]
        for row in table.to_pylist()
        if (row["checkpoint"], row["task"]) == ("selected", "avg")
    }


def _run_row(footer: dict[str, str], source: str, scores: dict[tuple[str, str], float]) -> dict:
    """A run's row from its footer."""
    document = json.loads(footer["config"])
    provenance = json.loads(footer["provenance"])
    fields = document["run"]
    flat = {
        f"{section}.{name}": value
        for section, values in fields.items()
        if isinstance(values, dict)
        for name, value in values.items()
        if name not in ("kind", "section")
    }
    return {
        "run": footer["run_id"],
        "scale": fields["scale"],
        "method": fields["method"],
        "status": footer["status"],
        "source": source,
        "score": scores.get((footer["run_id"], f"spearman_{flat['sts.aggregate']}")),
        "seconds": frames.seconds(provenance),
        "host": provenance.get("host"),
        "encoder": provenance.get("encoder"),
        "numerics": document["numerics"],
        **flat,
    }


def _curve(run: StoredRun) -> pd.DataFrame:
    rows = run.rows[run.rows["checkpoint"] == "curve"].set_index("step")
    dev = rows[
        (rows["task"] == "dev") & (rows["metric"] == f"spearman_{run.config.sts.aggregate}")
    ]["value"]
    loss = rows[(rows["task"] == "train") & (rows["metric"] == "loss")]["value"]
    return pd.DataFrame({"dev": dev, "loss": loss}).rename_axis("step").reset_index()


def _joined(parts: Iterable[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    """These runs' frames under one another, with the run's id first."""
    rows = [frame.assign(run=run)[["run", *frame.columns]] for run, frame in parts]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=["run"])
