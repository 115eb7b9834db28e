"""VICReg on the mean of the tokens: equations 1 to 6 of Bardes et al. 2022, without a head. The
squared distance is a mean over dimensions, too."""

import torch
import torch.nn.functional as F

from core.encoder.pooling import mean
from core.methods.simcse.model import Views


class Model(Views):
    """The distance is the loss; variance and covariance are further terms, logged by name."""

    capturable = True

    def pool(self, encoded):
        return mean(encoded)

    def contrast(self, first, second):
        return self.config.vicreg.near * F.mse_loss(first, second)

    def extra(self, batch):
        spread = [F.relu(1 - (x.var(0) + 1e-4).sqrt()).mean() for x in self.pooled_views]
        products = [torch.cov(x.T).pow(2) for x in self.pooled_views]  # (dim, dim) each
        others = [(x.sum() - x.diagonal().sum()) / len(x) for x in products]
        return {"variance": self.config.vicreg.spread * sum(spread), "covariance": sum(others)}
