"""What a frame holds and how a row is marked in it: nothing of ours is lost at an edge, and no word covers a line or a number."""

from dataclasses import replace

import pytest

from core.report.differences import Panel, Row
from core.report.limits import frame
from core.report.marks import draw_row
from core.report.style import TOLD, blank, drawing


def far_rows():
    return (
        Row(label="near", mean=0.5, low=-30.0, high=31.0, basis="own", n=3, printed=0.4, band=1.0),
        Row(label="far", mean=-4.0, low=-7.0, high=-1.0, basis="own", told=True, n=5, seeds=(-3.0, -5.0, -90.0), printed=-2.0),
        Row(label="ours", mean=1.0, low=0.5, high=1.5, basis="own", n=3, printed=27.0),
    )


def marked(rows, bounds):
    with drawing():
        axes = blank(7.2, 2.0).add_subplot()
        axes.set_xlim(bounds)
        for place in range(len(rows)):
            draw_row(axes, Panel(title="", unit="", rows=rows), place, bounds, False, None)
    return axes


def test_a_frame_holds_our_means_and_told_intervals_and_what_is_farther_is_named_at_the_edge():
    low, high = frame([Panel(title="", unit="Spearman × 100", rows=far_rows())])
    assert -9 < low < -7 and 1.5 < high < 8  # the interval of -30 to 31, the seed at -90 and the paper's 27 are outside
    assert [text.get_text() for text in marked(far_rows(), (low, high)).texts] == ["← 1", "+27.0"]


@pytest.mark.parametrize("mean", [0.5, -3.0, 60.0])
def test_whatever_the_size_our_means_and_what_is_told_are_in_the_frame(mean):
    row = Row(
        label="a", mean=mean, low=min(0.1 * mean, 1.9 * mean), high=max(0.1 * mean, 1.9 * mean), basis="own", told=True, n=5, band=0.2
    )
    low, high = frame([Panel(title="", unit="Spearman × 100", rows=(row, replace(row, mean=0.01, low=-9.0, high=9.0, told=False)))])
    assert low <= row.low and row.high <= high


def test_a_number_of_ours_beyond_a_frame_has_its_interval_beside_it_in_the_rows_colour():
    axes = marked((Row(label="a", mean=-7.5, low=-12.0, high=-3.0, basis="own", told=True, n=12),), (-1.4, 1.4))
    (text,) = axes.texts
    assert text.get_text() == "−7.5 [−12.0, −3.0]" and text.get_color() == TOLD


def test_noise_does_not_fill_a_frame():
    low, high = frame([Panel(title="", unit="Spearman × 100", rows=(Row(label="a", mean=0.01, n=3),))])
    assert low < -0.49 and high > 0.49


def test_a_word_in_the_place_of_a_point_covers_no_line_and_no_number():
    rows = (
        Row(label="a", mean=3.0, low=2.0, high=4.0, basis="own", n=5, printed=-3.0),
        Row(label="b", mean=None, word="reference, n = 12", printed=0.0),
        Row(label="c", mean=None, word="not at this scale", printed=1.0),
    )
    with drawing():
        axes = blank(7.2, 2.0).add_subplot()
        axes.set_xlim(-10, 10)
        for place in (1, 2):
            draw_row(axes, Panel(title="", unit="", rows=rows), place, (-10.0, 10.0), True, -1.0)
        to_data = axes.transData.inverted()
        for text, lines in zip(axes.texts, ((-1.0, 0.0, 0.4), (-1.0, 1.0)), strict=True):
            box = text.get_window_extent().transformed(to_data)
            assert not any(box.x0 < x < box.x1 for x in lines), (text.get_text(), box)
