"""Figures: what they show, that nothing is cut or overlaps, and that the same cells give the same bytes."""

import colorsys
import hashlib
import io
import itertools
import os
import re
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from fake_store import SOURCES, config_of, filled
from PIL import Image
from places import ROOT, SUPPORT

from core.report import points as at
from core.report.cells import gather
from core.report.figures import figure
from core.report.points import Point
from core.report.sheet import notes_of
from core.report.style import DPI, GREYS, LOOKS, TINTS, drawing, pdf_bytes, pixels, png_bytes, webp_bytes
from core.spec.scale import DEMO, MINI
from core.spec.table import Axis
from studies import find

TABLE3, TABLE7, TABLE11 = find("table3"), find("table7"), find("esimcse-table11")


def drawn(study, store, seeds=3, scale=DEMO):
    with drawing():
        return figure(gather(study, profile="paper", scale=scale, sources=SOURCES, seeds=seeds, store=store))


def panels(made):
    return [axes for axes in made.axes if axes.get_title(loc="left")]


def broken_store():
    """Table 7 with all that can go wrong: missing cells, a diverged cell, collapsed runs far below, a single run."""
    skip = {(("all", "4096"), s) for s in range(3)} | {(("all", "1024"), s) for s in (1, 2)}
    store = filled(TABLE7, skip=skip)
    store.add(config_of(TABLE7, ("none", "4096"), 0), 20.0, status="collapsed")
    for seed in range(3):
        store.add(config_of(TABLE7, ("half", "4096"), seed), 0.0, status="diverged")
    return store


CASES = {
    "apart": lambda: drawn(TABLE3, filled(TABLE3)),
    "gaps": lambda: drawn(TABLE7, broken_store()),
    "together": lambda: drawn(TABLE7, filled(TABLE7, level=74.0, scale=MINI), scale=MINI),
    "one seed": lambda: drawn(TABLE11, filled(TABLE11, seeds=1, level=80.0, scale=MINI), seeds=1, scale=MINI),
}


@pytest.fixture(scope="module")
def figures():
    return {name: make() for name, make in CASES.items()}


def labels(made):
    return [text.get_text() for text in made.findobj(matplotlib.text.Text)]


def test_far_apart_numbers_get_a_panel_each_and_near_ones_share_one(figures):
    assert [p.get_title(loc="left") for p in panels(figures["apart"])] == ["this project (demo)", "paper"]
    assert [p.get_title(loc="left") for p in panels(figures["together"])] == ["this project and the paper"]


def test_a_panel_holds_our_numbers_or_the_papers_not_both(figures):
    own, paper = panels(figures["apart"])
    assert max(y for line in own.lines for y in np.atleast_1d(line.get_ydata()) if np.isfinite(y)) < 70
    assert min(y for line in paper.lines for y in np.atleast_1d(line.get_ydata()) if np.isfinite(y)) > 70


def points_in(axes, marker=None):
    """y of everything drawn with a marker."""
    lines = [line for line in axes.lines if line.get_marker() not in ("None", "", None) and (marker is None or line.get_marker() == marker)]
    return sorted(round(float(y), 6) for line in lines for y in line.get_ydata())


def test_every_single_run_and_every_mean_is_drawn():
    store = filled(TABLE3)
    one = gather(TABLE3, profile="paper", scale=DEMO, sources=SOURCES, seeds=3, store=store)
    own = panels(drawn(TABLE3, store))[0]
    expected = [run.value for run in one.runs] + [cell.estimate.mean for cell in one.cells]
    assert points_in(own) == pytest.approx(sorted(expected))
    assert len(own.collections) == 6  # one interval a cell


def test_the_papers_single_runs_and_means_are_drawn_hollow(figures):
    paper = panels(figures["apart"])[1]
    expected = [v for cell in TABLE3.cells for v in (cell.published, *cell.published_runs)]
    assert points_in(paper) == pytest.approx(sorted(expected))
    assert {line.get_markerfacecolor() for line in paper.lines if line.get_marker() == "o"} == {"white"}
    assert not paper.collections  # it gives no intervals


