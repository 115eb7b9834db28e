"""Models that runs leave: loaded by transformers and sentence-transformers they give the vectors
that the run scored."""

import functools
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from extras import needs
from fake_jobs import made_result
from small_runs import planned, run, shared_cache, small, thinned
from transformers import AutoModel, AutoTokenizer

from core.config.identity import from_canonical_json, run_id
from core.config.vary import vary
from core.data.sources import demo_sources
from core.runner.plan import lacks_model
from core.store.files import sweep, whole
from core.store.store import Store
from core.training import job
from core.training.execution import Execution


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """A run that kept its model: its folder and its result."""
    folder = tmp_path_factory.mktemp("kept")
    execution = Execution(
        results_dir=str(folder), cache_dir=shared_cache(), sources=demo_sources(), keep_models=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "load_demo", thinned)
        result = run(small(), execution)
    (model,) = (folder / "models").iterdir()
    assert run_id(from_canonical_json((model / "run.json").read_text())[0]) == model.name
    return model, result


def by_transformers(folder):
    """A function from sentences to their vectors (n, hidden)."""
    model = AutoModel.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def vectors(sentences):
        tokens = tokenizer(sentences, padding=True, return_tensors="pt")
        with torch.inference_mode():
            return model(**tokens).last_hidden_state[:, 0].numpy()

    return vectors


def by_sentence_transformers(folder):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    return functools.partial(model.encode, show_progress_bar=False)


READERS = [
    by_transformers,
    pytest.param(
        by_sentence_transformers, marks=needs("sentence_transformers", "requirements-evaluate.txt")
    ),
]


@pytest.mark.parametrize("reader", READERS)
def test_a_library_gives_the_run_s_cosines(left, reader):
    folder, result = left
    vectors = reader(folder)
    pairs = thinned()["Para"]
    a, b = vectors(list(pairs.a)), vectors(list(pairs.b))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    (stored,) = (block.cosine for block in result.pairs if block.task == "Para")
    np.testing.assert_allclose(cosine, stored, atol=2e-5)


def test_a_run_that_scores_a_head_keeps_no_model_and_says_so(tmp_path, monkeypatch):
    assert not small(eval__vector="pooler").keepable
    monkeypatch.setattr(job, "load_demo", thinned)
    execution = Execution(
        results_dir=str(tmp_path),
        cache_dir=shared_cache(),
        sources=demo_sources(),
        keep_models=True,
    )
    result = run(small("simcse", eval__head="on"), execution)
    assert result.provenance["keeps_no_model"] and not (tmp_path / "models").exists()


def made(folder: Path, text: str) -> None:
    for name in ("modules.json", "model.safetensors"):
        (folder / name).write_text(text)


def test_a_kill_leaves_no_half_folder_and_the_next_writing_sweeps(tmp_path):
    target = Store(tmp_path, None).path("models", "0123456789abcdef")
    with whole(target, folder=True) as folder:
        made(folder, "old")
    child = os.fork()
    if not child:
        with whole(target, folder=True) as folder:
            made(folder, "half")
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert (target / "modules.json").read_text() == "old"
    assert len(list(target.parent.iterdir())) == 2
    sweep(target)  # as whoever has the run's claim does
    with pytest.raises(ZeroDivisionError), whole(target, folder=True) as folder:
        (folder / "modules.json").write_text(str(1 / 0))
    with whole(target, folder=True) as folder:
        made(folder, "new")
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    assert (target / "modules.json").read_text() == "new"


def test_a_run_without_its_model_is_missing_where_models_are_kept(desk):
    # of a head no model is kept
    run_ = planned(1)
    unfit = vary(planned(1).config, {"eval.vector": "projection"})
    desk.store.save(run_.config, made_result(run_.config))
    assert lacks_model(desk.store, run_.run_id, run_.config)
    assert not lacks_model(desk.store, "0" * 16, unfit)
    with whole(desk.store.path("models", run_.run_id), folder=True) as folder:
        made(folder, "[]")
    assert not lacks_model(desk.store, run_.run_id, run_.config)
    (desk.store.path("models", run_.run_id) / "model.safetensors").unlink()
    assert lacks_model(desk.store, run_.run_id, run_.config)
