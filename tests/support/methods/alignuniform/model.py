"""Mean squared distance of two views, plus the logarithm of the mean Gaussian potential between sentences."""

import torch
import torch.nn.functional as F

from core.methods.simcse.model import TwoViews


class Model(TwoViews):
    """SimCSE's encoder and views under another loss."""

    def contrast(self, first, second):
        own, first, second = self.config.uniformity, F.normalize(first), F.normalize(second)
        potentials = [torch.pdist(side).pow(2).mul(-own.sharpness).exp().mean().log() for side in (first, second)]
        return (first - second).pow(2).sum(1).mean() + own.weight * sum(potentials) / 2
