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
import importlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from core.data import sources as finding
from core.spec.errors import UserError
from core.spec.identity import NUMERICS, canonical_json
from core.spec.methods import PROFILES
from core.spec.scale import SCALES
from core.spec.setup import Setup
from core.store.records import CorruptRun, MissingRun, OtherVersion, StoredRun
from core.store.store import Store

if TYPE_CHECKING:
    from core.report.verdicts import Judged

HOME = Path(__file__).resolve().parents[1]
Settings = str | Sequence[str]
AVERAGES = ("checkpoint", "task", "metric", "run_id", "value")


def load(results_dir: str | Path | None = None, published: bool = True) -> Results:
    """The results of a folder (this checkout's `results`), beside them the project's published runs unless
    told not to.

    Raises UserError if the folder is not there.
    """
    folder = HOME / "results" if results_dir is None else Path(os.path.expanduser(results_dir))
    if results_dir == "" or not folder.is_dir():
        hint = "give the one that --results-dir named"
        raise UserError(f"{str(results_dir or folder)!r} is no results folder; {hint}.")
    return Results(Store(folder, HOME / "results" / "published" if published else None))


@dataclass(frozen=True)
class Results:
    """The runs of one store. Every frame has the run's id in the column `run`."""

    store: Store

    def runs(self, scale: str | None = None) -> pd.DataFrame:
        """One row a run: study, cell, scale, profile, seed, status, source, average test score x 100,
        seconds, host, encoder, and every field of its configuration by path (`loss.temperature`, …).

        Study, cell, profile and seed are those of `runs.csv`: empty for runs that have not been drawn.
        """
        if scale is not None and scale not in SCALES:
            raise UserError(f"There is no scale {scale!r}; scales are {', '.join(SCALES)}.")
        rows: dict[str, dict] = {}
        for name in SCALES if scale is None else (scale,):
            footers, scores = self.store.published_averages(name) or ([], None)
            found = {} if scores is None else _by_run(scores)
            for footer in footers:
                rows[footer["run_id"]] = _run_row(footer, "published", found.get(footer["run_id"], {}))
        for run in self._each(own=True):
            footer = {"run_id": run.run_id, "config": canonical_json(run.config), "status": run.status}
            footer["provenance"] = json.dumps(run.provenance, default=str)
            table = run.table.append_column("run_id", [[run.run_id] * run.table.num_rows])
            rows[run.run_id] = _run_row(footer, "own", _by_run(table).get(run.run_id, {}))
        known = [row for row in rows.values() if row.pop("numerics") == NUMERICS]
        frame = pd.DataFrame([row for row in known if scale in (None, row["scale"])])
        if not len(frame):
            return frame
        drawn = self._drawn()
        others = [name for name in frame.columns if name != "run"]
        return frame.merge(drawn, on="run", how="left")[[*drawn.columns, *others]]

    def _drawn(self) -> pd.DataFrame:
        """Study, cell, profile and seed of each run by the `runs.csv` of both folders; profiles that share it
        are joined."""
        roots = [self.store.root, *([self.store.published] if self.store.published else [])]
        files = [
            path for root in roots for name in SCALES for path in sorted(Path(root, name).glob("*/runs.csv"))
        ]
        columns = ["run", "study", "cell", "profile", "seed"]
        parts = [
            pd.read_csv(path, usecols=["run_id", *columns[1:]], dtype={"cell": str, "seed": "Int64"}).rename(
                columns={"run_id": "run"}
            )
            for path in files
        ]
        if not parts:
            return pd.DataFrame(columns=columns, dtype=object)
        joined = pd.concat(parts).drop_duplicates()
        each = {
            "study": "first",
            "cell": "first",
            "profile": lambda names: " ".join(dict.fromkeys(names)),
            "seed": "first",
        }
        return joined.groupby("run", as_index=False).agg(each)[columns]

    def scores(self) -> pd.DataFrame:
        """One row a number that a run left: run, checkpoint, task, metric, step, value. Scores are x 100."""
        return _joined(self._each(), lambda run: run.rows)

    def curves(self) -> pd.DataFrame:
        """One row a check: run, step, dev (Spearman x 100 on the development set), mean training loss."""
        return _joined(self._each(), _curve)

    def pairs(self) -> pd.DataFrame:
        """One row a test pair of your own runs: run, task, subset, gold, cosine, words_a, words_b."""
        found = ((run, self._pairs(run)) for run in self._each() if run.source == "own")
        parts = [frame.assign(run=run.run_id) for run, frame in found if frame is not None]
        return (
            _run_first(pd.concat(parts, ignore_index=True))
            if parts
            else pd.DataFrame(columns=["run", "task", "subset", "gold", "cosine", "words_a", "words_b"])
        )

    def table(
        self,
        study: str,
        scale: str = "demo",
        profile: str = PROFILES[0],
        seeds: int | None = None,
        settings: Settings = (),
        vary: Settings = (),
    ) -> pd.DataFrame:
        """A study's table, one row a cell, with the columns of its CSV file. What it takes, `study` says."""
        return importlib.import_module("core.report.frames").cell_frame(
            self.study(study, scale, profile, seeds, settings, vary)
        )

    def claims(
        self,
        study: str,
        scale: str = "demo",
        profile: str = PROFILES[0],
        seeds: int | None = None,
        settings: Settings = (),
        vary: Settings = (),
    ) -> pd.DataFrame:
        """A study's claims, one row each, with the columns of claims.csv: verdict, effect, bounds."""
        return importlib.import_module("core.report.frames").claim_frame(
            [self.study(study, scale, profile, seeds, settings, vary)]
        )

    def seeds(
        self, study: str, scale: str = "demo", profile: str = PROFILES[0], seeds: int | None = None
    ) -> pd.DataFrame:
        """One row a cell and seed of a study: its labels, run, status, and the value that counts in means and
        verdicts."""
        return importlib.import_module("core.report.frames").value_frame(
            self.study(study, scale, profile, seeds)
        )

    def compare(
        self,
        study: str,
        a: str,
        b: str,
        scale: str = "demo",
        profile: str = PROFILES[0],
        seeds: int | None = None,
    ) -> pd.DataFrame:
        """Row `a` of a study minus row `b`, paired by seed: over all common seeds with a 95 % interval, and
        the interval that verdicts are tested with. A row is a label, or all labels of a cell as in
        `half/512`; one frame's row for each pair of cells that differ in that label alone. Raises UserError
        for a label that the study has not."""
        return importlib.import_module("core.report.frames").pair_frame(
            self.study(study, scale, profile, seeds), a, b
        )

    def study(
        self,
        study: str,
        scale: str = "demo",
        profile: str = PROFILES[0],
        seeds: int | None = None,
        settings: Settings = (),
        vary: Settings = (),
    ) -> Judged:
        """What tables, figures and verdicts of a study are made of. `settings` are those of `--set`, such as
        `loss.temperature=0.1`, and `vary` those of `--vary`, such as `loss.temperature=0.05,0.1`; one or
        several.

        Raises UserError for names that are not there, and for settings that the command would refuse.
        """
        if scale not in SCALES or profile not in PROFILES:
            hint = f"scales are {', '.join(SCALES)}, profiles {', '.join(PROFILES)}"
            raise UserError(f"There is no scale {scale!r} under {profile!r}; {hint}.")
        if seeds is not None and (type(seeds) is not int or seeds < 1):
            hint = "give a whole number of at least 1, or None for the scale's own"
            raise UserError(f"{seeds!r} is no number of seeds; {hint}.")
        at = SCALES[scale]
        found = finding.recorded_sources(at, self.store)
        if found is None:
            hint = "train some, and they can be read"
            raise UserError(f"No run of scale {scale} is stored in {self.store.root}; {hint}.")
        find = importlib.import_module("studies").find
        setup = Setup(profile=profile, scale=at, sources=found.sources, seeds=seeds or at.seeds)
        given, fields = ((one,) if isinstance(one, str) else tuple(one) for one in (settings, vary))
        wanted = setup.varied(find(study), given, fields) if given or fields else find(study)
        return importlib.import_module("core.report.verdicts").study_result(wanted, setup, self.store)

    def _each(self, own: bool = False) -> Iterator[StoredRun]:
        """Every run that can be believed, or one's `own`; damaged ones, those of another version of the code,
        and those that went meanwhile, are passed over."""
        for identity in self.store.runs():
            if own and not self.store.has(identity):
                continue
            with contextlib.suppress(CorruptRun, OtherVersion, MissingRun):
                yield self.store.load(identity)

    def _pairs(self, run: StoredRun) -> pd.DataFrame | None:
        """A run's pairs; None where there are none that can be believed."""
        try:
            return self.store.load_pairs(run.run_id)
        except (CorruptRun, MissingRun):
            return None


