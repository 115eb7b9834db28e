"""Which commit made a run: by the content of its code."""

import json
import os
import shutil

import pytest
from places import ROOT

from core.store import code
from core.store.published import Pack
from tools.publish import CLEAN, is_committed


def test_a_clean_commit_of_the_repository_is_believed_and_no_other(desk):
    first = desk.commit()
    home = desk.folder / "home"
    (home / "core" / "api.py").write_text("changed = True\n")
    desk.git("commit", "-qam", "later")
    second = desk.git("rev-parse", "HEAD").strip()
    for commit in (first, second):
        for named in (commit, commit[:12]):
            assert is_committed(named, home)
        assert not is_committed(f"{commit[:12]}+", home)
        assert not is_committed(commit, desk.folder / "data")  # no repository
    for named in ("unknown", "0" * 12, None):
        assert not is_committed(named, home)
    desk.git("reset", "-q", "--hard", first)
    assert not is_committed(second, home)  # no ancestor


def test_a_copy_and_code_without_a_repository_have_no_commit(desk, monkeypatch):
    desk.commit()
    home = desk.folder / "home"
    monkeypatch.setattr(code, "CORE", home / "core")
    os.utime(home / "core" / "api.py", (1, 1))
    index = home / ".git" / "index"
    before = index.stat().st_mtime_ns
    with monkeypatch.context() as patch:
        # a hook names another repository: pre-commit/pre-commit#213
        patch.setenv("GIT_DIR", str(ROOT / ".git"))
        patch.setenv("GIT_INDEX_FILE", str(ROOT / ".git" / "index"))
        named = code.current_commit()
    assert named == (desk.git("rev-parse", "HEAD")[:12], "")
    assert index.stat().st_mtime_ns == before  # `git status` locks: baoyachi/shadow-rs#221
    vendored = home / "vendored" / "core"
    shutil.copytree(home / "core", vendored)
    desk.git("add", "vendored")
    desk.git("commit", "-qm", "a copy")
    monkeypatch.setattr(code, "CORE", vendored)
    commit, why = code.current_commit()
    assert commit == "unknown" and "vendored/core/" in why
    monkeypatch.setattr(code, "CORE", desk.folder / "data")
    commit, why = code.current_commit()
    assert commit == "unknown" and "not a git repository" in why


def test_a_clock_is_no_witness_that_code_was_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(code, "CORE", tmp_path)
    file = tmp_path / "model.py"
    file.write_text("a = 1\n")
    os.utime(file, (2**32, 2**32))  # by a file server whose clock is ahead
    monkeypatch.setattr(code, "AT_START", code.states())
    assert code.states() == code.AT_START
    (tmp_path / "other.py").touch()
    assert code.states() != code.AT_START
    (tmp_path / "other.py").unlink()
    file.write_text("a = 2\n")
    os.utime(file, (1, 1))
    assert code.states() != code.AT_START


def test_any_change_of_any_python_file_moves_the_digest(tmp_path, monkeypatch):
    monkeypatch.setattr(code, "CORE", tmp_path)
    model = tmp_path / "simcse" / "model.py"
    model.parent.mkdir()
    model.write_text("as it is")
    before = code.digest()
    (tmp_path / "notes.txt").write_text("x")
    assert code.digest() == before
    model.write_text("as it was")
    assert code.digest() != before
    model.write_text("as it is")
    assert code.digest() == before
    model.with_name("added.py").write_text("")
    assert code.digest() != before


@pytest.mark.parametrize("scale", ["demo", "mini"])
def test_published_runs_name_a_clean_commit(scale):
    footers = Pack(ROOT / "results" / "published" / scale / "runs.parquet").footers
    commits = {json.loads(footer["provenance"])["commit"] for footer in footers.values()}
    assert commits and all(map(CLEAN.fullmatch, commits))
