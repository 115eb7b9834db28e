"""The demo's measuring command: every factor is a run of its own, and its lines say what they should."""

import pytest

from core.data.sources import demo_sources
from core.spec.identity import run_id
from core.spec.result import Result, Row
from core.spec.scale import DEMO, at_scale
from tools.demo import bar


def test_every_factor_is_another_run_than_the_default_and_than_each_other():
    sources = demo_sources().sources
    runs = [bar.default_run(0), *(bar.factor_run(name, 0) for name in (*bar.FACTORS, *bar.METHODS))]
    ids = [run_id(at_scale(run, DEMO, sources)) for run in runs]
    assert len(set(ids)) == len(runs) >= 13
    assert run_id(at_scale(bar.default_run(1), DEMO, sources)) not in ids


def test_both_seeds_are_set():
    assert bar.default_run(3).seed == bar.factor_run("simcse", 3).seed
    assert (bar.default_run(3).seed.model, bar.default_run(3).seed.data, bar.default_run(3).ema.start) == (3, 3, 0.85)


def test_an_unknown_factor_is_refused():
    with pytest.raises(KeyError):
        bar.factor_run("colour", 0)


def test_the_average_of_a_checkpoint_is_read_from_the_rows_and_is_nan_without_one():
    rows = (
        Row("last", "avg", "spearman_all", 4, 1.0),
        Row("selected", "Para", "spearman_all", 2, 2.0),
        Row("selected", "avg", "spearman_mean", 2, 3.0),
        Row("selected", "avg", "spearman_all", 2, 4.0),
    )
    result = Result(status="ok", rows=rows, pairs=(), provenance={})
    assert bar.average(result, "selected") == 4.0
    assert bar.average(result, "untrained") != bar.average(result, "untrained")


def test_a_line_gives_mean_spread_and_distance_in_spreads_of_the_default():
    text = bar.line("eta", [44.0, 46.0], [50.0, 52.0, 54.0])  # means 45 and 52, spreads 1.41 and 2
    assert text.split() == ["eta", "45.00", "1.41", "n", "2", "-3.5", "SD"]
    assert bar.line("default", [50.0, 52.0, 54.0], None).split() == ["default", "52.00", "2.00", "n", "3"]
    assert bar.line("one", [50.0], [50.0, 52.0]).split()[2] == "-"
