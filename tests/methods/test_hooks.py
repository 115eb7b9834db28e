"""The hooks of a method: views of any number, pooling, further terms, passes without dropout, text
with columns and changed defaults."""

import json
import random

import numpy as np
import pytest
import small_runs
import torch
from places import ROOT

import core.methods
from core.config import methods
from core.config.identity import canonical_json, run_id
from core.config.method_code import code_digest
from core.config.methods import base
from core.config.scale import DEMO, at_scale
from core.config.vary import vary
from core.data.encoders import DEMO_ENCODER
from core.data.sources import demo_sources
from core.encoder.packing import in_parts, pack, padded, token_matrix
from core.errors import UserError
from core.evaluation import encoding
from core.evaluation.metrics import aggregates
from core.methods.contrastive import Contrastive
from core.store.store import Store
from core.training import job
from core.training.execution import Execution

EXAMPLES = ROOT / "examples" / "methods"
SIZES = {"train.steps": 4, "eval.every": 1, "train.batch_size": 16}


def planned(name, **changes):
    return vary(at_scale(base(name, "paper"), DEMO, demo_sources()), SIZES | changes)


def watched(monkeypatch, name):
    """The views that each step contrasts."""
    model = methods.model(name).Model
    steps = []
    contrast = model.contrast

    def watching(self, *pooled):
        steps.append([view.detach().double().numpy() for view in pooled])
        return contrast(self, *pooled)

    monkeypatch.setattr(model, "contrast", watching)
    return steps


def trained(monkeypatch, tmp_path, config, **places):
    monkeypatch.setattr(job, "load_demo", small_runs.thinned)
    execution = Execution(results_dir=str(tmp_path), cache_dir=small_runs.shared_cache(), **places)
    return small_runs.run(config, execution)


PLAIN = 'from core.config.methods import Derived\n\nMETHOD = Derived("simcse", title="Plain")\n'


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run of VICReg that kept its model: configuration, folder, result, and each step's views."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        paths = [*core.methods.__path__, str(EXAMPLES)]
        patch.setattr(core.methods, "__path__", paths)
        methods._folders.cache_clear()
        steps = watched(patch, "vicreg")
        config = planned("vicreg", **{"eval.every": 2})
        result = trained(patch, folder, config, keep_models=True)
    methods._folders.cache_clear()
    return config, folder, result, steps


def test_the_terms_of_a_loss_are_rows_and_lines_of_the_log_that_add_up(kept):
    config, folder, result, steps = kept
    by_metric = {}
    for row in result.rows:
        if row.checkpoint == "curve" and row.task == "train":
            by_metric.setdefault(row.metric, []).append(row.value)
    near = [config.vicreg.weight * ((a - b) ** 2).mean() for a, b in steps]
    parts = np.array([by_metric["loss_variance"], by_metric["loss_covariance"]]).sum(0)
    expected = np.mean(np.reshape(near, (2, 2)), 1) + parts
    assert by_metric["loss"] == pytest.approx(expected, rel=1e-5)
    (log,) = (folder / "logs").iterdir()
    logged = [json.loads(line)["loss_variance"] for line in log.read_text().splitlines()]
    assert logged == pytest.approx(by_metric["loss_variance"], abs=1e-4)


FADING = """import torch
from core.methods.simcse.model import SimCSE


class Model(SimCSE):
    def build(self):
        self.register_buffer("steps", torch.zeros(()))

    def extra(self, batch):
        self.steps += 1
        if self.steps > 2:
            return {}
        return {"length": self.pooled_views[0].pow(2).mean()}
"""


def test_a_term_that_a_step_leaves_out_is_not_written_again(added, monkeypatch, tmp_path):
    added.write("fading", PLAIN, FADING)
    result = trained(monkeypatch, tmp_path, planned("fading", **{"eval.every": 2}))
    assert [row.step for row in result.rows if row.metric == "loss_length"] == [2]
    (log,) = (tmp_path / "logs").iterdir()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert ["loss_length" in line for line in lines] == [True, False]


def test_a_run_of_an_example_is_stored_with_its_code(kept, added, tmp_path):
    added(EXAMPLES / "vicreg")
    config, _, result, _ = kept
    store = Store(tmp_path, None)
    store.prepare()
    store.save(config, result)
    stored = store.verified(run_id(config))
    assert stored is not None and canonical_json(stored.config) == canonical_json(config)
    assert stored.provenance["method_digest"] == code_digest("vicreg")


