"""--verify-published: which runs it trains anew, what it says of them, and that nothing of it is kept."""

from __future__ import annotations

import os
import re
import statistics

import pandas as pd
import pytest
from desk import Desk
from known_jobs import score

import run_study
from core.runner.compare import SAME, Difference, apart, difference
from core.runner.verify import spread
from core.spec.errors import UserError
from core.spec.identity import NUMERICS
from core.spec.methods import PROFILES
from core.spec.result import Row
from core.spec.vary import vary
from core.store import published as packs
from core.store.records import OtherVersion
from core.store.store import Store

KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:run"}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A desk where the twelve runs of a study are published and none is one's own."""
    desk = Desk(tmp_path_factory.mktemp("published"))
    assert desk.do("mocose-one", "--publish", "--jobs", "3", **KNOWN).returncode == 0
    for identity in desk.store.runs():
        (desk.results / "runs" / f"{identity}.parquet").unlink()
    (desk.cache / "started").unlink()
    return desk


def files(desk: Desk) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (desk.folder / "home").rglob("*") if path.is_file()}


def unpacked(desk: Desk) -> dict[str, packs.Run]:
    """The published runs of a desk."""
    there = packs.Pack(desk.results / "published" / "mini" / "runs.parquet")
    return {run: there.read(run) for run in there.runs()}


def verify(desk: Desk, *words: str, **environment: str):
    before = files(desk)
    done = desk.do("mocose-one", "--verify-published", *words, **{**KNOWN, **environment})
    assert "Traceback" not in done.stderr and files(desk) == before, done.stderr
    assert not [path for path in os.listdir(desk.folder / "tmp") if path.startswith("verify-published-")]
    return done