def test_a_missing_cell_is_a_gap_in_the_line_and_a_word():
    made = drawn(TABLE3, filled(TABLE3, skip={(("0.9",), seed) for seed in range(3)}))
    own = panels(made)[0]
    line = next(line for line in own.lines if len(line.get_xdata()) == 6)
    assert np.isnan(line.get_ydata()).tolist() == [False, False, False, True, False, False]
    words = [text for text in own.texts if text.get_text() == "not run"]
    assert len(words) == 1 and words[0].get_position()[0] == pytest.approx(3.0)
    assert any("3 of 18 runs are missing" in " ".join(text.split()) for text in labels(made))


def test_collapsed_diverged_and_missing_are_told_apart(figures):
    made = figures["gaps"]
    own = made.axes[:2]  # broken: above and below
    assert sum(line.get_marker() == "x" for line in own[1].lines if list(line.get_ydata()) == [20.0]) == 1
    assert sum(line.get_marker() == "x" for line in own[1].lines if list(line.get_ydata()) == [0.0] * 3) == 1  # diverged: the worst
    assert sorted(text.get_text() for text in own[1].texts) == ["not run"]
    assert "collapsed or diverged run" in [text.get_text() for text in made.legends[0].get_texts()]
    assert any("3 runs diverged" in text for text in labels(made))
    assert own[1].get_ylim()[1] < own[0].get_ylim()[0] and own[1].get_ylim()[0] < 20 < own[1].get_ylim()[1]


def test_demo_is_watermarked_and_only_on_our_side(figures):
    marks = [t for t in figures["apart"].texts if t.get_text() == DEMO.watermark]
    assert len(marks) == 1 and marks[0].get_position()[0] < 0.5
    assert DEMO.watermark not in labels(figures["together"])


def test_an_interval_of_one_run_is_drawn_otherwise_than_one_over_seeds():
    over_seeds = Point(x=0, series=0, mean=50.0, low=49.0, high=51.0, runs=(49.5, 50.5))
    from core.report.figures import _draw_point

    kinds = []
    for point in (over_seeds, Point(x=0, series=0, mean=50.0, low=49.0, high=51.0, over_pairs=True, runs=(50.0,))):
        with drawing():
            axes = matplotlib.figure.Figure().add_subplot()
            _draw_point(axes, point, 0.0, (-0.1, 0.1), LOOKS[0], False, True)
        kinds.append(axes.collections[0].get_linestyle()[0][1])
    assert kinds[0] is None and kinds[1] is not None


def off_axis_labels(made):
    """Labels of ticks beyond the limits: they exist, and are not drawn."""
    sides = [side for axes in made.axes for side in (axes.xaxis, axes.yaxis)]
    seen = {label for side in sides for tick in side._update_ticks() for label in (tick.label1, tick.label2)}
    every = {label for side in sides for tick in (*side.majorTicks, *side.minorTicks) for label in (tick.label1, tick.label2)}
    return every - seen


@pytest.mark.parametrize("name", CASES)
def test_nothing_leaves_the_page_or_overlaps(figures, name):
    made = figures[name]
    with drawing():
        renderer = made.canvas.get_renderer()
        made.draw(renderer)
        page = made.bbox
        unseen = off_axis_labels(made)
        texts = [t for t in made.findobj(matplotlib.text.Text) if t.get_visible() and t.get_text() and t not in unseen]
        texts = [t for t in texts if t.get_text() != DEMO.watermark]
        boxes = [(t, t.get_window_extent(renderer)) for t in texts]
        legend = made.legends[0].get_window_extent(renderer)
        axes_boxes = [axes.get_window_extent(renderer) for axes in made.axes]
    for text, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= page.x1 and box.y1 <= page.y1, text.get_text()
    assert not any(legend.overlaps(box) for box in axes_boxes)
    assert not any(one.overlaps(other) for i, one in enumerate(axes_boxes) for other in axes_boxes[i + 1 :])
    inside = set(made.legends[0].get_texts())
    outer = [(t, b) for t, b in boxes if t not in inside and not any(t in axes.texts for axes in made.axes)]
    for i, (one, a) in enumerate(outer):
        for other, b in outer[i + 1 :]:
            assert not a.overlaps(b), (one.get_text(), other.get_text())
    words = [(t, b) for t, b in boxes if any(t in axes.texts for axes in made.axes)]
    assert not any(a.overlaps(b) for i, (_, a) in enumerate(words) for _, b in words[i + 1 :])


