"""The hooks of a method: views of any number, pooling, further terms, passes without dropout, text
with columns and changed defaults."""

import dataclasses
import hashlib
import json
import random

import numpy as np
import pytest
import small_runs
import torch
from places import ROOT

from core.config import methods
from core.config.methods import base
from core.config.scale import DEMO, at_scale
from core.config.vary import vary
from core.data.encoders import DEMO_ENCODER
from core.data.sources import Execution, demo_sources
from core.encoder.packing import in_parts, pack, padded, token_matrix
from core.errors import UserError
from core.evaluation import encoding
from core.methods.contrastive import Contrastive
from core.training import job

EXAMPLES = ROOT / "examples" / "methods"
SIZES = {"train.steps": 4, "eval.every": 1, "train.batch_size": 16}


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def nce(a, b, temperature):
    logits = np.exp(unit(a) @ unit(b).T / temperature)
    return -np.log(np.diag(logits) / logits.sum(1)).mean()


def three(views, config):
    """The mean over the pairs of views, query by query."""
    a, b, c = views
    return sum(nce(x, y, config.loss.temperature) for x, y in ((a, b), (a, c), (b, c))) / 3


def vicreg(views, config):
    """Bardes et al. 2022, equations 1 to 6, dimension by dimension."""
    first, second = views
    loss = config.vicreg.weight * ((first - second) ** 2).mean()
    for x in views:
        centred = x - x.mean(0)
        covariance = centred.T @ centred / (len(x) - 1)
        dim = len(covariance)
        for i in range(dim):
            deviation = np.sqrt(covariance[i, i] + 1e-4)
            loss += config.vicreg.weight * max(0.0, 1 - deviation) / dim
            loss += sum(covariance[i, j] ** 2 for j in range(dim) if j != i) / dim
    return loss


def triplet(views, config):
    """Schroff et al. 2015, equation 3, triplet by triplet."""
    total = 0.0
    for a, p, n in zip(*map(unit, views), strict=True):
        total += max(0.0, ((a - p) ** 2).sum() - ((a - n) ** 2).sum() + config.triplet.margin)
    return total / len(views[0])


def supervised(views, config):
    """Gao et al. 2021, equation 5; the weight multiplies the sentence's own hard negative."""
    a, p, n = map(unit, views)
    total = 0.0
    for i in range(len(a)):
        tau = config.loss.temperature
        positives = np.exp(p @ a[i] / tau)
        negatives = np.exp(n @ a[i] / tau)
        if config.hard.weight is None:
            negatives[:] = 0.0
        else:
            negatives[i] *= config.hard.weight
        total -= np.log(positives[i] / (positives.sum() + negatives.sum()))
    return total / len(a)


@pytest.fixture
def triples(tmp_path):
    """A text with three columns, and what a run knows of it."""
    kinds = "big small old new red wet".split()
    places = "house river garden street school door".split()
    words = [f"{i} {kinds[i % 6]} {places[i // 6 % 6]} is here" for i in range(600)]
    lines = [f"{line}\t{line} today\tnot {line}\n" for line in words]
    path = tmp_path / "made.columns"
    path.write_text("".join(lines))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path, {"corpus_digest": digest, "corpus_rows": len(lines), "corpus_columns": 3}


def planned(name, text=None, **changes):
    sources = dataclasses.replace(demo_sources(), **(text or {}))
    return vary(at_scale(base(name, "paper"), DEMO, sources), SIZES | changes)


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


@pytest.mark.parametrize("name, naive", [("three", three), ("vicreg", vicreg)])
def test_the_stored_losses_are_those_of_the_formula(added, monkeypatch, tmp_path, name, naive):
    source = added(EXAMPLES / name)
    assert sum(len(file.read_text().splitlines()) for file in source.glob("*.py")) <= 40
    steps = watched(monkeypatch, name)
    config = planned(name)
    result = trained(monkeypatch, tmp_path, config)
    losses = [row.value for row in result.rows if row.metric == "loss"]
    expected = [naive(views, config) for views in steps]
    assert len(losses) == 4 and losses == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize(
    "name, naive, changes",
    [
        ("triplet", triplet, {}),
        ("supervised", supervised, {}),
        ("supervised", supervised, {"hard.weight": 2.0}),
        ("supervised", supervised, {"hard.weight": None}),
    ],
)
def test_the_columns_of_a_text_are_the_views(
    added, monkeypatch, tmp_path, triples, name, naive, changes
):  # fmt: skip
    if name == "triplet":
        added(EXAMPLES / name)
    steps = watched(monkeypatch, name)
    path, text = triples
    config = planned(name, text, **changes)
    result = trained(
        monkeypatch, tmp_path, config, sources=dataclasses.replace(demo_sources(), corpus=path)
    )
    losses = [row.value for row in result.rows if row.metric == "loss"]
    assert losses == pytest.approx([naive(views, config) for views in steps], rel=2e-5)