def _by_run(table: pa.Table) -> dict[str, dict[str, float]]:
    """The average test scores of selected checkpoints, by run and aggregation."""
    found: dict[str, dict[str, float]] = {}
    for checkpoint, task, metric, run, value in zip(
        *(table[name].to_pylist() for name in AVERAGES), strict=True
    ):
        if (checkpoint, task) == ("selected", "avg"):
            found.setdefault(run, {})[metric] = value
    return found


def _run_row(footer: dict[str, str], source: str, scores: dict[str, float]) -> dict:
    """A run's row from its footer."""
    document, provenance = json.loads(footer["config"]), json.loads(footer["provenance"])
    fields, seconds = document["run"], provenance.get("seconds")
    flat = {
        f"{section}.{name}": value
        for section, values in fields.items() if isinstance(values, dict)
        for name, value in values.items() if name not in ("kind", "section")
    }  # fmt: skip
    return {
        "run": footer["run_id"], "scale": fields["scale"], "method": fields["method"],
        "status": footer["status"],
        "source": source,
        "score": scores.get(f"spearman_{flat['sts.aggregate']}"),
        "seconds": sum(seconds.values()) if isinstance(seconds, dict) else None,
        "host": provenance.get("host"), "encoder": provenance.get("encoder"),
        "numerics": document["numerics"],
        **flat,
    }  # fmt: skip


def _curve(run: StoredRun) -> pd.DataFrame:
    rows = run.rows[run.rows["checkpoint"] == "curve"]
    kept = {
        "dev": rows[(rows["task"] == "dev") & (rows["metric"] == f"spearman_{run.config.sts.aggregate}")],
        "loss": rows[(rows["task"] == "train") & (rows["metric"] == "loss")],
    }
    columns = [frame.set_index("step")["value"].rename(name) for name, frame in kept.items()]
    return pd.concat(columns, axis=1).rename_axis("step").sort_index().reset_index()


def _joined(runs: Iterator[StoredRun], frame_of) -> pd.DataFrame:
    parts = [frame_of(run).assign(run=run.run_id) for run in runs]
    return _run_first(pd.concat(parts, ignore_index=True)) if parts else pd.DataFrame(columns=["run"])


def _run_first(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["run", *(name for name in frame.columns if name != "run")]]
