"""Pictures from processes: the same bytes, nothing drawn twice, and killed processes."""

import os
import signal

import pytest
from claim_study import A, B, around
from claim_study import result as judged
from claim_study import study as claim_study

from core.report import pictures as module
from core.report.frames import cell_frame, curve_frame
from core.report.pictures import Order, Pictures, drawn_together
from core.study.claim import greater


def order(level=50):
    study = claim_study(greater(B, A), published={"a": 50.0, "b": 55.0})
    one = judged(study, a=around(level, 5), b=around(60, 5), c=around(51, 5), d=[])
    return Order(
        study=one.study,
        cells=cell_frame(one),
        curves=curve_frame(one),
        heading="",
        judged=True,
        kinds=("png", "pdf"),
    )


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def draw(folder, processes, memory=None, kill=False):
    """Draws eight folders of pictures, which are enough for processes."""
    with drawn_together(memory, processes) as pictures:
        for place in range(8):
            pictures.add(order(50 + place), folder / str(place), lambda names: None)
        if kill:
            pictures._executor.submit(os.kill, os.getpid(), 0).result()
            for process in list(pictures._executor._processes.values()):
                os.kill(process.pid, signal.SIGKILL)
    return contents(folder)


def test_pictures_have_the_same_bytes_from_two_processes_and_when_these_are_killed(tmp_path):
    alone = draw(tmp_path / "one", 1)
    assert len(alone) == 16
    assert draw(tmp_path / "two", 2) == alone
    assert draw(tmp_path / "killed", 2, kill=True) == alone


def test_what_lies_there_as_drawn_from_the_same_inputs_is_not_drawn_again(tmp_path, monkeypatch):
    drawn = []
    images = Order.images
    monkeypatch.setattr(Order, "images", lambda order: drawn.append(order) or images(order))

    def once(level=50):
        drawn.clear()
        with drawn_together(tmp_path / "memory", 1) as pictures:
            pictures.add(order(level), tmp_path / "figures", lambda names: None)
        return len(drawn)

    assert [once(), once(), once(51), once(51)] == [1, 0, 1, 0]
    (picture, *_) = (tmp_path / "figures").iterdir()
    picture.write_bytes(b"of another program")
    assert once(51) == 1 and picture.read_bytes() != b"of another program"
    monkeypatch.setattr(module.code, "digest", lambda: "other code")
    assert once(51) == 1


def test_after_an_error_nothing_is_written(tmp_path):
    with pytest.raises(KeyboardInterrupt), drawn_together(None, 2) as pictures:
        for _ in range(8):
            pictures.add(order(), tmp_path / "figures", lambda names: None)
        raise KeyboardInterrupt
    assert not contents(tmp_path) and not Pictures()._waiting
