"""A place for the runner's tests: made-up data and encoder, a home, the command line as a real
process, and what a refusal leaves."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import senteval_folder
from forked import Forked
from places import ROOT, temporary
from safetensors.numpy import save_file

import run_study
import studies
from core.config.scale import MINI, Sources
from core.data.encoders import loading_key
from core.data.sources import local_places, local_sources
from core.runner.plan import Plan, plan
from core.store import cache
from core.store.store import Store
from core.study.resolution import resolve
from core.study.setup import Setup

SIX = ("mocose-table3", "--seeds", "1", "--jobs", "2")  # a command with six runs


@functools.cache
def made() -> Path:
    """A desk's folders with sets of the published counts, text and encoder, made once a process,
    and with what a first command would keep of them."""
    folder = Path(temporary("desk-").name)
    for name in ("home", "tmp", "data/STS", "data/SICK", "encoder"):
        (folder / name).mkdir(parents=True)
    senteval_folder.build(folder / "data")
    (folder / "data" / "wiki_sentences.txt").write_text("a sentence\n\n" * 21_000)
    encoder(folder / "encoder")
    kept = folder / "cache" / "run_study"
    know_encoder(folder / "encoder", kept)
    local_sources(local_places(folder / "data", {}, kept), kept)
    return folder


def know_encoder(folder: Path, kept: Path, words: str = "") -> None:
    """Keep what loading the encoder would say: its weights are zeros. With `words` as its vocab.txt
    it is another encoder."""
    if words:
        (folder / "vocab.txt").write_text(words)
    about = {"hidden": 384, "positions": 40, "masked_words": False, "unused": []}
    name = cache.key_digest(loading_key(folder))
    cache.write_cached(kept / "encoders", name, "json", json.dumps(about).encode())


def encoder(folder: Path, **changes) -> None:
    """A made-up encoder: what the driver looks at, and weights that are zeros. `changes` go into
    its configuration."""
    sizes = {"hidden_size": 384, "num_hidden_layers": 1, "num_attention_heads": 6}
    config = {"model_type": "bert", "vocab_size": 5, "max_position_embeddings": 40, **sizes}
    shapes = {
        "embeddings.word_embeddings.weight": [5, 384], "embeddings.position_embeddings.weight": [40, 384],
        "encoder.layer.0.attention.self.query.weight": [384, 384],
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config | changes))
    (folder / "tokenizer.json").write_text(
        '{"model": {"type": "WordLevel", "vocab": {}, "unk_token": "x"}}'
    )
    zeros = {name: np.zeros(shape, np.float16) for name, shape in shapes.items()}
    save_file(zeros, folder / "model.safetensors")


@dataclass
class Desk:
    """Folders under one temporary one."""

    folder: Path

    def __post_init__(self):
        shutil.copytree(made(), self.folder, dirs_exist_ok=True)

    @property
    def cache(self) -> Path:
        return self.folder / "cache" / "run_study"

    @property
    def results(self) -> Path:
        return self.folder / "home" / "results"

    @property
    def store(self) -> Store:
        return Store(self.results, self.results / "published")

    def know_encoder(self, words: str = "") -> None:
        """As `know_encoder`, of this desk's encoder."""
        know_encoder(self.folder / "encoder", self.cache, words)

    def commit(self) -> str:
        """Make the home a repository with this code, which made the runs that follow; its
        commit."""
        home = self.folder / "home"
        for path in (ROOT / "core").rglob("*.py"):
            copy = home / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        self.git("init", "-q")
        self.git("add", "core")
        self.git("commit", "-qm", "as it stands")
        commit = self.git("rev-parse", "HEAD").strip()
        (self.cache / "commit").write_text(commit)  # fake jobs name it
        return commit

    def git(self, *words: str) -> str:
        """What a command of git prints in the home."""
        named = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", *words]
        home = self.folder / "home"
        return subprocess.run(named, cwd=home, check=True, capture_output=True, text=True).stdout

    def found(self) -> Sources:
        encoders = {"bert-base": self.folder / "encoder"}
        return local_sources(local_places(self.folder / "data", encoders, self.cache), self.cache)

    def setup(self, seeds: int) -> Setup:
        """What the command plans with so many seeds."""
        return Setup(profile="paper", scale=MINI, sources=self.found(), seeds=seeds)

    def six(self) -> Plan:
        """What SIX plans, as the store stands."""
        return plan([resolve(studies.find("mocose-table3"), self.setup(1))], self.store)

    def behave(self, **by_id: str) -> None:
        (self.cache / "behaviour.json").write_text(json.dumps(by_id))

    def behave_all(self, what: str) -> None:
        self.behave(**{"*": what})

    def started(self) -> list[str]:
        """Ids in the order in which the fake job started them."""
        return [run for run, *_ in self._notes()]

    def pids(self) -> dict[str, int]:
        """The latest process of each run that the fake job started."""
        return {run: int(pid) for run, pid, *_ in self._notes()}

    def _notes(self) -> list[list[str]]:
        file = self.cache / "started"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "FAKE_HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "CUDA_VISIBLE_DEVICES": "",
            **more,
        }

    def words(self, *arguments: str) -> list[str]:
        """A command line at scale mini on made-up data."""
        words = [*arguments, "--scale", "mini"]
        if arguments[:1] != ("publish",):
            words += ["--data-dir", str(self.folder / "data")]
            words += ["--encoder", str(self.folder / "encoder")]
        return words

    def start(self, *arguments: str, **environment: str) -> Forked:
        """The command line as a process of its own."""
        return Forked(self.words(*arguments), self.environment(**environment))

    def do(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        """The same, to its end."""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=200)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def until(condition, seconds: float = 60.0) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def refusing_desk(folder: Path, monkeypatch) -> Desk:
    """A desk in this process: no GPU, a cache of its own, and a launcher that must not be
    reached."""
    made = Desk(folder)
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)

    def forbidden(*_):
        raise AssertionError("it went as far as training")

    monkeypatch.setattr("core.runner.train.Launcher", forbidden)
    return made


def everything(desk: Desk) -> dict[str, bytes | bool]:
    """All files of a desk but the cache, which may be made again."""
    files = {}
    for path in desk.folder.rglob("*"):
        if path.is_file() and not path.is_relative_to(desk.folder / "cache"):
            large = path.stat().st_size >= 1 << 30
            files[str(path.relative_to(desk.folder))] = large or path.read_bytes()
    return files


def check(desk: Desk, capsys, arguments, sentence: str) -> None:
    before = everything(desk)
    assert run_study.main(list(arguments)) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and said.err.endswith((".\n", "?\n")), said.err
    assert re.search(sentence, said.err), said.err
    assert len(said.err) < 1000 and "Traceback" not in said.err
    assert all(
        re.match(r"Scale \w+[.,]|\d+ runs?(:|,)|[\w-]+ is [\w-]+; ", line)
        for line in said.out.splitlines()
    ), said.out
    assert everything(desk) == before
    assert arguments[:1] == ["evaluate"] or not (desk.folder / "home" / "results").is_dir()


def here(desk: Desk, **changed: str) -> list[str]:
    """The options of a sound command at scale mini, some of them replaced."""
    places = {"data_dir": "data", "encoder": "encoder", "results_dir": "home/results"}
    words = ["--scale", "mini"]
    for name, place in places.items():
        words += [f"--{name.replace('_', '-')}", changed.get(name, str(desk.folder / place))]
    return words
