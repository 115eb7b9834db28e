"""Models that runs leave: loaded by transformers and sentence-transformers they give the vectors that the run scored."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from fake_jobs import made_result
from small_runs import planned, run, small, thinned
from transformers import AutoModel, AutoTokenizer

from core.engine.evaluation.command import main
from core.engine.kept_model import keep_model
from core.runner.plan import Plan, PlannedRun, lacks_model, with_models
from core.spec.identity import from_canonical_json, run_id
from core.spec.run import Execution
from core.spec.vary import vary
from core.store.files import sweep, whole_folder
from core.store.store import Store, model_folder

CASES = {
    "mocose": lambda: small(),
    "simcse": lambda: small("simcse"),
}


@pytest.fixture(scope="module")
def execution(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    return Execution(
        results_dir=str(folder),
        cache_dir=str(folder / "cache"),
        encoder_name="demo encoder",
        keep_models=True,
    )


@pytest.fixture(params=CASES)
def left(request, execution, thin):
    """A run that kept its model: its folder and its result."""
    result = run(CASES[request.param](), execution)
    (folder,) = [path for path in (Path(execution.results_dir) / "models").iterdir() if _asked(path) == request.param]
    return folder, result


def _asked(folder: Path) -> str:
    config, _ = from_canonical_json((folder / "run.json").read_text())
    assert run_id(config) == folder.name
    return config.method


def compared(vectors_of, result) -> None:
    """The cosines of a test set by these vectors are those that the run stored."""
    pairs = thinned()["Para"]
    stored = np.concatenate([block.cosine for block in result.pairs if block.task == "Para"])
    a, b = vectors_of(list(pairs.a)), vectors_of(list(pairs.b))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    np.testing.assert_allclose(cosine, stored, atol=2e-5)
    assert np.ptp(stored) > 0.01


def test_transformers_loads_it_and_it_gives_the_run_s_cosines(left):
    folder, result = left
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

    def vectors(sentences):
        with torch.inference_mode():
            return model(**tokenizer(sentences, padding=True, return_tensors="pt")).last_hidden_state[:, 0].numpy()

    assert json.loads((folder / "1_Pooling/config.json").read_text())["pooling_mode_cls_token"] is True
    compared(vectors, result)


@pytest.mark.parametrize(
    "config",
    [small(eval__vector="pooler"), small(eval__vector="projection"), small("simcse", eval__head="on")],
)
def test_a_run_that_scores_a_head_keeps_no_model(config, tmp_path):
    assert not config.keepable and keep_model(config, None, tmp_path, tmp_path, 1, "") is None


def test_sentence_transformers_loads_it_and_it_gives_the_run_s_cosines(left):
    sentence_transformers = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    folder, result = left
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    compared(lambda sentences: model.encode(sentences, show_progress_bar=False), result)


def test_evaluate_reads_the_folder_and_scores_as_the_run_did(execution, thin, monkeypatch, capsys):
    result = run(CASES["simcse"](), execution)
    (folder,) = [path for path in (Path(execution.results_dir) / "models").iterdir() if _asked(path) == "simcse"]
    monkeypatch.setattr("core.engine.evaluation.command.load_demo", thinned)
    monkeypatch.setattr("core.engine.evaluation.encoding.installed", lambda: False)
    assert main([str(folder), "--scale", "demo", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    assert "Pooling cls, as the folder says." in out and "bert, 2 layers x 128" in out
    scored = {row.task: row.value for row in result.rows if (row.checkpoint, row.metric) == ("selected", "spearman_all")}
    shown = {line.split()[0]: float(line.split()[2]) for line in out.splitlines() if line.split()[0] in scored}
    assert set(shown) >= {"Para", "Length", "Roles", "Mixed"}
    assert all(abs(shown[name] - scored[name]) < 0.02 for name in shown if name != "DEV")


KILLED = """
import os, signal, sys
from pathlib import Path
from core.store.files import whole_folder
with whole_folder(Path(sys.argv[1])) as folder:
    (folder / "modules.json").write_text("half")
    (folder / "model.safetensors").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def made(folder: Path, text: str) -> None:
    for name in ("modules.json", "model.safetensors"):
        (folder / name).write_text(text)


def test_a_kill_leaves_no_half_folder_and_the_next_writing_sweeps(tmp_path):
    target = model_folder(tmp_path, "0123456789abcdef")
    for before in (None, "old"):
        if before is not None:
            with whole_folder(target) as folder:
                made(folder, before)
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, str(target)],
            env={**os.environ, "PYTHONPATH": os.getcwd()},
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL and Store(tmp_path, None).has_model(target.name) == (before is not None)
    assert (target / "modules.json").read_text() == "old" and len(list(target.parent.iterdir())) == 3
    sweep(target.parent, target.name)  # as whoever has the run's claim does
    with whole_folder(target) as folder:
        made(folder, "new")
    assert [path.name for path in target.parent.iterdir()] == [target.name] and (target / "modules.json").read_text() == "new"
    with pytest.raises(ZeroDivisionError), whole_folder(target) as folder:
        (folder / "modules.json").write_text(str(1 / 0))
    assert (target / "modules.json").read_text() == "new" and len(list(target.parent.iterdir())) == 1


def test_a_damaged_run_lacks_its_model_and_stops_no_command(desk):
    run_ = planned(1)
    desk.store.save(run_.config, made_result(run_.config))
    path = desk.results / "runs" / f"{run_.run_id}.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    assert lacks_model(desk.store, run_.run_id, run_.config) and path.exists()


def test_a_run_without_its_model_is_missing_where_models_are_kept(desk, capsys):
    run_ = planned(1)
    plan = Plan(runs=(run_,), missing=(), entries=1)
    assert with_models(plan, desk.store).missing == (run_,) and "1 run is stored without a model" in capsys.readouterr().out
    with whole_folder(model_folder(desk.results, run_.run_id)) as folder:
        made(folder, "[]")
    assert with_models(plan, desk.store).missing == () and capsys.readouterr().out == ""
    unfit = PlannedRun(run_id="0" * 16, config=vary(run_.config, {"eval.vector": "projection"}), cells=("x",), seed=0)
    assert with_models(replace(plan, runs=(unfit,)), desk.store).missing == ()
    assert "No model is kept of 1 run: a head" in capsys.readouterr().out
