"""Figures by difference: what they show, that nothing is cut unmarked or drawn twice, and that the same cells give the same bytes."""

import colorsys
import hashlib
import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from fake_store import config_of, edition, filled
from places import ROOT, SUPPORT
from small_study import result as small_result
from small_study import small, stored

from core.report.cells import gather
from core.report.comparisons import comparisons, divisors
from core.report.differences import differences
from core.report.figures import figure
from core.report.sequential import alpha_at
from core.report.style import BAND, DPI, GREYS, LOOKS, OURS, PALE, TINTS, TOLD, drawing, pdf_bytes, pixels, png_bytes, svg_text
from core.report.verdicts import verdicts
from core.spec.claim import Claim, best, greater
from core.spec.scale import DEMO, MINI
from studies import find

TABLE3, TABLE7, TABLE11 = find("table3"), find("table7"), find("esimcse-table11")


def of(study, store, seeds=3, scale=DEMO, noise=None):
    return gather(study, edition(seeds, scale=scale), store, noise=noise)


def drawn(study, store, seeds=3, scale=DEMO, noise=None):
    with drawing():
        return figure(of(study, store, seeds, scale, noise))


def broken_store():
    """Table 7 with all that can go wrong: missing cells, a diverged cell, collapsed runs far below, a single run."""
    skip = {(("all", "4096"), s) for s in range(3)} | {(("all", "1024"), s) for s in (1, 2)}
    store = filled(TABLE7, skip=skip)
    store.add(config_of(TABLE7, ("none", "4096"), 0), 20.0, status="collapsed")
    for seed in range(3):
        store.add(config_of(TABLE7, ("half", "4096"), seed), 0.0, status="diverged")
    return store


CASES = {
    "one panel": lambda: drawn(TABLE3, filled(TABLE3), noise=1.0),
    "four panels": lambda: drawn(replace(TABLE7, claims=TABLE7.claims[:1]), broken_store()),  # one claim: three seeds have intervals
    "one seed": lambda: drawn(TABLE11, filled(TABLE11, seeds=1, level=80.0, scale=MINI), seeds=1, scale=MINI),
    "by task": lambda: drawn(find("esimcse-table7"), filled(find("esimcse-table7").at(DEMO))),
    "long names": lambda: drawn(find("deviations"), filled(find("deviations"))),
}


@pytest.fixture(scope="module")
def figures():
    return {name: make() for name, make in CASES.items()}


def test_rows_are_differences_to_the_reference_ours_and_the_papers_in_the_tables_order():
    one = of(TABLE3, filled(TABLE3))
    found = differences(one)
    (panel,) = found.panels
    assert [row.label for row in panel.rows] == ["0.5", "0.8", "0.85", "0.9", "0.95", "0.99"] and found.base == "0.85" and found.ordered
    by_label = {row.label: row for row in panel.rows}
    assert by_label["0.5"].printed == pytest.approx(75.76 - 76.49) and by_label["0.85"].word == "reference, n = 3"
    cells = {cell.cell.labels[0]: cell for cell in one.cells}
    for label, row in by_label.items():
        if label != "0.85":
            ours, base = ([run.value for run in cells[name].runs] for name in (label, "0.85"))
            assert row.seeds == pytest.approx([a - b for a, b in zip(ours, base, strict=False)])
            assert row.mean == pytest.approx(np.mean(row.seeds)) and row.n == 3


def test_the_base_may_differ_by_task():
    study = find("esimcse-table7").at(DEMO)
    found = differences(of(study, filled(study)))
    assert len(found.panels) == 3 and {len(panel.rows) for panel in found.panels} == {len(DEMO.tests) + 1}
    components = list(dict.fromkeys(cell.labels[0] for cell in study.cells))
    assert [panel.title for panel in found.panels] == components[1:]  # not the reference's own; "Components: …" is too long
    averages = [panel.rows[-1] for panel in found.panels]
    assert [row.printed for row in averages] == pytest.approx([1.18, 1.29, 2.02])


def test_a_row_that_cannot_act_has_no_point_at_zero():
    study = small()
    found = differences(small_result(study, stored(study, a=[50.0, 51.0, 52.0], b=[50.0, 51.0, 52.0])))
    row = found.panels[0].rows[1]
    assert (row.mean, row.word) == (None, "cannot act here")
    made = drawn(study, stored(study, a=[50.0, 51.0, 52.0], b=[50.0, 51.0, 52.0]))
    assert "cannot act here" in " ".join(text.get_text() for axes in made.axes for text in axes.texts)


def test_what_is_missing_says_so_and_failed_runs_are_crosses(figures):
    words = [text.get_text().strip() for axes in figures["four panels"].axes for text in axes.texts]
    assert "not run" in words
    crosses = [line for axes in figures["four panels"].axes for line in axes.lines if line.get_marker() == "x" and len(line.get_xdata())]
    assert sum(len(line.get_xdata()) for line in crosses) == 1 + 3  # a collapsed run, and a diverged cell


