"""Contrastive Tension: equation 1 of Carlsson et al. 2021, with all pairs of a batch."""

import copy

import torch
import torch.nn.functional as F

from core.encoder.pooling import Encoded
from core.methods.simcse.model import Views


class Model(Views):
    def build(self):
        self.second = copy.deepcopy(self.encoder)  # trained, too

    def pooled(self, batch):
        first, _ = self.pool(Encoded(self.encoder, batch)).chunk(2)
        _, second = self.pool(Encoded(self.second, batch)).chunk(2)
        return torch.cat([first, second])

    def contrast(self, first, second):
        products = first @ second.T  # (B, B)
        same = torch.eye(len(first), device=first.device)
        return F.binary_cross_entropy_with_logits(products, same)

    def new_layers(self):
        return []  # the second encoder is no new layer
