"""Fetching against a hub on this machine: once, checked, then offline; and one sentence for
whatever goes wrong."""

import dataclasses
import hashlib
import io
import json
import socket
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import senteval_folder
import tiny_checkpoint

from core.config.methods import base
from core.config.scale import MINI, EncoderSource
from core.config.vary import vary
from core.data import hub, own_data
from core.data.hub import CORPUS_FILE, DATA, EVALUATION_FILE, Repository
from core.data.sources import NOT_FETCHED, sources_of
from core.data.sts import load_sts
from core.errors import UserError
from core.evaluation.encoding import load_checkpoint
from core.methods.mocose.sections import TextView
from core.runner import cli
from core.store.store import Store

COMMIT = "c" * 40
LFS = {CORPUS_FILE, EVALUATION_FILE, "model.safetensors"}


class Hub(ThreadingHTTPServer):
    """Files of repositories, served under /[datasets/]REPOSITORY/resolve/REVISION/FILE; requests
    are listed in `asked`.

    `files` maps (repository, file) to content. Large files (LFS) are declared by SHA-256 and
    reached by a redirect, small files by their git object id. `fault` bends the answers:
    `truncated` or `corrupt` bodies, a `page` in the hub's place, or a status.
    """

    daemon_threads = True

    def __init__(self, files: dict[tuple[str, str], bytes]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.commit = COMMIT
        self.fault = None
        self.asked = []
        often = {"poll_interval": 0.02}
        threading.Thread(target=self.serve_forever, kwargs=often, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"
        # another host by name, as on the real hub
        self.cdn = f"http://localhost:{self.server_port}"

    def stop(self) -> None:
        """Close the port; asking again is asking an unreachable hub."""
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        hub = self.server
        hub.asked.append((self.command, self.path))
        if str(hub.fault).isdigit():
            return self.reply(int(hub.fault))
        if hub.fault == "page":
            return self.content(b"<html>Please log in.</html>", {})
        if self.path.startswith("/cdn/"):
            owner, repository, name = self.path.removeprefix("/cdn/").split("/", 2)
            return self.content(hub.files[f"{owner}/{repository}", name], {})
        if self.path.startswith("/api/models/"):
            repository = self.path.removeprefix("/api/models/").partition("/tree/")[0]
            names = [name for place, name in hub.files if place == repository]
            listed = [{"type": "file", "path": name, "size": 1, "oid": "0"} for name in names]
            if not listed:
                return self.reply(404, {"X-Error-Code": "RepoNotFound"})
            return self.reply(200, {}, json.dumps(listed).encode())
        place, _, tail = self.path.removeprefix("/datasets").lstrip("/").partition("/resolve/")
        revision, _, name = tail.partition("/")
        if (place, name) not in hub.files or revision not in ("main", hub.commit):
            return self.reply(404, {"X-Error-Code": "EntryNotFound"})
        content = hub.files[place, name]
        headers = {"X-Repo-Commit": hub.commit}
        if name not in LFS:
            git_id = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            return self.content(content, {**headers, "ETag": f'"{git_id}"'})
        headers["X-Linked-Etag"] = f'"{hashlib.sha256(content).hexdigest()}"'
        headers["X-Linked-Size"] = str(len(content))
        headers["Location"] = f"{hub.cdn}/cdn/{place}/{name}"
        return self.reply(302, headers)

    def content(self, content: bytes, headers: dict[str, str]):
        asked = self.headers.get("Range", "bytes=0-")
        start = int(asked.removeprefix("bytes=").split("-")[0])
        sent = content[start:]
        if self.command == "GET" and self.server.fault == "truncated":
            sent = sent[:-10]
        if self.command == "GET" and self.server.fault == "corrupt":
            sent = sent[:-1] + bytes([sent[-1] ^ 1])
        if start:
            headers |= {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        self.reply(206 if start else 200, {**headers, "Content-Length": str(len(sent))}, sent)

    def reply(self, status: int, headers: dict[str, str] | None = None, body: bytes = b""):
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET
    log_message = lambda *_: None


TEXT = b"".join(b"sentence %d\n" % i for i in range(1000))
SHA = hashlib.sha256(TEXT).hexdigest()
TINY = Repository(
    "tiny/bert",
    None,
    dict.fromkeys(("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")),
)


def text(tmp_path, **changes):
    """The made-up training text's path after fetching."""
    return hub.fetch(dataclasses.replace(DATA, **changes), CORPUS_FILE, tmp_path)


def nothing_kept(tmp_path):
    """Whether no file has the text's name, and no blob is whole."""
    return not [
        path for path in tmp_path.rglob("*") if path.name in (CORPUS_FILE, SHA) and path.is_file()
    ]


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
    for file in tiny_checkpoint.bert(folder / "model").iterdir():
        files["tiny/bert", file.name] = file.read_bytes()
    return files


@pytest.fixture
def served(contents, monkeypatch):
    server = Hub(dict(contents))
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    yield server
    server.stop()


@pytest.fixture
def tiny_default(monkeypatch):
    monkeypatch.setitem(hub.REPOSITORIES, "bert-base", [TINY])
    about = {"hidden": 16, "positions": 20, "masked_words": False, "unused": []}
    monkeypatch.setattr("core.data.encoders._loaded", lambda folder: dict(about))


def test_everything_once_then_offline(served, tiny_default, tmp_path):
    places = hub.fetch_parts(NOT_FETCHED, tmp_path)
    assert places.corpus.read_bytes() == TEXT and len(load_sts(places.evaluation)) == 8
    assert places.encoder.folder == tmp_path / "hub" / "models--tiny--bert" / "snapshots" / COMMIT
    assert places.corpus.name == "wiki1m_for_simcse.txt"
    assert places.encoder.name == "bert"
    asked = len(served.asked)
    assert ("HEAD", f"/datasets/{DATA.name}/resolve/main/{CORPUS_FILE}") in served.asked
    # nothing is asked again
    assert hub.fetch_parts(NOT_FETCHED, tmp_path) == places and len(served.asked) == asked
    score = places.evaluation / "STS" / "STSBenchmark" / "sts-dev.csv"
    content = score.read_bytes()
    score.write_bytes(content.replace(b"1", b"2", 1))
    # unpacked anew
    assert hub.fetch_parts(NOT_FETCHED, tmp_path) == places and score.read_bytes() == content
    config = places.encoder.folder / "config.json"
    content = config.read_bytes()
    config.resolve().write_bytes(content.replace(b"2", b"3", 1))
    # fetched anew
    assert hub.fetch_parts(NOT_FETCHED, tmp_path) == places and config.read_bytes() == content
    served.stop()
    assert hub.fetch_parts(NOT_FETCHED, tmp_path) == places


def test_only_what_is_missing_is_fetched(served, tiny_default, monkeypatch, tmp_path):
    own = {"encoders": (EncoderSource("bert-base", "e", 16, "e", folder=Path("e")),)}
    pairs = (("x", Path("x")),)
    parts = {"text": CORPUS_FILE, "sets": "senteval.tar", "encoder": "config.json"}
    for number, (given, fetched) in enumerate(
        (
            (own, ["text", "sets"]),
            ({"corpus": Path("t"), "own_text": True}, ["sets", "encoder"]),
            ({**own, "pairs": (*pairs, ("dev", Path("d")))}, ["text"]),
            ({**own, "corpus": Path("t"), "pairs": pairs}, ["sets"]),
        )
    ):
        served.asked.clear()
        sources = dataclasses.replace(NOT_FETCHED, **given)
        assert hub.missing_parts(sources) == fetched
        whole = hub.fetch_parts(sources, tmp_path / str(number))
        asked = {path.rpartition("/")[2] for _, path in served.asked}
        assert [part for part, name in parts.items() if name in asked] == fetched
        assert all(getattr(whole, field) == value for field, value in given.items())
    monkeypatch.setitem(hub.REPOSITORIES, "bert-large", [TINY])
    roberta = EncoderSource("roberta-base", "r", 768, "r", folder=Path("r"))
    at_hand = dataclasses.replace(NOT_FETCHED, corpus=Path("t"), evaluation=Path("s"), **own)
    at_hand = at_hand.with_encoders(roberta)
    places = hub.fetch_parts(at_hand, tmp_path, ["bert-large", "roberta-base"])
    folders = {encoder.stands_for: encoder.folder.name for encoder in places.encoders}
    assert folders == {"bert-base": "e", "roberta-base": "r", "bert-large": COMMIT}


def test_an_encoder_at_a_commit_is_fetched_once_as_tensors_and_then_needs_no_hub(served, tmp_path):
    others = ("pytorch_model.bin", "run.py", "onnx/model.safetensors", "sub/dir/config.json")
    for name in (*others, "modules.json", "1_Pooling/config.json"):
        served.files["tiny/bert", name] = b"{}"
    place = Path(f"hf:tiny/bert@{COMMIT}")
    with pytest.raises(UserError, match="only a command that trains fetches"):
        hub.encoder_folder(place, tmp_path, offline=True)
    folder = hub.encoder_folder(place, tmp_path)
    assert folder == tmp_path / "hub" / "models--tiny--bert" / "snapshots" / COMMIT
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {*TINY.files, "modules.json", "1_Pooling/config.json"}
    load_checkpoint(folder)
    assert hub.encoder_folder(tmp_path, tmp_path) == tmp_path
    for name, fault in ((f"tiny/other@{COMMIT}", "cannot be fetched"), ("tiny/bert", "40 digits")):
        with pytest.raises(UserError, match=fault):
            hub.encoder_folder(Path(f"hf:{name}"), tmp_path)
    served.stop()
    assert hub.encoder_folder(place, tmp_path, offline=True) == folder


def test_a_command_on_studies_takes_an_encoder_of_the_hub(served, tiny_default, tmp_path):
    order = cli.parse(["table3", "--scale", "mini", "--encoder", f"hf:tiny/bert@{COMMIT}"])
    assert cli.parse(cli.words(order)) == order
    sources = sources_of(order.data, MINI, "train", (), Store(tmp_path, None), tmp_path)
    assert sources.encoder.name == "bert" and sources.encoder.folder.name == COMMIT


def test_models_that_rewrite_text_are_fetched_once_and_if_needed(served, tmp_path, monkeypatch):
    def fetch(*views):
        runs = [vary(base("mocose", "paper"), {"text": view}) for view in views]
        hub.fetch_text_models(tmp_path, runs)

    monkeypatch.setitem(hub.REPOSITORIES, "xlnet-base-cased", [TINY])
    fetch(TextView(kind="typos"), TextView(kind="contextual_insert", model="encoder"), None)
    assert not served.asked
    with pytest.raises(UserError, match="does not hold config.json of tiny/bert"):
        hub.model_folders("xlnet-base-cased", tmp_path)
    fetch(*[TextView(kind="continuation", model="xlnet-base-cased")] * 2)
    got = [path.rpartition("/")[2] for method, path in served.asked if method == "GET"]
    assert got.count("config.json") == 1
    (folder,) = hub.model_folders("xlnet-base-cased", tmp_path)
    assert (folder / "model.safetensors").is_file()


def test_what_is_not_what_the_hub_declares_or_is_pinned_is_not_kept(served, tmp_path):
    with pytest.raises(
        UserError, match=f"has the digest {SHA[:12]}…, which is not its own; .* --scale demo"
    ):
        text(tmp_path, files={**DATA.files, CORPUS_FILE: "0" * 64})
    assert nothing_kept(tmp_path)
    path = text(tmp_path, revision=COMMIT, files={**DATA.files, CORPUS_FILE: SHA})
    assert path.read_bytes() == TEXT
    assert ("HEAD", f"/datasets/{DATA.name}/resolve/{COMMIT}/{CORPUS_FILE}") in served.asked
    path.resolve().write_bytes(b"damaged")
    assert text(tmp_path).read_bytes() == TEXT  # fetched again, and stays when the hub moves on
    served.commit, served.files[DATA.name, CORPUS_FILE] = "d" * 40, b"other\n"
    assert text(tmp_path).read_bytes() == TEXT


@pytest.mark.parametrize("fault", ["stopped", "503", "page", "truncated", "corrupt"])
def test_an_answer_that_is_not_the_file_is_one_sentence(served, tmp_path, monkeypatch, fault):
    # the client tries again without waiting
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    served.stop() if fault == "stopped" else setattr(served, "fault", fault)
    sentences = {"corrupt": "wiki1m.* has the digest", "stopped": "127.0.0.1:.* does not answer"}
    sentence = sentences.get(
        fault, "wiki1m.* cannot be fetched .*; check the network and HF_ENDPOINT"
    )
    with pytest.raises(UserError, match=f"{sentence}.*--data-dir.*--encoder"):
        text(tmp_path)
    assert nothing_kept(tmp_path)
    if fault != "stopped":
        served.fault = None
        assert text(tmp_path).read_bytes() == TEXT


def test_a_silent_hub_is_one_sentence_within_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(own_data, "HUB_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(UserError, match="does not answer .timed out"):
            own_data.data_file(f"hf:some/texts@{'a' * 40}#train", "text", tmp_path)


@pytest.mark.parametrize(
    "name, message",
    [
        ("../outside", "cannot be unpacked"),
        ("fine", "0 folders of SentEval data"),
        (None, "cannot be unpacked"),
    ],
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
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == [".senteval.lock", "senteval.tar"]
