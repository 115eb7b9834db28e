"""A hub on this machine for the tests of fetching."""

import io
import tarfile

import pytest
import senteval_folder
import tiny_checkpoint
from fetching import TEXT
from hub_server import Hub

from core.data import hub
from core.data.hub import CORPUS_FILE, DATA, EVALUATION_FILE


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """What the made-up hub holds: text, sets and an encoder."""
    folder = tmp_path_factory.mktemp("contents")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        root = senteval_folder.build(folder / "senteval")
        for name in ("STS", "SICK"):
            tar.add(root / name, arcname=name)
    files = {(DATA.name, CORPUS_FILE): TEXT, (DATA.name, EVALUATION_FILE): archive.getvalue()}
    model = tiny_checkpoint.bert(folder / "model")
    for file in model.iterdir():
        files["tiny/bert", file.name] = file.read_bytes()
    return files


@pytest.fixture
def served(contents, monkeypatch):
    with Hub(dict(contents), lfs={CORPUS_FILE, EVALUATION_FILE, "model.safetensors"}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setattr(hub, "CORPUS_ROWS", (1000,))
        yield server
