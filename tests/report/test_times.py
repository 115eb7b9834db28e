"""Claims about time: seconds are of one device, or they say nothing about a method."""

from claim_study import A, B, around, result, study

from core.report.contrasts import Readings
from core.report.rows import Rows
from core.spec.claim import Contrast, Term
from core.spec.table import Metric

STEP = Metric(task="train", title="A step", quantity="step_seconds", checkpoint="time")


def test_seconds_of_two_devices_are_never_compared():
    """A step takes a tenth of the time on a GPU; a seed whose runs were on both says nothing about the method."""
    timed = Contrast((Term(1.0, A), Term(-1.0, B)), metric=STEP)
    for odd, wanted in ((None, [2.0, 2.0, 2.0]), ("cuda: a GPU", [2.0])):
        one = result(study(timed), a=around(51, 3), b=around(46, 3))
        for cell, seconds in zip(one.cells, (3.0, 1.0), strict=False):
            for run in cell.runs:
                run.provenance["device"] = odd or "cpu: x86_64" if (cell.cell.labels, run.seed) == (B, 1) else "cpu: x86_64"
                object.__setattr__(run, "rows", Rows(run.rows.table, {"step_seconds": seconds}))
        readings = Readings(one)
        assert readings.samples(timed, len(wanted)).tolist() == wanted and readings.seeds(timed) == len(wanted)
        assert readings.values(None)[B].keys() == {0, 1, 2}  # scores are compared all the same
