"""The most that a whole number of a configuration may be: beyond it no run would end, or fit any memory.

Ten times and more above anything that the papers or a patient user would run; said before training, not by a process that dies.
"""

from __future__ import annotations

MOST = {
    "train.steps": 10_000_000,
    "train.batch_size": 65_536,
    "heads.out_size": 65_536,
    "heads.predictor_hidden": 65_536,
    "queue.size": 1_048_576,
    "queue.clusters": 65_536,
    "eval.every": 10_000_000,
}
