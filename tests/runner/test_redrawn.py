"""Whether a redraw with nothing new is seen as such, and what makes it draw again."""

import time

from core.runner import redrawn
from core.store.store import Store


def test_a_redraw_is_left_out_until_an_input_or_a_file_that_it_wrote_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("core.BEGAN", time.time() + 60)  # files of this test are older
    results, figures = (tmp_path / name for name in ("results", "figures"))
    studies = tmp_path / "studies"
    picture = figures / "demo" / "paper" / "table.png"
    page = results / "index.html"
    for file in (picture, page, studies / "paper" / "table.py"):
        file.parent.mkdir(parents=True)
        file.write_text("as drawn")
    linked = tmp_path / "elsewhere"
    linked.mkdir()
    (studies / "linked").symlink_to(linked)
    (linked / "studies").symlink_to(studies)  # a loop
    (linked / "table.py").write_text("as drawn")
    store = Store(results, None)

    def is_there(*options):
        key = redrawn.inputs(store, [studies], options)
        return redrawn.is_there(key, results, figures)

    assert not is_there(None)
    redrawn.remember(redrawn.inputs(store, [studies], [None]), results, figures)
    assert is_there(None) and not is_there(5)

    for file in (picture, page, studies / "paper" / "table.py", linked / "table.py"):
        file.write_text("otherwise")
        assert not is_there(None), file
        file.write_text("as drawn")
    extra = picture.with_name("left.png")
    extra.write_text("of a study that is no longer started")
    assert not is_there(None)
    extra.unlink()
    run = results / "runs" / "0123456789abcdef.parquet"
    run.parent.mkdir()
    run.write_text("a new run")
    assert not is_there(None)
    run.unlink()
    assert is_there(None)
    monkeypatch.setattr("core.BEGAN", time.time() - 60)
    assert redrawn.inputs(store, [studies], []) == ""  # they changed while the command loaded
