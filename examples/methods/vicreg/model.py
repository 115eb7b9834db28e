"""VICReg on the mean of the tokens, without a head: equations 1 to 6 of Bardes et al. 2022."""

import torch
import torch.nn.functional as F

from core.encoder.pooling import mean
from core.methods.simcse.model import Views


class Model(Views):
    capturable = True

    def pool(self, encoded):
        return mean(encoded)

    def contrast(self, first, second):
        return self.config.vicreg.weight * F.mse_loss(first, second)

    def extra(self, batch):
        spread = sum(F.relu(1 - (x.var(0) + 1e-4).sqrt()).mean() for x in self.pooled_views)
        squares = [torch.cov(x.T).pow(2) for x in self.pooled_views]  # (dim, dim) each
        others = sum((x.sum() - x.diagonal().sum()) / len(x) for x in squares)
        return {"variance": self.config.vicreg.weight * spread, "covariance": others}