@pytest.mark.parametrize("name", CASES)
def test_no_panel_is_empty_and_every_number_lies_in_one(figures, name):
    made = figures[name]
    for axes in made.axes:
        low, high = axes.get_ylim()
        assert any(low <= y <= high for y in points_in(axes))
    for axes, own in [(axes, points_in(axes)) for axes in panels(made)]:
        column = [a for a in made.axes if abs(a.get_position().x0 - axes.get_position().x0) < 1e-6]
        assert all(any(low <= y <= high for low, high in (a.get_ylim() for a in column)) for y in own if y not in (0.0, 1.0))


def test_series_differ_by_marker_and_neighbours_by_lightness():
    assert len({look.marker for look in LOOKS}) == len({look.colour for look in LOOKS}) == len(LOOKS)
    rgb = [matplotlib.colors.to_rgb(look.colour) for look in LOOKS]
    light = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in rgb]
    assert all(abs(a - b) > 0.08 for a, b in itertools.pairwise(light))
    assert all(colorsys.rgb_to_hls(*c)[1] < 0.72 for c in rgb)  # dark enough on white


def test_places_on_the_axis():
    axis = Axis(name="x", title="x", labels=("1", "1.5", "2", "3"))
    assert at.positions(axis) == ({"1": 1.0, "1.5": 1.5, "2": 2.0, "3": 3.0}, True)
    crowded = Axis(name="x", title="x", labels=("0.5", "0.95", "0.99"))
    assert at.positions(crowded) == ({"0.5": 0.0, "0.95": 1.0, "0.99": 2.0}, False)
    assert at.positions(Axis(name="x", title="x", labels=("none", "half"))) == ({"none": 0.0, "half": 1.0}, True)
    assert at.spacing({"1": 1.0, "1.5": 1.5, "3": 3.0}) == 0.5 and at.spacing({"1": 1.0}) == 1.0


def test_an_axis_is_broken_only_at_a_wide_hole():
    assert at.axis_break([20.0, 22.0, 75.0, 76.0]) == (22.0, 75.0)
    assert at.axis_break([70.0, 72.0, 76.0]) is None  # a hole of 4 points
    assert at.axis_break([30.0, 45.0, 60.0, 75.0]) is None  # spread evenly
    assert at.axis_break([20.0, 75.0]) is None


def test_limits_hold_the_numbers_and_do_not_let_one_wide_interval_flatten_them():
    calm = [Point(x=i, series=0, mean=50.0 + i, low=49.5 + i, high=50.5 + i) for i in range(3)]
    low, high = at.limits(calm)
    assert low < 49.5 and high > 52.5 and not at.cut_intervals(calm, [(low, high)])
    wild = [*calm, Point(x=3, series=0, mean=51.0, low=11.0, high=91.0)]
    low, high = at.limits(wild)
    assert 40 < low < 50 and 52 < high < 60 and at.cut_intervals(wild, [(low, high)])
    same = at.limits([Point(x=0, series=0, mean=50.0)])
    assert same == (49.5, 50.5)
    assert at.limits([*calm, Point(x=9, series=0, mean=None, gap="not run")]) == at.limits(calm)


