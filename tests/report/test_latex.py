"""LaTeX tables: escaped, scaled to the page, and compiled without overflow where LaTeX is at hand."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from fake_store import SOURCES, filled
from small_study import result
from test_names import EVIL, named

from core.report.dialects import tex
from core.report.grids import Entry
from core.report.tables import grid, latex
from studies import STUDIES

LATEX = shutil.which("pdflatex")
WHOLE = r"""\documentclass{article}
\usepackage{booktabs,amssymb,adjustbox}
\overfullrule=5pt
\begin{document}
%s
\end{document}
"""


def test_latex_is_balanced_escaped_and_plain_ascii():
    sources = replace(SOURCES, encoder_name=r"a_b&c%d#e$f{g}~h^i\j <k>", corpus_name="x|y")
    for study in STUDIES:
        text = latex(result(study, filled(study, skip={(study.cells[0].labels, 0)}), sources=sources))
        assert text.isascii()
        for name in ("table", "tabular", "adjustbox"):
            assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 1
        bare = re.sub(r"\\[\\{}$&%#_]", "", text)  # what is escaped is no syntax
        assert bare.count("{") == bare.count("}") and bare.count("$") % 2 == 0
        assert not re.search(r"[#~^]", re.sub(r"\$[^$]*\$", "", bare)) and bare.count("%") == 1
        width = text.split(r"\begin{tabular}{")[1].split("}")[0]
        rows = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert {line.replace(r"\&", "").count("&") for line in rows} == {len(width) - 1}
        assert r"a\_b\&c\%d\#e\$f\{g\}\textasciitilde{}h\textasciicircum{}i\textbackslash{}j $<$k$>$" in text
        assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_latex_fits_the_page_and_no_row_begins_with_an_option(study):
    """Without LaTeX: the table is scaled to width and height, no smaller than half of its letters, and no bracket follows a row's end."""
    one = result(study, filled(study, seeds=1), seeds=1)
    text = latex(one)
    body = text[text.index(r"\begin{adjustbox}{max width=\linewidth,max totalheight=0.8\textheight}") : text.index(r"\end{adjustbox}")]
    assert not re.search(r"\\\\(?:\s|\\(?:midrule|addlinespace|toprule))*\[", body) and not re.search(r"(?<!\{)\[", body)
    assert text.index(r"\end{table}") < text.index(r"\begingroup")  # notes may be longer than a page
    table = grid(one)
    widths = [max(len(row[place].text) for row in (*table.rows, [Entry(h) for h in table.headers])) for place in range(len(table.headers))]
    characters = sum(widths) + 2 * len(widths)
    assert characters * 4.6 <= 2.0 * 455 and len(table.rows) * 12 <= 2.0 * 440  # points: 9 pt letters on 455 x 0.8 * 550


def compiled(folder, body):
    """A document around this text, compiled; what the compiler said."""
    (folder / "tables.tex").write_text(WHOLE % body)
    done = subprocess.run(
        [LATEX, "-interaction=nonstopmode", "-halt-on-error", "tables.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


needs_latex = pytest.mark.skipif(LATEX is None, reason="pdflatex is not installed: the tables' structure is checked, they are not compiled")


@needs_latex
def test_every_table_compiles_without_overflow(tmp_path):
    said = compiled(tmp_path, "\n\\clearpage\n".join(latex(result(study, filled(study, seeds=1), seeds=1)) for study in STUDIES))
    assert not re.findall(r"Overfull .*|Float too large.*", said)


@needs_latex
def test_names_that_are_markup_compile_in_text_in_cells_and_in_notes(tmp_path):
    cells = [
        rf"\begin{{tabular}}{{ll}}\toprule {tex(name)} & x \\ \midrule {tex(name)} & y \\ \bottomrule\end{{tabular}}" for name in EVIL[:-1]
    ]
    tables = [latex(named(name)) for name in EVIL]
    said = compiled(tmp_path, "\n\n".join((*map(tex, EVIL), *cells, "\\clearpage", *tables)))
    assert "Output written on tables.pdf" in said.replace("\n", "") and "Missing" not in said and "Undefined" not in said
