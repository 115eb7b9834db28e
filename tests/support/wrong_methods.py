"""Methods with one silent mistake each, as somebody new to the project would write them, and what a
trial says of each; and sound ones."""

import re

HEAD = """import copy
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from core.encoder.packing import in_parts
from core.encoder.pooling import Encoded
from core.methods.losses import info_nce
from core.methods.simcse.model import Views


class Model(Views):
"""
LOSS = """
    def contrast(self, first, second):
        return info_nce(first, second, None, temperature=0.05)
"""


def stated(text: str) -> dict[str, tuple[str, str]]:
    """By the name behind each #: the words behind the name, and the body of Model, which has LOSS
    if it states no contrast."""
    _, *parts = re.split(r"^# (\w+):(.*)\n", text, flags=re.MULTILINE)
    methods = {}
    for name, words, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        methods[name] = (words.strip(), body if "def contrast" in body else body + LOSS)
    return methods


WRONG = stated("""
# OwnGenerator: two trainings of one seed differ
    def build(self):
        self.noise = np.random.default_rng()

    def pooled(self, batch):
        vectors = super().pooled(batch)
        return vectors + 0.1 * torch.from_numpy(self.noise.normal(size=vectors.shape)).float()

# WritesTokens: assignment destination is read-only
    @staticmethod
    def views(tokens, rng):
        tokens[1] = tokens[-2]
        return tokens, tokens

# WritesByTorch: the tokens were written into
    @staticmethod
    def views(tokens, rng):
        torch.from_numpy(tokens)[1] = int(tokens[-2])
        return tokens, tokens

# FloatsAsTokens: Cannot cast
    @staticmethod
    def views(tokens, rng):
        return tokens, tokens * 0.5

# EndsTheProcess: SystemExit
    def contrast(self, first, second):
        raise SystemExit

# Detached: move no weight of the encoder
    def contrast(self, first, second):
        return info_nce(self.own(first.detach()), self.own(second.detach()), None, temperature=0.05)

    def build(self):
        self.own = self.linear("own", self.encoder.hidden, self.encoder.hidden)

# LayerBesideTheScored: need more than scored_parts holds
    def build(self):
        self.whiten = self.linear("whiten", self.encoder.hidden, self.encoder.hidden)

    def pooled(self, batch):
        return self.whiten(self.encoder(batch))

    def sentence_vectors(self, batch):
        return self.whiten(self.encoder(batch))

    def scored_parts(self):
        return nn.ModuleDict({"encoder": self.encoder})

# CountedSteps: a resumed run has other losses
    steps = 0

    def contrast(self, first, second):
        self.steps += 1
        return info_nce(first, second, None, temperature=0.05 + 0.01 * self.steps)

# NotFinite: the loss or its gradient is not finite in step 1
    def contrast(self, first, second):
        return -torch.log((first - first).norm(dim=1) / (second - second).norm(dim=1)).mean()

# TermNotFinite: spread is not finite in step 1
    def extra(self, batch):
        return {"spread": self.pooled_views[0].sum() / 0.0}

# PlainList: self.towers holds layers that the model does not know
    def build(self):
        sizes = self.encoder.hidden, self.encoder.hidden
        self.towers = [self.linear("first", *sizes), self.linear("second", *sizes)]

    def contrast(self, first, second):
        return info_nce(self.towers[0](first), self.towers[1](second), None, temperature=0.05)

# OneViewTwice: the loss is the same whatever view 2 of 2 is
    def contrast(self, first, second):
        return info_nce(first, first, None, temperature=0.05)

# LeftInEvaluation: a resumed run has other losses
    def pooled(self, batch):
        vectors = super().pooled(batch)
        self.eval()
        with torch.no_grad():
            self.encoder(batch)
        return vectors

# BatchInTheScore: depend on the other sentences of the batch
    def sentence_vectors(self, batch):
        vectors = self.encoder(batch)
        return vectors - vectors.mean(0)

# DropoutInTheScore: vectors are others each time
    def sentence_vectors(self, batch):
        return F.dropout(self.encoder(batch), 0.1)

# HalfTheRows: 16 rows for 32 sentences
    def pooled(self, batch):
        return super().pooled(batch)[::2]

# TermWithoutName: it names a term 'a, b'
    def extra(self, batch):
        return {"a, b": self.pooled_views[0].sum()}

# MeanWhileScoring: checks disturb the training
    def build(self):
        self.register_buffer("seen", torch.zeros(()))

    def sentence_vectors(self, batch):
        self.seen += batch.batch
        return self.encoder(batch)

# MisspeltHook: extras is no hook; did you mean extra?
    def extras(self, batch):
        return {"length": 0.01 * self.pooled_views[0].pow(2).mean()}

# SeedInBuild: the same under every seed
    def build(self):
        torch.manual_seed(42)
        self.own = nn.Linear(self.encoder.hidden, 64)

    def pooled(self, batch):
        return self.own(super().pooled(batch))

# TermRenamed: other terms in one step
    def build(self):
        self.register_buffer("n", torch.zeros(()))

    def extra(self, batch):
        self.n += 1
        return {f"length{int(self.n)}": 0.01 * self.pooled_views[0].pow(2).mean()}

# LabelsRolled: look at its sign and its labels
    def contrast(self, first, second):
        logits = F.normalize(first) @ F.normalize(second).T / 0.05
        return F.cross_entropy(logits, torch.arange(len(logits)).roll(1))

# OwnDiagonal: look at its sign and its labels
    def contrast(self, first, second):
        views = F.normalize(torch.cat([first, second]))
        return F.cross_entropy(views @ views.T / 0.05, torch.arange(len(views)))

# DropoutOff: the same vectors; leave dropout on
    def pooled(self, batch):
        self.eval()
        return super().pooled(batch)

# MeanOverPadding: depend on padding
    def pool(self, encoded):
        packed = encoded.packed
        sums = torch.zeros(packed.batch, self.encoder.hidden).to(encoded.every)
        sums = sums.index_add(0, packed.row, encoded.every)
        return sums / torch.bincount(packed.row, minlength=packed.batch)[:, None]

# TermWithoutGradient: the term length has no gradient
    def extra(self, batch):
        return {"length": 0.01 * self.pooled_views[0].detach().pow(2).mean()}

# NoFirstToken: does not begin with [CLS]
    @staticmethod
    def views(tokens, rng):
        return tokens[1:], tokens[1:]

# ReadsTheDevelopmentSet: reads what runs are scored with
    from core.data.sts import load_demo

# ReadsTheEnvironment: reads a variable that the run's name does not hold
    import os

    strength = float(os.environ.get("STRENGTH", "0.05"))

# SignFlipped: and of others' at most
    def contrast(self, first, second):
        return -info_nce(first, second, None, temperature=0.05)

# NoPairs: whatever sentences are paired
    def contrast(self, first, second):
        return (F.normalize(first) @ F.normalize(second).T).mean()

# SideBySide: stand side by side
    @classmethod
    def batch(cls, config, text, pack, rng, places):
        return (in_parts(pack([text.table[i] for i in places for _ in range(2)]), 2),)

# TermOverPadding: the term size depends on padding
    def extra(self, batch):
        return {"size": 0.01 * Encoded(self.encoder, batch).every.pow(2).mean()}

# CounterUnread: loses self.seen
    seen = 0

    def after_update(self):
        self.seen += 1

# CounterInAnObject: loses self.meter
    def build(self):
        from types import SimpleNamespace

        self.meter = SimpleNamespace(steps=0)

    def after_step(self):
        self.meter.steps += 1

# CounterInAModule: loses self.meter.steps
    def build(self):
        self.meter = nn.Identity()
        self.meter.steps = 0

    def after_step(self):
        self.meter.steps += 1

# DictOfLayers: self.towers holds layers that the model does not know
    def build(self):
        self.towers = {"own": self.linear("own", self.encoder.hidden, self.encoder.hidden)}

    def contrast(self, first, second):
        return info_nce(self.towers["own"](first), second, None, temperature=0.05)

# LayerMadeLate: Unexpected key
    def build(self):
        self.own = None

    def pooled(self, batch):
        if self.own is None:
            self.own = self.linear("own", self.encoder.hidden, self.encoder.hidden)
        return self.own(super().pooled(batch))

""")

