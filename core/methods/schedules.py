"""EMA decay and maximum traceable distance, as functions of the step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.methods.mocose.sections import EMA


def ema_decay(ema: EMA, update: int, steps: int) -> float:
    """eta of update number `update` (1 at the first training forward), D2.

    constant: eta = start. cosine_to_end: half a cosine from start to end over the run's `steps`, then end.
    released_cosine: eta_t = end - (end - start) * (cos(pi * t / T) + 1) / 2 with T = total_updates; it comes back down
    after T, as the released code does.
    """
    if ema.schedule == "constant" or ema.end is None:
        return ema.start
    if ema.schedule == "released_cosine" and ema.total_updates is not None:
        progress = update / ema.total_updates
    else:
        progress = min(1.0, update / steps)
    return ema.end - (ema.end - ema.start) * (math.cos(math.pi * progress) + 1.0) / 2.0


def traceable_distance(decay: float, queue_size: int, batch_size: int) -> float:
    """Maximum traceable distance d = 1 / (1 - eta) + queue / batch (MoCoSE, eq. 4), in steps; infinite at eta = 1 (D4)."""
    return math.inf if decay >= 1.0 else 1.0 / (1.0 - decay) + queue_size / batch_size
