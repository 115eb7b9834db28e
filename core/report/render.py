"""Every file of a report: CSV, Markdown, LaTeX, PNG and PDF by study, and the page; whole or not at
all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from core.report import frames
from core.report.comparability import TOO_SHORT
from core.report.drawing import drawing, image
from core.report.figures import figures, scatters
from core.report.page import ENDINGS, Results, Seconds, page_files
from core.report.tables import latex, markdown
from core.report.verdicts import Judged, reasons, study_result, why_unmarked
from core.report.words import title
from core.spec.errors import are, counted
from core.spec.setup import Setup
from core.spec.study import Study
from core.store.files import write_changed

PICTURES = (".png", "-differences.png", ".pdf", "-differences.pdf")


def render(
    studies: Sequence[Study],
    setup: Setup,
    store,
    results_dir: Path,
    figures_dir: Path,
    small: bool = False,
) -> tuple[list[str], list[Judged]]:
    """Draw studies from the store into results_dir and figures_dir / <scale> / <profile>; a line
    for each study and for missing and published runs, and the results that were drawn.

    With `small` a study has no LaTeX, no PDF and no CSV file of its runs. A study without a run is
    left out.
    """
    tables, pictures = (
        Path(root) / setup.scale.name / setup.profile for root in (results_dir, figures_dir)
    )
    results = gathered(studies, setup, store)
    lines = []
    for result in results:
        name = result.study.name
        absent = f", {result.missing} missing" if result.missing else ""
        absent += (
            f", {numberless} without a number" if (numberless := result.count("no number")) else ""
        )
        stored = len(result.runs) - result.missing
        head = f"{name}: {stored} of {counted(len(result.runs), 'run')}{absent}"
        if not result.begun:
            lines.append("; ".join([head, "nothing to draw yet", *reasons(result)]))
            continue
        lines.append(f"{head}; {tables / name}.md")
        cells = frames.cell_frame(result)
        curves = frames.curve_frame(result)
        texts = {".csv": frames.csv_text(cells), ".md": markdown(result)}
        texts |= {"_curves.csv": frames.csv_text(curves, digits=6)} if len(curves) else {}
        if not small:
            texts |= {"_runs.csv": frames.csv_text(frames.run_frame(result)), ".tex": latex(result)}
        _write_all(tables, {f"{name}{end}": text.encode() for end, text in texts.items()})
        kinds = ("png",) if small else ("png", "pdf")
        with drawing():
            files = _images(figures(result.study, cells, curves, *_heading(result)), kinds)
        _write_all(pictures, files)
        remove(name, tables, pictures, but=(*(f"{name}{end}" for end in texts), *files))
    runs = {run.run_id: run for result in results for run in result.runs}.values()
    if missing := sum(run.status == "missing" for run in runs):
        them = "it" if missing == 1 else "them"
        lines.append(f"{are(missing, 'run')} missing; this command did not train {them}.")
    if published := sum(run.source == "published" for run in runs):
        lines.append(f"{are(published, 'run')} from the published results, not from this machine.")
    return lines, [result for result in results if result.begun]


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


def _heading(result: Judged) -> tuple[str, bool]:
    """The title of figures that state no finding, what is drawn first, and whether they may state
    one."""
    counts = Counter(verdict.outcome for verdict in result.verdicts)
    verdicts = ", ".join(f"{counted(n, 'claim')} {outcome}" for outcome, n in counts.items())
    unmarked = re.sub(f"{TOO_SHORT}: |, at (most|least) [^;]*", "", why_unmarked(result))
    return ". ".join(filter(None, (title(result), unmarked or verdicts))), not unmarked


def _images(made: Mapping[str, Figure], kinds: Sequence[str]) -> dict[str, bytes]:
    return {
        f"{name}.{kind}": image(figure, kind) for name, figure in made.items() for kind in kinds
    }


def render_index(
    studies: Sequence[Study],
    known: Results,
    setups: Sequence[Setup],
    results_dir: Path,
    figures_dir: Path,
    seconds: Seconds,
) -> list[str]:
    """Write the page over all scales and profiles, its README.md and CSV files; what was written.
    `known` are the results with a run."""
    if not any(known.values()):
        return []
    results: dict[tuple[str, str], list[Judged]] = {}
    for setup in setups:
        key = setup.scale.name, setup.profile
        by_name = {result.study.name: result for result in known.get(key, ())}
        if by_name or setup.profile == setups[0].profile:
            results[key] = [
                by_name.get(study.name) or study_result(study, setup) for study in studies
            ]
        if by_name:
            runs = frames.summary_frame(by_name.values())
            _write_all(
                results_dir.joinpath(*key), {"runs.csv": frames.csv_text(runs, digits=6).encode()}
            )
            with drawing():
                _write_all(figures_dir.joinpath(*key), _images(scatters(runs), ("png",)))
    texts = page_files(studies, results, results_dir, figures_dir, seconds)
    _write_all(results_dir, {name: text.encode() for name, text in texts.items()})
    return [f"{results_dir / name}" for name in ("index.html", "README.md", "claims.csv")]


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        write_changed(folder / name, content)
