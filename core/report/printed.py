"""The paper's printed numbers of a study, as a table and as files."""

from __future__ import annotations

from core.report import frames
from core.report.tables import Grid, grid, markdown_table, md
from core.report.verdicts import Judged
from core.report.words import title


def printed_table(result: Judged) -> Grid:
    """The paper's table without a number of ours."""
    return grid(result.study, frames.cell_frame(result), printed=True)


def files(result: Judged) -> dict[str, str]:
    """The printed numbers as CSV and Markdown, by name in the folder of results."""
    study = result.study
    cells = frames.cell_frame(result)
    names = [axis.name for axis in study.axes]
    frame = cells[[*names, "metric", "unit", "printed", "printed_runs"]]
    head = f"# {md(title(result))}\n\nAs the paper prints it. No run of ours is in this table.\n"
    return {
        f"printed/{study.name}.csv": frames.csv_text(frame[frame["printed"].notna()]),
        f"printed/{study.name}.md": f"{head}\n{markdown_table(printed_table(result))}\n",
    }
