"""A table without a dialect, and how it is written in Markdown, in LaTeX and in a terminal."""

from __future__ import annotations

from dataclasses import dataclass

from tabulate import tabulate

from core.report.dialects import md, tex


@dataclass(frozen=True, slots=True)
class Entry:
    """The text of one place in a table, in plain characters, and whether it is bold."""

    text: str = ""
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Headers, `lead` columns of labels, and rows of entries; `breaks` are rows with a rule above."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    lead: int
    breaks: tuple[int, ...]

    @property
    def text(self) -> str:
        """The text of all entries, one after the other."""
        return "".join(entry.text for row in self.rows for entry in row)


def number(value: float, signed: bool = False, places: int = 2) -> str:
    """A number with so many decimals and a real minus sign."""
    return f"{value:{'+' if signed else ''}.{places}f}".replace("-", "−")


def markdown_table(table: Grid) -> str:
    """The table in Markdown."""
    rows = [[f"**{md(e.text)}**" if e.bold else md(e.text) for e in row] for row in table.rows]
    return tabulate(rows, [md(h) for h in table.headers], tablefmt="pipe", colalign=_sides(table), disable_numparse=True)


def plain_table(table: Grid) -> str:
    """The table for a terminal, where nothing is bold."""
    rows = [[entry.text for entry in row] for row in table.rows]
    return tabulate(rows, table.headers, tablefmt="simple", colalign=_sides(table), disable_numparse=True)


def latex_table(table: Grid) -> list[str]:
    r"""The lines of a `tabular` that is scaled to the page if it is too wide or too tall."""
    lines = [
        r"\begin{adjustbox}{max width=\linewidth,max totalheight=0.8\textheight}",
        rf"\begin{{tabular}}{{{'l' * table.lead}{'r' * (len(table.headers) - table.lead)}}}",
        r"\toprule",
        " & ".join(tex(header) for header in table.headers) + r" \\",
        r"\midrule",
    ]
    for place, row in enumerate(table.rows):
        lines += [r"\addlinespace"] if place in table.breaks else []
        lines.append(" & ".join(rf"\textbf{{{tex(e.text)}}}" if e.bold else tex(e.text) for e in row) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}"]


def _sides(table: Grid) -> list[str]:
    return ["left"] * table.lead + ["right"] * (len(table.headers) - table.lead)
