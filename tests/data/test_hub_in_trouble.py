"""What a user meets: no network, a file that the hub does not have, a damaged download or archive. One sentence for each."""

import io
import tarfile
import time

import pytest
from fetching import TEXT, nothing_kept, text

from core.data import hub
from core.spec.errors import UserError


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """The client tries again without waiting."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


def test_no_network(served, tmp_path):
    served.stop()
    with pytest.raises(
        UserError, match="wiki1m.* cannot be fetched .*refused.*; check the network and HF_ENDPOINT, .*--scale demo runs without"
    ):
        text(tmp_path)
    assert nothing_kept(tmp_path)


@pytest.mark.parametrize("fault, reason", [("503", "503 Service Unavailable"), ("page", ""), ("truncated", "")])
def test_an_answer_that_is_not_the_file(served, tmp_path, fault, reason):
    served.fault = fault
    with pytest.raises(UserError, match=f"wiki1m.* cannot be fetched .*{reason}.*--data-dir and --encoder"):
        text(tmp_path)
    assert nothing_kept(tmp_path)
    served.fault = None
    assert text(tmp_path).read_bytes() == TEXT


@pytest.mark.parametrize(
    "name, message", [("../outside", "cannot be unpacked"), ("fine", "holds no SentEval data"), (None, "cannot be unpacked")]
)
def test_a_bad_archive_leaves_nothing(tmp_path, name, message):
    archive = tmp_path / "inside" / "senteval.tar"
    archive.parent.mkdir()
    archive.write_bytes(b"no archive at all")
    if name is not None:
        with tarfile.open(archive, "w") as tar:
            member = tarfile.TarInfo(name)
            member.size = 1
            tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(UserError, match=f"{message}.*--scale demo"):
        hub.unpack(archive)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [".senteval.lock", "senteval.tar"]
