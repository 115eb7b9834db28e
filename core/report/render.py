"""Every file of a report: CSV, Markdown, LaTeX, PNG and PDF by study, written whole or not at all."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from core.report.cells import StudyResult, gather
from core.report.claims import claim_frame
from core.report.comparability import not_begun
from core.report.figures import drawable, figure, finding
from core.report.frames import cell_frame, comparability_frame, csv_text, run_frame
from core.report.notes import title
from core.report.page.content import Section, gathered_page
from core.report.page.writing import page_files
from core.report.signflip import NOISE, noise_sd
from core.report.style import drawing, pdf_bytes, pixels, png_bytes, svg_text
from core.report.tables import latex, markdown
from core.report.verdicts import study_result
from core.spec.conditions import Edition
from core.spec.errors import counted
from core.spec.fields import explanations
from core.spec.study import Study
from core.store.files import write_changed

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
    """A figure: its files by name, and its text as an element of the page."""

    files: dict[str, bytes]
    svg: str


def render(studies: Sequence[Study], edition: Edition, store, results_dir: Path, figures_dir: Path, small: bool = False) -> RenderSummary:
    """Draw studies from the store, as an edition has them, into results_dir and figures_dir / <scale> / <profile>.

    With `small` a study has no LaTeX, no PDF and no CSV file of its runs. The same runs give the same bytes. A study without any number is left out, and its line says so.
    """
    lines: list[str] = []
    missing: set[str] = set()
    published: set[str] = set()
    begun: list[tuple[StudyResult, Callable[[], Picture] | None]] = []
    loaded: dict = {}
    tables, pictures = (Path(folder) / edition.scale.name / edition.profile for folder in (results_dir, figures_dir))
    elsewhere = len(studies) >= WORTH_PROCESSES or _processes.cache_info().currsize > 0
    noise = _noise(studies, edition, store, loaded)
    with _abandoned_on_error(elsewhere):
        for study in studies:
            result = study_result(study, edition, store, loaded, noise)
            missing |= {run.run_id for run in result.runs if run.status in ("missing", "incomplete")}
            published |= {run.run_id for run in result.runs if run.source == "published"}
            head = f"{study.name}: {len(result.runs) - result.missing} of {counted(len(result.runs), 'run')}"
            head += f", {result.published} of them published" if result.published else ""
            head += f", {result.missing} missing" if result.missing else ""
            if all(run.rows is None for run in result.runs):
                why = f"; not comparable at this scale: {result.not_comparable}" if result.not_comparable else ""
                lines.append(f"{head}; nothing to draw yet{why}")
                continue
            if drawable(result):
                begun.append((result, _drawn(result, elsewhere, small)))
                lines.append(f"{head}; {tables / study.name}.md, {pictures / study.name}.png")
            else:
                begun.append((result, None))
                _remove(pictures, study.name)
                why = "no two rows to draw beside each other" if any(cell.estimate.n for cell in result.cells) else "no score to draw"
                why = "it has no figure" if study.figure is None else why
                lines.append(f"{head}; {tables / study.name}.md ({why})")
            _write_all(tables, _table_files(result, small))
        sections = []
        for result, drawn in begun:
            picture = drawn() if drawn is not None else None
            if picture is not None:
                _write_all(pictures, picture.files)
            sections.append(Section(result=result, picture=picture and picture.svg))
    return RenderSummary(lines=lines, missing=len(missing), published=len(published), sections=sections)


def _drawn(result: StudyResult, elsewhere: bool, small: bool) -> Callable[[], Picture]:
    """A function that returns the figure. Another process begins to draw it at once, or this process draws it when the function is
    called."""
    return _processes().submit(_picture, result, small).result if elsewhere else functools.partial(_picture, result, small)


@contextlib.contextmanager
def _abandoned_on_error(elsewhere: bool) -> Iterator[None]:
    """Within this context an error cancels the figures that other processes have not drawn yet."""
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
    return ProcessPoolExecutor(
        len(os.sched_getaffinity(0)), multiprocessing.get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    )


def gathered(studies: Sequence[Study], edition: Edition, store, figures_dir: Path) -> list[Section]:
    """Studies as they stand in the store, with the figures that lie in figures_dir, and without writing anything."""
    loaded: dict = {}
    noise = _noise(studies, edition, store, loaded)
    pictures = Path(figures_dir) / edition.scale.name / edition.profile

    return [
        Section(result=study_result(study, edition, store, loaded, noise), picture=None, kept=(pictures / f"{study.name}.png").is_file())
        for study in studies
    ]


def _noise(studies: Sequence[Study], edition: Edition, store, loaded: dict) -> float | None:
    """SD of one run by the noise study; None if that is not among these studies."""
    study = next((study for study in studies if study.name == NOISE), None)
    if study is None:
        return None
    return noise_sd(gather(study, edition, store, loaded=loaded))


def render_index(
    studies: Sequence[Study],
    sections: Mapping[tuple[str, str], Sequence[Section]],
    editions: Sequence[Edition],
    store,
    results_dir: Path,
    figures_dir: Path,
    small: bool = False,
) -> list[str]:
    """Write the one page over all scales and profiles into results_dir, its README.md and CSV files, and each edition's claims.csv and
    comparability.csv.

    `studies` are all there are, `sections` those that are begun by scale and profile, `editions` those of which the sources are known.
    What was written, one line each.
    """
    page = gathered_page(studies, sections, editions, functools.partial(not_begun, store=store))
    if not page.begun:
        return []
    texts = page_files(page, Path(results_dir), Path(figures_dir), explanations(), small)
    for edition in page.begun:
        frames = {"claims.csv": claim_frame(edition.results), "comparability.csv": comparability_frame(edition.results)}
        texts |= {f"{edition.scale}/{edition.profile}/{name}": csv_text(frame, digits=6) for name, frame in frames.items()}
        for one in edition.sections:
            if one.picture is None:  # of another edition than was drawn just now: the page links to its tables, and shows their numbers
                _write_all(Path(results_dir) / edition.scale / edition.profile, _table_files(one.result, small))
    _write_all(Path(results_dir), {name: text.encode() for name, text in texts.items()})
    return [f"{Path(results_dir) / name}" for name in ("index.html", "README.md", "claims.csv")]


def _table_files(result: StudyResult, small: bool) -> dict[str, bytes]:
    name = result.study.name
    texts = {f"{name}.csv": csv_text(cell_frame(result)), f"{name}.md": markdown(result)}
    if not small:
        texts |= {f"{name}_runs.csv": csv_text(run_frame(result)), f"{name}.tex": latex(result)}
    return {path: text.encode() for path, text in texts.items()}


def _picture(result: StudyResult, small: bool) -> Picture:
    name = result.study.name
    with drawing(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a name may have letters that no font of ours has
        drawn = figure(result)
        files = {f"{name}.png": png_bytes(pixels(drawn))} | ({} if small else {f"{name}.pdf": pdf_bytes(drawn)})
        words = f"{title(result)}. {finding(drawn)}. The numbers are in the table below."
        return Picture(files, svg_text(drawn, f"{name}-{result.scale.name}-{result.profile}", words))


def _remove(folder: Path, name: str) -> None:
    """Remove the picture that a study had and has no longer, say since its runs were moved."""
    for ending in (".png", ".pdf"):
        (folder / f"{name}{ending}").unlink(missing_ok=True)


def _write_all(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        write_changed(folder / name, content)
