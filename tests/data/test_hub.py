"""Fetching from the hub, against a hub on this machine: once, checked, then offline."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import torch
from fetching import PLACE, SHA, TEXT, accepted, damage, nothing_kept, text, tiny
from hub_server import COMMIT
from safetensors.torch import load_file

from core.data import hub, pins
from core.data.pins import CORPUS_FILE, DATA
from core.data.sts import load_sts
from core.spec.errors import UserError
from core.spec.views import MODELS, OWN_ENCODER


def test_everything_once_then_offline(served, tmp_path, monkeypatch):
    monkeypatch.setitem(pins.ENCODERS, "tiny", tiny("model.safetensors"))
    found = hub.prefetch(tmp_path, "tiny")
    assert Path(found["corpus_path"]).read_bytes() == TEXT
    assert len(load_sts(found["evaluation_path"])) == 8
    assert found["encoder_name"] == "tiny" and found["encoder_path"].endswith(f"hub/models--tiny--bert/snapshots/{COMMIT}")
    assert accepted(tmp_path)[0] == COMMIT and SHA in accepted(tmp_path)[1]
    asked = len(served.asked)
    assert ("HEAD", f"/datasets/{DATA.name}/resolve/main/{CORPUS_FILE}") in served.asked
    assert hub.prefetch(tmp_path, "tiny") == found and len(served.asked) == asked  # nothing is asked again
    served.stop()
    assert hub.prefetch(tmp_path, "tiny") == found


def test_only_the_wanted_part_is_fetched(served, tmp_path, monkeypatch):
    monkeypatch.setitem(pins.ENCODERS, "tiny", tiny("model.safetensors"))
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
    assert nothing_kept(tmp_path)


@pytest.mark.parametrize("name, kind", [(CORPUS_FILE, "SHA-256"), ("config.json", "git id")])
def test_content_that_is_not_what_the_hub_declares(served, tmp_path, name, kind):
    served.fault = "corrupt"
    repository = DATA if name == CORPUS_FILE else tiny("model.safetensors")
    with pytest.raises(UserError, match=f"{name} from .* has {kind} .* but the hub declares"):
        hub.fetch(repository, name, tmp_path)
    served.fault = None
    assert hub.fetch(repository, name, tmp_path).read_bytes() == served.files[repository.name, name]


def test_another_revision_than_pinned(served, tmp_path):
    served.aliases = ("a" * 40,)
    with pytest.raises(UserError, match="is at revision cccccccccccc instead of aaaaaaaaaaaa"):
        text(tmp_path, revision="a" * 40)


def test_another_revision_than_accepted_before(served, tmp_path):
    damage(text(tmp_path))
    served.commit, served.aliases = "d" * 40, (COMMIT,)
    with pytest.raises(UserError, match="is at revision dddddddddddd instead of cccccccccccc"):
        text(tmp_path)


def test_other_content_than_accepted_before(served, tmp_path):
    damage(text(tmp_path))
    served.files[DATA.name, CORPUS_FILE] = TEXT.replace(b"7", b"8")
    with pytest.raises(UserError, match=f"instead of {SHA[:12]}"):
        text(tmp_path)
    with pytest.raises(UserError, match=f"instead of {SHA[:12]}"):  # it is not forgotten at the second attempt
        text(tmp_path)
    served.files[DATA.name, CORPUS_FILE] = TEXT
    assert text(tmp_path).read_bytes() == TEXT  # mended


def test_two_at_once_fetch_the_same(served, tmp_path):
    script = "import sys, core.data.hub as hub, core.data.pins as pins; print(hub.fetch(pins.DATA, pins.CORPUS_FILE, sys.argv[1]))"
    both = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=60)[0].strip() for process in both]
    assert said[0] == said[1] and Path(said[0]).read_bytes() == TEXT


@pytest.mark.parametrize("content", ["", "main", "../" * 20, "c" * 41, "[" * 100_000])
def test_a_revision_of_another_shape(served, tmp_path, content):
    text(tmp_path)
    (tmp_path / PLACE / "refs" / "main").write_text(content)
    with pytest.raises(UserError, match="refs/main names no revision; delete the folder"):
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


def test_the_command(served, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(pins.ENCODERS, "tiny", tiny("model.safetensors"))
    command = ["prefetch", "--scale", "mini", "--cache-dir", str(tmp_path), "--encoder"]
    assert hub.main([*command, "tiny"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(said) == {f"{part}_{what}" for part in ("corpus", "evaluation", "encoder") for what in ("path", "name")}
    assert hub.main([*command, "other"]) == 2
    assert "There is no pinned encoder 'other'; choose bert-base-uncased" in capsys.readouterr().err


def test_models_that_rewrite_text_are_fetched_alone_and_found_again(served, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(pins.TEXT_MODELS, "tiny", (tiny("pytorch_model.bin"),))
    with pytest.raises(UserError, match="does not hold the model tiny; give the command again with a network"):
        hub.model_folders("tiny", tmp_path)
    assert hub.main(["prefetch", "--scale", "paper", "--cache-dir", str(tmp_path), "--text-models", "tiny"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"text_models": ["tiny"]}
    assert not any(DATA.name in path for _, path in served.asked)
    assert [(folder / "model.safetensors").is_file() for folder in hub.model_folders("tiny", tmp_path)] == [True]


def test_pins_are_well_formed():
    models = {model for known in MODELS.values() for model in known} - {OWN_ENCODER}
    assert models == set(pins.TEXT_MODELS)
    rewriting = [repository for repositories in pins.TEXT_MODELS.values() for repository in repositories]
    for repository in (DATA, *pins.ENCODERS.values(), *rewriting):
        assert repository.revision is None or len(repository.revision) == 40
        assert all(digest is None or len(bytes.fromhex(digest)) == 32 for digest in repository.files.values())
    assert set(pins.DEFAULT_ENCODER.values()) <= set(pins.ENCODERS)
