"""Every file of a report: CSV, Markdown, LaTeX, PNG and PDF by study, written whole or not at all."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from core.report.cells import StudyResult, gather
from core.report.claims import claim_frame
from core.report.comparability import comparability_frame, judged
from core.report.figures import figure
from core.report.frames import cell_frame, csv_text, run_frame
from core.report.page import Section, page, summary_markdown
from core.report.signflip import NOISE, noise_sd, sentences
from core.report.style import drawing, pdf_bytes, pixels, png_bytes, webp_bytes
from core.report.tables import latex, markdown
from core.spec.scale import Scale, Sources
from core.spec.study import Study

WORTH_PROCESSES = 8  # studies; a process takes about two seconds to start


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderSummary:
    """What was drawn: one line a study for the reader, and how many runs are missing or come from published results.

    A run that several studies share is counted once. `sections` are the studies with a number, for the page.
    """

    lines: list[str]
    missing: int
    published: int
    sections: list[Section]


class Picture(NamedTuple):
    """A figure: its files by name, and what the page shows of it."""

    files: dict[str, bytes]
    webp: bytes


def render(
    studies: Sequence[Study], profile: str, scale: Scale, sources: Sources, seeds: int, store, results_dir: Path, figures_dir: Path
) -> RenderSummary:
    """Draw studies from the store under seeds 0 … seeds-1, into results_dir and figures_dir / <scale> / <profile>.

    The same runs give the same bytes. A study without any number is left out, and its line says so.
    """
    lines: list[str] = []
    missing: set[str] = set()
    published: set[str] = set()
    begun: list[tuple[StudyResult, Callable[[], Picture] | None]] = []
    loaded: dict = {}
    tables, pictures = Path(results_dir) / scale.name / profile, Path(figures_dir) / scale.name / profile
    elsewhere = len(studies) >= WORTH_PROCESSES
    noise = _noise(studies, profile, scale, sources, seeds, store, loaded)
    with _abandoned_on_error(elsewhere):
        for study in studies:
            found = gather(study, profile=profile, scale=scale, sources=sources, seeds=seeds, store=store, loaded=loaded, noise=noise)
            result = judged(found)
            missing |= {run.run_id for run in result.runs if run.status in ("missing", "incomplete")}
            published |= {run.run_id for run in result.runs if run.source == "published"}
            head = f"{study.name}: {len(result.runs) - result.missing} of {len(result.runs)} runs"
            head += f", {result.published} of them published" if result.published else ""
            head += f", {result.missing} missing" if result.missing else ""
            if all(run.rows is None for run in result.runs):
                lines.append(f"{head}; nothing to draw yet")
                continue
            if study.figure is not None and any(cell.estimate.n for cell in result.cells):
                begun.append((result, _drawn(result, elsewhere)))
                lines.append(f"{head}; {tables / study.name}.md, {pictures / study.name}.png")
            else:
                begun.append((result, None))
                why = "it has no figure" if study.figure is None else "no score to draw"
                lines.append(f"{head}; {tables / study.name}.md ({why})")
            _write_all(tables, _table_files(result))
        sections = []
        for result, drawn in begun:
            picture = drawn() if drawn is not None else None
            if picture is not None:
                _write_all(pictures, picture.files)
            sections.append(Section(result=result, picture=picture and picture.webp))
    return RenderSummary(lines=lines, missing=len(missing), published=len(published), sections=sections)


def _drawn(result: StudyResult, elsewhere: bool) -> Callable[[], Picture]:
    """What gives the figure when it is called: another process, which begins at once, or this one, then."""
    return _processes().submit(_picture, result).result if elsewhere else functools.partial(_picture, result)


@contextlib.contextmanager
def _abandoned_on_error(elsewhere: bool) -> Iterator[None]:
    """Surroundings in which an error leaves no figure to be drawn for nobody."""
    try:
        yield
    except BaseException:
        if elsewhere:
            _processes().shutdown(cancel_futures=True)
            _processes.cache_clear()
        raise


@functools.cache
def _processes() -> ProcessPoolExecutor:
    """A process a core, started once a command for all scales and profiles; they end with it."""
    return ProcessPoolExecutor(len(os.sched_getaffinity(0)), multiprocessing.get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))


def gathered(
    studies: Sequence[Study], profile: str, scale: Scale, sources: Sources, seeds: int, store
) -> list[Section]:
    """Studies as they stand in the store, without a picture and without writing anything."""
    loaded: dict = {}
    noise = _noise(studies, profile, scale, sources, seeds, store, loaded)
    found = [
        judged(gather(study, profile=profile, scale=scale, sources=sources, seeds=seeds, store=store, loaded=loaded, noise=noise))
        for study in studies
    ]
    return [Section(result=result, picture=None) for result in found]


def _noise(studies: Sequence[Study], profile: str, scale: Scale, sources: Sources, seeds: int, store, loaded: dict) -> float | None:
    """SD of one run by the noise study, where it is among these studies."""
    study = next((study for study in studies if study.name == NOISE), None)
    if study is None:
        return None
    return noise_sd(gather(study, profile=profile, scale=scale, sources=sources, seeds=seeds, store=store, loaded=loaded))


def render_page(sections: Sequence[Section], others: Sequence[Sequence[Section]], results_dir: Path) -> list[str]:
    """Write report.html, summary.md, claims.csv and comparability.csv of one scale and profile; `others` are the same studies under each other profile.

    What was written, one line each; nothing without a section.
    """
    if not sections:
        return []
    beside = [
        replace(one, others=tuple(other.result for some in others for other in some if other.result.study.name == one.result.study.name))
        for one in sections
    ]
    results = [one.result for one in sections]
    noise = sentences(results)
    folder = Path(results_dir) / results[0].scale.name / results[0].profile
    texts = {
        "report.html": page(beside, noise), "summary.md": summary_markdown(beside, noise), "claims.csv": csv_text(claim_frame(results)),
        "comparability.csv": csv_text(comparability_frame(results)),
    }
    _write_all(folder, {name: text.encode() for name, text in texts.items()})
    return [f"{folder / name}" for name in texts]


def _table_files(result: StudyResult) -> dict[str, bytes]:
    name = result.study.name
    texts = {
        f"{name}.csv": csv_text(cell_frame(result)),
        f"{name}_runs.csv": csv_text(run_frame(result)),
        f"{name}.md": markdown(result),
        f"{name}.tex": latex(result),
    }
    return {path: text.encode() for path, text in texts.items()}


def _picture(result: StudyResult) -> Picture:
    with drawing(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a name may have letters that no font of ours has
        drawn = figure(result)
        seen = pixels(drawn)
        files = {f"{result.study.name}.png": png_bytes(seen), f"{result.study.name}.pdf": pdf_bytes(drawn)}
    return Picture(files, webp_bytes(seen))


def _write_all(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        _write(folder / name, content)


def _write(path: Path, content: bytes) -> None:
    """Put a file in place at once: whoever reads it sees the old or the new one, after a crash of the machine, too. Unchanged
    files keep their time stamp. What a killed command leaves ends in .tmp, and the next drawing sweeps it."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
