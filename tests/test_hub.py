"""Fetching from the hub, against a hub on this machine: once, checked, then offline; one sentence for each failure."""

import dataclasses
import hashlib
import io
import json
import socket
import tarfile
from pathlib import Path

import pytest
import senteval_folder
import tiny_checkpoint
import torch
from hub_server import COMMIT, Hub
from safetensors.torch import load_file

from core.data import hub, hub_pins
from core.data.hub_pins import CORPUS_FILE, DATA, EVALUATION_FILE, Repository
from core.data.sts import load_sts
from core.spec.errors import UserError
from core.spec.views import MODELS, OWN_ENCODER

TEXT = b"".join(b"sentence %d\n" % i for i in range(1000))
SHA = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """What the made-up hub holds: text, sets, and an encoder as safetensors and as a pickle."""
    folder = tmp_path_factory.mktemp("contents")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        root = senteval_folder.build(folder / "senteval")
        for name in ("STS", "SICK"):
            tar.add(root / name, arcname=name)
    files = {(DATA.name, CORPUS_FILE): TEXT, (DATA.name, EVALUATION_FILE): archive.getvalue()}
    model = tiny_checkpoint.bert(folder / "model")
    torch.save(load_file(model / "model.safetensors"), model / "pytorch_model.bin")
    for file in model.iterdir():
        files["tiny/bert", file.name] = file.read_bytes()
    return files


