"""The real job under a bad star: `<cache_dir>/fate` says how its next attempt goes, and is read
once.

`step N`: SIGKILL when the training asks for the batch after its Nth. `write N`: SIGKILL in the
middle of the Nth checkpoint, half of which is on the disk. `slow S`: every batch takes S seconds.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from pathlib import Path

import torch

from core.training import job
from tests.support.small_runs import thinned


def run(config, execution, progress):
    """Train as `core.training.job` does on thinned sets, as far as fate lets it."""
    job.load_demo = thinned
    fate = Path(execution.cache_dir) / "fate"
    if fate.exists():
        word, number = fate.read_text().split()
        fate.unlink()
        if word == "write":
            torch.save = torn(torch.save, int(number))
        else:
            job.training_batches = watched(job.training_batches, word, float(number))
    return job.run(config, execution, progress)


def torn(real, last):
    """`torch.save`, but its last call never comes back."""
    count = itertools.count(1)

    def save(content, file):
        real(content, file)
        if next(count) == last:
            os.truncate(file.name, os.path.getsize(file.name) // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    return save


def watched(training_batches, word, number):
    """`training_batches`, slowly, or not to their end."""

    def batches(*arguments):
        for step, batch in enumerate(training_batches(*arguments), start=1):
            if word == "step" and step > number:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(number if word == "slow" else 0)
            yield batch

    return batches
