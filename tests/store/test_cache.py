"""The cache keeps what was made, believes nothing that was changed, and stops nobody."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from core.store.cache import keep, kept, key_digest

MADE = {"value": 34.28}


def file_of(folder: Path) -> Path:
    (path,) = folder.glob("*.json")
    return path


def got(folder: Path, notes: list) -> tuple[dict, int]:
    """The value that is kept under a key, and how many times it was made."""
    made = []

    def make():
        made.append(1)
        return MADE

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.store.cache.say", notes.append)
        value = kept(folder, ["key", 1], make, load=lambda content: dict(json_of(content)))
    return value, len(made)


def json_of(content: bytes) -> dict:
    value = json.loads(content)
    return {"value": float(value["value"])}


def test_a_value_is_made_once_by_key(tmp_path):
    notes: list[str] = []
    assert [got(tmp_path, notes) for _ in range(3)] == [(MADE, 1), (MADE, 0), (MADE, 0)]
    assert not notes
    assert kept(tmp_path, ["key", 2], lambda: "other") == "other"
    assert kept(tmp_path, ["key", 1], list) == MADE


def changed(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def replaced(make):
    def change(path: Path) -> None:
        path.unlink()
        make(path)

    return change


def linked(path: Path) -> None:
    path.with_name("elsewhere").write_text('{"value": 99.99}')
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "change",
    [
        lambda path: changed(path, b'{"value": 99.99}'),
        lambda path: changed(path, '{"value": 34.28}'.encode("utf-16")),
        lambda path: changed(path, b""),
        lambda path: changed(path, b"[]"),
        lambda path: path.rename(path.with_name(path.name.replace(".", ".0", 1))),
        replaced(os.mkfifo),
        replaced(os.mkdir),
        replaced(linked),
        replaced(lambda path: path.symlink_to(path)),
    ],
    ids=["number", "encoding", "empty", "shape", "name", "fifo", "folder", "link", "loop"],
)
def test_what_is_not_as_it_was_written_is_made_anew_with_a_line(tmp_path, change):
    notes: list[str] = []
    got(tmp_path, notes)
    change(file_of(tmp_path))
    path = file_of(tmp_path)
    assert got(tmp_path, notes) == (MADE, 1)
    assert notes == [f"{path} is not as it was written, so it is made anew."]
    if not path.is_dir():  # nothing of a user's is removed with all that it holds
        assert got(tmp_path, notes) == (MADE, 0) and len(notes) == 1


def test_a_sealed_file_of_another_shape_is_made_anew(tmp_path):
    notes: list[str] = []
    keep(tmp_path, key_digest(["key", 1]), "json", b"[1, 2]")
    assert got(tmp_path, notes) == (MADE, 1) and len(notes) == 1
    assert got(tmp_path, notes) == (MADE, 0) and len(notes) == 1


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path):
    (tmp_path / "file").write_text("mine")
    assert got(tmp_path / "file", []) == got(tmp_path / "file" / "below", []) == (MADE, 1)


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from core.store import cache, files
files.sync = lambda path: os.kill(os.getpid(), signal.SIGKILL)
cache.keep(Path(sys.argv[2]), "key", "npz", b"x" * 1000)
"""


def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path):
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, ROOT, tmp_path], check=False)
        assert done.returncode == -signal.SIGKILL and len(list(tmp_path.glob("*.tmp"))) == 1
    keep(tmp_path, "other", "npz", b"y")
    assert not list(tmp_path.glob("*.tmp")) and len(list(tmp_path.glob("*.npz"))) == 1
