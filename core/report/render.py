"""Every file of a report: CSV, Markdown, LaTeX, PNG and PDF by study, and the page; whole or not at all."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from core.report import frames
from core.report.curves import scatters
from core.report.drawing import drawing, image
from core.report.figures import figures
from core.report.page import page_files
from core.report.results import RunResult
from core.report.tables import latex, markdown
from core.report.verdicts import Judged, not_begun, reasons, study_result, why_unmarked
from core.spec.errors import counted
from core.spec.run import RunConfig
from core.spec.setup import Setup
from core.spec.study import Study
from core.store.files import write_changed

WORTH_PROCESSES = 8  # studies; a process takes about two seconds to start
ENDINGS = (".png", "-differences.png", ".pdf", "-differences.pdf")
Results = Mapping[tuple[str, str], Sequence[Judged]]  # by scale and profile


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderSummary:
    """What was drawn: a line a study, how many distinct runs are missing or published, and the results."""

    lines: list[str]
    missing: int
    published: int
    results: list[Judged]


def render(
    studies: Sequence[Study],
    setup: Setup,
    store,
    results_dir: Path,
    figures_dir: Path,
    small: bool = False,
) -> RenderSummary:
    """Draw studies from the store into results_dir and figures_dir / <scale> / <profile>.

    With `small` a study has no LaTeX, no PDF and no CSV file of its runs. A study without a run is left out.
    """
    folders = [Path(folder) / setup.scale.name / setup.profile for folder in (results_dir, figures_dir)]
    lines, drawn = [], list[tuple[Judged, Callable[[], dict[str, bytes]]]]()
    runs: dict[str, RunResult] = {}
    for result in gathered(studies, setup, store, everything=True):
        runs |= {run.run_id: run for run in result.runs}
        head = (
            f"{result.study.name}: {len(result.runs) - result.missing} of {counted(len(result.runs), 'run')}"
        )
        head += f", {result.missing} missing" if result.missing else ""
        if all(run.rows is None for run in result.runs):
            why = "".join(f"; {why}" for why in reasons(result))
            lines.append(f"{head}; nothing to draw yet{why}")
            continue
        lines.append(f"{head}; {folders[0] / result.study.name}.md")
        drawn.append((result, _drawn(result, small, len(studies) >= WORTH_PROCESSES)))
        write_tables(result, folders[0], small)
    try:
        for result, pictures in drawn:
            made = pictures()
            _write_all(folders[1], made)
            for name in {f"{result.study.name}{ending}" for ending in ENDINGS} - made.keys():
                (folders[1] / name).unlink(missing_ok=True)  # of runs that were moved since
    except BaseException:
        _processes().shutdown(cancel_futures=True)
        _processes.cache_clear()
        raise
    missing = sum(run.status in ("missing", "incomplete") for run in runs.values())
    published = sum(run.source == "published" for run in runs.values())
    return RenderSummary(
        lines=lines, missing=missing, published=published, results=[result for result, _ in drawn]
    )


def gathered(studies: Sequence[Study], setup: Setup, store, everything: bool = False) -> list[Judged]:
    """Studies with a run (or `everything`) as they stand in the store; nothing is written."""
    loaded: dict = {}
    found = [study_result(study, setup, store, loaded) for study in studies]
    return [result for result in found if everything or any(run.rows is not None for run in result.runs)]


def _drawn(result: Judged, small: bool, elsewhere: bool) -> Callable[[], dict[str, bytes]]:
    """A function that returns a study's figures by file name; another process begins if `elsewhere`."""
    given = (result.study, frames.cell_frame(result), frames.curve_frame(result))
    job = functools.partial(pictures, *given, why_unmarked(result).partition(": ")[2], small)
    future: Future | None = _processes().submit(job) if elsewhere else None
    return job if future is None else future.result


def pictures(
    study: Study, cells: pd.DataFrame, curves: pd.DataFrame, no_verdict: str, small: bool
) -> dict[str, bytes]:
    """A study's figures by file name, drawn from its CSV files."""
    with drawing():
        made = figures(study, cells, curves, no_verdict)
        kinds = ("png",) if small else ("png", "pdf")
        return {f"{name}.{kind}": image(figure, kind) for name, figure in made.items() for kind in kinds}


@functools.cache
def _processes() -> ProcessPoolExecutor:
    """A process a core, started once a command for all scales and profiles; they end with it."""
    spawn, quiet = multiprocessing.get_context("spawn"), (signal.SIGINT, signal.SIG_IGN)
    return ProcessPoolExecutor(len(os.sched_getaffinity(0)), spawn, signal.signal, quiet)


def write_tables(result: Judged, folder: Path, small: bool) -> None:
    """Write a study's CSV, Markdown and LaTeX files."""
    name, curves = result.study.name, frames.curve_frame(result)
    texts = {".csv": frames.csv_text(frames.cell_frame(result)), ".md": markdown(result)}
    texts |= {"_curves.csv": frames.csv_text(curves, digits=6)} if len(curves) else {}
    if not small:
        texts |= {"_runs.csv": frames.csv_text(frames.run_frame(result)), ".tex": latex(result)}
    _write_all(folder, {f"{name}{ending}": text.encode() for ending, text in texts.items()})


def render_index(
    studies: Sequence[Study], drawn: Results, stored: Results, setups: Sequence[Setup], store,
    results_dir: Path, figures_dir: Path, seconds: Callable[[RunConfig], float], small: bool = False,
) -> list[str]:  # fmt: skip
    """Write the page over all scales and profiles, its README.md and CSV files; what was written.

    `drawn` are the results that were drawn just now, `stored` all others with a run. `seconds` is what a run
    at the papers' scale takes.
    """
    results_dir, figures_dir = Path(results_dir), Path(figures_dir)
    known = {key: list(found) for key, found in {**stored, **drawn}.items() if found}
    if not known:
        return []
    for (scale, profile), found in known.items():
        folder = Path(scale) / profile
        for result in found if (scale, profile) not in drawn else ():
            write_tables(result, results_dir / folder, small)  # the page links to them
        runs = frames.summary_frame(found)
        _write_all(results_dir / folder, {"runs.csv": frames.csv_text(runs, digits=6).encode()})
        with drawing():
            made = {f"{name}.png": image(figure, "png") for name, figure in scatters(runs).items()}
        _write_all(figures_dir / folder, made)
    results: dict[tuple[str, str], list[Judged]] = {}
    for setup in setups:
        key = setup.scale.name, setup.profile
        by_name = {result.study.name: result for result in known.get(key, ())}
        if by_name or setup.profile == setups[0].profile:
            waiting = [study for study in studies if study.name not in by_name]
            by_name |= {study.name: not_begun(study, setup) for study in waiting}
            results[key] = [by_name[study.name] for study in studies]
    texts = page_files(studies, results, results_dir, figures_dir, seconds)
    _write_all(results_dir, {name: text.encode() for name, text in texts.items()})
    return [f"{results_dir / name}" for name in ("index.html", "README.md", "claims.csv")]


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        write_changed(folder / name, content)
