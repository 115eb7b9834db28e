"""Methods with one silent mistake each, as somebody new to the project would write them, and what a
trial says of each."""

HEAD = """
import random
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from core.methods.losses import info_nce
from core.methods.simcse.model import TwoViews


class Model(TwoViews):
"""
LOSS = """
    def contrast(self, first, second):
        return info_nce(first, second, None, temperature=0.05)
"""
OWN_GENERATOR = (
    LOSS
    + """
    def build(self):
        self.noise = np.random.default_rng()

    def pooled(self, batch):
        vectors = super().pooled(batch)
        return vectors + 0.1 * torch.from_numpy(self.noise.normal(size=vectors.shape)).float()
"""
)
WRITES_TOKENS = (
    LOSS
    + """
    @staticmethod
    def views(tokens, rng):
        tokens[1] = tokens[-2]
        return tokens, tokens
"""
)
WRITES_BY_TORCH = (
    LOSS
    + """
    @staticmethod
    def views(tokens, rng):
        torch.from_numpy(tokens)[1] = int(tokens[-2])
        return tokens, tokens
"""
)
FLOATS_AS_TOKENS = (
    LOSS
    + """
    @staticmethod
    def views(tokens, rng):
        return tokens, tokens * 0.5
"""
)
IDS_OF_NO_WORD = (
    LOSS
    + """
    @staticmethod
    def views(tokens, rng):
        return tokens, tokens + 1_000_000
"""
)
NO_POOLING = (
    LOSS
    + """
    def pool(self, encoded):
        return encoded.first.unsqueeze(1)
"""
)
ENDS_THE_PROCESS = """
    def contrast(self, first, second):
        raise SystemExit
"""
HALF_THE_ROWS = (
    LOSS
    + """
    def pooled(self, batch):
        return super().pooled(batch)[::2]
"""
)
DETACHED = """
    def contrast(self, first, second):
        return info_nce(self.own(first.detach()), self.own(second.detach()), None, temperature=0.05)

    def build(self):
        self.own = self.linear("own", self.encoder.hidden, self.encoder.hidden)
"""
LAYER_BESIDE_THE_SCORED = (
    LOSS
    + """
    def build(self):
        self.whiten = self.linear("whiten", self.encoder.hidden, self.encoder.hidden)

    def pooled(self, batch):
        return self.whiten(self.encoder(batch))

    def sentence_vectors(self, batch):
        return self.whiten(self.encoder(batch))

    def scored_parts(self):
        return nn.ModuleDict({"encoder": self.encoder})
"""
)
COUNTED_STEPS = """
    steps = 0

    def contrast(self, first, second):
        self.steps += 1
        return info_nce(first, second, None, temperature=0.05 + 0.01 * self.steps)
"""
MEAN_IN_AN_ATTRIBUTE = """
    mean = 0.0

    def contrast(self, first, second):
        self.mean = 0.9 * self.mean + 0.1 * first.detach().mean(0)
        return info_nce(first - self.mean, second - self.mean, None, temperature=0.05)
"""
QUEUE_OF_PYTHON = """
    def build(self):
        self.queue = deque(maxlen=2)

    def contrast(self, first, second):
        old = torch.cat([*self.queue]) if self.queue else None
        self.queue.append(second.detach())
        return info_nce(first, second, old, temperature=0.05)
"""
REPLACED_BUFFER = """
    capturable = True

    def build(self):
        self.register_buffer("centre", torch.zeros(self.encoder.hidden))

    def contrast(self, first, second):
        self.centre = 0.9 * self.centre + 0.1 * first.detach().mean(0)
        return info_nce(first - self.centre, second - self.centre, None, temperature=0.05)
"""
NOT_FINITE = """
    def contrast(self, first, second):
        return -torch.log((first - first).norm(dim=1) / (second - second).norm(dim=1)).mean()
"""
TERM_NOT_FINITE = (
    LOSS
    + """
    def extra(self, batch):
        return {"spread": self.pooled_views[0].sum() / 0.0}
"""
)
TERM_WITHOUT_NAME = (
    LOSS
    + """
    def extra(self, batch):
        return {"a, b": self.pooled_views[0].sum()}
"""
)
PLAIN_LIST = """
    def build(self):
        sizes = self.encoder.hidden, self.encoder.hidden
        self.towers = [self.linear("first", *sizes), self.linear("second", *sizes)]

    def contrast(self, first, second):
        return info_nce(self.towers[0](first), self.towers[1](second), None, temperature=0.05)
"""
ONE_VIEW_TWICE = """
    def contrast(self, first, second):
        return info_nce(first, first, None, temperature=0.05)
"""
LEFT_IN_EVALUATION = (
    LOSS
    + """
    def pooled(self, batch):
        vectors = super().pooled(batch)
        self.eval()
        with torch.no_grad():
            self.encoder(batch)
        return vectors
"""
)
BATCH_IN_THE_SCORE = (
    LOSS
    + """
    def sentence_vectors(self, batch):
        vectors = self.encoder(batch)
        return vectors - vectors.mean(0)
"""
)
DROPOUT_IN_THE_SCORE = (
    LOSS
    + """
    def sentence_vectors(self, batch):
        return F.dropout(self.encoder(batch), 0.1)
"""
)
MEAN_WHILE_SCORING = (
    LOSS
    + """
    def build(self):
        self.register_buffer("seen", torch.zeros(()))

    def sentence_vectors(self, batch):
        self.seen += batch.batch
        return self.encoder(batch)
"""
)
CODE_THAT_FAILS = """
    def contrast(self, first, second):
        return info_nce(first, second[:, :5], None, temperature=0.05)
"""

