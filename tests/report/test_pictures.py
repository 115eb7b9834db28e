"""Pictures from processes: the same bytes, killed processes, and what an error leaves."""

import os
import signal

import joblib
import pytest
from claim_study import A, B, around
from claim_study import result as judged
from claim_study import study as claim_study

from core.report.figures import figures
from core.report.frames import cell_frame, curve_frame
from core.report.pictures import FEW, Order, Pictures, images
from core.study.claim import greater


def order(folder, level=50, draw=figures):
    study = claim_study(greater(B, A), published={"a": 50.0, "b": 55.0})
    one = judged(study, a=around(level, 5), b=around(60, 5), c=around(51, 5), d=[])
    frames = (one.study, cell_frame(one), curve_frame(one), "")
    return Order(name=folder.name, folder=folder, draw=draw, frames=frames, kinds=("png", "pdf"))


def killed(*frames):
    """Figures whose process is killed, unless it is that of the test."""
    if str(os.getpid()) != os.environ["TESTED"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return figures(*frames)


def test_pictures_have_the_same_bytes_from_processes_of_which_one_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("TESTED", str(os.getpid()))
    several = Pictures()
    several.orders += [order(tmp_path / str(place), 50 + place) for place in range(FEW - 1)]
    alone = {}
    for one in several.orders:
        for name, content in images(one.draw, one.frames, one.kinds).items():
            alone[f"{one.name}/{name}"] = content
    several.orders.append(order(tmp_path / "a", draw=killed))
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    several.finish()
    assert not several.faults and len(alone) == 2 * (FEW - 1)
    for name, content in alone.items():
        assert (tmp_path / name).read_bytes() == content


def interrupted(*frames):
    raise KeyboardInterrupt


def test_after_an_error_nothing_is_written(tmp_path):
    pictures = Pictures()
    pictures.orders.append(order(tmp_path / "a", draw=interrupted))
    with pytest.raises(KeyboardInterrupt):
        pictures.finish()
    assert not list(tmp_path.rglob("*.png"))
