"""Contrastive losses as pure functions of embeddings."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def info_nce(
    query: Tensor,
    key: Tensor,
    queue: Tensor | None,
    *,
    temperature: float,
    in_batch_negatives: bool = True,
) -> Tensor:
    """Mean cross-entropy (scalar) of each query against its key, the other keys and the queue.

    query, key: (batch, dim); queue: (width, dim) or None. Row i has the logits cos(q_i, k_1..k_B) /
    tau, then cos(q_i, queue) / tau (D54), and the correct class is i. With `in_batch_negatives`
    False only k_i and the queue remain (MoCoSE eq. 3, Algorithm 1; D1). Without a queue it is
    SimCSE's loss. Autocast would round the logits to bf16, by up to 0.1 at a temperature of 0.05
    (D34), so the loss is in float32.
    """
    with torch.autocast("cpu", enabled=False):  # a GPU computes without autocast
        query = F.normalize(in_float32(query), dim=-1)  # (B, d)
        key = F.normalize(in_float32(key), dim=-1)  # (B, d)
        if in_batch_negatives:
            logits = query @ key.T  # (B, B)
            target = torch.arange(len(query), device=query.device)
        else:
            logits = (query * key).sum(-1, keepdim=True)  # (B, 1)
            target = torch.zeros(len(query), dtype=torch.long, device=query.device)
        if queue is not None and len(queue):
            queue = F.normalize(in_float32(queue), dim=-1)  # (W, d)
            logits = torch.cat([logits, query @ queue.T], dim=1)  # (B, 1 or B, + W)
        return F.cross_entropy(logits / temperature, target)


def in_float32(x: Tensor) -> Tensor:
    """x in float32, unless it has more."""
    return x if x.dtype == torch.float64 else x.float()
