"""Short storms on the real command line; `STORM_KILLS=1000 pytest -m long` runs a long one."""

import os
import subprocess

import pytest
import storm
from storm import JOB

TABLE = ("mocose-table3", "--seeds", "1", "--jobs", "3")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What twelve runs leave in quiet."""
    return storm.undisturbed(tmp_path_factory.mktemp("quiet"), 2)


@pytest.mark.long
def test_killed_at_random_moments_every_run_is_stored_once_and_equal(tmp_path, expected):
    count = int(os.environ.get("STORM_KILLS", "10"))
    storm.kill_storm(tmp_path, expected, count)


def test_four_commands_on_two_hosts_train_nothing_twice(tmp_path, expected):
    storm.driver_storm(tmp_path, expected, 4)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of two megabytes, if this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_is_said_and_the_same_command_goes_on(desk, small_disk):
    results = small_disk / "results"
    stone = small_disk / "stone"
    here = (*TABLE, "--results-dir", str(results))
    for free in (0, 16 << 10):  # nothing fits; no two runs do
        stone.write_bytes(b"")
        disk = os.statvfs(small_disk)
        stone.write_bytes(bytes(max(0, disk.f_bavail * disk.f_frsize - free)))
        done = desk.do(*here, **JOB)
        said = done.stdout + done.stderr
        assert (
            done.returncode in (1, 2) and "Traceback" not in said and "the disk is full" in said
        ), said
        for path in (results / "runs").glob("*"):
            assert path.suffix == ".parquet" and not path.name.startswith("."), path
    stone.unlink()
    done = desk.do(*here, **JOB)
    assert done.returncode == 0, done.stdout + done.stderr
    store = type(desk.store)(results, None)
    assert len(store.runs()) == 6 and all(map(store.verified, store.runs()))
