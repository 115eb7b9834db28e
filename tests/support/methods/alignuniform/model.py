"""Mean squared distance of two views, plus the logarithm of the mean Gaussian potential between sentences."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from core.engine.encoder.packing import Packed
from core.methods.simcse.model import SimCSE, Views

__all__ = ["Model", "Views"]


class Model(SimCSE):
    """SimCSE's encoder and views under another loss."""

    def _compared(self, views: Packed, negatives: Tensor | None = None) -> Tensor:
        first, second = F.normalize(self.head(self.encoder(views))).chunk(2)  # (B, hidden) each
        uniformity = self.config.uniformity
        potentials = [torch.pdist(side).pow(2).mul(-uniformity.sharpness).exp().mean().log() for side in (first, second)]
        return (first - second).pow(2).sum(1).mean() + uniformity.weight * sum(potentials) / 2
