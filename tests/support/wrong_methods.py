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
from core.methods.simcse.model import Views


class Model(Views):
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
    "WritesTokens": (WRITES_TOKENS, "assignment destination is read-only"),
    "WritesByTorch": (WRITES_BY_TORCH, "the tokens were written into"),
    "FloatsAsTokens": (FLOATS_AS_TOKENS, "Cannot cast"),
    "IdsOfNoWord": (IDS_OF_NO_WORD, "index out of range"),
    "NoPooling": (NO_POOLING, "The size of tensor a"),
    "EndsTheProcess": (ENDS_THE_PROCESS, "SystemExit"),
    "Detached": (DETACHED, "move no weight of the encoder"),
    "LayerBesideTheScored": (LAYER_BESIDE_THE_SCORED, "need more than scored_parts holds"),
    "CountedSteps": (COUNTED_STEPS, "a resumed run has other losses"),
    "MeanInAnAttribute": (MEAN_IN_AN_ATTRIBUTE, "a resumed run has other losses"),
    "QueueOfPython": (QUEUE_OF_PYTHON, "a resumed run has other losses"),
    "NotFinite": (NOT_FINITE, "the loss or its gradient is not finite in step 1"),
    "TermNotFinite": (TERM_NOT_FINITE, "spread is not finite in step 1"),
    "PlainList": (PLAIN_LIST, "self.towers holds layers that the model does not know"),
    "OneViewTwice": (ONE_VIEW_TWICE, "the loss is the same whatever view 2 of 2 is"),
    "LeftInEvaluation": (LEFT_IN_EVALUATION, "a resumed run has other losses"),
    "BatchInTheScore": (BATCH_IN_THE_SCORE, "depend on the other sentences of the batch"),
    "DropoutInTheScore": (DROPOUT_IN_THE_SCORE, "vectors are others each time"),
    "CodeThatFails": (CODE_THAT_FAILS, "RuntimeError: "),
    "HalfTheRows": (HALF_THE_ROWS, "16 rows for 32 sentences"),
    "TermWithoutName": (TERM_WITHOUT_NAME, "it names a term 'a, b'"),
    "MeanWhileScoring": (MEAN_WHILE_SCORING, "checks disturb the training"),
    "MisspeltHook": (
        LOSS
        + """
    def extras(self, batch):
        return {"length": 0.01 * self.pooled_views[0].pow(2).mean()}
""",
        "extras is no hook; did you mean extra?",
    ),
    "SeedInBuild": (
        LOSS
        + """
    def build(self):
        torch.manual_seed(42)
        self.own = nn.Linear(self.encoder.hidden, 64)

    def pooled(self, batch):
        return self.own(super().pooled(batch))
""",
        "the same under every seed",
    ),
    "TermRenamed": (
        LOSS
        + """
    def build(self):
        self.register_buffer("n", torch.zeros(()))

    def extra(self, batch):
        self.n += 1
        return {f"length{int(self.n)}": 0.01 * self.pooled_views[0].pow(2).mean()}
""",
        "other terms in one step",
    ),
    "LabelsRolled": (
        """
    def contrast(self, first, second):
        logits = F.normalize(first) @ F.normalize(second).T / 0.05
        return F.cross_entropy(logits, torch.arange(len(logits)).roll(1))
""",
        "look at its sign and its labels",
    ),
    "OwnDiagonal": (
        """
    def contrast(self, first, second):
        views = F.normalize(torch.cat([first, second]))
        return F.cross_entropy(views @ views.T / 0.05, torch.arange(len(views)))
""",
        "look at its sign and its labels",
    ),
    "WrongSign": (
        LOSS.replace("return info_nce", "return -info_nce"),
        "look at its sign and its labels",
    ),
    "DropoutOff": (
        LOSS
        + """
    def pooled(self, batch):
        self.eval()
        return super().pooled(batch)
""",
        "the same vectors; leave dropout on",
    ),
    "MeanOverPadding": (
        LOSS
        + """
    def pool(self, encoded):
        packed = encoded.packed
        sums = torch.zeros(packed.batch, self.encoder.hidden).to(encoded.every)
        sums = sums.index_add(0, packed.row, encoded.every)
        return sums / torch.bincount(packed.row, minlength=packed.batch)[:, None]
""",
        "depend on padding",
    ),
    "TermWithoutGradient": (
        LOSS
        + """
    def extra(self, batch):
        return {"length": 0.01 * self.pooled_views[0].detach().pow(2).mean()}
""",
        "the term length has no gradient",
    ),
    "NoFirstToken": (
        """
    @staticmethod
    def views(tokens, rng):
        return tokens[1:], tokens[1:]
"""
        + LOSS,
        "does not begin with [CLS]",
    ),
    "ReadsTheDevelopmentSet": (
        """
    from core.data.sts import load_demo
"""
        + LOSS,
        "reads what runs are scored with",
    ),
    "ReadsTheEnvironment": (
        """
    import os

    strength = float(os.environ.get("STRENGTH", "0.05"))
"""
        + LOSS,
        "reads a variable that the run's name does not hold",
    ),
}

WRONG_ON_A_GPU = {"ReplacedBuffer": (REPLACED_BUFFER, "replayed on a GPU, steps have other losses")}

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
