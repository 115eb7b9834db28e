"""Results folders and figures that cannot be written are told in one sentence, and nothing is lost."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from refusals import check, here, refusing_desk

import run_study
from core.runner.train import Training


@pytest.fixture
def desk(tmp_path, monkeypatch):
    return refusing_desk(tmp_path, monkeypatch)


RESULTS = {
    "a file": (lambda p: p.write_text("mine"), "results is no folder; give another"),
    "below a file": (
        lambda p: (p.parent.rmdir(), p.parent.write_text("mine")),
        "other is no folder; give another",
    ),
    "a file for runs": (
        lambda p: (p.mkdir(), (p / "runs").write_text("mine")),
        "results/runs could not be written",
    ),
    "a loop": (lambda p: p.symlink_to(p), "could not be written|can be no folder"),
}


@pytest.mark.parametrize("case", RESULTS)
def test_results_folders(desk, capsys, case):
    change, sentence = RESULTS[case]
    place = desk.folder / "other" / "results"
    place.parent.mkdir()
    change(place)
    check(desk, capsys, ["table3", *here(desk, results_dir=str(place))], sentence)


@pytest.mark.parametrize("mode", ["--status", "--plan", "--regenerate-figures"])
def test_a_results_folder_that_is_a_file_is_refused_whatever_is_asked_of_it(desk, capsys, mode):
    place = desk.folder / "results.txt"
    place.write_text("mine")
    for folder in (place, place / "mine"):
        check(
            desk,
            capsys,
            ["table3", mode, *here(desk, results_dir=str(folder))],
            "results.txt is no folder; give another --results-dir",
        )


@pytest.mark.parametrize("what", ["a file", "a FIFO", "a folder that may not be written"])
def test_a_place_for_models_that_cannot_be_written_is_said_before_training(desk, capsys, monkeypatch, what):
    place = desk.results / "models"
    desk.results.mkdir()
    {
        "a file": place.touch,
        "a FIFO": lambda: os.mkfifo(place),
        "a folder that may not be written": place.mkdir,
    }[what]()
    if place.is_dir():
        true = os.access
        monkeypatch.setattr(
            os, "access", lambda path, mode: Path(path) != place and true(path, mode)
        )  # root may write anywhere
    assert run_study.main(["table3", "--seeds", "1", "--keep-models", *here(desk)]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r".*/results/models (could|may) not be written.*\.\n", said) and not list(
        desk.store.root.glob("runs/*")
    )


def test_a_results_folder_of_somebody_else(desk, capfd, monkeypatch):
    place = desk.folder / "other"
    place.mkdir(mode=0o500)
    sound = Training.check

    def drop(*arguments):
        sound(*arguments)
        if os.getuid() == 0:
            os.seteuid(65534)  # nobody: from here on the folder may not be written

    monkeypatch.setattr(Training, "check", drop)
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = run_study.main(["table3", *here(desk, results_dir=str(place / "results"))])
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    said = capfd.readouterr().err
    assert (
        re.search("may not be written .Permission denied.; choose a folder of yours", said)
        and said.count("\n") == 1
    )
    assert not list(place.iterdir())


def test_figures_that_cannot_be_written(desk, capsys):
    from fake_jobs import made_result
    from storm import planned

    runs = planned(desk, 1, "esimcse-table11")
    for run in runs:
        desk.store.save(run.config, made_result(run.config))
    (desk.results / "figures").write_text("mine")
    assert run_study.main(["esimcse-table11", "--seeds", "1", "--regenerate-figures", *here(desk)]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(
        r".*/results/figures.* could not be written .*; mend that and give the same command again\.\n", said
    ), said
    assert (desk.results / "figures").read_text() == "mine" and all(
        desk.store.verified(run.run_id) for run in runs
    )
