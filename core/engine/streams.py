"""Named random streams: one per purpose, derived from a run's seed, so that adding one cannot move another."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import torch


def stream_seed(seed: int, purpose: str) -> int:
    """A 63-bit seed for this purpose: SHA-256 of the run's seed and the purpose's name."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def torch_stream(seed: int, purpose: str) -> torch.Generator:
    """A CPU generator for tensors; what it draws is moved to the device, so every device starts from the same numbers."""
    return torch.Generator().manual_seed(stream_seed(seed, purpose))


def numpy_stream(seed: int, purpose: str) -> np.random.Generator:
    """A numpy generator, for data order."""
    return np.random.default_rng(stream_seed(seed, purpose))


def python_stream(seed: int, purpose: str) -> random.Random:
    """A standard-library generator, for choices made token by token."""
    return random.Random(stream_seed(seed, purpose))
