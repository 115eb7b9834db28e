"""Decoupled contrastive loss: equation 6 of Yeh et al. 2022, over both views."""

import torch
import torch.nn.functional as F

from core.methods.simcse.model import Views


class Model(Views):
    """Minus each pair's cosine, plus the log of the sum over all other sentences' views."""

    capturable = True

    def contrast(self, first, second):
        views = F.normalize(torch.cat([first, second]), dim=1)  # (2B, dim)
        logits = views @ views.T / self.config.loss.temperature  # (2B, 2B)
        sentence = torch.arange(len(views), device=views.device) % len(first)
        same = sentence[:, None] == sentence[None, :]  # a view itself, and its positive
        positive = logits.diagonal(len(first)).repeat(2)  # (2B,)
        return (logits.masked_fill(same, -torch.inf).logsumexp(1) - positive).mean()
