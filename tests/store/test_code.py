"""Which commit made a run: by the content of its code."""

import json
import shutil

import pytest
from places import ROOT

from core.store import code
from core.store.published import Pack


def test_a_commit_is_found_by_content_and_no_other_is_believed(desk):
    first = desk.commit()[:12]
    home = desk.folder / "home"
    made = {"commit": "unknown", "code": code.digest()}
    assert code.commit_of(made, home) == first
    assert code.commit_of(made | {"commit": f"{first}+"}, home) == first  # it was committed later
    (home / "core" / "api.py").write_text("changed = True\n")
    desk.git("commit", "-qam", "later")
    second = desk.git("rev-parse", "HEAD")[:12]
    code._commits.cache_clear()
    assert code.commit_of(made, home) == first
    # files that git did not know differed
    assert code.commit_of(made | {"commit": second}, home) == first
    assert code.commit_of(made | {"code": "0" * 16}, home) == ""
    assert code.commit_of({"commit": second}, home) == second  # of code without a digest
    for named in (f"{second}+", "unknown", "0" * 12, None):
        assert code.commit_of({"commit": named}, home) == ""
    assert code.commit_of(made, desk.folder / "data") == ""  # no repository


def test_any_change_of_any_python_file_moves_the_digest(tmp_path, monkeypatch):
    shutil.copytree(
        ROOT / "core",
        tmp_path / "core",
        ignore=shutil.ignore_patterns("__pycache__", "mini", "demo"),
    )
    before = code.digest()
    monkeypatch.setattr(code, "CORE", tmp_path / "core")
    assert code.digest() == before
    (tmp_path / "core" / "notes.txt").write_text("x")
    assert code.digest() == before
    added = tmp_path / "core" / "methods" / "added.py"
    added.write_text("")
    assert code.digest() != before
    added.unlink()
    model = tmp_path / "core" / "methods" / "simcse" / "model.py"
    model.write_text(model.read_text() + "#\n")
    assert code.digest() != before


@pytest.mark.parametrize("scale", ["demo", "mini"])
def test_published_runs_name_a_clean_commit_but_for_those_of_the_list(scale):
    published = ROOT / "results" / "published"
    footers = Pack(published / scale / "runs.parquet").footers
    commits = {run: json.loads(footer["provenance"])["commit"] for run, footer in footers.items()}
    unnamed = {run for run, commit in commits.items() if not code.CLEAN.fullmatch(commit)}
    listed = set((published / "archive" / "runs_without_commit.txt").read_text().split())
    assert unnamed == (listed if scale == "mini" else set())