@pytest.fixture
def served(contents, monkeypatch):
    with Hub(dict(contents), lfs={CORPUS_FILE, EVALUATION_FILE, "model.safetensors", "pytorch_model.bin"}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setattr(hub, "CORPUS_ROWS", (1000,))
        yield server


def text(tmp_path, **changes):
    return hub.fetch(dataclasses.replace(DATA, **changes), CORPUS_FILE, tmp_path)


def locked(tmp_path):
    return json.loads((tmp_path / "hub" / "lock.json").read_text())


def tiny(weights, digest=None):
    return Repository("tiny/bert", "model", None, {
        "config.json": None, weights: digest, "tokenizer.json": None, "tokenizer_config.json": None,
    })  # fmt: skip


def test_everything_once_then_offline(served, tmp_path, monkeypatch):
    monkeypatch.setitem(hub_pins.ENCODERS, "tiny", tiny("model.safetensors"))
    found = hub.prefetch(tmp_path, "tiny")
    assert Path(found["corpus_path"]).read_bytes() == TEXT
    assert len(load_sts(found["evaluation_path"])) == 8
    assert found["encoder_name"] == "tiny" and found["encoder_path"].endswith("hub/bert")
    entry = locked(tmp_path)[f"datasets/{DATA.name}"]
    assert entry["revision"] == COMMIT and entry["files"][CORPUS_FILE] == SHA
    asked = len(served.asked)
    assert ("HEAD", f"/datasets/{DATA.name}/resolve/main/{CORPUS_FILE}") in served.asked
    assert hub.prefetch(tmp_path, "tiny") == found and len(served.asked) == asked  # nothing is asked again
    served.stop()
    assert hub.prefetch(tmp_path, "tiny") == found


def test_only_the_wanted_part_is_fetched(served, tmp_path, monkeypatch):
    monkeypatch.setitem(hub_pins.ENCODERS, "tiny", tiny("model.safetensors"))
    assert set(hub.prefetch(tmp_path, "tiny", parts=["encoder"])) == {"encoder_path", "encoder_name"}
    assert not any(DATA.name in path for _, path in served.asked)
    assert set(hub.prefetch(tmp_path, "tiny", parts=["data"])) == {f"{p}_{k}" for p in ("corpus", "evaluation") for k in ("path", "name")}


def test_a_pickle_is_converted(served, tmp_path):
    folder = hub.fetch_encoder(tiny("pytorch_model.bin"), tmp_path)
    converted, original = load_file(folder / "model.safetensors"), torch.load(folder / "pytorch_model.bin", weights_only=True)
    assert converted.keys() == original.keys() and all(torch.equal(converted[name], original[name]) for name in original)
    from core.engine.evaluation.encoding import load_checkpoint

    assert load_checkpoint(folder, pooling="pooler").max_length == 20


def test_a_pickle_with_code_is_refused(served, tmp_path):
    class Code:
        def __reduce__(self):
            return print, ("run",)

    buffer = io.BytesIO()
    torch.save({"x": Code()}, buffer)
    served.files["tiny/bert", "pytorch_model.bin"] = buffer.getvalue()
    with pytest.raises(UserError, match="pytorch_model.bin cannot be read"):
        hub.fetch_encoder(tiny("pytorch_model.bin"), tmp_path)


def test_a_known_digest_and_revision(served, tmp_path):
    files = {**DATA.files, CORPUS_FILE: SHA}
    assert text(tmp_path, revision=COMMIT, files=files).read_bytes() == TEXT
    assert ("HEAD", f"/datasets/{DATA.name}/resolve/{COMMIT}/{CORPUS_FILE}") in served.asked


def test_a_wrong_digest_is_refused_and_not_kept(served, tmp_path):
    wrong = {**DATA.files, CORPUS_FILE: "0" * 64}
    with pytest.raises(UserError, match=f"has SHA-256 {SHA[:12]}… instead of 000000000000….*--scale demo runs without"):
        text(tmp_path, files=wrong)
    assert not (tmp_path / "hub" / "datasets-for-simcse" / CORPUS_FILE).exists() and not (tmp_path / "hub" / "lock.json").exists()


@pytest.mark.parametrize("name, kind", [(CORPUS_FILE, "SHA-256"), ("config.json", "git id")])
def test_content_that_is_not_what_the_hub_declares(served, tmp_path, name, kind):
    served.fault = "corrupt"
    repository = DATA if name == CORPUS_FILE else tiny("model.safetensors")
    with pytest.raises(UserError, match=f"{name} from .* has {kind} .* but the hub declares"):
        hub.fetch(repository, name, tmp_path)
    served.fault = None
    assert hub.fetch(repository, name, tmp_path).read_bytes() == served.files[repository.name, name]


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


def test_another_revision_than_pinned(served, tmp_path):
    served.aliases = ("a" * 40,)
    with pytest.raises(UserError, match="is at revision cccccccccccc instead of aaaaaaaaaaaa"):
        text(tmp_path, revision="a" * 40)


def test_another_revision_than_accepted_before(served, tmp_path):
    path = text(tmp_path)
    path.write_bytes(b"damaged")
    served.commit, served.aliases = "d" * 40, (COMMIT,)
    with pytest.raises(UserError, match="is at revision dddddddddddd instead of cccccccccccc"):
        text(tmp_path)


def test_other_content_than_accepted_before(served, tmp_path):
    text(tmp_path).write_bytes(b"damaged")
    served.files[DATA.name, CORPUS_FILE] = TEXT.replace(b"7", b"8")
    with pytest.raises(UserError, match=f"instead of {SHA[:12]}"):
        text(tmp_path)
    assert locked(tmp_path)[f"datasets/{DATA.name}"]["files"][CORPUS_FILE] == SHA
    served.files[DATA.name, CORPUS_FILE] = TEXT
    assert text(tmp_path).read_bytes() == TEXT  # mended


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

    monkeypatch.setattr(hub, "_TIMEOUT", 0.2)
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
    assert not list(tmp_path.rglob(CORPUS_FILE)) and not (tmp_path / "hub" / "lock.json").exists()
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
        assert not (tmp_path / "hub" / "datasets-for-simcse" / CORPUS_FILE).exists()
    served.fault = None
    served.patience.set()
    assert text(tmp_path).read_bytes() == TEXT


@pytest.mark.parametrize("content", ["[]", "3", '{"datasets/princeton-nlp/datasets-for-simcse": []}', '{"datasets/x/y": {"files": 3}}', "["  * 100_000])
def test_a_lock_of_another_shape(served, tmp_path, content):
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "lock.json").write_text(content)
    with pytest.raises(UserError, match="lock.json cannot be read; delete the folder"):
        text(tmp_path)


