"""A run's numbers by checkpoint and metric, and what of them goes to the processes that draw."""

import pickle

import pyarrow as pa

from core.report.rows import Number, Rows


def table(runs=1):
    """Rows of so many runs, one after the other."""
    row = ("selected", "dev", "spearman_all", 100), ("selected", "STS-B", "spearman_all", 100), ("curve", "dev", "spearman_all", 100)
    columns = list(zip(*row * runs, strict=True))
    values = [float(number) for number in range(3 * runs)]
    return pa.table(dict(zip(("checkpoint", "task", "metric", "step", "value"), (*columns, values), strict=True)))


def test_numbers_are_found_by_checkpoint_metric_and_task():
    rows = Rows(table(), {"step_seconds": 0.25})
    assert (
        rows.of("selected", "spearman_all") == [Number("dev", 100, 0.0), Number("STS-B", 100, 1.0)]
        and rows.of("last", "spearman_all") == []
    )
    assert rows.one("selected", "STS-B", "spearman_all") == Number("STS-B", 100, 1.0) and rows.one("curve", "STS-B", "spearman_all") is None
    assert list(rows.at("curve")) == [("spearman_all", Number("dev", 100, 2.0))]
    assert rows.one("time", "train", "step_seconds") == Number("train", 0, 0.25)
    assert Rows(table(), {"step_seconds": "a while"}).of("time", "step_seconds") == []


def test_a_run_goes_to_another_process_whole_and_without_those_that_it_was_read_with():
    many = table(10_000)
    sent = pickle.dumps(Rows(many.slice(3 * 4_000, 3), {"step_seconds": 0.25}))
    back = pickle.loads(sent)
    assert back.one("selected", "STS-B", "spearman_all") == Number("STS-B", 100, 12_001.0)
    assert back.one("time", "train", "step_seconds") == Number("train", 0, 0.25)
    assert back.table.equals(many.slice(3 * 4_000, 3)) and len(sent) < 4_000 < many.nbytes
