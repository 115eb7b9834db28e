"""Pictures from processes: the same bytes, and what an error leaves."""

import functools
import os
import signal

import joblib
import pytest
from claim_study import A, B, around
from claim_study import result as judged
from claim_study import study as claim_study

from core.errors import UserError
from core.report.figures import figures
from core.report.frames import cell_frame, curve_frame
from core.report.pictures import FEW, Order, Pictures
from core.study.claim import greater


def order(folder, level=50, draw=figures):
    study = claim_study(greater(B, A), published={"a": 50.0, "b": 55.0})
    one = judged(study, a=around(level, 5), b=around(60, 5), c=around(51, 5), d=[])
    frames = (one.study, cell_frame(one), curve_frame(one), "")
    return Order(name=folder.name, folder=folder, draw=draw, frames=frames, kinds=("png", "pdf"))


def drawn(folder, count):
    pictures = Pictures()
    pictures.orders += [order(folder / str(place), 50 + place) for place in range(count)]
    pictures.finish()
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_pictures_have_the_same_bytes_from_one_process_and_from_several(tmp_path):
    several = drawn(tmp_path / "several", FEW)
    alone = drawn(tmp_path / "alone", FEW - 1)
    assert len(several) == 2 * FEW and alone.items() <= several.items()


def broken(*frames):
    raise KeyError("no such label")


def test_a_figure_that_cannot_be_drawn_is_a_fault_and_the_others_are_written(tmp_path):
    pictures = Pictures()
    pictures.orders += [order(tmp_path / "a", draw=broken), order(tmp_path / "b")]
    pictures.finish()
    assert pictures.faults == {"a": "KeyError: 'no such label'"}
    assert pictures.names["a"] == set() and len(pictures.names["b"]) == 2


def interrupted(*frames):
    raise KeyboardInterrupt


def test_after_an_error_nothing_is_written(tmp_path):
    pictures = Pictures()
    pictures.orders.append(order(tmp_path / "a", draw=interrupted))
    with pytest.raises(KeyboardInterrupt):
        pictures.finish()
    assert not list(tmp_path.rglob("*.png"))


def killed(parent):
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_is_one_sentence(tmp_path, monkeypatch):
    two = functools.partial(joblib.Parallel, n_jobs=2, return_as="generator")
    monkeypatch.setattr(joblib, "Parallel", lambda **_: two())
    pictures = Pictures()
    for place in map(str, range(FEW)):
        frames = (os.getpid(),)
        pictures.orders.append(Order(name=place, folder=tmp_path, draw=killed, frames=frames))
    with pytest.raises(UserError, match="killed"):
        pictures.finish()
