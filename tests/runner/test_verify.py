"""--verify-published: what it says of the runs that it trains anew, and that nothing of it is kept."""

from __future__ import annotations

import os
import re

import pandas as pd
import pytest
from desk import Desk

import run_study
from core.runner.compare import SAME, Difference, apart, difference
from core.spec.errors import UserError
from core.spec.result import Row
from core.store.store import Store

KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:on_cpu"}


def files(desk: Desk) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (desk.folder / "home").rglob("*") if path.is_file()}


def verify(desk: Desk, count: int, status: int, job: str = "on_cpu") -> str:
    before = files(desk)
    done = desk.do(
        "mocose-one",
        "--verify-published",
        str(count),
        **KNOWN | {"FAKE_JOB": f"tests.support.known_jobs:{job}"},
    )
    assert done.returncode == status and "Traceback" not in done.stderr and files(desk) == before, done.stderr
    return done.stdout


def scratch(desk: Desk) -> list[str]:
    return [path for path in os.listdir(desk.folder / "tmp") if path.startswith("verify-published-")]


def test_published_runs_are_trained_anew_and_compared(desk):
    """Of twelve runs of a study, all published and none stored: four as they were, all but for a little, on
    another kind of device, and with a failure."""
    assert desk.do("mocose-one", "--publish", "--jobs", "3", **KNOWN).returncode == 0
    for identity in desk.store.runs():
        (desk.results / "runs" / f"{identity}.parquet").unlink()
    started = len(desk.started())
    out = verify(desk, 4, 0)
    assert (
        out.count("at most 0.000000 points apart over") == 4
        and "largest difference is 0.000000 points" in out
    )
    assert sorted(desk.started()[started:]) == sorted(desk.store.runs())[:4] and not scratch(desk)
    out = verify(desk, 100, 1, "off")
    assert out.count("at most 0.020000 points apart") == 12 and "largest difference is 0.020000 points" in out
    out = verify(desk, 1, 0, "on_gpu")
    assert "0.020000 points apart" in out and "whose dropout masks differ" in out and not scratch(desk)
    desk.behave_all("raise")
    out = verify(desk, 2, 1)
    logs = re.findall(r"  log: (\S+)", out)
    assert "the job broke on purpose" in out and "points apart" not in out
    assert len(logs) == 2 and all(map(os.path.exists, logs))  # the folder stays then


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
    assert difference(one, other) == Difference(largest=1.0, scores=4, alone=2)
    assert difference(one, frame(("curve", "train", "loss", 50, 1.0))).scores == 0
    assert (
        apart(nan, nan) == 0.0
        and apart(nan, 1.0) == apart(1.0, nan) == float("inf")
        and apart(3.0, 1.5) == 1.5
    )


@pytest.mark.long
def test_a_published_run_of_the_demo_comes_out_as_published(tmp_path):
    """In earnest: a run that is published under this NUMERICS."""
    store = Store(tmp_path / "none", run_study.HOME / "results" / "published")
    if not any(demo_run(store, identity) for identity in store.runs()):
        pytest.skip("no run of scale demo is published under this version of the code (NUMERICS)")
    real = {"FAKE_JOB": "core.engine.job:run", "FAKE_HOME": str(run_study.HOME)}
    done = Desk(tmp_path).do("--all", "--verify-published", "1", scale="demo", **real)
    found = re.search(r"The largest difference is ([\d.]+) points", done.stdout)
    assert done.returncode == 0 and found and float(found[1]) <= SAME, done.stdout + done.stderr


def demo_run(store: Store, identity: str) -> bool:
    try:
        return store.load(identity).config.scale == "demo"
    except UserError:
        return False
