"""Supervised SimCSE with hard negatives: equation 5 of Gao et al. 2021, and the weight of each
sentence's own hard negative."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from core.methods.losses import info_nce
from core.methods.simcse.model import Views


class SupervisedSimCSE(Views):
    """The model of one run. Its views are the columns: sentence, positive and hard negative."""

    capturable = True

    def contrast(self, sentence: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        temperature = self.config.loss.temperature
        weight = self.config.hard.weight
        if weight is None:
            return info_nce(sentence, positive, None, temperature=temperature)
        queries = F.normalize(sentence, dim=1)  # (B, dim)
        keys = F.normalize(torch.cat([positive, negative]), dim=1)  # (2B, dim)
        logits = queries @ keys.T / temperature  # (B, 2B)
        count = len(queries)
        logits.diagonal(count).add_(math.log(weight))
        return F.cross_entropy(logits, torch.arange(count, device=logits.device))


Model = SupervisedSimCSE
