"""The files of a report: tables and pictures by study, and the page; each whole or not at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from core.errors import UserError
from core.report.drawn import DrawnStudy
from core.report.frames import csv_text
from core.report.page import ENDINGS, TITLE, ByScale, page_files
from core.report.sheet import Sheet
from core.store.files import write_changed
from core.study.study import Study

PAGE = ("index.html", "README.md", "claims.csv")
PICTURES = (".png", "-differences.png", ".pdf", "-differences.pdf")


def write_study(drawn: DrawnStudy, tables: Path, pictures: Path) -> str:
    """Write the files of a study, and remove what earlier drawings wrote; what to say of it."""
    _write_all(tables, drawn.texts)
    _write_all(pictures, drawn.images)
    remove(drawn.name, tables, pictures, {*drawn.texts, *drawn.images})
    line = f"{drawn.line}; {tables / drawn.name}.md"
    if drawn.images:
        line += f"; figures in {pictures}"
    return line


def remove(study: str, tables: Path, pictures: Path, written: Collection[str] = ()) -> None:
    """Remove the files of a study that earlier drawings wrote, but for what is `written` now."""
    names = [tables / f"{study}{ending}" for ending in ENDINGS.values()]
    names += [pictures / f"{study}{ending}" for ending in PICTURES]
    for path in names:
        if path.name not in written:
            path.unlink(missing_ok=True)


def write_runs(sheets: Sequence[Sheet], tables: Path) -> None:
    """Write runs.csv, a row for each run of these studies under the first that reads it."""
    summaries = [of_study.summaries for of_study in sheets if len(of_study.summaries)]
    if summaries:
        runs = pd.concat(summaries).drop_duplicates("run_id")
        _write_all(tables, {"runs.csv": csv_text(runs, digits=6).encode()})


def write_page(
    studies: Sequence[Study], sheets: ByScale, results_dir: Path, figures_dir: Path
) -> list[str]:
    """Write the page over all scales and profiles, its README.md and CSV files; what was written.
    `sheets` has every study of a scale and profile."""
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
