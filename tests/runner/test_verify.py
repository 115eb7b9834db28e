"""--verify-published: what it says of the runs that it trains anew, and that nothing of it is kept."""

import os
import re

import pandas as pd
from desk import Desk

from core.runner.verify import difference
from core.spec.result import Row

KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:on_cpu"}


def files(desk: Desk) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (desk.folder / "home").rglob("*") if path.is_file()}


def verify(desk: Desk, count: int, status: int, job: str = "on_cpu") -> str:
    before, fake = files(desk), {"FAKE_JOB": f"tests.support.known_jobs:{job}"}
    done = desk.do("mocose-one", "--verify-published", str(count), **KNOWN | fake)
    assert done.returncode == status and "Traceback" not in done.stderr and files(desk) == before, done.stderr
    return done.stdout


def scratch(desk: Desk) -> list[str]:
    return [path for path in os.listdir(desk.folder / "tmp") if path.startswith("verify-published-")]


def test_published_runs_are_trained_anew_and_compared(desk):
    """Two as they were, one all but for a little on each kind of device, and one with a failure."""
    assert (
        desk.do("mocose-one", "--publish", "--jobs", "3", "--cell", "a", "--cell", "b", **KNOWN).returncode
        == 0
    )
    for identity in desk.store.runs():
        (desk.results / "runs" / f"{identity}.parquet").unlink()
    started = len(desk.started())
    out = verify(desk, 2, 0)
    assert out.count("at most 0.000000 points apart over") == 2
    assert sorted(desk.started()[started:]) == sorted(desk.store.runs())[:2] and not scratch(desk)
    assert "at most 0.020000 points apart" in verify(desk, 1, 1, "off")
    out = verify(desk, 1, 0, "on_gpu")
    assert "0.020000 points apart" in out and "whose dropout masks differ" in out and not scratch(desk)
    desk.behave_all("raise")
    (log,) = re.findall(r"  log: (\S+)", verify(desk, 1, 1))
    assert os.path.exists(log)  # the folder stays then


def frame(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame([Row(*row) for row in rows], columns=Row._fields)


def test_differences_by_hand():
    nan = float("nan")
    one = frame(
        ("selected", "avg", "spearman_all", 100, 50.0), ("selected", "dev", "spearman_all", 100, nan),
        ("curve", "dev", "spearman_all", 50, 40.0), ("curve", "dev", "spearman_all", 100, 44.0),
        ("curve", "train", "loss", 50, 1.0), ("selected", "avg_transfer", "accuracy_test", 100, 70.0),
    )  # fmt: skip
    other = frame(
        ("selected", "avg", "spearman_all", 150, 50.5), ("selected", "dev", "spearman_all", 150, nan),
        ("curve", "dev", "spearman_all", 50, 40.25), ("curve", "dev", "spearman_all", 150, 90.0),
        ("curve", "train", "loss", 50, 9.0), ("selected", "avg_transfer", "accuracy_test", 150, 69.0),
    )  # fmt: skip
    assert difference(one, other) == (1.0, 4)
    assert difference(one, frame(("curve", "train", "loss", 50, 1.0))) == (0.0, 0)
    broken = frame(("selected", "avg", "spearman_all", 100, nan))
    assert difference(one, broken) == difference(broken, one) == (float("inf"), 1)
