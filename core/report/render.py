"""Every file of a report: CSV, Markdown, LaTeX, PNG and PDF by study, and the page; whole or not at
all."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mode

import pandas as pd
from matplotlib.figure import Figure

from core.config.methods import PROFILES
from core.errors import UserError, counted
from core.report import frames
from core.report.figures import figures
from core.report.page import (
    ENDINGS,
    TITLE,
    Results,
    Seconds,
    has_runs_of_first,
    page_files,
)
from core.report.pictures import Order, Pictures, Scatters, drawn_together
from core.report.tables import latex, markdown, md
from core.report.verdicts import Judged, reasons, study_result, why_unmarked
from core.report.words import title
from core.store.files import write_changed
from core.study.grid import Grid
from core.study.reason import in_title
from core.study.study import Study

SAME_RUNS = f"These studies have the same runs as {PROFILES[0]}, and are drawn there alone:"
PICTURES = (".png", "-differences.png", ".pdf", "-differences.pdf")


def render(
    grids: Sequence[Grid],
    store,
    results_dir: Path,
    figures_dir: Path,
    small: bool = False,
    ordered: Pictures | None = None,
) -> tuple[list[str], list[Judged]]:
    """Draw studies from the store into results_dir and figures_dir / <scale> / <profile>; a line
    for each study, and the results that were drawn.

    With `small` a study has no LaTeX, no PDF and no CSV file of its runs. A study without a run is
    left out. `ordered` takes the figures, and writes them later.
    """
    setup = grids[0].setup
    key = Path(setup.scale.name) / setup.profile
    tables = results_dir / key
    folder = figures_dir / key
    results = gathered(grids, store)
    if ordered is not None:
        lines, drawn = _render(results, tables, folder, small, ordered)
        return [*lines.values()], drawn
    with drawn_together() as pictures:
        lines, drawn = _render(results, tables, folder, small, pictures)
    for result in drawn:
        lines[result.study.name] += f"; {_picture(result, folder, pictures)}"
    return [*lines.values()], drawn


def _render(
    results: Sequence[Judged], tables: Path, folder: Path, small: bool, pictures: Pictures
) -> tuple[dict[str, str], list[Judged]]:
    """Write the studies' tables and order their figures; a line by study, and the results whose
    table is written."""
    lines = {}
    drawn = []
    for result in results:
        name = result.study.name
        head = _head(result)
        if not result.begun:
            lines[name] = "; ".join([head, "nothing to draw yet", *reasons(result)])
            continue
        try:
            _draw(result, tables, folder, small, pictures)
            lines[name] = f"{head}; {tables / name}.md"
            drawn.append(result)
        except (OSError, UserError):  # of the folder, and so of every study
            raise
        except Exception as error:
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            lines[name] = (
                f"{head}; it cannot be drawn ({words}); correct the study's axes or figure."
            )
    return lines, drawn


def _draw(result: Judged, tables: Path, folder: Path, small: bool, pictures: Pictures) -> None:
    """Write a study's tables and order its figures."""
    name = result.study.name
    cells = frames.cell_frame(result)
    curves = frames.curve_frame(result)

    # tables
    texts = {".csv": frames.csv_text(cells), ".md": markdown(result)}
    if len(curves):
        texts["_curves.csv"] = frames.csv_text(curves, digits=6)
    if not small:
        texts["_runs.csv"] = frames.csv_text(frames.run_frame(result))
        texts[".tex"] = latex(result)
    files = {f"{name}{ending}": text.encode() for ending, text in texts.items()}
    _write_all(tables, files)

    # figures
    order = Order(
        study=result.study,
        cells=cells,
        curves=curves,
        heading=_heading(result),
        judged=not why_unmarked(result),
        kinds=("png",) if small else ("png", "pdf"),
    )
    clean = functools.partial(_remove_others, name, tables, folder, (*files,))
    pictures.add(order, folder, clean)


def _remove_others(
    study: str, tables: Path, pictures: Path, texts: tuple[str, ...], images: Collection[str]
) -> None:
    """Remove the files of a study but for those that are written now."""
    remove(study, tables, pictures, but=(*texts, *images))


def study_figures(result: Judged, cells: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Figure]:
    """A study's figures by file name, from its frames of cells and curves, inside `drawing()`."""
    may_state = not why_unmarked(result)
    return figures(result.study, cells, curves, _heading(result), may_state)


def _picture(result: Judged, folder: Path, pictures: Pictures) -> str:
    """Where a study's figure lies, or why there is none."""
    name = result.study.name
    if name in pictures.faults:
        return f"its figure cannot be drawn ({pictures.faults[name]}); correct the study's figure"
    names = sorted(pictures.names[name], key=lambda file: (len(file), not file.endswith(".png")))
    if names:
        return f"{folder / names[0]}"
    if result.study.figure is None:
        return "the study has no figure"
    return "no figure, since most of its rows have no run"


