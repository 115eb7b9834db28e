"""Named random streams, one per purpose, so that adding one cannot move another; and batches on
threads."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch

Item = TypeVar("Item")
Output = TypeVar("Output")
# On a CPU 16,384 cost 1.8 times as much as 1,024, which stay in its cache.
TOKENS_PER_BATCH = {"cpu": 1024, "cuda": 16_384}


def stream_seed(seed: int, purpose: str) -> int:
    """A 63-bit seed for this purpose: SHA-256 of the run's seed and the purpose's name."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def torch_stream(seed: int, purpose: str) -> torch.Generator:
    """A CPU generator for tensors: drawn on the CPU, numbers are the same for every device."""
    return torch.Generator().manual_seed(stream_seed(seed, purpose))


def numpy_stream(seed: int, purpose: str) -> np.random.Generator:
    """A numpy generator, for data order."""
    return np.random.default_rng(stream_seed(seed, purpose))


def python_stream(seed: int, purpose: str) -> random.Random:
    """A standard-library generator, for choices made token by token."""
    return random.Random(stream_seed(seed, purpose))


def seed_libraries(seed: int, purpose: str) -> None:
    """Seed the generators of torch (on the CPU), numpy and the standard library that code draws
    from without naming a stream, such as `nn.Linear` and `random.random`."""
    number = stream_seed(seed, purpose)
    torch.default_generator.manual_seed(number)
    np.random.seed(number % (1 << 32))
    random.seed(number)


def in_parallel(
    call: Callable[[Item], Output], batches: Iterable[Item], device: str
) -> list[Output]:
    """What `call` gives for each batch, in their order: on a CPU as many at once as torch has
    threads, otherwise in turn. Threads that share a batch wait for each other at every operation,
    and its sums depend on their number. `call` draws nothing, and enters inference mode itself,
    which holds for one thread."""
    threads = torch.get_num_threads()
    if device != "cpu" or threads == 1:
        return [call(batch) for batch in batches]
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(call, batches))
    finally:
        torch.set_num_threads(threads)
