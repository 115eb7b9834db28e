"""Studies as they are drawn. What is drawn of a study is kept until something that the drawing
reads changes."""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib

from core.errors import UserError
from core.formatting import counted
from core.report import frames
from core.report.comparability import KNOWN_DATA
from core.report.results import Loaded, reads
from core.report.rule_age import date_of
from core.report.sheet import Sheet, make_sheet
from core.report.tables import latex, markdown
from core.report.text_table import AVERAGE_LABEL
from core.report.verdicts import JudgedStudy, reasons, study_result
from core.report.words import seed_counts, title_and_setting
from core.store import cache, code
from core.store.store import Store
from core.study.registered import FIRST_RUNS, REGISTERED
from core.study.resolution import ResolvedStudy, resolve
from core.study.setup import Setup
from core.study.study import Study

Wanted = tuple[ResolvedStudy, bool, bool]  # a study or outline, with its runs, with its files
LIBRARIES = ("matplotlib", "numpy", "pandas", "scipy", "tabulate")


@dataclass(frozen=True, kw_only=True)
class DrawnStudy:
    """A study's sheet, the line that a command prints, and the study's files by name. A study that
    cannot be drawn has no sheet, and a `fault` is one of its figure."""

    name: str
    line: str
    sheet: Sheet | None = None
    texts: Mapping[str, bytes] = field(default_factory=dict)
    images: Mapping[str, bytes] = field(default_factory=dict)
    fault: bool = False