def test_an_interval_is_the_one_that_the_claim_is_tested_with():
    """By hand: at five seeds (look 2) a study of one claim of two parts tests support at a / 1 and contradiction at a / 2."""
    claim = Claim(key="X", text="", predicate=best(("a",), [("b",), ("c",)]))
    cells = {("a",): dict(enumerate([52.0, 53.0, 51.0, 52.5, 52.1])), ("b",): dict(enumerate([50.0, 51.5, 50.2, 50.1, 50.3]))}
    assert divisors(("b",), ("a",), [claim]) == (2, 1)  # b - a: its lower bound is the claim's contradiction
    found = comparisons(cells, ("a",), [claim])[("b",)]
    values = np.array([cells[("b",)][s] - cells[("a",)][s] for s in range(5)])
    from scipy.stats import t

    error = values.std(ddof=1) / np.sqrt(5)
    assert found.low == pytest.approx(values.mean() - t.isf(alpha_at(1, 1) / 2, 4) * error)
    assert found.high == pytest.approx(values.mean() + t.isf(alpha_at(1, 1), 4) * error) and found.basis == "own"


@pytest.mark.parametrize("gap", [0.3, 0.6, 1.0, 1.5, 2.0, 4.0, 9.0])
def test_figure_table_and_verdict_of_one_comparison_agree(gap):
    """Whatever the size of the effect: a row is told in the figure and marked in the table if and only if its claim is settled."""
    study = small(claims=(Claim(key="X", text="b is better.", predicate=greater(("b",), ("a",)), margin=None),))
    base = [50.0, 50.4, 50.1, 50.3, 50.2]
    one = small_result(
        study, stored(study, a=base, b=[v + gap + e for v, e in zip(base, (0.3, -0.2, 0.4, -0.3, 0.0), strict=False)]), seeds=5
    )
    row, cell, verdict = differences(one).panels[0].rows[1], one.cells[1], verdicts(one)[0]
    assert row.told == cell.comparison.distinguishable == (verdict.outcome in ("supported", "contradicted"))
    if verdict.n == 5:
        assert (row.low, row.high) == pytest.approx((verdict.low, verdict.high))


def test_the_band_is_what_the_noise_study_gives_a_difference_of_so_many_runs():
    found = differences(of(TABLE3, filled(TABLE3), noise=2.0))
    assert found.from_noise and {round(row.band, 9) for row in found.rows if row.n} == {round(1.96 * 2.0 * float(np.sqrt(2 / 3)), 9)}
    reference = of(TABLE3, filled(TABLE3)).at(ema_decay="0.85").estimate
    assert {row.band for row in differences(of(TABLE3, filled(TABLE3))).rows if row.n} == {reference.high - reference.mean}
    two = small_result(small(), stored(small(), a=[50.0, 51.0], b=[50.5, 51.0]), seeds=2)  # an interval of ± 6.4 says nothing
    assert {row.band for row in differences(two).rows} == {None}


def test_a_hundredth_of_a_point_is_a_difference():
    one = small_result(small(), stored(small(), a=[50.0, 51.0, 50.5], b=[50.01, 51.01, 50.51]), seeds=3)
    assert differences(one).panels[0].rows[1].mean == pytest.approx(0.01)


def arrows(axes, y, side):
    return [line for line in axes.lines if line.get_marker() == side and abs(float(np.atleast_1d(line.get_ydata())[0]) - y) < 1e-9]


@pytest.mark.parametrize("name", CASES)
def test_no_interval_is_cut_without_an_arrow(figures, name):
    checked = 0
    for axes in figures[name].axes:
        low, high = axes.get_xlim()
        for segment in (one for collection in axes.collections for one in getattr(collection, "get_segments", list)()):
            (left, y), (right, _) = segment
            checked += 1
            assert left >= low - 1e-9 and right <= high + 1e-9
            assert bool(arrows(axes, y, "<")) == (abs(left - low) < 1e-9) and bool(arrows(axes, y, ">")) == (abs(right - high) < 1e-9)
    assert checked or name == "one seed"


@pytest.mark.parametrize("name", CASES)
def test_no_run_is_drawn_twice(figures, name):
    for axes in figures[name].axes:
        rows = [round(float(y), 3) for line in axes.lines if line.get_marker() == "|" for y in line.get_ydata()]
        assert all(rows.count(row) <= (1 if name == "one seed" else 3) for row in rows)  # as many as there are seeds


@pytest.mark.parametrize("name", CASES)
def test_nothing_leaves_the_page_or_overlaps(figures, name):
    made = figures[name]
    with drawing():
        renderer = made.canvas.get_renderer()
        made.draw(renderer)
        outer = [(t, t.get_window_extent(renderer)) for t in made.texts if t.get_text()]
        outer += [
            (t, t.get_window_extent(renderer))
            for axes in made.axes
            for t in (axes.xaxis.label, axes.title, axes._left_title)
            if t.get_text()
        ]
        inner = [(t, t.get_window_extent(renderer)) for axes in made.axes for t in (*axes.texts, *axes.get_yticklabels()) if t.get_text()]
        boxes = [axes.get_window_extent(renderer) for axes in made.axes]
    for text, box in (*outer, *inner):
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= made.bbox.x1 and box.y1 <= made.bbox.y1, text.get_text()
    assert not any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[n + 1 :])
    for n, (one, a) in enumerate(outer):
        for other, b in outer[n + 1 :]:
            assert not a.overlaps(b), (one.get_text(), other.get_text())