def _head(result: Judged) -> str:
    """A study's stored, missing and useless runs in a line."""
    runs = len(result.runs)
    head = f"{result.study.name}: {runs - result.missing} of {counted(runs, 'run')}"
    if result.missing:
        head += f", {result.missing} missing"
    numberless = result.count("no number")
    if numberless:
        head += f", {numberless} without a number"
    return head


def remove(study: str, tables: Path, pictures: Path, but: Collection[str] = ()) -> None:
    """Remove the files of a study that earlier drawings wrote, but for those with the names
    `but`."""
    names = [tables / f"{study}{ending}" for ending in ENDINGS.values()]
    names += [pictures / f"{study}{ending}" for ending in PICTURES]
    for path in names:
        if path.name not in but:
            path.unlink(missing_ok=True)


def gathered(grids: Sequence[Grid], store) -> list[Judged]:
    """Studies as they stand in the store; nothing is written."""
    loaded: dict = {}
    return [study_result(grid, store, loaded) for grid in grids]


def _heading(result: Judged) -> str:
    """The title of figures that state no finding: why not, or the verdicts."""
    unmarked = why_unmarked(result)
    if unmarked:
        return f"{title(result)}. No verdict: {in_title(unmarked)}"
    counts = Counter(verdict.outcome for verdict in result.verdicts)
    if not counts:
        return title(result)
    verdicts = [f"{counted(n, 'claim')} {outcome}" for outcome, n in counts.items()]
    return f"{title(result)}. {', '.join(verdicts)}"


def _unjudged(results: Iterable[Judged]) -> dict[str, str]:
    """By method why a scale cannot judge most of the claims that have run."""
    barred: dict[str, list[str]] = {}
    for result in results:
        for verdict in result.verdicts:
            if verdict.outcome != "not run":
                why = in_title(verdict.barred) if verdict.outcome == "no verdict" else ""
                barred.setdefault(result.study.method, []).append(why)
    reasons = {method: mode(why) for method, why in barred.items()}
    return {
        method: why
        for method, why in reasons.items()
        if 2 * barred[method].count("") < len(barred[method]) and why
    }


def draw_runs(results: Sequence[Judged], tables: Path, folder: Path, pictures: Pictures) -> None:
    """Write runs.csv, a row for each run of these studies, and order the figures over all runs."""
    if results:
        runs = frames.summary_frame(results)
        _write_all(tables, {"runs.csv": frames.csv_text(runs, digits=6).encode()})
        pictures.add(Scatters(runs, _unjudged(results)), folder, lambda names: None)


def is_ours(page: Path) -> bool:
    """Whether a file is the page that `render_index` writes."""
    if not page.is_file():
        return False
    return f"<title>{TITLE}" in page.read_text(encoding="utf-8", errors="replace")[:1000]


def render_index(
    studies: Sequence[Study],
    stored: Results,
    grids: Mapping[tuple[str, str], Sequence[Grid]],
    results_dir: Path,
    figures_dir: Path,
    seconds: Seconds,
) -> list[str]:
    """Write the page over all scales and profiles, its README.md and CSV files; what was written.
    `stored` are the results with a run, `grids` all studies of a scale and profile."""
    if not any(stored.values()):
        return []
    results: dict[tuple[str, str], list[Judged]] = {}
    for key, of_key in grids.items():
        by_name = {result.study.name: result for result in stored.get(key, ())}
        if not by_name and key[1] != PROFILES[0]:
            continue
        results[key] = [by_name.get(grid.study.name) or study_result(grid) for grid in of_key]
    _write_same_runs(results, results_dir, ".md")
    _write_same_runs(results, figures_dir, ".png")
    texts = page_files(studies, results, results_dir, figures_dir, seconds)
    _write_all(results_dir, {name: text.encode() for name, text in texts.items()})
    return [f"{results_dir / name}" for name in ("index.html", "README.md", "claims.csv")]


def _write_same_runs(
    results: Mapping[tuple[str, str], Sequence[Judged]], root: Path, ending: str
) -> None:
    """README.md in the folder of each profile, which says which studies have the same runs as the
    first profile and are drawn there alone; without such studies no README.md of ours."""
    for (scale, profile), judged in results.items():
        of_first = {result.study.name: result for result in results[scale, PROFILES[0]]}
        folder = root / scale / profile
        listed = []
        for result in judged:
            name = f"{result.study.name}{ending}"
            first = folder.parent / PROFILES[0] / name
            same = has_runs_of_first(result, of_first.get(result.study.name))
            if same and first.is_file() and not (folder / name).is_file():
                listed.append(f"- [{md(title(result))}](../{PROFILES[0]}/{name})")
        readme = folder / "README.md"
        if listed:
            write_changed(readme, "\n".join([SAME_RUNS, "", *listed, ""]).encode())
        elif readme.is_file() and readme.read_text(encoding="utf-8").startswith(SAME_RUNS):
            readme.unlink()


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        write_changed(folder / name, content)