@dataclass(frozen=True)
class Drawings:
    """The drawings of a store's runs, kept in a folder. With `small` a study has no LaTeX, no PDF
    and no CSV file of its runs."""

    store: Store
    folder: Path
    small: bool = False
    loaded: Loaded = field(default_factory=dict)

    def every(self, wanted: Sequence[Wanted]) -> list[DrawnStudy]:
        """The drawings of studies. Those that are not kept are made by several processes, as far
        as there are cores and enough studies: a process takes 2 s to start, a study 1 s."""
        drawings = [self._kept_drawing(*each) for each in wanted]
        lacking = [each for each, drawn in zip(wanted, drawings, strict=True) if drawn is None]
        jobs = min(joblib.cpu_count(), len(lacking) // 4) or 1
        made = iter(joblib.Parallel(jobs)(joblib.delayed(self.made)(*each) for each in lacking))
        return [drawn or next(made) for drawn in drawings]

    def __reduce__(self) -> tuple:
        return drawings_in, (self.store.root, self.store.published, self.folder, self.small)

    def _kept_drawing(self, outline: ResolvedStudy, *form: bool) -> DrawnStudy | None:
        kept = self._kept(*self._made_from(outline, *form))
        return kept[2] if kept and kept[:2] == self._state(*kept[:2]) else None

    def made(
        self, outline: ResolvedStudy, with_runs: bool = True, files: bool = True
    ) -> DrawnStudy:
        """A new drawing of a study, which may be an outline; without its runs, or without its
        files."""
        resolved = resolve(outline.study, outline.setup)
        store = self.store if with_runs else None
        runs = [] if store is None else reads(resolved, store)
        self._state(runs)  # before they are read
        try:
            result = study_result(resolved, store, self.loaded if with_runs else {})
            drawn = self._drawn(result, files)
        except (OSError, UserError):  # of the folder, and so of every study
            raise
        except Exception as error:
            name = outline.study.name
            line = f"{name} cannot be drawn ({in_short(error)}); correct its axes."
            return DrawnStudy(name=name, line=line)
        if not drawn.fault:
            commits = {str(run.provenance.get("commit")) for run in result.runs}
            made_from = self._made_from(outline, with_runs, files)
            self._keep(*made_from, (*self._state(runs, commits), drawn))
        return drawn

    def outlines(self, studies: Sequence[Study], setup: Setup) -> list[ResolvedStudy]:
        """The studies at a setup, without the configurations of their runs (all studies at three
        scales and profiles: 0.4 s against 3 s)."""
        key = setup.scale.name, setup.profile
        inputs = repr((studies, setup))
        outlines = self._kept(key, inputs)
        if outlines is None:
            outlines = [resolve(study, setup).outline for study in studies]
            self._keep(key, inputs, outlines)
        return outlines

    def _drawn(self, result: JudgedStudy, files: bool) -> DrawnStudy:
        """A study as it is drawn; without its files, or with them."""
        sheet = make_sheet(result)
        name = result.study.name
        runs = len(result.runs)
        line = f"{name}: {runs - result.count('missing')} of {counted(runs, 'run')}"
        if not result.begun:
            line = "; ".join([line, "nothing to draw yet", *reasons(result)])
        if not result.begun or not files:
            return DrawnStudy(name=name, line=line, sheet=sheet)
        line += f", {seed_counts(result)}"
        texts = study_texts(sheet, result, self.small)
        study = replace(result.study, claims=())  # a claim moves no line of a figure
        images: dict[str, bytes] = {}
        fault = ""
        try:
            # matplotlib takes 0.7 s
            from core.report.drawing import drawing, image
            from core.report.figures import study_figures

            with drawing():
                drawn = study_figures(study, sheet.cells, sheet.curves, *title_and_setting(result))
                for kind in ("png",) if self.small else ("png", "pdf"):
                    images |= {f"{each}.{kind}": image(drawn[each], kind) for each in drawn}
        except (OSError, UserError):
            raise
        except Exception as error:
            fault = f"; its figure cannot be drawn ({in_short(error)}), so correct the figure"
        return DrawnStudy(
            name=name, line=line + fault, sheet=sheet, texts=texts, images=images, fault=bool(fault)
        )

    def _made_from(self, outline: ResolvedStudy, *form: bool) -> tuple[tuple, str]:
        """The key of a drawing in this form, and what it is made from beside runs."""
        study, setup = outline.study, outline.setup
        key = setup.scale.name, setup.profile, study.name, *form, self.small
        return key, repr((study, setup))

    def _state(self, runs: Iterable[str], commits: Iterable[str] = ()) -> tuple[dict, dict]:
        """What the store has of these runs, as it was at the first question, and the dates of
        commits, which may arrive by git."""
        contents = {run: self._content(run) for run in runs}
        return contents, {commit: date_of(commit) for commit in commits}

    @functools.cached_property
    def _content(self) -> Callable[[str], str]:
        return functools.cache(self.store.content)

    @functools.cached_property
    def _readers(self) -> list[str]:
        """What reads runs: code, libraries, and the files that the report reads."""
        files = (REGISTERED, FIRST_RUNS, KNOWN_DATA)
        texts = [file.read_text("utf-8") for file in files]
        return [code.digest(), *map(version, LIBRARIES), *texts]

    def _kept(self, key: tuple, inputs: str) -> Any:
        """What is kept under a key, if it was made from these inputs; else None."""
        path = cache.find_cached(self.folder.joinpath(*key[:2]), cache.key_digest(key), "drawn")
        with contextlib.suppress(Exception):  # removed meanwhile, or of another Python
            if path is not None:
                made_from, value = pickle.loads(path.read_bytes())  # noqa: S301  (our own)
                return value if made_from == cache.key_digest([self._readers, inputs]) else None
        return None

    def _keep(self, key: tuple, inputs: str, value: object) -> None:
        """Keep a value in the place of the last one of its key, if the folder can be written."""
        content = pickle.dumps((cache.key_digest([self._readers, inputs]), value))
        with contextlib.suppress(UserError):
            cache.write_cached(
                self.folder.joinpath(*key[:2]), cache.key_digest(key), "drawn", content
            )


@functools.cache
def drawings_in(root: Path, published: Path | None, folder: Path, small: bool) -> Drawings:
    """The drawings of a process that makes several, and so reads each run once."""
    return Drawings(Store(root, published), folder, small)


def in_short(error: Exception) -> str:
    """What went wrong with a study, in a few words."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def study_texts(sheet: Sheet, result: JudgedStudy, small: bool) -> dict[str, bytes]:
    """The CSV, Markdown and LaTeX files of a study by name."""
    texts = {".csv": frames.csv_text(sheet.cells), ".md": markdown(sheet)}
    if len(sheet.curves):
        texts["_curves.csv"] = frames.csv_text(sheet.curves, digits=6)
    if not small:
        texts["_runs.csv"] = frames.csv_text(frames.run_frame(result))
        texts[".tex"] = latex(sheet)
        columns = sheet.study.column_axis
        if columns is not None and AVERAGE_LABEL in columns.labels:
            texts["_short.tex"] = latex(sheet, averages=True)
    return {f"{sheet.study.name}{ending}": text.encode() for ending, text in texts.items()}
