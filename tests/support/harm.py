"""Harm done to stored files, and what must come of it: no wrong number read, each file named, set aside and trained again."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

from desk import Desk

from core.spec.errors import UserError


def flip(path: Path, rng: random.Random, _: list[Path]) -> None:
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def cut(path: Path, rng: random.Random, _: list[Path]) -> None:
    path.write_bytes(path.read_bytes()[: rng.randrange(path.stat().st_size)])


def overwrite(path: Path, rng: random.Random, _: list[Path]) -> None:
    content = bytearray(path.read_bytes())
    at = rng.randrange(len(content))
    content[at : at + 64] = rng.randbytes(rng.randrange(64))
    path.write_bytes(content)


def swap(path: Path, rng: random.Random, others: list[Path]) -> None:
    other, beside = rng.choice(others), path.with_name("beside")
    os.rename(path, beside)
    os.rename(other, path)
    os.rename(beside, other)


def rename(path: Path, rng: random.Random, others: list[Path]) -> None:
    os.replace(path, rng.choice(others))


def folder(path: Path, rng: random.Random, others: list[Path]) -> None:
    path.unlink()
    path.mkdir()


def link(path: Path, rng: random.Random, others: list[Path]) -> None:
    path.unlink()
    path.symlink_to(rng.choice(others))


HARM = (flip, flip, cut, cut, overwrite, overwrite, swap, rename, folder, link)


Do = Callable[[Desk], CompletedProcess]  # one command, to its end
Contents = Callable[[Desk], dict[str, bytes]]


def harm_files(place: Path, expected: dict[str, bytes], count: int, seed: int, each: int, command: Do, contents: Contents) -> Counter:
    """Harm `count` stored files, `each` before every command, and check what comes of it; how many of each kind of harm."""
    desk = Desk(place / "harmed")
    desk.store.prepare()
    for name, content in expected.items():
        (desk.results / name).write_bytes(content)
    rng, harmed = random.Random(seed), Counter()
    while sum(harmed.values()) < count:
        before = contents(desk)
        kind = rng.choice(("runs", "runs", "pairs"))
        others = sorted((desk.results / kind).iterdir())
        for path in rng.sample(others, each):
            if path.is_file():
                harm = rng.choice(HARM)
                harm(path, rng, [p for p in others if p.is_file() and p != path])
                harmed[f"{harm.__name__} {kind}"] += 1
        check_harmed(desk, kind, before, expected, command, contents)
    return harmed


def check_harmed(desk: Desk, kind: str, before: dict[str, bytes], expected: dict[str, bytes], command: Do, contents: Contents) -> None:
    """After harm: no wrong number is read, every wrong file is named and set aside, and one command makes it good."""

    def now(path: Path) -> bytes | None:
        return path.read_bytes() if path.is_file() else None

    wrong = [name for name in before if name.startswith(kind) and now(desk.results / name) != before[name]]
    believed, refused = [], []
    for name in wrong:
        run = Path(name).stem
        try:
            read = desk.store.load(run) if kind == "runs" else desk.store.load_pairs(run)
        except UserError as error:
            assert str(desk.results / name) in str(error) or "is not in" in str(error), error
            refused.append(name)
        else:
            believed.append((name, read)) if read is not None else refused.append(name)
    aside = set((desk.results / "damaged").iterdir()) if (desk.results / "damaged").exists() else set()
    links = [name for name in refused if (desk.results / name).is_symlink()]  # one may point at what is moved away before
    there = [name for name in refused if os.path.lexists(desk.results / name) and name not in links]
    out = command(desk)
    assert out.returncode == 0 and "Traceback" not in out.stderr, out.stdout + out.stderr
    for name in there:
        line = next((line for line in out.stdout.splitlines() if str(desk.results / name) in line), "")
        assert "set aside as" in line, f"{name} was not named:\n{out.stdout}"
    moved = set((desk.results / "damaged").iterdir()) - aside if there else set()
    assert len(there) <= len(moved) <= len(there + links), (there, links, moved)
    for name, read in believed:  # a bit that carries nothing, such as the name of the writing library
        restore(desk, name, read, expected)
    if kind == "pairs":  # runs stay done without their pairs; a run that is deleted is trained again, pairs and all
        for name in refused:
            (desk.results / "runs" / Path(name).name).unlink()
        assert command(desk).returncode == 0
    found = contents(desk)
    assert found == expected, [name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)]


def restore(desk: Desk, name: str, read, expected: dict[str, bytes]) -> None:
    """What was believed in spite of the harm has the right numbers; the sound file is put back for the next round."""
    path = desk.results / name
    if path.is_symlink():
        path.unlink()
    path.write_bytes(expected[name])
    sound = desk.store.load(path.stem) if name.startswith("runs") else desk.store.load_pairs(path.stem)
    same = (
        read.equals(sound)
        if not name.startswith("runs")
        else (
            read.rows.equals(sound.rows) and (read.config, read.status, read.provenance) == (sound.config, sound.status, sound.provenance)
        )
    )
    assert same, f"{name} was read wrongly"
