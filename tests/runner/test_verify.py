"""--verify-published: what it says of the runs that it trains again, and that nothing of it is
kept."""

import math
import os
import shutil

import pandas as pd
from desk import Desk

from core.config.result import Row
from core.runner.verify import difference

KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:on_cpu"}


def files(desk: Desk) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in (desk.folder / "home").rglob("*") if path.is_file()
    }


def test_published_runs_are_trained_again_and_compared(desk):
    """Two as they were, one all but for a little on each kind of device, and one with a failure."""
    desk.commit()
    train = ("mocose-one", "--cell", "a", "--cell", "b", "--seeds", "1", "--jobs", "2")
    assert desk.do(*train, **KNOWN).returncode == 0
    assert desk.do("publish", "mocose-one", **KNOWN).returncode == 0
    for identity in desk.store.runs():
        (desk.results / "runs" / f"{identity}.parquet").unlink()
    before = files(desk)
    started = len(desk.started())

    def verify(count: int, status: int, job: str) -> str:
        fake = KNOWN | {"FAKE_JOB": f"tests.support.known_jobs:{job}"}
        done = desk.do("mocose-one", "--verify-published", str(count), **fake)
        assert done.returncode == status and not done.stderr and files(desk) == before, done.stderr
        kept = [
            path for path in os.listdir(desk.folder / "tmp") if path.startswith("verify-published-")
        ]
        assert bool(kept) == ("FAILED" in done.stdout)  # logs of failures stay
        return done.stdout

    assert "Your 2 runs (cpu) and the published: at most 0.000000 points" in verify(2, 0, "on_cpu")
    assert sorted(desk.started()[started:]) == sorted(desk.store.runs())[:2]
    assert "at most 0.020000 points apart." in verify(1, 1, "off")
    assert "(cpu and cuda) and the published: at most 0.020000 points" in verify(1, 0, "on_gpu")
    desk.behave_all("raise")
    assert "the job broke on purpose" in verify(1, 1, "on_cpu")


def test_a_user_who_trains_published_runs_learns_how_near_they_came(desk):
    """Numbers of published runs are read from the pack, and count for runs that are trained in this
    command."""
    desk.commit()
    train = ("mocose-one", "--cell", "a", "--cell", "b", "--seeds", "1", "--jobs", "2")
    on_cpu = KNOWN | {"FAKE_JOB": "tests.support.known_jobs:on_cpu"}
    first = desk.do(*train, **on_cpu).stdout
    assert desk.do("publish", "mocose-one", **on_cpu).returncode == 0
    assert "published one" not in first and "and the published" not in first

    def again(job: str, *words: str) -> str:
        shutil.rmtree(desk.results / "runs")
        done = desk.do(*train, *words, **(KNOWN | {"FAKE_JOB": f"tests.support.known_jobs:{job}"}))
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Your 2 runs (cpu) and the published: at most 0.000000 points apart." in again(
        "on_cpu", "--cell", "c"
    )
    assert "at most 0.020000 points apart.\nfloat32 runs on two makes" in again("off")


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
        made = [Row(*place, value) for place, value in zip(places, values, strict=True)]
        return pd.DataFrame(made, columns=Row._fields)

    one = rows(100, 50.0, math.nan, 40.0, 44.0, 1.0, 70.0)
    assert difference(one, rows(150, 50.5, math.nan, 40.25, 90.0, 9.0, 69.0)) == 1.0
    assert difference(one, rows(150, 50.0, 50.0, 40.0, 44.0, 1.0, 70.0)) == math.inf
    assert difference(one, one.iloc[:0]) == 0.0
