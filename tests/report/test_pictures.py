"""Pictures: that each is drawn once."""

import os

from claim_study import A, B, around
from claim_study import result as judged
from claim_study import study as claim_study

from core.report.figures import study_figures
from core.report.frames import cell_frame, curve_frame
from core.report.pictures import drawing_once
from core.study.claim import greater


def counted(*frames):
    """Figures, and a letter in a file for each time that they are drawn."""
    with open(os.environ["TESTED"], "a") as file:
        file.write("x")
    return study_figures(*frames)


def test_a_picture_is_drawn_again_only_if_what_it_shows_is_new(tmp_path, monkeypatch):
    monkeypatch.setenv("TESTED", str(tmp_path / "times"))
    study = claim_study(greater(B, A), published={"a": 50.0, "b": 55.0})
    for times, level in ((1, 50.0), (1, 50.0), (2, 51.0)):
        one = judged(study, a=around(level, 5), b=around(60, 5), c=around(51, 5), d=[])
        frames = (one.study, cell_frame(one), curve_frame(one), "")
        files = drawing_once(tmp_path / "memory")(counted, frames, ("png", "pdf"))
        assert len((tmp_path / "times").read_text()) == times
        assert {name.rpartition(".")[2] for name in files} == {"png", "pdf"}

    # a damaged one is not shown, and a folder that cannot be made keeps nothing
    for kept in (tmp_path / "memory").rglob("*"):
        if kept.is_file() and (content := bytearray(kept.read_bytes())):
            content[len(content) // 2] ^= 1
            kept.write_bytes(content)
    assert drawing_once(tmp_path / "memory")(counted, frames, ("png", "pdf")) == files
    assert drawing_once(tmp_path / "times" / "no")(counted, frames, ("png", "pdf")) == files
