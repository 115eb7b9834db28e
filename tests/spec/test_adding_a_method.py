"""Adding a method is adding a folder: one that neither paper has, in two files beside these tests and nothing in core."""

import importlib

import pytest
import tiny
import torch
from places import SUPPORT

import core.methods
from core.data.sources import demo_sources
from core.engine import job
from core.engine.encoder.packing import pack
from core.spec import methods
from core.spec.errors import UserError
from core.spec.identity import canonical_json, from_canonical_json, run_id
from core.spec.methods import base
from core.spec.run import Execution
from core.spec.scale import DEMO, at_scale
from core.spec.vary import parse_setting, vary
from core.store.store import Store

FOLDER = SUPPORT / "methods"


@pytest.fixture(autouse=True)
def added(monkeypatch):
    """The folder of methods beside these tests, as if it lay in core/methods."""
    monkeypatch.setattr(core.methods, "__path__", [*core.methods.__path__, str(FOLDER)])
    importlib.invalidate_caches()


def test_it_takes_two_files():
    assert sorted(path.name for path in (FOLDER / "alignuniform").glob("*.py")) == ["model.py", "settings.py"]
    assert {"alignuniform", "esimcse", "mocose", "simcse"} <= set(methods.names())


def test_it_has_profiles_fields_and_an_identity():
    paper, released = base("alignuniform", "paper"), base("alignuniform", "released")
    assert (paper.data.drop_last, released.data.drop_last) == (True, False)  # SimCSE's profiles
    assert parse_setting(paper, "uniformity.weight=2") == ("uniformity.weight", 2.0)
    assert from_canonical_json(canonical_json(released)) == (released, 2)
    assert len({run_id(paper), run_id(released), run_id(base("simcse", "paper"))}) == 3
    with pytest.raises(UserError, match="sharpness is 0.0"):
        vary(paper, {"uniformity.sharpness": 0.0})
    with pytest.raises(UserError, match="method alignuniform has no section queue"):
        vary(paper, {"queue.size": 3})
    with pytest.raises(UserError, match="method simcse has no section uniformity"):
        vary(base("simcse", "paper"), {"uniformity.weight": 0.1})


def test_its_loss_is_the_formula():
    config = vary(
        base("alignuniform", "paper"), {"uniformity.weight": 0.7, "encoder.hidden_dropout": 0.0, "encoder.attention_dropout": 0.0}
    )
    model = methods.model("alignuniform").Model(config, tiny.encoder(tiny.bert()), torch.device("cpu")).train()
    ids = tiny.sentences(6)
    with torch.no_grad():
        loss = float(model.loss(pack(ids)))
        vectors = model.head(model.encoder(pack(ids)))
    unit = [(v / v.norm()).tolist() for v in vectors]  # first views 0 to 2, second views 3 to 5

    def distance(a, b):
        return sum((x - y) ** 2 for x, y in zip(unit[a], unit[b], strict=True))

    align = sum(distance(i, i + 3) for i in range(3)) / 3
    sides = [
        torch.tensor([-2 * distance(a, b) for a, b in pairs]).exp().mean().log()
        for pairs in (((0, 1), (0, 2), (1, 2)), ((3, 4), (3, 5), (4, 5)))
    ]
    assert loss == pytest.approx(align + 0.7 * float(sum(sides)) / 2, rel=1e-5)


def test_it_is_trained_stored_and_read_like_any_other(tmp_path):
    config = vary(at_scale(base("alignuniform", "paper"), DEMO, demo_sources().sources), {"train.steps": 2, "eval.every": 1})
    result = job.run(config, Execution(results_dir=str(tmp_path), cache_dir=str(tmp_path)), lambda message: None)
    assert result.status == "ok"
    store = Store(tmp_path, None)
    store.prepare()
    store.save(config, result)
    assert store.load(run_id(config)).config == config