WRONG_ON_A_GPU = stated("""
# ReplacedBuffer: replayed on a GPU, steps have other losses
    capturable = True

    def build(self):
        self.register_buffer("centre", torch.zeros(self.encoder.hidden))

    def contrast(self, first, second):
        self.centre = 0.9 * self.centre + 0.1 * first.detach().mean(0)
        return info_nce(first - self.centre, second - self.centre, None, temperature=0.05)
""")

SOUND = stated("""
# OwnLayers:
    def build(self):
        self.own = nn.Sequential(nn.Linear(self.encoder.hidden, 32), nn.ReLU(), nn.Dropout(0.1))

    def pooled(self, batch):
        vectors = self.own(self.encoder(batch))
        return vectors + 0.01 * torch.randn_like(vectors)

    def sentence_vectors(self, batch):
        return self.own(self.encoder(batch))

    @staticmethod
    def views(tokens, rng):
        keep = np.random.rand(len(tokens)) < 0.9
        keep[[0, -1]] = True
        return tokens, tokens[keep]

# RunningMean:
    def build(self):
        self.register_buffer("centre", torch.zeros(self.encoder.hidden))

    def contrast(self, first, second):
        self.centre.lerp_(first.detach().mean(0), 0.1)
        return info_nce(first - self.centre, second - self.centre, None, temperature=0.05)

    def sentence_vectors(self, batch):
        return self.encoder(batch) - self.centre

# KeptMask:
    mask = None

    def contrast(self, first, second):
        if self.mask is None or len(self.mask) != len(first):
            self.mask = torch.eye(len(first), dtype=torch.bool, device=first.device)
        logits = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / 0.05
        return (logits.logsumexp(1) - logits[self.mask]).mean()

# GrowingView:
    def build(self):
        self.register_buffer("steps", torch.zeros(()))

    @staticmethod
    def views(tokens, rng):
        return tokens, tokens, tokens

    def contrast(self, first, second, third):
        loss = info_nce(first, second, None, temperature=0.05)
        loss = loss + 0.01 * self.steps * info_nce(first, third, None, temperature=0.05)
        self.steps += 1
        return loss

# OwnLoss:
    latest = None

    def loss(self, views):
        self.latest = views.batch
        return self.contrast(*self.pooled(views).float().chunk(2), 0.05)

    def contrast(self, first, second, temperature):
        return info_nce(first, second, None, temperature=temperature)

# HelperNearAHook:
    def extras(self, first):
        return 0.01 * first.pow(2).mean()

    def contrast(self, first, second):
        return info_nce(first, second, None, temperature=0.05) + self.extras(first)

# SimSiam:
    def build(self):
        size = self.encoder.hidden
        self.predictor = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, size))

    def contrast(self, first, second):
        near = F.cosine_similarity(self.predictor(first), second.detach()).mean()
        return -(near + F.cosine_similarity(self.predictor(second), first.detach()).mean()) / 2

# BYOL:
    def build(self):
        size = self.encoder.hidden
        self.predictor = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, size))
        self.slow = copy.deepcopy(self.encoder)
        self.follow([(self.slow, self.encoder)])

    def loss(self, views):
        with torch.no_grad():
            self.targets = Encoded(self.slow, views).first.float().chunk(2)
        return super().loss(views)

    def contrast(self, first, second):
        near = F.cosine_similarity(self.predictor(first), self.targets[1]).mean()
        near = near + F.cosine_similarity(self.predictor(second), self.targets[0]).mean()
        self.targets = None
        return 2 - near

    def after_update(self):
        self.average(0.99)

# Predictor:
    def build(self):
        size = self.encoder.hidden
        self.predictor = nn.Sequential(nn.Linear(size, 32), nn.ReLU(), nn.Linear(32, size))

    def contrast(self, first, second):
        return info_nce(self.predictor(first), second, None, temperature=0.05)

# NextSentence:
    @classmethod
    def batch(cls, config, text, pack, rng, places):
        following = [text.table[(i + 1) % len(text.table)] for i in places]
        return (in_parts(pack([text.table[i] for i in places] + following), 2),)
""")
