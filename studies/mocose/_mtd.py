"""The settings behind Figures 2, 3 and 4: the maximum traceable distance (MTD), and what Figure 3
shows."""

from __future__ import annotations

from studies.mocose._figures import digitised

# 1 / (1 - decay) + queue / batch: decay, queue / batch
MTD = {
    "5": (0.75, 1), "6": (0.75, 2), "7.67": (0.85, 1), "8": (0.75, 4), "8.67": (0.85, 2), "10.67": (0.85, 4),
    "12": (0.75, 8), "14.67": (0.85, 8), "21": (0.95, 1),
}  # fmt: skip
# batch: Figure 3's means by MTD, of which Figure 2's line is the mean
PRINTED = {
    batch: tuple(mean for (mean,) in means.values())
    for batch, means in digitised(3, "batch_size", "mtd", metric="mean").items()
}


def decay_and_queue(mtd: str, batch: int) -> dict[str, object]:
    """What an MTD stands for at a batch size."""
    decay, batches = MTD[mtd]
    size = batches * batch
    return {"ema.start": decay, "queue.size": size, "queue.init_size": min(128, size)}


def settings(mtd: str, batch: int) -> dict[str, object]:
    """What a cell with an MTD and a batch size changes."""
    return {**decay_and_queue(mtd, batch), "train.batch_size": batch}
