"""Folders, files and surroundings that nobody had in mind, with real processes: names that are markup, kills at each step of a
write, two studies that share runs, and libraries' own settings."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from desk import Desk
from fake_jobs import made_result
from storm import planned

from core.spec.errors import printable
from core.spec.identity import run_id
from core.spec.methods import base
from core.store.records import CorruptRun, MissingRun
from core.store.store import Store

STUDY = "esimcse-table11"
NAMED = "$x^{\n|<b>_[y]`%\x1b[2J&#{"
DRAW = (STUDY, "--seeds", "1", "--regenerate-figures")


class Tags(HTMLParser):
    """The text of a page, and whether a tag of a name's came to life."""

    def __init__(self, page: str):
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        assert (tag, attributes) != ("b", []) or self.get_starttag_text() == "<b>"

    def handle_data(self, data):
        self.text += data


@pytest.mark.long
def test_a_table_is_trained_and_drawn_from_folders_whose_names_are_markup(tmp_path):
    place = tmp_path / NAMED
    place.mkdir()
    desk = Desk(place)
    (desk.folder / "encoder").rename(desk.folder / NAMED)
    (desk.folder / "encoder").symlink_to(desk.folder / NAMED)
    (desk.folder / "data" / "wiki_sentences.txt").rename(desk.folder / "data" / f"{NAMED}.txt")
    words = ("--all", "--seeds", "1", "--regenerate-figures")
    for command in ((STUDY, "--seeds", "1", "--jobs", "2"), words, (STUDY, "--seeds", "1", "--status")):
        done = desk.do(*command, REAL_REPORT="1", MPLBACKEND="nonsense")
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stdout + done.stderr
        assert not set(done.stdout + done.stderr) & set("\x1b\r") and printable(NAMED) not in done.stderr
    page = (desk.results / "index.html").read_text()
    assert f"{printable(NAMED)}, {printable(NAMED)}.txt" in Tags(page).text and "\x1b" not in page
    drawn = desk.folder / "home" / "figures" / "mini" / "paper" / f"{STUDY}.pdf"
    assert drawn.read_bytes()[:5] == b"%PDF-"


@pytest.mark.parametrize("surroundings", [
    {"MPLBACKEND": "nonsense"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"},
], ids=["backend", "locale", "alphabet"])  # fmt: skip
def test_drawing_minds_no_setting_of_the_surroundings(desk, surroundings):
    for run in planned(desk, 1, STUDY):
        desk.store.save(run.config, made_result(run.config))
    done = desk.do(*DRAW, REAL_REPORT="1", **surroundings)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stdout + done.stderr


def test_a_folder_in_a_tables_place_is_a_sentence_and_costs_no_run(desk):
    runs = planned(desk, 1, STUDY)
    for run in runs:
        desk.store.save(run.config, made_result(run.config))
    (desk.results / "mini" / "paper" / f"{STUDY}.md" / "mine").mkdir(parents=True)
    done = desk.do(*DRAW, REAL_REPORT="1")
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert f"{STUDY}.md could not be written" in done.stderr.splitlines()[-1], done.stderr
    assert (
        all(desk.store.verified(run.run_id) for run in runs)
        and (desk.results / "mini" / "paper" / f"{STUDY}.md" / "mine").is_dir()
    )


def test_two_studies_that_share_runs_under_two_commands_one_of_them_with_force(desk):
    one, other = (
        {run.run_id for run in planned(desk, 1, name)} for name in ("mocose-table3", "mocose-table7")
    )
    assert one & other and other - one
    assert desk.do("mocose-table3", "--seeds", "1", "--jobs", "2").returncode == 0
    desk.behave_all("sleep 0.2")
    commands = [
        desk.start("mocose-table3", "--seeds", "1", "--jobs", "2", "--force"),
        desk.start("mocose-table7", "--seeds", "1", "--jobs", "3"),
    ]
    for command in commands:
        out, err = command.communicate(timeout=200)
        assert command.returncode == 0 and "FAILED" not in out, out + err
    started = Counter(desk.started())
    assert {run: started[run] for run in one} == dict.fromkeys(one, 2)  # once before, once by force
    assert {run: started[run] for run in other - one} == dict.fromkeys(other - one, 1)
    assert all(desk.store.verified(run) for run in one | other) and not (desk.results / "damaged").exists()


CONFIG = base("mocose", "paper")
RUN = run_id(CONFIG)


def killed_at(root: Path, call: int, value: float) -> None:
    """Save a run in this process, which ends by SIGKILL just before its `call`-th call of the system."""
    left = call

    def count(frame, event, argument):
        nonlocal left
        if event == "c_call" and getattr(argument, "__module__", None) in ("posix", "_io", "fcntl", None):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    result = made_result(CONFIG)
    sys.setprofile(count)
    Store(root, None).save(CONFIG, result)
    sys.setprofile(None)
    os._exit(0)


@pytest.mark.parametrize("before", [False, True], ids=["first", "again"])
def test_a_kill_before_any_call_of_a_write_leaves_the_old_the_new_or_nothing(tmp_path, before):
    store, context, survived = Store(tmp_path / "results", None), multiprocessing.get_context("fork"), 0
    whole = Store(tmp_path / "whole", None)
    whole.save(CONFIG, made_result(CONFIG))
    rows = whole.load(RUN).rows
    store.prepare()
    if before:
        store.save(CONFIG, made_result(CONFIG))
    for call in range(0, 4000, 7):
        writer = context.Process(target=killed_at, args=(store.root, call, 0.0))
        writer.start()
        writer.join()
        try:
            assert store.load(RUN).rows.equals(rows)
        except MissingRun:
            assert not before
        try:
            store.load_pairs(RUN)
        except CorruptRun as error:
            assert "belongs to another attempt" in str(error)
        if writer.exitcode == 0:
            survived += 1
            break
        assert writer.exitcode == -signal.SIGKILL
    assert survived and call > 20, "no kill came"
    os.close(store.claim(RUN))
    assert not [
        p for kind in ("runs", "pairs") for p in (store.root / kind).iterdir() if p.name.startswith(".")
    ]