WRONG = {
    "OwnGenerator": (OWN_GENERATOR, "two trainings of one seed differ"),
    "WritesTokens": (WRITES_TOKENS, "views writes into its tokens, which every epoch reads; write"),
    "WritesByTorch": (WRITES_BY_TORCH, "the tokens of the text are not what they were"),
    "FloatsAsTokens": (FLOATS_AS_TOKENS, "views made an array of float64 with the shape"),
    "IdsOfNoWord": (IDS_OF_NO_WORD, "; the tokenizer has"),
    "NoPooling": (NO_POOLING, "pool gave the shape (32, 1, "),
    "EndsTheProcess": (ENDS_THE_PROCESS, "SystemExit"),
    "HalfTheRows": (HALF_THE_ROWS, "16 rows for 32 sentences"),
    "Detached": (DETACHED, "move no weight of the encoder"),
    "LayerBesideTheScored": (LAYER_BESIDE_THE_SCORED, "reads more than scored_parts holds"),
    "CountedSteps": (COUNTED_STEPS, "self.steps is no part of the state"),
    "MeanInAnAttribute": (MEAN_IN_AN_ATTRIBUTE, "self.mean is no part of the state"),
    "QueueOfPython": (QUEUE_OF_PYTHON, "self.queue is no part of the state"),
    "ReplacedBuffer": (REPLACED_BUFFER, "self.centre changes in a step"),
    "NotFinite": (NOT_FINITE, "the loss of the first step is nan"),
    "TermNotFinite": (TERM_NOT_FINITE, "the term spread of the first step is"),
    "TermWithoutName": (TERM_WITHOUT_NAME, "extra names a term 'a, b'; give a name"),
    "PlainList": (PLAIN_LIST, "self.towers holds layers or weights that the model does not know"),
    "OneViewTwice": (ONE_VIEW_TWICE, "the loss is the same whatever view 2 of 2 is"),
    "LeftInEvaluation": (LEFT_IN_EVALUATION, "in another mode"),
    "BatchInTheScore": (BATCH_IN_THE_SCORE, "depends on the other sentences of its batch"),
    "DropoutInTheScore": (DROPOUT_IN_THE_SCORE, "gives other vectors each time"),
    "MeanWhileScoring": (MEAN_WHILE_SCORING, "scoring changes self.seen"),
    "CodeThatFails": (CODE_THAT_FAILS, "RuntimeError: "),
}

OWN_LAYERS = """
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
"""
RUNNING_MEAN = """
    def build(self):
        self.register_buffer("centre", torch.zeros(self.encoder.hidden))

    def contrast(self, first, second):
        self.centre.lerp_(first.detach().mean(0), 0.1)
        return info_nce(first - self.centre, second - self.centre, None, temperature=0.05)

    def sentence_vectors(self, batch):
        return self.encoder(batch) - self.centre
"""
KEPT_MASK = """
    mask = None

    def contrast(self, first, second):
        if self.mask is None or len(self.mask) != len(first):
            self.mask = torch.eye(len(first), dtype=torch.bool, device=first.device)
        logits = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / 0.05
        return (logits.logsumexp(1) - logits[self.mask]).mean()
"""
SOUND = {"OwnLayers": OWN_LAYERS + LOSS, "RunningMean": RUNNING_MEAN, "KeptMask": KEPT_MASK}
