"""RankCSE's idea: a frozen teacher says how near the other sentences of a batch are (Liu et al. 2023)."""

import copy

import torch
import torch.nn.functional as F

from core.encoder.pooling import Encoded
from core.methods.losses import info_nce
from core.methods.simcse.model import Views


class Model(Views):
    def build(self):
        self.teacher = copy.deepcopy(self.encoder).requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()  # without dropout
        return self

    def contrast(self, first, second):
        return info_nce(first, second, None, temperature=self.config.loss.temperature)

    def extra(self, batch):
        settings = self.config.ranks
        with torch.no_grad():
            teacher, _ = self.pool(Encoded(self.teacher, batch)).float().chunk(2)  # (B, hidden)
        teacher, first, second = (
            F.normalize(view, dim=1) for view in (teacher, *self.pooled_views)
        )
        others = ~torch.eye(len(first), dtype=torch.bool, device=first.device)
        wanted = (teacher @ teacher.T)[others] / settings.teacher_temperature
        given = (first @ second.T)[others] / settings.temperature  # (B * (B - 1),)
        wanted, given = (part.view(len(first), -1) for part in (wanted, given))
        return {"ranks": settings.weight * F.cross_entropy(given, wanted.softmax(1))}