def test_mean_pooling_holds_in_scoring_the_kept_folder_and_the_start(kept):
    _, place, result, _ = kept
    (folder,) = (place / "models").iterdir()
    pooling = encoding.stated_pooling(folder)
    assert pooling == "mean" and "the mean of the tokens" in (folder / "README.md").read_text()
    pairs = small_runs.thinned()["Para"]

    def cosines(model):
        a, b = (encoding.sentence_vectors(model, side, "mean") for side in (pairs.a, pairs.b))
        lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        return (a * b).sum(1) / lengths

    (stored,) = (block.cosine for block in result.pairs if block.task == "Para")
    loaded = encoding.load_checkpoint(folder, pooling="mean")
    np.testing.assert_allclose(cosines(loaded), stored, atol=2e-5)
    # before the first step: the mean of the untrained encoder, not its [CLS]
    start = {row.task: row.value for row in result.rows if row.checkpoint == "start"}
    untrained = encoding.load_checkpoint(DEMO_ENCODER, pooling="mean")
    score = aggregates(pairs, cosines(untrained).astype(np.float32))["all"]
    assert start["Para"] == pytest.approx(score, abs=0.02) and "train" not in start


def model_of(name, tmp_path):
    config = planned(name)
    execution = Execution(results_dir=str(tmp_path), cache_dir=small_runs.shared_cache())
    encoder, tokenizer = job.load_encoder(job.Run(config, execution))
    return methods.model(name).Model(config, encoder, torch.device("cpu")), tokenizer


def test_poolings_are_those_of_transformers(tmp_path):
    from core.encoder.pooling import Encoded, cls, mask, mean

    model, tokenizer = model_of("simcse", tmp_path)
    texts = ["a [MASK] house .", "the river is [MASK] [MASK] old ."]
    rows = [np.array(ids) for ids in tokenizer(texts).input_ids]
    model.eval()
    loaded = encoding.load_checkpoint(DEMO_ENCODER, pooling="cls")
    given = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        tokens = loaded.model(**given).last_hidden_state
        masked = (given.input_ids == tokenizer.mask_token_id).unsqueeze(2).float()
        real = given.attention_mask.unsqueeze(2).float()
        expected = {
            cls: tokens[:, 0],
            mean: (tokens * real).sum(1) / real.sum(1),
            mask: (tokens * masked).sum(1) / masked.sum(1),
        }
        for batch in (pack(rows), padded(token_matrix(rows, 12))):
            for pooling, vectors in expected.items():
                made = pooling(Encoded(model.encoder, batch))
                torch.testing.assert_close(made, vectors, atol=2e-5, rtol=1e-4)
        with pytest.raises(UserError, match=r"needs a \[MASK\] in each sentence"):
            mask(Encoded(model.encoder, pack([rows[0], rows[0][:2]])))


def test_changed_defaults_hold_under_every_profile(added):
    changed = PLAIN.replace('"Plain"', '"Plain", changes={"data.drop_last": True, "train.batch_size": 32}')  # fmt: skip
    added.write("changed", changed, HEIR)
    for profile in methods.PROFILES:
        run = base("changed", profile)
        assert run.data.drop_last and run.train.batch_size == 32
    assert base("changed", "released").train.adamw == "transformers"


HEIR = """from core.methods.simcse.model import SimCSE


class Model(SimCSE):
    pass
"""


def test_an_heir_of_a_contrast_has_its_temperature_and_is_not_captured(added):
    added.write("heir", PLAIN, HEIR)
    added.write("heirs", PLAIN, HEIR.replace("simcse.model import SimCSE", "heir.model import Model as SimCSE"))  # fmt: skip
    for name in ("heir", "heirs"):
        assert vary(base(name, "paper"), {"loss.temperature": 0.1}).loss.temperature == 0.1
    assert methods.model("simcse").Model.capturable and methods.model("esimcse").Model.capturable
    assert not methods.model("heir").Model.capturable
    assert not Contrastive.capturable


def test_a_padded_batch_in_parts_is_the_batch(tmp_path):
    rows = [np.arange(2, 2 + random.Random(i).randint(2, 6)) for i in range(6)]
    matrix = token_matrix(rows)
    plain = padded(matrix)
    parted = padded(in_parts(matrix, 3))
    assert (plain.parts, parted.parts, in_parts(pack(rows), 3).parts) == (None, 3, 3)
    assert all(map(torch.equal, plain[:6], parted[:6]))
