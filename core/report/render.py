"""Every file of a report: CSV, Markdown, LaTeX, PNG and PDF by study, and the page; whole or not at
all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from core.config.methods import PROFILES
from core.errors import UserError
from core.formatting import counted
from core.report import frames
from core.report.figures import study_figures
from core.report.page import ENDINGS, PRINTED, TITLE, ByScale, page_files
from core.report.sheet import Sheet, make_sheet
from core.report.tables import AVERAGE_LABEL, latex, markdown
from core.report.verdicts import JudgedStudy, reasons, study_result
from core.report.words import figure_title, seed_counts
from core.store.files import write_changed
from core.study.resolution import ResolvedStudy
from core.study.study import Study

PAGE = ("index.html", "README.md", "claims.csv")
PICTURES = (".png", "-differences.png", ".pdf", "-differences.pdf")


def render(
    results: Iterable[JudgedStudy],
    results_dir: Path,
    figures_dir: Path,
    draw: Callable[..., dict[str, bytes]],
    small: bool = False,
    repeated: Collection[str] = (),
) -> Iterator[tuple[str, Sheet | None]]:
    """Write the texts of these studies into results_dir / <scale> / <profile>, and their figures; a
    line for each study as it is drawn, and its sheet if it has a run.

    With `small` a study has no LaTeX, no PDF and no CSV file of its runs. The files of a study
    that is `repeated` lie under another profile, and so are removed here.
    """
    for result in results:
        name = result.study.name
        key = Path(result.setup.scale.name) / result.setup.profile
        tables = results_dir / key
        figures = figures_dir / key
        runs = len(result.runs)
        head = f"{name}: {runs - result.count('missing')} of {counted(runs, 'run')}"
        if not result.begun:
            yield "; ".join([head, "nothing to draw yet", *reasons(result)]), None
            continue
        texts: dict[str, bytes] = {}
        images: dict[str, bytes] = {}
        try:
            of_study = make_sheet(result)
            if name not in repeated:
                texts = study_files(of_study, small)
                images = study_pictures(of_study, draw, small)
        except Exception as error:  # of this study alone
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            yield f"{head}; it cannot be drawn ({words}); correct the study's axes or figure.", None
            continue
        _write_all(tables, texts)
        _write_all(figures, images)
        remove(name, tables, figures, {*texts, *images})
        line = f"{head}, {seed_counts(result)}; {tables / name}.md"
        if images:
            line += f"; figures in {figures}"
        if name in repeated:
            line = f"{name} has the same runs as under profile {PROFILES[0]}."
        yield line, of_study


def study_files(of_study: Sheet, small: bool) -> dict[str, bytes]:
    """The CSV, Markdown and LaTeX files of a study by name."""
    texts = {".csv": frames.csv_text(of_study.cells), ".md": markdown(of_study)}
    if len(of_study.curves):
        texts["_curves.csv"] = frames.csv_text(of_study.curves, digits=6)
    if not small:
        texts["_runs.csv"] = frames.csv_text(frames.run_frame(of_study.result))
        texts[".tex"] = latex(of_study)
        columns = of_study.study.column_axis
        if columns is not None and AVERAGE_LABEL in columns.labels:
            texts["_short.tex"] = latex(of_study, averages=True)
    return {f"{of_study.study.name}{ending}": text.encode() for ending, text in texts.items()}


def study_pictures(
    of_study: Sheet, draw: Callable[..., dict[str, bytes]], small: bool
) -> dict[str, bytes]:
    """The figures of a study by name."""
    result = of_study.result
    shown = replace(result.study, claims=())  # a claim moves no line of a figure
    frames_shown = shown, of_study.cells, of_study.curves, figure_title(result)
    return draw(study_figures, frames_shown, ("png",) if small else ("png", "pdf"))


def remove(study: str, tables: Path, pictures: Path, written: Collection[str] = ()) -> None:
    """Remove the files of a study that earlier drawings wrote, but for what is `written` now."""
    names = [tables / f"{study}{ending}" for ending in ENDINGS.values()]
    names += [pictures / f"{study}{ending}" for ending in PICTURES]
    for path in names:
        if path.name not in written:
            path.unlink(missing_ok=True)


def write_runs(sheets: Sequence[Sheet], tables: Path) -> None:
    """Write runs.csv, a row for each run of these studies."""
    if sheets:
        runs = frames.summary_frame(of_study.result for of_study in sheets)
        _write_all(tables, {"runs.csv": frames.csv_text(runs, digits=6).encode()})


def render_index(
    studies: Sequence[Study],
    stored: ByScale,
    resolved_studies: Mapping[tuple[str, str], Sequence[ResolvedStudy]],
    results_dir: Path,
    figures_dir: Path,
) -> list[str]:
    """Write the page over all scales and profiles, its README.md and CSV files; what was written.
    `stored` are the sheets with a run, `resolved_studies` all studies of a scale and profile."""
    if not any(stored.values()):
        return []
    sheets: dict[tuple[str, str], list[Sheet]] = {}
    for key, of_key in resolved_studies.items():
        by_name = {of_study.study.name: of_study for of_study in stored.get(key, ())}
        if not by_name and key[1] != PROFILES[0]:
            continue
        sheets[key] = [
            by_name.get(resolved.study.name)
            or make_sheet(study_result(resolved), cells=key == PRINTED)
            for resolved in of_key
        ]
    texts = page_files(studies, sheets, results_dir, figures_dir)
    _write_all(results_dir, {name: text.encode() for name, text in texts.items()})
    return [f"{results_dir / name}" for name in PAGE]


def refuse_foreign(folder: Path) -> None:
    """Raise UserError if the page would go where files of another program lie."""
    page = folder / PAGE[0]
    if page.is_file() and f"<title>{TITLE}" in page.read_text("utf-8", errors="replace")[:1000]:
        return
    for name in PAGE:
        if (folder / name).exists():
            raise UserError(
                f"{folder / name} was not drawn by this command; give another --results-dir."
            )


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        write_changed(folder / name, content)