def test_a_text_without_columns_is_refused_before_the_first_step(monkeypatch, tmp_path):
    with pytest.raises(UserError, match="needs a training text with 3 columns; give --text"):
        trained(monkeypatch, tmp_path, planned("supervised"))


OLD = """import numpy as np
from core.methods.losses import info_nce
from core.methods.simcse.model import Views


class Model(Views):
    @staticmethod
    def views(tokens, {name}):
        kept = [t for t in tokens[1:-1] if {draw}.random() < 0.8]
        return tokens, np.array([tokens[0], *kept, tokens[-1]])

    def contrast(self, first, second):
        return info_nce(first, second, None, temperature=self.config.loss.temperature)
"""
PLAIN = 'from core.config.methods import derived\n\nMETHOD = derived("simcse", title="Plain")\n'


def losses_of(result):
    return [row.value for row in result.rows if row.metric == "loss"]


def test_views_that_draw_from_rng_go_on_and_draw_what_draw_rng_does(added, monkeypatch, tmp_path):
    added.write("older", PLAIN, OLD.format(name="rng", draw="rng"))
    added.write("newer", PLAIN, OLD.format(name="draw", draw="draw.rng"))
    older = trained(monkeypatch, tmp_path / "a", planned("older"))
    newer = trained(monkeypatch, tmp_path / "b", planned("newer"))
    assert losses_of(older) == losses_of(newer)


def test_the_terms_of_a_loss_are_rows_and_lines_of_the_log_that_add_up(
    added, monkeypatch, tmp_path
):  # fmt: skip
    added(EXAMPLES / "vicreg")
    steps = watched(monkeypatch, "vicreg")
    config = planned("vicreg", **{"eval.every": 2})
    result = trained(monkeypatch, tmp_path, config)
    by_metric = {}
    for row in result.rows:
        if row.checkpoint == "curve" and row.task == "train":
            by_metric.setdefault(row.metric, []).append(row.value)
    near = [config.vicreg.weight * ((a - b) ** 2).mean() for a, b in steps]
    parts = np.array([by_metric["loss_variance"], by_metric["loss_covariance"]]).sum(0)
    expected = np.mean(np.reshape(near, (2, 2)), 1) + parts
    assert by_metric["loss"] == pytest.approx(expected, rel=1e-5)
    (log,) = (tmp_path / "logs").iterdir()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["loss_variance"] for line in lines] == pytest.approx(
        by_metric["loss_variance"], abs=1e-4
    )


def test_mean_pooling_holds_in_scoring_the_kept_folder_and_the_start(
    added, monkeypatch, tmp_path
):  # fmt: skip
    added(EXAMPLES / "vicreg")
    result = trained(monkeypatch, tmp_path, planned("vicreg"), keep_models=True)
    (folder,) = (tmp_path / "models").iterdir()
    pooling = encoding.stated_pooling(folder)
    assert pooling == "mean" and "the mean of the tokens" in (folder / "README.md").read_text()
    pairs = small_runs.thinned()["Para"]

    def cosines(model, how):
        a, b = (unit(encoding.sentence_vectors(model, side, how)) for side in (pairs.a, pairs.b))
        return (a * b).sum(1)

    (stored,) = (block.cosine for block in result.pairs if block.task == "Para")
    kept = encoding.load_checkpoint(folder, pooling="mean")
    np.testing.assert_allclose(cosines(kept, "mean"), stored, atol=2e-5)
    # before the first step: the mean of the untrained encoder, not its [CLS]
    start = {row.task: row.value for row in result.rows if row.checkpoint == "start"}
    untrained = encoding.load_checkpoint(DEMO_ENCODER, pooling="mean")
    from core.evaluation.metrics import aggregates

    score = aggregates(pairs, cosines(untrained, "mean").astype(np.float32))["all"]
    assert start["Para"] == pytest.approx(score, abs=0.02)
    assert "start" not in {row.checkpoint for row in result.rows if row.task == "train"}


