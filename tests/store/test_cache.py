"""The cache keeps what was made, believes nothing that was changed, and stops nobody."""

import json
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from core.store import files
from core.store.cache import cached, key_digest, write_cached

MADE = {"value": 34.28}


def got(folder: Path, notes: list) -> tuple[dict, int]:
    """The value that is kept under a key, and how many times it was made."""
    made = []

    def make():
        made.append(1)
        return MADE

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.store.cache.say", notes.append)
        value = cached(folder, ["key", 1], make, load=lambda content: dict(json.loads(content)))
    return value, len(made)


def test_a_value_is_made_once_by_key(tmp_path):
    notes: list[str] = []
    assert [got(tmp_path, notes) for _ in range(3)] == [(MADE, 1), (MADE, 0), (MADE, 0)]
    assert not notes
    assert cached(tmp_path, ["key", 2], lambda: "other") == "other"
    assert cached(tmp_path, ["key", 1], list) == MADE


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b'{"value": 99.99}'),
        os.mkfifo,
        os.mkdir,
        lambda path: path.symlink_to(path),
    ],
    ids=["number", "fifo", "folder", "loop"],
)
def test_what_is_not_as_it_was_written_is_made_anew_with_a_line(tmp_path, make):
    notes: list[str] = []
    got(tmp_path, notes)
    (path,) = tmp_path.glob("*.json")
    path.unlink()
    make(path)
    assert got(tmp_path, notes) == (MADE, 1)
    assert notes == [f"{path} is not as it was written, so it is made anew."]
    if not path.is_dir():  # nothing of a user's is removed with all that it holds
        assert got(tmp_path, notes) == (MADE, 0) and len(notes) == 1


def test_a_sealed_file_of_another_shape_is_made_anew(tmp_path):
    notes: list[str] = []
    write_cached(tmp_path, key_digest(["key", 1]), "json", b"[1, 2]")
    assert got(tmp_path, notes) == (MADE, 1) and len(notes) == 1
    assert got(tmp_path, notes) == (MADE, 0) and len(notes) == 1


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path):
    (tmp_path / "file").write_text("mine")
    assert got(tmp_path / "file", []) == got(tmp_path / "file" / "below", []) == (MADE, 1)


def killed_writer(folder: Path) -> None:
    files.sync = lambda path: os.kill(os.getpid(), signal.SIGKILL)
    write_cached(folder, "key", "npz", b"x" * 1000)


def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path):
    for _ in range(2):
        forked = multiprocessing.get_context("fork")
        writer = forked.Process(target=killed_writer, args=(tmp_path,))
        writer.start()
        writer.join()
        assert writer.exitcode == -signal.SIGKILL and len(list(tmp_path.glob("*.tmp"))) == 1
    write_cached(tmp_path, "other", "npz", b"y")
    assert not list(tmp_path.glob("*.tmp")) and len(list(tmp_path.glob("*.npz"))) == 1
