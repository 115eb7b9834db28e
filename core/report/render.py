"""Every file of a report: CSV, Markdown, LaTeX, PNG and PDF by study, and the page; whole or not at
all."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from core.errors import are, counted
from core.report import frames
from core.report.drawing import drawing, image
from core.report.figures import scatters
from core.report.page import ENDINGS, TITLE, Results, Seconds, page_files
from core.report.pictures import Order, Pictures, drawn_together
from core.report.results import RunResult
from core.report.tables import latex, markdown
from core.report.verdicts import Judged, reasons, study_result, why_unmarked
from core.report.words import title
from core.store.files import write_changed
from core.study.reason import in_title
from core.study.setup import Setup
from core.study.study import Study

PICTURES = (".png", "-differences.png", ".pdf", "-differences.pdf")


def render(
    studies: Sequence[Study],
    setup: Setup,
    store,
    results_dir: Path,
    figures_dir: Path,
    small: bool = False,
    ordered: Pictures | None = None,
) -> tuple[list[str], list[Judged]]:
    """Draw studies from the store into results_dir and figures_dir / <scale> / <profile>; a line
    for each study and for missing and published runs, and the results that were drawn.

    With `small` a study has no LaTeX, no PDF and no CSV file of its runs. A study without a run is
    left out. `ordered` takes the figures, and writes them later.
    """
    if ordered is None:
        with drawn_together() as pictures_here:
            return render(studies, setup, store, results_dir, figures_dir, small, pictures_here)
    key = Path(setup.scale.name) / setup.profile
    tables = results_dir / key
    pictures = figures_dir / key
    results = gathered(studies, setup, store)
    lines = []
    for result in results:
        name = result.study.name
        head = _head(result)
        if not result.begun:
            lines.append("; ".join([head, "nothing to draw yet", *reasons(result)]))
            continue
        lines.append(f"{head}; {tables / name}.md")
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
        clean = functools.partial(_remove_others, name, tables, pictures, (*files,))
        ordered.add(order, pictures, clean)

    runs = dict[str, RunResult]()
    for result in results:
        runs |= {run.run_id: run for run in result.runs}
    missing = sum(run.status == "missing" for run in runs.values())
    published = sum(run.source == "published" for run in runs.values())
    if missing:
        them = "it" if missing == 1 else "them"
        lines.append(f"{are(missing, 'run')} missing; this command did not train {them}.")
    if published:
        lines.append(f"{are(published, 'run')} from the published results, not from this machine.")
    return lines, [result for result in results if result.begun]


def _remove_others(
    study: str, tables: Path, pictures: Path, texts: tuple[str, ...], images: Collection[str]
) -> None:
    """Remove the files of a study but for those that are written now."""
    remove(study, tables, pictures, but=(*texts, *images))


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


def gathered(studies: Sequence[Study], setup: Setup, store) -> list[Judged]:
    """Studies as they stand in the store; nothing is written."""
    loaded: dict = {}
    return [study_result(study, setup, store, loaded) for study in studies]


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


def _images(pictures: Mapping[str, Figure], kinds: Sequence[str]) -> dict[str, bytes]:
    images = {}
    for name, figure in pictures.items():
        for kind in kinds:
            images[f"{name}.{kind}"] = image(figure, kind)
    return images


def is_ours(page: Path) -> bool:
    """Whether a file is the page that `render_index` writes."""
    if not page.is_file():
        return False
    return f"<title>{TITLE}" in page.read_text(encoding="utf-8", errors="replace")[:1000]


def render_index(
    studies: Sequence[Study],
    stored: Results,
    setups: Sequence[Setup],
    results_dir: Path,
    figures_dir: Path,
    seconds: Seconds,
) -> list[str]:
    """Write the page over all scales and profiles, its README.md and CSV files; what was written.
    `stored` are the results with a run."""
    if not any(stored.values()):
        return []
    results: dict[tuple[str, str], list[Judged]] = {}
    for setup in setups:
        key = setup.scale.name, setup.profile
        by_name = {result.study.name: result for result in stored.get(key, ())}
        if by_name or setup.profile == setups[0].profile:
            results[key] = [
                by_name.get(study.name) or study_result(study, setup) for study in studies
            ]
        if by_name:
            runs = frames.summary_frame(by_name.values())
            text = frames.csv_text(runs, digits=6)
            _write_all(results_dir.joinpath(*key), {"runs.csv": text.encode()})
            with drawing():
                _write_all(figures_dir.joinpath(*key), _images(scatters(runs), ["png"]))
    texts = page_files(studies, results, results_dir, figures_dir, seconds)
    _write_all(results_dir, {name: text.encode() for name, text in texts.items()})
    return [f"{results_dir / name}" for name in ("index.html", "README.md", "claims.csv")]


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        write_changed(folder / name, content)
