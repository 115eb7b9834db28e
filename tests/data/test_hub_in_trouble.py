"""A hub that is slow, wrong, endless or not there: one sentence for each failure, and nothing half-fetched is kept."""

import socket
import time

import pytest
from fetching import TEXT, nothing_kept, text

from core.data import hub, traffic
from core.data.pins import CORPUS_FILE, DATA
from core.spec.errors import UserError


def test_truncated(served, tmp_path):
    served.fault = "truncated"
    with pytest.raises(UserError, match="arrived truncated; give the same command again.*--scale demo runs without"):
        text(tmp_path)
    served.fault = None
    assert text(tmp_path).read_bytes() == TEXT


def test_too_many_requests(served, tmp_path):
    served.fault = "429"
    with pytest.raises(UserError, match=r"too many requests \(429\); wait some minutes.*--scale demo runs without"):
        text(tmp_path)
    assert len(served.asked) == 1


@pytest.mark.parametrize(
    "fault, sentence",
    [
        ("endless", "sends more for wiki1m.* than the [0-9,]+ bytes that it may"),
        ("drip", r"sends wiki1m.* too slowly \(below 10,000 bytes a second\)"),
        ("circle", "does not answer like a model hub about wiki1m"),
        ("packed", "sends wiki1m.* in an encoding that was not asked for"),
        ("huge", "declares 9,000,000,000,000 bytes for wiki1m.*, which no such file has"),
        ("wait", r"too many requests \(429\); wait some minutes"),
        ("fails late", "answered wiki1m.* with status 500; try again later"),
    ],
)
def test_what_a_hub_sends_is_bounded(served, tmp_path, monkeypatch, fault, sentence):
    monkeypatch.setattr(traffic, "GRACE", 3.0 if fault == "drip" else 60.0)
    served.fault = fault
    began = time.monotonic()
    with pytest.raises(UserError, match=f"{sentence}.*--scale demo runs without"):
        text(tmp_path)
    assert nothing_kept(tmp_path) and time.monotonic() - began < 60 and len(served.asked) < 20
    monkeypatch.setattr(traffic, "GRACE", 60.0)
    served.fault = None
    served.patience.set()
    assert text(tmp_path).read_bytes() == TEXT


def test_offline_by_the_client_s_own_switch_is_a_sentence(served, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="is not at hand and HF_HUB_OFFLINE is set"):
        text(tmp_path)
    assert not served.asked


def test_unreachable(tmp_path, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    with pytest.raises(UserError, match="cannot be reached for wiki1m.*--data-dir and --encoder.*--scale demo runs without"):
        text(tmp_path)


@pytest.fixture
def hurried(monkeypatch):
    """Waits of a fraction of a second, in our own code and in the hub client's."""
    import time

    from huggingface_hub import constants

    monkeypatch.setattr(traffic, "TIMEOUT", 0.2)
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


@pytest.mark.parametrize(
    "fault, sentence",
    [
        ("slow", "cannot be reached for wiki1m.*--data-dir and --encoder"),
        ("503", "answered wiki1m.* with status 503; try again later"),
        ("page", "does not answer like a model hub.*check HF_ENDPOINT"),
    ],
)
def test_a_hub_in_trouble(served, hurried, tmp_path, fault, sentence):
    served.fault = fault
    with pytest.raises(UserError, match=f"{sentence}.*--scale demo runs without"):
        text(tmp_path)
    assert nothing_kept(tmp_path)
    served.fault = None
    served.patience.set()
    assert text(tmp_path).read_bytes() == TEXT


@pytest.mark.parametrize("fault", ["stalled", "reset"])
def test_a_download_that_breaks_off_is_taken_up_again_and_checked(served, hurried, tmp_path, fault):
    served.fault = fault
    try:
        assert text(tmp_path).read_bytes() == TEXT  # half of what is left at each attempt, until all is there
    except UserError as error:
        assert "give the same command again" in str(error) or "cannot be reached" in str(error)
        assert nothing_kept(tmp_path)
    served.fault = None
    served.patience.set()
    assert text(tmp_path).read_bytes() == TEXT


def test_whatever_else_goes_wrong_is_a_last_sentence(tmp_path, monkeypatch, capsys):
    def broken(*_, **__):
        raise RuntimeError("no idea\nat all")

    monkeypatch.setattr(hub, "prefetch", broken)
    assert hub.main(["prefetch", "--scale", "mini", "--cache-dir", str(tmp_path)]) == 2
    assert (
        capsys.readouterr().err.splitlines()[-1]
        == "Fetching failed (RuntimeError: no idea); use --data-dir and --encoder (--scale demo runs without)."
    )


def test_no_such_file(served, tmp_path):
    del served.files[DATA.name, CORPUS_FILE]
    with pytest.raises(UserError, match=r"has no wiki1m_for_simcse.txt .*\(status 404\)"):
        text(tmp_path)


def test_something_that_is_no_hub(served, tmp_path):
    served.fault = "no commit"
    with pytest.raises(UserError, match="does not answer like a model hub.*check HF_ENDPOINT"):
        text(tmp_path)
