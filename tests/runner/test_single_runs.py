"""`run_study.train`: the runs of a command, from Python."""

import runpy
import threading

import numpy as np
import pytest
from desk import Desk, refusing_desk
from driver import ForkedWorker
from places import ROOT

import run_study
from core.config.scale import MINI
from core.errors import UserError
from core.runner import launch, single_runs
from core.runner.train import Surroundings
from core.study.resolution import resolve
from core.study.study import SIMCSE


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Desk:
    """A desk in this process, with the fake job and an empty store."""
    made = refusing_desk(tmp_path, monkeypatch)
    monkeypatch.setattr("core.runner.train.Launcher", Launcher)
    monkeypatch.setattr(launch, "Worker", ForkedWorker)
    monkeypatch.setattr(single_runs, "LAUNCHERS", {})

    def surroundings(catalogue, home, own):
        job = "tests.support.fake_jobs:run"
        home = made.folder / "home"
        return Surroundings(catalogue=catalogue, home=home, own=home, job=job, warm=())

    monkeypatch.setattr(single_runs, "Surroundings", surroundings)
    return made


Launcher = launch.Launcher


def train(desk, *words, **options):
    places = {"data_dir": desk.folder / "data", "encoder": desk.folder / "encoder"}
    return run_study.train(*words, **{"scale": "mini", "jobs": 2, **places, **options})


def test_a_run_is_trained_once_under_the_command_s_id_and_a_list_gives_a_list(desk, capsys):
    run = train(desk, "simcse")
    (cell,) = resolve(SIMCSE, desk.setup(3)).cells
    assert run.id == cell.run_ids[0] == desk.started()[0] and desk.store.has(run.id)
    assert set(run.scores) >= {"avg", *MINI.tests} and list(run.curve) == ["step", "dev", "loss"]
    assert run.model is None and run.status == "ok"
    assert "1 run: none done, 1 to train." in capsys.readouterr().out
    runs = train(desk, "simcse", seed=[2, 0])
    assert [run.id for run in runs] == [cell.run_ids[2], cell.run_ids[0]]
    assert train(desk, "simcse", {"loss.temperature": 0.05}).id == run.id  # its default
    assert train(desk, "simcse", {"loss.temperature": 0.1}).id not in cell.run_ids
    assert train(desk, "simcse", seed=np.int64(2)).id == runs[0].id
    assert len(desk.started()) == 3 and len(single_runs.LAUNCHERS) == 1
    assert capsys.readouterr().out.count("Starting the training process") == 0
    worker = next(iter(single_runs.LAUNCHERS.values()))
    worker.close()


def test_a_relative_folder_is_the_script_s(desk, tmp_path, monkeypatch):
    """A run's process works elsewhere."""
    monkeypatch.chdir(tmp_path)
    train(desk, "simcse", results_dir="mine")
    (launcher,) = single_runs.LAUNCHERS.values()
    assert launcher.order.execution.results_dir == str(tmp_path / "mine")
    launcher.close()


def test_a_loop_in_a_thread_trains_and_a_failure_or_a_mistake_is_one_sentence(desk):
    trained = []
    loop = threading.Thread(target=lambda: trained.append(train(desk, "simcse", seed=1)))
    loop.start()
    loop.join()
    assert [run.id for run in trained] == desk.started()
    desk.behave_all("raise")
    with pytest.raises(UserError, match="ValueError: the job broke on purpose"):
        train(desk, "simcse", seed=5)
    for words, options, named in (
        (("simcse", {"loss.temp": 0.1}), {}, "loss.temp"),
        (("simsce",), {}, "did you mean simcse"),
        (("simcse",), {"plan": True}, "options of a command that trains"),
        (("simcse",), {"seeds": 3}, "train takes seed="),
        (("simcse",), {"vary": "loss.temperature=0.1,0.2"}, "train takes seed="),
        (("simcse",), {"cell": "SimCSE"}, "train takes seed="),
        (("simcse",), {"seed": None}, "seed.model is None"),
        (("simcse",), {"scales": "demo"}, "did you mean --scale"),
        (("simcse",), {"scale": "tiny"}, "invalid choice"),
    ):
        with pytest.raises(UserError, match=named):
            train(desk, *words, **options)


def test_the_example_searches_and_goes_on_with_what_is_stored(desk):
    search = runpy.run_path(str(ROOT / "examples" / "search.py"))["search"]
    places = {"data_dir": desk.folder / "data", "encoder": desk.folder / "encoder"}
    few = search(2, scale="mini", **places)
    more = search(3, scale="mini", **places)
    scores = [run.scores["dev"] for _, run in more]
    assert len(desk.started()) == 3 and scores == sorted(scores, reverse=True)
    assert {run.id for _, run in few} < {run.id for _, run in more}


def test_a_stopped_training_interrupts_the_script(desk, monkeypatch):
    monkeypatch.setattr(single_runs.RunTrainer, "train", lambda self, plan: 130)
    with pytest.raises(KeyboardInterrupt):
        train(desk, "simcse")
