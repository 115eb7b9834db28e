"""Results as pandas DataFrames, for notebooks and scripts:

    import run_study
    results = run_study.load()    # this checkout's results, published runs among them
    results.comparisons("esimcse-table7", scale="mini")
    results.runs(scale="demo"); results.scores(); results.curves(); results.pairs()
    results.table("table5", scale="demo")
    results.show("esimcse-table7"); results.plot("esimcse-table7")  # for a notebook

    # verdicts on scores of your own, paired by seed: columns row, seed, score
    run_study.judge(pandas.read_csv("scores.csv"), "Mine > SimCSE")

    # a run, trained if it is not stored
    run_study.train("simcse", {"loss.temperature": 0.1}, seed=0, scale="mini").scores["avg"]

All but `train` writes nothing, and does not load torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pandas as pd

import studies
from core.config.methods import PROFILES
from core.config.scale import DEMO, SCALES
from core.config.vary import written
from core.data.sources import recorded_sources
from core.errors import HOME, UserError
from core.formatting import are, say
from core.report import frames, verdicts
from core.report.own_scores import JudgedScores, judge_scores
from core.report.results import Loaded
from core.report.score_table import read_scores
from core.report.sheet import make_sheet
from core.report.terminal import ShownTable
from core.runner.best_scale import best_scale
from core.store.records import CorruptRun, MissingRun, OtherVersion, StoredRun
from core.store.store import Store
from core.study.resolution import resolve
from core.study.variants import varied

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")


class TrainedRun(NamedTuple):
    """A run: its scores (Spearman x 100 of the selected checkpoint) by test set, with `dev` and the
    average `avg`; its curve as `Results.curves` has it; the folder of its model, with keep_models;
    and all that is stored."""

    id: str
    status: str
    scores: dict[str, float]
    curve: pd.DataFrame
    model: Path | None
    stored: StoredRun


def load(results_dir: str | Path | None = None, published: bool = True) -> Results:
    """The results of a folder (without one, this checkout's `results`), and the project's published
    runs beside them if `published`. Raises UserError if the folder is not there."""
    folder = HOME / "results"
    if results_dir is not None:
        folder = Path(os.path.expanduser(results_dir))
    if not folder.is_dir():
        raise UserError(f"{folder} is no results folder; give the one that --results-dir named.")
    return Results(Store(folder, HOME / "results" / "published" if published else None))


def judge(
    scores: str | Path | pd.DataFrame | Mapping[str, Sequence[object]],
    *claims: str,
    reference: str | None = None,
    margin: float | None = None,
) -> JudgedScores:
    """Scores of your own judged as the papers' are. `scores` is a CSV file, as `run_study.py judge`
    takes it, or a table with the same columns: row, seed, score, and set if there are several test
    sets. `claims` are texts such as "a > b", "a = b within 0.5" and "a best". The differences are
    to `reference`, by default the first row. Raises UserError for a table that is not whole."""
    name = "Your scores"
    if isinstance(scores, str | Path):
        scores = Path(os.path.expanduser(scores))
        name = scores.name
    return judge_scores(read_scores(scores), claims, reference, margin, name)


def train(
    method: str,
    settings: Mapping[str, object] | None = None,
    *,
    seed: int | Sequence[int] = 0,
    **options: Any,
) -> Any:
    """The stored run of a method, which is trained if it is not stored: a `TrainedRun`, or of
    several seeds a list. `settings` has fields by path, as --set. `options` are those of the
    command: scale (default demo), data_dir, encoder, text, pairs, profile, results_dir, device,
    jobs, keep_models, force, …; one that is given several times takes a list.

    Raises UserError for what the command would refuse and for a run that fails, and
    KeyboardInterrupt when training is stopped: the same call goes on."""
    from core.runner import single_runs

    around = single_runs.Surroundings(catalogue=studies.CATALOGUE, home=HOME, own=HOME)
    alone = pd.api.types.is_scalar(seed)
    seeds = pd.Series([seed] if alone else seed).tolist()  # numpy's numbers are Python's there
    changes = [f"{path}={written(value)}" for path, value in (settings or {}).items()]
    words = [method, *_words({"scale": DEMO.name, **options, "set": changes})]
    store, ids = single_runs.train_runs(words, seeds, around)
    runs = []
    for run in map(store.load, ids):
        wanted = f"checkpoint == 'selected' and metric == 'spearman_{run.aggregate}'"
        scores = run.rows.query(wanted).set_index("task")["value"].to_dict()
        folder = store.path("models", run.run_id)
        model = folder if folder.is_dir() else None
        runs.append(TrainedRun(run.run_id, run.status, scores, _curve(run), model, run))
    return runs[0] if alone else runs


@dataclass(frozen=True)
class Results:
    """The runs of one store. Every frame has the run's id in the column `run`."""

    store: Store

    def runs(self, scale: str | None = None) -> pd.DataFrame:
        """One row a run: scale, method, status, source, average test score x 100, seconds, when,
        host, encoder, …, and every field of its configuration by path (`loss.temperature`, …). A
        run whose file cannot be read is damaged and has no score. `seeds` has the runs of a study,
        by cell and seed."""
        if scale not in (None, *SCALES):
            raise UserError(f"There is no scale {scale!r}; scales are {', '.join(SCALES)}.")
        rows = []
        for run in self.store.runs():
            try:
                row = self.store.recorded(run)
                if row["source"] == "own":
                    self.store.load(run)  # which sees damage that the footer does not show
                rows.append(row)
            except MissingRun:  # it went meanwhile
                continue
            except (CorruptRun, OtherVersion) as error:
                status = "damaged" if isinstance(error, CorruptRun) else "of another version"
                rows.append({"run": run, "status": status, "source": "own"})
        return pd.DataFrame([row for row in rows if scale in (None, row.get("scale", scale))])

    def scores(self) -> pd.DataFrame:
        """One row a number that a run left: run, checkpoint, task, metric, step, value. Scores are
        x 100."""
        return _stacked((run, stored.rows) for run, stored in self._each(self.store.load))

    def curves(self) -> pd.DataFrame:
        """One row a check: run, step, dev (Spearman x 100 on the development set), mean training
        loss."""
        return _stacked((run, _curve(stored)) for run, stored in self._each(self.store.load))

    def pairs(self) -> pd.DataFrame:
        """One row a test pair of your own runs: run, task, subset, gold, cosine, words_a,
        words_b."""
        pairs = self._each(self.store.load_pairs)
        return _stacked((run, frame) for run, frame in pairs if frame is not None)

    def table(self, study: str, scale: str = "demo", **setup: Any) -> pd.DataFrame:
        """A study's table, one row a cell, with the columns of its CSV file. `setup` is that of
        `study`."""
        return frames.cell_frame(self.study(study, scale, **setup))

    def claims(
        self, study: str | None = None, scale: str | None = None, **setup: Any
    ) -> pd.DataFrame:
        """A study's claims, one row each, with the columns of claims.csv: verdict, effect, bounds;
        without a study those of every study that has runs, at one scale or at all."""
        if study is not None:
            return frames.claim_frame([self.study(study, scale or DEMO.name, **setup)])
        results = []
        for name in SCALES if scale is None else (scale,):
            if scale is None and recorded_sources(SCALES[name], self.store) is None:
                continue
            loaded: Loaded = {}
            for other in studies.STUDIES:
                try:
                    studies.CATALOGUE.check(other)
                except UserError as error:  # other studies have their claims
                    say(str(error))
                    continue
                result = self.study(other.name, name, loaded=loaded, **setup)
                if result.begun:
                    results.append(result)
        return frames.claim_frame(results)

    def show(self, study: str, scale: str | None = None, **setup: Any) -> ShownTable:
        """A study's table as the paper has it, with its verdicts, which a notebook shows. Without a
        scale, in English where runs are stored."""
        return ShownTable(make_sheet(self.study(study, scale, **setup)))

    def plot(self, study: str, scale: str | None = None, **setup: Any) -> Figure:
        """A study's figure, as the command draws it. Without a scale, in English where runs are
        stored. Raises UserError for a study without a figure, or with too few runs for it."""
        from core.report import drawing, figures, words  # brings matplotlib

        result = self.study(study, scale, **setup)
        with drawing.drawing():
            cells = frames.cell_frame(result)
            curves = frames.curve_frame(result)
            about = words.title_and_setting(result)
            drawn = figures.study_figures(result.study, cells, curves, *about)
        if result.study.name not in drawn:
            raise UserError(
                f"{result.study.name} has no figure at scale {result.setup.scale.name}: most of "
                "its rows have no run, or the paper has none; name another scale."
            )
        return drawn[result.study.name]

    def comparisons(self, study: str, scale: str = "demo", **setup: Any) -> pd.DataFrame:
        """Every comparison of a study's claims, one row each, with the columns of
        comparisons.csv."""
        return frames.comparison_frame([self.study(study, scale, **setup)])

    def seeds(self, study: str, scale: str = "demo", **setup: Any) -> pd.DataFrame:
        """One row a cell and seed of a study: its labels, run, status, and the value that counts in
        means."""
        return frames.value_frame(self.study(study, scale, **setup))

    def study(
        self,
        study: str,
        scale: str | None = DEMO.name,
        *,
        settings: str | Sequence[str] = (),
        loaded: Loaded | None = None,
        **options: Any,
    ) -> verdicts.JudgedStudy:
        """What tables, figures and verdicts of a study are made of; without a scale, in English
        where runs are stored. `settings` are one or several of `--set`, such as
        `loss.temperature=0.1`. `options` are others of the command `show`: profile, seeds, vary,
        and text, pairs, encoder and data_dir of runs on data of your own. `loaded` keeps runs for
        other studies.

        Raises UserError for what the command would refuse."""
        from core.runner import cli, inputs, orders  # few need them

        wanted = studies.find(study)
        if scale is None:
            profile = options.get("profile", PROFILES[0])
            scale = best_scale([wanted], self.store, profile)
        words = ["show", wanted.name, *_words({"scale": scale, **options, "set": settings})]
        order = cli.parse(words)
        assert isinstance(order, orders.ShowOrder), "by its first word"
        at, sources, named = inputs.data_of(order, SCALES[scale], [wanted], self.store)
        setup = inputs.setup_of(order, at, sources)
        changes = order.changes
        if changes.settings or changes.vary:
            named = [varied(named[0], setup, changes.settings, changes.vary)]
        return verdicts.study_result(resolve(named[0], setup), self.store, loaded)

    def _each(self, load: Callable[[str], T]) -> Iterator[tuple[str, T]]:
        """What every run left; says which are left out since they are damaged, or of another
        version of the code."""
        left_out = []
        for run in self.store.runs():
            try:
                yield run, load(run)
            except MissingRun:  # it went meanwhile
                continue
            except (CorruptRun, OtherVersion):
                left_out.append(run)
        if left_out:
            runs = ", ".join(left_out)[:200]
            say(f"{are(len(left_out), 'run')} left out as damaged or of another version: {runs}.")


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options of a command as it is typed; one that is given several times takes a list."""
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        for word in value if isinstance(value, list | tuple) else [value]:
            if word not in (None, False):
                words.append(option if word is True else f"{option}={word}")
    return words


def _curve(run: StoredRun) -> pd.DataFrame:
    rows = run.rows[run.rows["checkpoint"] == "curve"].set_index("step")
    dev = rows[(rows["task"] == "dev") & (rows["metric"] == f"spearman_{run.aggregate}")]["value"]
    loss = rows[(rows["task"] == "train") & (rows["metric"] == "loss")]["value"]
    return pd.DataFrame({"dev": dev, "loss": loss}).rename_axis("step").reset_index()


def _stacked(parts: Iterable[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    """These runs' frames under one another, with the run's id first."""
    rows = [frame.assign(run=run)[["run", *frame.columns]] for run, frame in parts]
    if not rows:
        return pd.DataFrame(columns=["run"])
    return pd.concat(rows, ignore_index=True)
