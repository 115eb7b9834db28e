"""The settings behind Figures 2, 3 and 4: the maximum traceable distance (MTD), and what Figure 3
shows."""

from __future__ import annotations

# 1 / (1 - decay) + queue / batch: decay, queue / batch
MTD = {
    "5": (0.75, 1), "6": (0.75, 2), "7.67": (0.85, 1), "8": (0.75, 4), "8.67": (0.85, 2), "10.67": (0.85, 4),
    "12": (0.75, 8), "14.67": (0.85, 8), "21": (0.95, 1),
}  # fmt: skip
PRINTED = {  # batch: Figure 3's means by MTD, of which Figure 2's line is the mean
    64: (76.50, 76.66, 76.65, 75.91, 76.87, 76.39, 76.38, 77.30, 76.33),
    128: (76.80, 77.06, 76.64, 76.81, 76.90, 76.78, 76.98, 76.62, 76.58),
    256: (76.76, 76.74, 76.59, 76.66, 76.62, 76.73, 76.77, 76.76, 75.41),
}


def decay_and_queue(mtd: str, batch: int) -> dict[str, object]:
    """What an MTD stands for at a batch size."""
    decay, batches = MTD[mtd]
    size = batches * batch
    return {"ema.start": decay, "queue.size": size, "queue.init_size": min(128, size)}


def settings(mtd: str, batch: int) -> dict[str, object]:
    """What a cell with an MTD and a batch size changes."""
    return {**decay_and_queue(mtd, batch), "train.batch_size": batch}