def model_of(name, tmp_path):
    config = planned(name)
    execution = Execution(results_dir=str(tmp_path), cache_dir=small_runs.shared_cache())
    encoder, tokenizer = job.load_encoder(job.Run(config, execution))
    return methods.model(name).Model(config, encoder, torch.device("cpu")), tokenizer


def test_clean_is_the_pass_without_dropout_and_moves_nothing_of_the_stream(tmp_path):
    model, tokenizer = model_of("simcse", tmp_path)
    batch = pack(
        [np.array(ids) for ids in tokenizer(["a house .", "the river is old ."]).input_ids]
    )
    model.train()
    before = int(model.dropping.position)
    clean = model.clean(batch)
    assert int(model.dropping.position) == before and clean.requires_grad
    assert not torch.allclose(model.pooled(batch), clean, atol=1e-3)
    model.eval()
    assert torch.equal(model.pooled(batch), clean)


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


def test_a_padded_batch_in_parts_is_the_batch(tmp_path):
    rows = [np.arange(2, 2 + random.Random(i).randint(2, 6)) for i in range(6)]
    matrix = token_matrix(rows)
    plain = padded(matrix)
    parted = padded(in_parts(matrix, 3))
    assert (plain.parts, parted.parts, in_parts(pack(rows), 3).parts) == (None, 3, 3)
    assert all(map(torch.equal, plain[:6], parted[:6]))


def test_changed_defaults_hold_under_every_profile_and_wrong_ones_are_refused(added):
    changed = PLAIN.replace('"Plain"', '"Plain", changes={"data.drop_last": True, "train.batch_size": 32}')  # fmt: skip
    model = OLD.format(name="draw", draw="draw")
    added.write("changed", changed, model)
    for profile in methods.PROFILES:
        run = base("changed", profile)
        assert run.data.drop_last and run.train.batch_size == 32
    assert base("changed", "released").train.adamw == "transformers"
    added.write(
        "misspelt", PLAIN.replace('"Plain"', '"Plain", changes={"train.batchsize": 2}'), model
    )
    with pytest.raises(UserError, match="misspelt/settings.py.*train.batchsize; did you mean"):
        base("misspelt", "paper")


HEIR = """from core.methods.simcse.model import SimCSE


class Model(SimCSE):
    pass
"""


def test_an_heir_of_a_contrast_has_its_temperature_and_is_not_captured(added):
    added.write("heir", PLAIN, HEIR)
    added.write("heirs", PLAIN, HEIR.replace("simcse.model import SimCSE", "heir.model import Model as SimCSE"))  # fmt: skip
    own = HEIR.replace(
        "    pass", "    def contrast(self, first, second):\n        return first.sum()"
    )
    added.write("replacing", PLAIN, own)
    for name in ("heir", "heirs"):
        assert vary(base(name, "paper"), {"loss.temperature": 0.1}).loss.temperature == 0.1
    with pytest.raises(UserError, match="replacing reads no loss.temperature"):
        vary(base("replacing", "paper"), {"loss.temperature": 0.1})
    assert methods.model("simcse").Model.capturable and methods.model("esimcse").Model.capturable
    assert not methods.model("heir").Model.capturable
    assert not Contrastive.capturable


@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ("return tokens, np", "return tokens, tokens, np", "contrast does not take the 3 views"),
        ("return tokens, np", "return np", "views returned ndarray; return a tuple"),
        (
            "return tokens, np",
            "return (tokens,) * (1 + len(tokens) % 2) + (tokens,), np",
            "contrast does not take|views returned 2",
        ),
    ],
)
def test_wrong_views_are_one_sentence_with_the_line(
    added, monkeypatch, tmp_path, old, new, sentence
):
    text = OLD.format(name="draw", draw="draw").replace(old, new)
    if "len(tokens)" in new:
        text = text.replace(
            " + (tokens,), np.array([tokens[0], *kept, tokens[-1]])", " + (tokens,)"
        )
    added.write("wrong", PLAIN, text)
    with pytest.raises(UserError, match=f"core/methods/wrong/model.py, line .*({sentence})"):
        trained(monkeypatch, tmp_path, planned("wrong"))
