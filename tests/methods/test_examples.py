"""Examples of methods, trained for some steps: their losses are those of their papers' formulas,
written out pair by pair."""

import dataclasses
import hashlib
import shutil

import numpy as np
import pytest
import torch
from places import ROOT
from safetensors.torch import load_file, save_file
from small_runs import shared_cache
from transformers import AutoModel

from core.config import methods
from core.config.identity import run_id
from core.config.methods import base
from core.config.scale import DEMO, at_scale
from core.config.vary import vary
from core.data.encoders import DEMO_ENCODER
from core.data.sources import demo_sources
from core.errors import UserError
from core.training.execution import Execution
from core.training.job import run
from tools.trial.short_run import STEPS, Material

EXAMPLES = ROOT / "examples" / "methods"


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def nce(a, b, temperature):
    logits = np.exp(unit(a) @ unit(b).T / temperature)
    return -np.log(np.diag(logits) / logits.sum(1)).mean()


def dcl(views, config):
    """Yeh et al. 2022, equation 6, view by view."""
    vectors = unit(np.concatenate(views))
    pairs = len(views[0])
    total = 0.0
    for i, view in enumerate(vectors):
        others = [j for j in range(2 * pairs) if j % pairs != i % pairs]
        cosine = vectors[(i + pairs) % (2 * pairs)] @ view / config.loss.temperature
        total += np.log(np.exp(vectors[others] @ view / config.loss.temperature).sum()) - cosine
    return total / len(vectors)


def barlow(views, config):
    """Zbontar et al. 2021, equations 1 and 2, entry by entry."""
    first, second = ((x - x.mean(0)) / (x.std(0) + 1e-5) for x in views)
    loss = 0.0
    for i in range(first.shape[1]):
        correlation = (first[:, i : i + 1] * second).sum(0) / len(first)
        for j, value in enumerate(correlation):
            loss += (1 - value) ** 2 if i == j else config.barlow.redundancy * value**2
    return loss


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


def rankcse(views, config, teacher):
    """SimCSE, and Liu et al. 2023's list-wise distillation, sentence by sentence."""
    first, second, teacher = map(unit, (*views, teacher))
    total = 0.0
    for i in range(len(first)):
        others = [j for j in range(len(first)) if j != i]
        wanted = np.exp(teacher[others] @ teacher[i] / config.ranks.teacher_temperature)
        given = np.exp(second[others] @ first[i] / config.ranks.temperature)
        total -= (wanted / wanted.sum() * np.log(given / given.sum())).sum()
    return nce(*views, config.loss.temperature) + config.ranks.weight * total / len(first)


def distilled(views, config, teacher):
    """SimCSE, and the squared differences of all cosines, pair by pair."""
    first, second, teacher = map(unit, (*views, teacher))
    pairs = [(i, j) for i in range(len(first)) for j in range(len(first))]
    apart = sum((first[i] @ second[j] - teacher[i] @ teacher[j]) ** 2 for i, j in pairs)
    return nce(*views, config.loss.temperature) + config.teacher.weight * apart / len(pairs)


def tension(views, config):
    """Carlsson et al. 2021, equation 1, pair by pair."""
    first, second = views
    total = 0.0
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            total += np.logaddexp(0.0, -(a @ b) if i == j else a @ b)
    return total / len(first) ** 2


@pytest.fixture(scope="module")
def triples(tmp_path_factory):
    """The sources of a text with three columns."""
    kinds = "big small old new red wet".split()
    places = "house river garden street school door".split()
    words = [f"{i} {kinds[i % 6]} {places[i // 6 % 6]} is here" for i in range(600)]
    path = tmp_path_factory.mktemp("text") / "made.columns"
    path.write_text("".join(f"{line}\t{line} today\tnot {line}\n" for line in words))
    return dataclasses.replace(
        demo_sources(),
        corpus=path,
        corpus_digest=hashlib.sha256(path.read_bytes()).hexdigest(),
        corpus_rows=len(words),
        corpus_columns=3,
    )


PLAIN = (dcl, barlow, three, vicreg, triplet, rankcse, distilled, tension, supervised)
NAIVE = [(naive, {}) for naive in PLAIN]
NAIVE += [(supervised, {"hard.weight": weight}) for weight in (2.0, None)]


def other_encoder(folder, spread):
    """The demo's encoder in this folder, its weights moved by noise of this spread."""
    shutil.copytree(DEMO_ENCODER, folder, dirs_exist_ok=True)
    weights = load_file(folder / "model.safetensors")
    noise = torch.Generator().manual_seed(0)
    for weight in weights.values():
        weight += spread * torch.randn(weight.shape, generator=noise)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def vectors_of(folder, batch):
    """[CLS] of the first half of a batch by transformers' own model, (B, hidden)."""
    model = AutoModel.from_pretrained(folder).double().eval()
    sentences = [batch.ids[batch.row == i][None] for i in range(batch.batch // 2)]
    with torch.inference_mode():
        return np.concatenate([model(ids).last_hidden_state[:, 0].numpy() for ids in sentences])


@pytest.mark.parametrize("naive, changes", NAIVE)
def test_the_losses_of_steps_are_those_of_the_formula(naive, changes, added, monkeypatch, triples):
    name = naive.__name__
    teacher = DEMO_ENCODER if name == "rankcse" else None
    if (EXAMPLES / name).is_dir():
        source = added(EXAMPLES / name)
        assert len((source / "model.py").read_text().splitlines()) <= 40
        if name == "distilled":
            teacher = source / "teacher"
            other_encoder(teacher, 0.02)
    model = methods.model(name).Model
    steps = []
    loss = model.loss
    contrast = model.contrast

    def watched(self, *pooled):
        steps[-1].append([view.detach().double().numpy() for view in pooled])
        return contrast(self, *pooled)

    monkeypatch.setattr(
        model, "loss", lambda self, batch: steps.append([batch]) or loss(self, batch)
    )
    monkeypatch.setattr(model, "contrast", watched)
    run_ = base(name, "paper")
    sources = triples if run_.columns > 1 else demo_sources()
    config = vary(at_scale(run_, DEMO, sources), changes)
    execution = Execution(results_dir="", cache_dir=shared_cache(), sources=sources)
    material = Material.of(config, execution)
    losses = material.trained().losses
    expected = []
    for batch, views in steps:
        known = [] if teacher is None else [vectors_of(teacher, batch)]
        expected.append(naive(views, config, *known))
    near = 2e-5 if teacher is None else 2e-4  # the teacher computes in float32
    assert len(losses) == STEPS and losses == pytest.approx(expected, rel=near)


def test_the_content_of_a_kept_teacher_is_a_part_of_the_run_s_id(added):
    ids = set()
    for spread in (0.01, 0.02):
        other_encoder(added.place / "distilled" / "teacher", spread)
        added(EXAMPLES / "distilled")
        ids.add(run_id(base("distilled", "paper")))
    assert len(ids) == 2


def test_a_text_without_columns_is_refused_before_the_first_step(tmp_path):
    config = at_scale(base("supervised", "paper"), DEMO, demo_sources())
    execution = Execution(results_dir=str(tmp_path), cache_dir=shared_cache())
    with pytest.raises(UserError, match="3 columns"):
        run(config, execution, lambda report: None)