def test_whatever_else_goes_wrong_is_a_last_sentence(tmp_path, monkeypatch, capsys):
    def broken(*_, **__):
        raise RuntimeError("no idea\nat all")

    monkeypatch.setattr(hub, "prefetch", broken)
    assert hub.main(["prefetch", "--scale", "mini", "--cache-dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "Fetching failed (RuntimeError: no idea); use --data-dir and --encoder (--scale demo runs without)."


def test_no_such_file(served, tmp_path):
    del served.files[DATA.name, CORPUS_FILE]
    with pytest.raises(UserError, match=r"has no wiki1m_for_simcse.txt .*\(status 404\)"):
        text(tmp_path)


def test_something_that_is_no_hub(served, tmp_path):
    served.fault = "no commit"
    with pytest.raises(UserError, match="does not answer like a model hub.*check HF_ENDPOINT"):
        text(tmp_path)


def test_wrong_row_count(served, tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "CORPUS_ROWS", (1_000_000, 1_000_001))
    with pytest.raises(UserError, match="has 1000 lines, but 1000000 are published"):
        hub.prefetch(tmp_path, "bert-base-uncased")


@pytest.mark.parametrize("content, rows", [(b"a\nb\n", 2), (b"a\nb", 2), (b"a\n\nb\n", 3)])
def test_rows_are_lines(tmp_path, monkeypatch, content, rows):
    (tmp_path / "text").write_bytes(content)
    monkeypatch.setattr(hub, "CORPUS_ROWS", (rows,))
    hub.check_rows(tmp_path / "text")


def archive_with(path, name, content=b"x"):
    with tarfile.open(path, "w") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize("name, message", [("../outside", "cannot be unpacked"), ("fine", "holds no SentEval data")])
def test_a_bad_archive_leaves_nothing(tmp_path, name, message):
    archive = tmp_path / "inside" / "senteval.tar"
    archive.parent.mkdir()
    archive_with(archive, name)
    with pytest.raises(UserError, match=message):
        hub.unpack(archive)
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["senteval.tar"]


def test_a_torn_archive(tmp_path):
    archive = tmp_path / "senteval.tar"
    archive.write_bytes(b"no archive at all")
    with pytest.raises(UserError, match="cannot be unpacked.*--scale demo"):
        hub.unpack(archive)


def test_a_damaged_lock(served, tmp_path):
    text(tmp_path)
    (tmp_path / "hub" / "lock.json").write_text("{")
    with pytest.raises(UserError, match="lock.json cannot be read; delete the folder"):
        text(tmp_path)


def test_the_command(served, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(hub_pins.ENCODERS, "tiny", tiny("model.safetensors"))
    command = ["prefetch", "--scale", "mini", "--cache-dir", str(tmp_path), "--encoder"]
    assert hub.main([*command, "tiny"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(said) == {f"{part}_{what}" for part in ("corpus", "evaluation", "encoder") for what in ("path", "name")}
    assert hub.main([*command, "other"]) == 2
    assert "There is no pinned encoder 'other'; choose bert-base-uncased" in capsys.readouterr().err


def test_models_that_rewrite_text_are_fetched_alone_and_found_again(served, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(hub_pins.TEXT_MODELS, "tiny", (tiny("pytorch_model.bin"),))
    with pytest.raises(UserError, match="does not hold the model tiny; give the command again with a network"):
        hub.model_folders("tiny", tmp_path)
    assert hub.main(["prefetch", "--scale", "paper", "--cache-dir", str(tmp_path), "--text-models", "tiny"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"text_models": ["tiny"]}
    assert not any(DATA.name in path for _, path in served.asked)
    assert [(folder / "model.safetensors").is_file() for folder in hub.model_folders("tiny", tmp_path)] == [True]


def test_pins_are_well_formed():
    models = {model for known in MODELS.values() for model in known} - {OWN_ENCODER}
    assert models == set(hub_pins.TEXT_MODELS)
    rewriting = [repository for repositories in hub_pins.TEXT_MODELS.values() for repository in repositories]
    for repository in (DATA, *hub_pins.ENCODERS.values(), *rewriting):
        assert repository.revision is None or len(repository.revision) == 40
        assert all(digest is None or len(bytes.fromhex(digest)) == 32 for digest in repository.files.values())
    assert set(hub_pins.DEFAULT_ENCODER.values()) <= set(hub_pins.ENCODERS)
