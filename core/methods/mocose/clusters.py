"""Fewer negatives from the queue: its mean, or the centres of its clusters (the slide deck's replacement of the queue's negatives)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from core.methods.mocose.sections import NegativeQueue

LLOYD_STEPS = 10


def summarised(config: NegativeQueue, entries: Tensor, generator: torch.Generator) -> Tensor:
    """The negatives that stand for the queue's visible entries (width, dim): the entries themselves, their mean (1, dim), or
    `queue.clusters` centres (clusters, dim).

    The slides give the number of clusters and the scores, nothing else; the rest is a guess. Lengths are left aside, as the loss is
    in cosines: entries are brought to unit length first, and the clusters are spherical. A queue that holds no more entries than
    clusters is left as it is, and an empty one stays empty. `generator` is drawn from for kmeans alone.
    """
    if config.negatives == "entries" or not len(entries):
        return entries
    points = F.normalize(entries, dim=1)  # (width, dim)
    if config.clusters is None:  # then it is their mean
        return points.mean(0, keepdim=True)
    if len(points) <= config.clusters:
        return entries
    start = torch.randperm(len(points), generator=generator)[: config.clusters]
    return spherical_kmeans(points, points[start.to(points.device)], LLOYD_STEPS)


def spherical_kmeans(points: Tensor, centres: Tensor, steps: int) -> Tensor:
    """Centres (k, dim) after so many of Lloyd's steps from the given ones, on unit vectors `points` (width, dim).

    A step gives each point to the centre of highest cosine (the first of equals) and puts each centre at the mean of its points;
    a centre without points stays where it is. Each step is one product with a matrix of memberships, so that a GPU gives the
    same sums each time.
    """
    for _ in range(steps):
        nearest = (points @ F.normalize(centres, dim=1).T).argmax(1)  # (width,)
        member = F.one_hot(nearest, len(centres)).to(points.dtype)  # (width, k)
        count = member.sum(0).unsqueeze(1)  # (k, 1)
        centres = torch.where(count > 0, member.T @ points / count.clamp(min=1), centres)
    return centres
