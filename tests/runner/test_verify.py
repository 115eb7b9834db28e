"""tools.verify: what it says of the runs that it trains again, and that nothing of it is kept."""

import math
import shutil
from pathlib import Path

import pandas as pd
from desk import Desk

from core.config.result import Measurement
from core.config.scale import MINI
from core.data import sources
from core.runner.verify import difference


def contents(desk: Desk) -> dict[Path, bytes]:
    files = filter(Path.is_file, (desk.folder / "home").rglob("*"))
    return {path: path.read_bytes() for path in files}


def test_published_runs_are_trained_again_and_compared(desk):
    """By tools.verify, which keeps nothing, and by a user who trains them."""
    train = ("mocose-one", "--cell", "a", "--cell", "b", "--seeds", "1", "--jobs", "2")
    desk.commit()

    def do(job: str, *words: str, status: int = 0) -> str:
        known = {"KNOWN_STUDIES": "yes", "FAKE_JOB": f"tests.support.known_jobs:{job}"}
        done = desk.do(*words, **known)
        assert (done.returncode, done.stderr) == (status, "")
        return done.stdout

    first = do("on_cpu", *train)
    do("on_cpu", "publish", "mocose-one")
    assert "published one" not in first and "and the published" not in first
    shutil.rmtree(desk.results / "runs")
    assert "2 runs: none done" in do("on_cpu", *train, "--plan")
    assert "2 runs: 2 done" in do("on_cpu", *train, "--plan", "--use-published")
    recorded = sources.recorded_sources(MINI, desk.store)  # what is published is drawn without data
    assert recorded is not None
    assert sources.provenance(recorded) == sources.provenance(desk.found())
    assert not sources.other_data(recorded, desk.found())
    again = do("on_cpu", *train, "--cell", "c")
    assert "Your 2 runs (cpu) and the published: at most 0.000000 points apart." in again
    shutil.rmtree(desk.results / "runs")
    assert "at most 0.020000 points apart.\nAnother make of processor" in do("off", *train)

    for path in (desk.results / "runs").iterdir():
        path.unlink()
    before = contents(desk)
    started = len(desk.started())

    def verify(count: int, status: int, job: str) -> str:
        out = do(job, "verify", str(count), "mocose-one", status=status)
        assert contents(desk) == before
        kept = list((desk.folder / "tmp").glob("verify-published-*"))
        assert bool(kept) == ("FAILED" in out)  # logs of failures stay
        return out

    assert "Your 2 runs (cpu) and the published: at most 0.000000 points" in verify(2, 0, "on_cpu")
    assert sorted(desk.started()[started:]) == sorted(desk.store.runs())[:2]
    assert "at most 0.020000 points apart." in verify(1, 1, "off")
    assert "(cpu and cuda) and the published: at most 0.020000 points" in verify(1, 0, "on_gpu")
    desk.behave_all("raise")
    assert "the job broke on purpose" in verify(1, 1, "on_cpu")


def test_differences_by_hand():
    def rows(step: int, *values: float) -> pd.DataFrame:
        places = (
            ("selected", "avg", "spearman_all", step),
            ("selected", "dev", "spearman_all", step),
            ("curve", "dev", "spearman_all", 50),
            ("curve", "dev", "spearman_all", step),
            ("curve", "train", "loss", 50),
            ("selected", "avg_transfer", "accuracy_test", step),
        )
        made = [Measurement(*place, value) for place, value in zip(places, values, strict=True)]
        return pd.DataFrame(made, columns=Measurement._fields)

    one = rows(100, 50.0, math.nan, 40.0, 44.0, 1.0, 70.0)
    assert difference(one, rows(150, 50.5, math.nan, 40.25, 90.0, 9.0, 69.0)) == 1.0
    assert difference(one, rows(150, 50.0, 50.0, 40.0, 44.0, 1.0, 70.0)) == math.inf
    assert difference(one, one.iloc[:0]) == 0.0
