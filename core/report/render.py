"""Every file of a report: CSV, Markdown, LaTeX, PNG and PDF by study, and the page; whole or not at
all."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from core.config.methods import PROFILES
from core.errors import UserError, counted
from core.report import frames
from core.report.figures import figures, scatters
from core.report.page import ENDINGS, PRINTED, TITLE, ByScale, Seconds, page_files
from core.report.pictures import Order, Pictures
from core.report.sheet import Sheet, sheet
from core.report.tables import AVERAGE_LABEL, latex, markdown
from core.report.verdicts import Judged, reasons, study_result, why_unmarked
from core.report.words import seed_counts, title
from core.store.files import write_changed
from core.study.grid import Grid
from core.study.reason import in_title
from core.study.study import Study

PAGE = ("index.html", "README.md", "claims.csv")
PICTURES = (".png", "-differences.png", ".pdf", "-differences.pdf")


def render(
    results: Iterable[Judged],
    results_dir: Path,
    figures_dir: Path,
    pictures: Pictures,
    small: bool = False,
    repeated: Collection[str] = (),
) -> tuple[list[str], list[Sheet]]:
    """Write the texts of these studies into results_dir / <scale> / <profile>, and order their
    figures; a line for each study, and the sheets of those with a run.

    With `small` a study has no LaTeX, no PDF and no CSV file of its runs. The files of a study that
    is `repeated` lie under another profile, and so are removed here.
    """
    lines = []
    drawn = []
    for result in results:
        name = result.study.name
        key = Path(result.setup.scale.name) / result.setup.profile
        tables = results_dir / key
        folder = figures_dir / key
        runs = len(result.runs)
        head = f"{name}: {runs - result.missing} of {counted(runs, 'run')}"
        if not result.begun:
            lines.append("; ".join([head, "nothing to draw yet", *reasons(result)]))
            continue
        try:
            of_study = sheet(result)
            if name in repeated:
                remove(name, tables, folder)
                drawn.append(of_study)
                continue
            cells = of_study.cells
            curves = frames.curve_frame(result)
            texts = {".csv": frames.csv_text(cells), ".md": markdown(of_study)}
            if len(curves):
                texts["_curves.csv"] = frames.csv_text(curves, digits=6)
            if not small:
                texts["_runs.csv"] = frames.csv_text(frames.run_frame(result))
                texts[".tex"] = latex(of_study)
                columns = of_study.study.column_axis
                if columns is not None and AVERAGE_LABEL in columns.labels:
                    texts["_short.tex"] = latex(of_study, averages=True)
            files = {f"{name}{ending}": text.encode() for ending, text in texts.items()}
            _write_all(tables, files)
            without_claims = replace(result.study, claims=())  # which no other process can read
            order = Order(
                name=name,
                draw=figures,
                frames=(without_claims, cells, curves, heading(result)),
                kinds=("png",) if small else ("png", "pdf"),
                folder=folder,
                clean=functools.partial(remove, name, tables, folder, (*files,)),
            )
            pictures.orders.append(order)
            lines.append(f"{head}, {seed_counts(result)}; {tables / name}.md")
            drawn.append(of_study)
        except (OSError, UserError):  # of the folder, and so of every study
            raise
        except Exception as error:
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            lines.append(
                f"{head}; it cannot be drawn ({words}); correct the study's axes or figure."
            )
    return lines, drawn


def remove(
    study: str,
    tables: Path,
    pictures: Path,
    texts: Collection[str] = (),
    images: Collection[str] = (),
) -> None:
    """Remove the files of a study that earlier drawings wrote, but for these texts and images."""
    names = [tables / f"{study}{ending}" for ending in ENDINGS.values()]
    names += [pictures / f"{study}{ending}" for ending in PICTURES]
    for path in names:
        if path.name not in (*texts, *images):
            path.unlink(missing_ok=True)


def heading(result: Judged) -> str:
    """The title of a study's figures: its table, and the verdicts or why there are none."""
    unmarked = why_unmarked(result)
    if unmarked:
        return f"{title(result)}. No verdict: {in_title(unmarked)}"
    counts = Counter(verdict.outcome for verdict in result.verdicts)
    if not counts:
        return title(result)
    verdicts = [f"{counted(n, 'claim')} {outcome}" for outcome, n in counts.items()]
    return f"{title(result)}. {', '.join(verdicts)}"


def draw_runs(sheets: Sequence[Sheet], tables: Path, folder: Path, pictures: Pictures) -> None:
    """Write runs.csv, a row for each run of these studies, and order the figures over all runs."""
    if sheets:
        runs = frames.summary_frame(of_study.result for of_study in sheets)
        _write_all(tables, {"runs.csv": frames.csv_text(runs, digits=6).encode()})
        order = Order(name="all runs", draw=scatters, frames=(runs,), folder=folder)
        pictures.orders.append(order)


def render_index(
    studies: Sequence[Study],
    stored: ByScale,
    grids: Mapping[tuple[str, str], Sequence[Grid]],
    results_dir: Path,
    figures_dir: Path,
    seconds: Seconds,
) -> list[str]:
    """Write the page over all scales and profiles, its README.md and CSV files; what was written.
    `stored` are the sheets with a run, `grids` all studies of a scale and profile."""
    if not any(stored.values()):
        return []
    sheets: dict[tuple[str, str], list[Sheet]] = {}
    for key, of_key in grids.items():
        by_name = {of_study.study.name: of_study for of_study in stored.get(key, ())}
        if not by_name and key[1] != PROFILES[0]:
            continue
        printed = key == PRINTED
        sheets[key] = [
            by_name.get(grid.study.name) or sheet(study_result(grid), printed) for grid in of_key
        ]
    texts = page_files(studies, sheets, results_dir, figures_dir, seconds)
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
