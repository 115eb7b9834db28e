"""The fonts of figures: cut, never joined, and whole where a letter is rare."""

import re

import pytest
from fake_store import edition, filled
from matplotlib.text import Text

from core.report.cells import gather
from core.report.figures import figure
from core.report.fonts.cut import LOOKS, cut
from core.report.letters import CUT, FONTS, WHOLE, families
from core.report.sheet import lines
from core.report.style import blank, drawing, pdf_bytes
from core.spec.scale import DEMO
from studies import find


def embedded(*texts: str) -> list[str]:
    """The fonts that a figure's PDF brings, by name."""
    with drawing():
        figure = blank(2, 1)
        for place, text in enumerate(texts):
            figure.text(0, 0.1 + 0.4 * place, text)
        return [name.decode() for name in re.findall(rb"/FontName /[A-Z]+\+(\S+)", pdf_bytes(figure))]


def test_letters_are_not_joined():
    assert embedded("initial fill") == ["FigureSans"]  # joined ones would stand in a second font


def test_what_figures_say_is_in_the_cut_fonts_and_rare_letters_come_from_the_whole():
    assert set(embedded("η → 0.85 ± 1, −2 ● ○ ▲ × ≥ Å ß “x” … †")) == {"FigureSans"}
    assert set(embedded("a", "Д")) == {"FigureSans", "DejaVuSans"}
    assert families() == [CUT, WHOLE] and families() is families()


@pytest.mark.parametrize("look", LOOKS)
def test_the_shipped_cuts_are_those_that_are_made(tmp_path, look):
    cut(look, tmp_path / "made.ttf")
    assert (tmp_path / "made.ttf").read_bytes() == (FONTS / f"{look}.ttf").read_bytes()


@pytest.mark.parametrize("weight", ["normal", "bold"])
@pytest.mark.parametrize(
    "text", ["WWW mmm " * 40, "iii ll. " * 80, "W" * 300, "a" * 90 + " b", "l" * 500, "ESimCSE-mini encoder/STS12 " * 12]
)
def test_lines_are_as_wide_as_the_sheet_allows_whatever_their_letters(text, weight):
    with drawing():
        found, figure = lines(text, 6.0, 9, weight), blank(7, 1)
        wide = [figure.text(0, 0, line, size=9, weight=weight).get_window_extent().width / figure.dpi for line in found]
    assert max(wide) <= 6.01 and min(wide[:-1]) >= 3  # inches; none is left short but the last
    assert "".join(found).replace(" ", "") == text.replace(" ", "")


def test_spaces_within_a_line_are_kept():
    with drawing():
        assert lines("a   b  c", 6.0, 9) == ["a   b  c"] and lines("", 6.0, 9) == lines("  ", 6.0, 9) == []


def test_a_single_panel_has_room_for_its_title():
    study = find("esimcse-table5").at(DEMO)
    with drawing():
        made = figure(gather(study, edition(), filled(study)))
    (axes,) = made.axes
    made.canvas.draw()
    title = next(one for one in axes.findobj(Text) if one.get_text() == axes.get_title(loc="left"))
    above = made.texts[2]
    assert title.get_text() and above.get_text().startswith("Score by test set")
    assert title.get_window_extent().y1 < above.get_window_extent().y0
