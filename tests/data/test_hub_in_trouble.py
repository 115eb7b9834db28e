"""What a user meets: no network, a file that the hub does not have, a damaged download or archive. One sentence for each."""

import io
import tarfile
import time

import pytest
from fetching import TEXT, nothing_kept, text

from core.data import hub
from core.data.hub import CORPUS_FILE, DATA
from core.data.sources import Places
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


def test_offline_by_the_client_s_own_switch(served, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="cannot be fetched .*offline mode is enabled"):
        text(tmp_path)
    assert not served.asked


@pytest.mark.parametrize("fault, reason", [("503", "503 Service Unavailable"), ("page", ""), ("truncated", "")])
def test_an_answer_that_is_not_the_file(served, tmp_path, fault, reason):
    served.fault = fault
    with pytest.raises(UserError, match=f"wiki1m.* cannot be fetched .*{reason}.*--data-dir and --encoder"):
        text(tmp_path)
    assert nothing_kept(tmp_path)
    served.fault = None
    assert text(tmp_path).read_bytes() == TEXT


def test_a_file_that_the_hub_does_not_have(served, tmp_path):
    del served.files[DATA.name, CORPUS_FILE]
    with pytest.raises(
        UserError,
        match="wiki1m_for_simcse.txt of princeton-nlp/datasets-for-simcse cannot be fetched .Client error '404 Not Found'.; check",
    ):
        text(tmp_path)


def test_a_text_of_another_length(served, tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "CORPUS_ROWS", (1_000_000, 1_000_001))
    with pytest.raises(UserError, match="has 1000 lines, but 1000000 are published"):
        hub.fetch_parts(Places(), tmp_path)


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