def test_a_tag_names_scale_profile_and_seeds_and_there_is_no_watermark(figures):
    texts = [text.get_text() for text in figures["one panel"].texts]
    assert any("scale demo (made-up language)" in text and "profile paper" in text and "3 seeds" in text for text in texts)
    assert DEMO.watermark not in texts


def test_series_differ_by_marker_and_neighbours_by_lightness():
    assert len({look.marker for look in LOOKS}) == len({look.colour for look in LOOKS}) == len(LOOKS)
    rgb = [matplotlib.colors.to_rgb(look.colour) for look in LOOKS]
    light = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in rgb]
    assert all(abs(a - b) > 0.08 for a, b in itertools.pairwise(light))
    assert all(colorsys.rgb_to_hls(*c)[1] < 0.72 for c in rgb)  # dark enough on white


def digest(made):
    with drawing():
        contents = (png_bytes(pixels(made)), svg_text(made, "name", "words").encode(), pdf_bytes(made))
        return [hashlib.sha256(content).hexdigest() for content in contents]


CODE = "import test_figures as t; print(*t.digest(t.drawn(t.TABLE11, t.filled(t.TABLE11))))"


def test_the_same_cells_give_the_same_bytes_in_any_process_and_under_any_matplotlibrc(tmp_path):
    before = dict(matplotlib.rcParams)
    here = digest(drawn(TABLE11, filled(TABLE11)))
    assert dict(matplotlib.rcParams) == before
    (tmp_path / "matplotlibrc").write_text("font.size: 20\naxes.facecolor: red\nsavefig.dpi: 50\nsavefig.bbox: tight\npdf.compression: 0\n")
    paths = os.pathsep.join([str(Path(__file__).parent), str(SUPPORT), str(ROOT)])
    environment = {**os.environ, "PYTHONHASHSEED": "9", "MATPLOTLIBRC": str(tmp_path), "PYTHONPATH": paths, "SOURCE_DATE_EPOCH": "1"}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert done.stdout.split() == here, done.stderr


def test_files_carry_no_date_and_no_version_and_print_at_200_dpi():
    with drawing():
        made = drawn(TABLE11, filled(TABLE11))
        png, pdf = png_bytes(pixels(made)), pdf_bytes(made)
    assert b"CreationDate" not in pdf and b"Matplotlib" not in pdf and b"Software" not in png
    assert DPI == 200
    assert int.from_bytes(png[16:20], "big") == 1440


def test_fewer_colours_are_not_seen():
    with drawing():
        made = drawn(TABLE7, filled(TABLE7))
        seen = pixels(made)
    exact = np.asarray(made.canvas.buffer_rgba())[..., :3].astype(int)  # (height, width, 3)
    shown = np.asarray(seen.convert("RGB")).astype(int)
    off = np.abs(shown - exact).max(2)  # (height, width)
    assert len(seen.getcolors()) <= GREYS + 6 * TINTS < len(np.unique(exact.reshape(-1, 3), axis=0))
    assert off.mean() < 1.0 and (off > 16).mean() < 0.002
    ours = [int(OURS[i : i + 2], 16) for i in (1, 3, 5)]
    assert (exact == ours).all(2).sum() > 100 and not off[(exact == ours).all(2)].any() and OURS != TOLD


def test_on_a_page_a_figure_has_the_pages_colours_its_own_ids_and_letters():
    with drawing():
        text = svg_text(drawn(TABLE3, filled(TABLE3)), "one-two", 'says "this" & that')
    assert text.startswith('<svg role="img" aria-label="says &quot;this&quot; &amp; that" viewBox="0 0 518 ')
    assert not re.findall(r"#[0-9a-f]{6}\b", text.lower()), "a colour that does not follow the theme"
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)) and all(name.startswith("one-two-") for name in ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) == set(ids)
    assert "0.85" in re.findall(r"<text[^>]*>([^<]*)</text>", text) and "<style" not in text and "xlink" not in text.split(">", 1)[1]


def test_the_two_kinds_of_band_have_two_looks_and_the_legend_says_which():
    said = []
    for noise in (None, 1.0):
        made = drawn(TABLE3, filled(TABLE3), noise=noise)
        words = " ".join(" ".join(text.get_text() for text in made.texts).split())
        said.append((matplotlib.colors.to_hex(made.axes[0].patches[0].get_facecolor()), "grey band" in words, "blue band" in words))
    assert said == [(BAND.lower(), False, True), (PALE.lower(), True, False)]
