"""Refusals: a desk at which nothing may be trained, and what has to hold when a command is refused."""

from __future__ import annotations

import re
from pathlib import Path

from desk import Desk

import run_study


def refusing_desk(folder: Path, monkeypatch) -> Desk:
    """A desk in this process: no GPU, a cache of its own, and a launcher that must not be reached."""
    made = Desk(folder)
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)

    def forbidden(*_):
        raise AssertionError("it went as far as training")

    monkeypatch.setattr("core.runner.train.Launcher", forbidden)
    return made


def everything(desk: Desk) -> dict[str, bytes | int]:
    """All files of a desk but the cache, which may be made again; of an enormous one its size."""
    return {
        str(p.relative_to(desk.folder)): p.read_bytes() if p.stat().st_size < 1 << 30 else p.stat().st_size
        for p in desk.folder.rglob("*") if p.is_file() and "cache" not in p.relative_to(desk.folder).parts
    }  # fmt: skip


def check(desk: Desk, capsys, arguments, sentence: str) -> None:
    before = everything(desk)
    assert run_study.main(list(arguments)) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and said.err.endswith((".\n", "?\n")), said.err
    assert re.search(sentence, said.err), said.err
    assert len(said.err) < 1000 and "Traceback" not in said.err
    assert all(re.match(r"Scale \w+[.,]|\d+ runs?(:|,)|[\w-]+ is [\w-]+; ", line) for line in said.out.splitlines()), said.out
    assert everything(desk) == before
    assert arguments[:1] == ["evaluate"] or not (desk.folder / "home" / "results").is_dir()


def here(desk: Desk, **changed: str) -> list[str]:
    """The options of a sound command at scale mini, some of them replaced."""
    places = {
        "data-dir": desk.folder / "data",
        "encoder": desk.folder / "encoder",
        "results-dir": desk.folder / "home" / "results",
    }
    given = {name: str(path) for name, path in places.items()} | {name.replace("_", "-"): text for name, text in changed.items()}
    return ["--scale", "mini", *(word for name, text in given.items() for word in (f"--{name}", text))]