def test_comparable_is_by_medians():
    near = [Point(x=0, series=0, mean=v) for v in (75.0, 76.0, 35.0)]
    assert at.comparable(near, [Point(x=0, series=0, mean=77.0)])
    assert not at.comparable(near, [Point(x=0, series=0, mean=70.0)])


def digest(made):
    with drawing():
        seen = pixels(made)
        return [hashlib.sha256(content).hexdigest() for content in (png_bytes(seen), webp_bytes(seen), pdf_bytes(made))]


CODE = "import test_figures as t; print(*t.digest(t.drawn(t.TABLE11, t.filled(t.TABLE11))))"


def test_the_same_cells_give_the_same_bytes_in_any_process_and_under_any_matplotlibrc(tmp_path):
    before = dict(matplotlib.rcParams)
    here = digest(drawn(TABLE11, filled(TABLE11)))
    assert dict(matplotlib.rcParams) == before
    (tmp_path / "matplotlibrc").write_text("font.size: 20\naxes.facecolor: red\nsavefig.dpi: 50\nsavefig.bbox: tight\npdf.compression: 0\n")
    paths = os.pathsep.join([str(SUPPORT), str(ROOT)])
    environment = {**os.environ, "PYTHONHASHSEED": "9", "MATPLOTLIBRC": str(tmp_path), "PYTHONPATH": paths, "SOURCE_DATE_EPOCH": "1"}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.stdout.split() == here, done.stderr


def test_files_carry_no_date_and_no_version_and_print_at_200_dpi():
    with drawing():
        made = drawn(TABLE11, filled(TABLE11))
        png, pdf = png_bytes(pixels(made)), pdf_bytes(made)
    assert b"CreationDate" not in pdf and b"Matplotlib" not in pdf and b"Software" not in png
    assert DPI == 200
    width = int.from_bytes(png[16:20], "big")
    assert width == 1440


def test_fewer_colours_are_not_seen_and_both_pictures_are_the_same():
    with drawing():
        made = drawn(TABLE7, filled(TABLE7))
        seen = pixels(made)
    exact = np.asarray(made.canvas.buffer_rgba())[..., :3].astype(int)  # (height, width, 3)
    shown = np.asarray(seen.convert("RGB")).astype(int)
    off = np.abs(shown - exact).max(2)  # (height, width)
    assert len(seen.getcolors()) <= GREYS + 6 * TINTS < len(np.unique(exact.reshape(-1, 3), axis=0))
    assert off.mean() < 0.5 and (off > 12).mean() < 0.002
    assert (np.ptp(shown[np.ptp(exact, axis=2) == 0], axis=1) <= 8).all()  # greys have no hue
    for look in LOOKS[:4]:
        colour = [int(look.colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert (exact == colour).all(2).sum() > 100 and not off[(exact == colour).all(2)].any()
    png, webp = (np.asarray(Image.open(io.BytesIO(content)).convert("RGB")) for content in (png_bytes(seen), webp_bytes(seen)))
    assert np.array_equal(png, shown) and np.array_equal(webp, shown)


def test_the_lines_under_a_figure_say_how_many_seeds_are_there_and_name_a_number_once():
    def under(study, **skip):
        return " ".join(notes_of(gather(study, profile="paper", scale=DEMO, sources=SOURCES, seeds=3, store=filled(study, **skip))))

    assert "; 3 seeds." in under(TABLE11)
    missing = {(cell.labels, seed) for cell in TABLE11.cells for seed in (1, 2)}
    assert "; 1 of 3 seeds. 10 of 15 runs are missing." in under(TABLE11, skip=missing)
    assert "copy; 3 seeds." in under(find("esimcse-table2"))


def test_letters_are_not_joined():
    with drawing():
        pdf = pdf_bytes(drawn(TABLE7, filled(TABLE7)))  # "initial fill" in bold would need a font more
    fonts = re.findall(rb"/FontFile2", pdf)
    assert len(fonts) == 3  # bold, plain, and plain beyond Latin-1
