"""Storms on the real command line, short ones: `python -m tests.support.storm` runs them for as long as one
likes."""

from __future__ import annotations

import os
import resource
import subprocess

import pytest
import storm
from storm import JOB, planned

from core.store import files

TABLE = ("mocose-table3", "--seeds", "1", "--jobs", "3")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What twenty runs leave in quiet."""
    return storm.undisturbed(tmp_path_factory.mktemp("quiet"), 1)


@pytest.mark.long
def test_killed_at_random_moments_every_run_is_stored_once_and_equal(tmp_path, expected):
    figures = storm.kill_storm(tmp_path, expected, kills=10, seed=1)
    assert sum(figures.kills.values()) >= 10 and figures.tables >= 1


@pytest.mark.parametrize("count", [2, 4])
def test_commands_on_two_hosts_and_two_paths_share_the_work_and_train_nothing_twice(
    tmp_path, expected, count
):
    trained = storm.driver_storm(tmp_path, expected, count)
    assert sum(trained.values()) == 20 and sum(n > 0 for n in trained.values()) >= 2


def test_harmed_files_are_named_set_aside_and_trained_again(tmp_path, expected):
    assert sum(storm.corrupt_storm(tmp_path, expected, 20, seed=1, each=20).values()) >= 20


def test_every_way_to_die_is_told_as_what_it_is_and_the_table_goes_on(desk):
    runs = planned(desk, 1, "table7")
    ways = {
        "raise": "exception. ValueError: the job broke on purpose",
        "segfault": r"killed by signal 11 (SIGSEGV)",
        "allocate": "out of memory. Use --jobs 1, or a smaller train.batch_size, which is another",
        "kill 9": "killed by signal 9 (out of memory?)",
        "sleep 60": "timed out after 3 s. Raise --time-limit if the run needs longer.",
        "exit 3": "exit status 3",
        "nothing": "no result. The run's process ended as if all were well and stored nothing.",
        "long log": "exception. ValueError: after a long log",
        "unprintable": "exception. ValueError: первая строка вторая строка 🙂",
    }
    asked = dict(zip([run.run_id for run in runs], ways, strict=False))
    desk.behave(**asked)
    command = ("table7", "--seeds", "1", "--jobs", "4", "--time-limit", "3")
    done = desk.do(*command, **JOB)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    told = done.stdout.splitlines()
    for run, way in asked.items():
        assert any(line.startswith(f"FAILED {run}: {ways[way]}") for line in told), f"{way}\n{done.stdout}"
    assert f"Trained {20 - len(ways)} of 20 runs." in told and max(map(len, told)) < 2500
    place = told.index(f"{len(ways)} runs failed; finished ones are kept. To train just those again:")
    assert (
        told[place + 1]
        == f"  python run_study.py {' '.join(command)} --scale mini --data-dir {desk.folder}/data "
        f"--encoder {desk.folder}/encoder"
    )
    log = desk.store.log(next(run for run, way in asked.items() if way == "long log"))
    text = log.read_bytes()
    assert (
        len(text) <= files.LOG_BYTES
        and b"bytes were cut out here" in text
        and b"after a long log" in text[-2000:]
    )
    assert sum(p.stat().st_size for p in desk.results.rglob("*") if p.is_file()) < 12 << 20
    desk.behave()
    again = desk.do(*command, **JOB)
    assert again.returncode == 0 and f"Trained {len(ways)} of {len(ways)} runs." in again.stdout
    assert not any(desk.store.failure(run) for run in asked) and not (desk.cache / "accused").exists()


@pytest.mark.long
def test_a_real_training_that_diverges_or_collapses_is_a_result(desk):
    tiny = ("--seeds", "1", "--set", "train.steps=4", "--set", "eval.every=2", "--set", "train.batch_size=16")
    broken = (
        "--set",
        "train.learning_rate=1e30",
        "--set",
        "train.clip_norm=1e30",
        "--set",
        "train.warmup_fraction=0",
    )
    real = {"FAKE_JOB": "tests.support.storm_jobs:real", "REFERENCE_CELL": "yes"}
    for asked, changes, status in (("", broken, "diverged"), ("constant", (), "collapsed")):
        desk.behave_all(asked)
        done = desk.do("esimcse-table11", *tiny, *changes, scale="demo", **real)
        assert done.returncode == 0 and f": {status}, " in done.stdout.replace("nan ", ""), (
            done.stdout + done.stderr
        )
    stored = [desk.store.load(run) for run in desk.store.runs()]
    assert sorted(run.status for run in stored) == ["collapsed", "diverged"]
    for run in stored:  # no number where there is none
        scores = run.rows[
            (run.rows["checkpoint"] == "selected") & run.rows["metric"].str.startswith("spearman")
        ]
        assert scores["value"].isna().all()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of two megabytes, if this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_is_said_and_the_same_command_goes_on(desk, small_disk):
    here = (*TABLE, "--results-dir", str(small_disk / "results"))
    stone = small_disk / "stone"
    for free in (0, 16 << 10):  # nothing fits; no two runs do
        stone.write_bytes(b"")
        with open(stone, "wb", buffering=0) as file:
            room = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
            file.write(bytes(max(0, room - free)))
        done = desk.do(*here, **JOB)
        said = done.stdout + done.stderr
        assert done.returncode in (1, 2) and "Traceback" not in done.stderr and "the disk is full" in said, (
            said
        )
        for path in (small_disk / "results" / "runs").glob("*"):
            assert path.suffix == ".parquet" and not path.name.startswith("."), path
    stone.unlink()
    done = desk.do(*here, **JOB)
    assert done.returncode == 0, done.stdout + done.stderr
    store = type(desk.store)(small_disk / "results", None)
    assert len(store.runs()) == 6 and all(
        store.verified(run) and store.load_pairs(run) is not None for run in store.runs()
    )


def test_a_file_size_limit_is_a_failure_of_each_run_and_nothing_is_torn(desk):
    limited = desk.start(
        *TABLE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)), **JOB
    )
    out, err = limited.communicate(timeout=60)
    assert (
        limited.returncode == 1
        and out.count(": not stored") == 6
        and "could not be written (File too large)" in out
    ), out + err
    assert not list((desk.results / "runs").iterdir()) and not list((desk.results / "pairs").iterdir())
    assert "Trained 6 of 6" in desk.do(*TABLE, **JOB).stdout
