"""Every file of a report: CSV, Markdown, LaTeX, PNG and PDF by study, and the page; whole or not at all."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from core.report import frames
from core.report.drawing import drawing, image
from core.report.figures import figures, scatters
from core.report.page import page_files
from core.report.tables import latex, markdown
from core.report.verdicts import Judged, reasons, study_result, why_unmarked
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
    tables, pictures = (Path(root) / setup.scale.name / setup.profile for root in (results_dir, figures_dir))
    results = gathered(studies, setup, store, everything=True)
    lines = []
    for result in results:
        done = f"{len(result.runs) - result.missing} of {counted(len(result.runs), 'run')}"
        head = f"{result.study.name}: {done}{f', {result.missing} missing' if result.missing else ''}"
        waits = "; ".join(["nothing to draw yet", *reasons(result)])
        lines.append(f"{head}; {tables / result.study.name}.md" if result.begun else f"{head}; {waits}")
    drawn, jobs = [result for result in results if result.begun], []
    for result in drawn:
        cells, curves = frames.cell_frame(result), frames.curve_frame(result)
        jobs.append((result.study, cells, curves, *_heading(result), small))
        texts = {".csv": frames.csv_text(cells), ".md": markdown(result)}
        texts |= {"_curves.csv": frames.csv_text(curves, digits=6)} if len(curves) else {}
        if not small:
            texts |= {"_runs.csv": frames.csv_text(frames.run_frame(result)), ".tex": latex(result)}
        _write_all(tables, {f"{result.study.name}{end}": text.encode() for end, text in texts.items()})
    made = (_processes().map if len(studies) >= WORTH_PROCESSES else map)(_pictures, jobs)
    for result, files in zip(drawn, made, strict=True):
        _write_all(pictures, files)
        for name in {f"{result.study.name}{ending}" for ending in ENDINGS} - files.keys():
            (pictures / name).unlink(missing_ok=True)  # of runs that were moved since
    runs = {run.run_id: run for result in results for run in result.runs}.values()
    missing = sum(run.status in ("missing", "incomplete") for run in runs)
    published = sum(run.source == "published" for run in runs)
    return RenderSummary(lines=lines, missing=missing, published=published, results=drawn)


def gathered(studies: Sequence[Study], setup: Setup, store, everything: bool = False) -> list[Judged]:
    """Studies with a run (or `everything`) as they stand in the store; nothing is written."""
    loaded: dict = {}
    results = [study_result(study, setup, store, loaded) for study in studies]
    return [result for result in results if everything or result.begun]


def _heading(result: Judged) -> tuple[str, bool]:
    """The title of figures that state no finding, and whether they may state one."""
    study, counts = result.study, Counter(verdict.outcome for verdict in result.verdicts)
    verdicts = ", ".join(f"{n} {outcome}" for outcome, n in counts.items())
    unmarked = why_unmarked(result)
    return unmarked or f"{study.paper_name} {study.title}: {verdicts or study.caption}", not unmarked


def _pictures(job: tuple) -> dict[str, bytes]:
    """A study's figures by file name, drawn from its CSV files."""
    *given, small = job
    with drawing():
        made = figures(*given)
        kinds = ("png",) if small else ("png", "pdf")
        return {f"{name}.{kind}": image(figure, kind) for name, figure in made.items() for kind in kinds}


@functools.cache
def _processes() -> ProcessPoolExecutor:
    """A process a core, started once a command for all scales and profiles; they end with it."""
    spawn, quiet = multiprocessing.get_context("spawn"), (signal.SIGINT, signal.SIG_IGN)
    return ProcessPoolExecutor(len(os.sched_getaffinity(0)), spawn, signal.signal, quiet)


def render_index(
    studies: Sequence[Study],
    known: Results,
    setups: Sequence[Setup],
    results_dir: Path,
    figures_dir: Path,
    seconds: Callable[[RunConfig], float],
) -> list[str]:
    """Write the page over all scales and profiles, its README.md and CSV files; what was written.

    `known` are the results with a run. `seconds` is what a run at the papers' scale takes.
    """
    if not any(known.values()):
        return []
    results: dict[tuple[str, str], list[Judged]] = {}
    for setup in setups:
        key = setup.scale.name, setup.profile
        by_name = {result.study.name: result for result in known.get(key, ())}
        if by_name or setup.profile == setups[0].profile:
            results[key] = [by_name.get(study.name) or study_result(study, setup) for study in studies]
        if by_name:
            runs = frames.summary_frame(by_name.values())
            _write_all(results_dir.joinpath(*key), {"runs.csv": frames.csv_text(runs, digits=6).encode()})
            with drawing():
                pictures = {f"{name}.png": image(figure, "png") for name, figure in scatters(runs).items()}
            _write_all(figures_dir.joinpath(*key), pictures)
    texts = page_files(studies, results, results_dir, figures_dir, seconds)
    _write_all(results_dir, {name: text.encode() for name, text in texts.items()})
    return [f"{results_dir / name}" for name in ("index.html", "README.md", "claims.csv")]


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        write_changed(folder / name, content)