def test_runs_that_come_out_as_they_were_are_said_to(published):
    started = len(published.started())
    done = verify(published, "5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 published runs trained anew; the largest difference is 0.000000 points." in done.stdout
    chosen = published.started()[started:]
    assert len(set(chosen)) == 5 == done.stdout.count("at most 0.000000 points apart over")
    ids = sorted(published.store.runs())
    assert sorted(chosen) == [
        ids[(2 * place + 1) * 12 // 10] for place in range(5)
    ]  # over the table, and the same every time


def test_runs_that_differ_are_said_to_with_status_1_and_more_than_there_are_is_all(published):
    done = verify(published, "100", FAKE_JOB="tests.support.known_jobs:off")
    assert done.returncode == 1 and done.stdout.count("at most 0.020000 points apart") == 12
    assert (
        "the largest difference is 0.020000 points" in done.stdout
        and f"more than {SAME} points" in done.stdout
    )


def test_between_kinds_of_device_no_digits_are_compared(tmp_path):
    desk = Desk(tmp_path)
    cell = ("--cell", "a", "--cell", "b", "--jobs", "3")
    assert (
        desk.do(
            "mocose-one", "--publish", *cell, **{**KNOWN, "FAKE_JOB": "tests.support.known_jobs:on_cpu"}
        ).returncode
        == 0
    )
    done = verify(desk, "1", FAKE_JOB="tests.support.known_jobs:on_gpu")
    first = desk.store.load_published(re.search("^([0-9a-f]{16}) mocose-one", done.stdout, re.MULTILINE)[1])
    scores = [score(vary(first.config, {"seed.model": seed})) for seed in range(3)]
    assert (
        done.returncode == 0
        and "largest difference" not in done.stdout
        and "cannot be made again" not in done.stdout
    ), done.stdout
    assert (
        "made on a CPU and here on a GPU, whose dropout masks can differ, so digits cannot be compared. "
        in done.stdout
    )
    said = f"The test averages lie 0.02 points apart; over 3 seeds their standard deviation is {statistics.stdev(scores):.2f}.\n"
    assert said in done.stdout
    for identity in desk.store.runs():
        (desk.results / "runs" / f"{identity}.parquet").unlink()
    assert (
        "largest difference is 0.000000"
        in verify(desk, "1", FAKE_JOB="tests.support.known_jobs:on_cpu").stdout
    )


def test_a_run_that_fails_is_status_1(published):
    published.behave_all("raise")
    done = verify(published, "2")
    published.behave()
    assert (
        done.returncode == 1
        and "the job broke on purpose" in done.stdout
        and "points apart" not in done.stdout
    )


def test_runs_of_another_version_encoder_or_study_are_passed_over_and_counted(
    published, tmp_path, monkeypatch
):
    desk = Desk(tmp_path)
    (desk.folder / "encoder" / "vocab.txt").write_text("another\n")
    runs = unpacked(published)
    first, true = min(runs), packs.seal
    monkeypatch.setattr(
        packs, "seal", lambda table, footer: "another" if footer["run_id"] == first else true(table, footer)
    )
    packs.write(desk.results / "published" / "mini" / "runs.parquet", runs)
    monkeypatch.undo()
    done = verify(desk, "3")
    assert done.returncode == 0 and not desk.started()
    assert "11 published runs made with another text, encoder or evaluation data than are here" in done.stdout
    assert "1 published run that cannot be read" in done.stdout and "so nothing is verified" in done.stdout


def test_another_numerics_is_told_even_where_its_configuration_has_other_fields(published, tmp_path):
    run, (table, metadata) = next(iter(unpacked(published).items()))
    text = (
        metadata["config"]
        .replace(f'"numerics":{NUMERICS}', f'"numerics":{NUMERICS + 1}')
        .replace('"temperature"', '"warmth"')
    )
    assert "warmth" in text
    packs.write(tmp_path / "mini" / "runs.parquet", {run: (table, {**metadata, "config": text})})
    with pytest.raises(OtherVersion, match=f"NUMERICS {NUMERICS + 1}, here {NUMERICS}"):
        Store(tmp_path / "own", tmp_path).load(run)


@pytest.mark.parametrize("total, count", [(1, 1), (12, 5), (7, 7), (7, 30), (976, 6)])
def test_runs_are_spread_evenly(total, count):
    found = spread(list(range(total)), count)
    assert len(found) == len(set(found)) == min(total, count) and found == sorted(found)
    gaps = [after - before for before, after in zip([-1, *found], [*found, total], strict=True)]
    assert max(gaps) <= total / min(total, count) + 1


def frame(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame([Row(*row) for row in rows], columns=Row._fields)


def test_differences_by_hand():
    nan = float("nan")
    one = frame(
        ("selected", "avg", "spearman_all", 100, 50.0), ("selected", "dev", "spearman_all", 100, nan), ("curve", "dev", "spearman_all", 50, 40.0),
        ("curve", "dev", "spearman_all", 100, 44.0), ("curve", "train", "loss", 50, 1.0), ("selected", "avg_transfer", "accuracy_test", 100, 70.0),
    )  # fmt: skip
    other = frame(
        ("selected", "avg", "spearman_all", 150, 50.5), ("selected", "dev", "spearman_all", 150, nan), ("curve", "dev", "spearman_all", 50, 40.25),
        ("curve", "dev", "spearman_all", 150, 90.0), ("curve", "train", "loss", 50, 9.0), ("selected", "avg_transfer", "accuracy_test", 150, 69.0),
    )  # fmt: skip
    assert difference(one, other) == Difference(largest=1.0, scores=4, alone=2)
    assert difference(one, frame(("curve", "train", "loss", 50, 1.0))).scores == 0
    assert (
        apart(nan, nan) == 0.0
        and apart(nan, 1.0) == apart(1.0, nan) == float("inf")
        and apart(3.0, 1.5) == 1.5
    )


def test_a_published_run_of_the_demo_comes_out_as_published(tmp_path):
    """In earnest: a run that is published under this NUMERICS."""
    store = Store(tmp_path / "none", run_study.HOME / "results" / "published")
    if not any(demo_run(store, identity) for identity in store.runs()):
        pytest.skip("no run of scale demo is published under this version of the code (NUMERICS)")
    for profile in PROFILES:
        done = Desk(tmp_path).do(
            "--all",
            "--verify-published",
            "1",
            "--profile",
            profile,
            scale="demo",
            FAKE_JOB="core.engine.job:run",
            FAKE_HOME=str(run_study.HOME),
        )
        if "nothing is verified" not in done.stdout:
            break
    found = re.search(r"the largest difference is ([\d.]+) points", done.stdout)
    assert done.returncode == 0 and found and float(found[1]) <= SAME, done.stdout + done.stderr


def demo_run(store: Store, identity: str) -> bool:
    try:
        return store.load(identity).config.scale == "demo"
    except UserError:
        return False
