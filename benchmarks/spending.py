"""Where a step's time goes: torch's own profiler over the trainer's loop, by kind of operation."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.setting import Setting
from benchmarks.step import OurTraining
from benchmarks.timing import Row

OUTSIDE = "outside torch's operations (Python, autograd, profiler)"
KINDS = {  # first match in an operation's name
    "matrix products": ("mm", "linear", "dot", "convolution"),
    "drawing and applying dropout": ("bernoulli", "dropout", "rand"),
    "AdamW, EMA, clipping": ("adam", "foreach", "lerp", "norm_cuda", "linalg_vector_norm"),
    "GELU": ("gelu",),
    "LayerNorm": ("layer_norm",),
    "softmax and loss": ("softmax", "nll", "cross_entropy"),
    "moving rows": ("index", "embedding", "gather", "scatter", "copy", "cat", "clone", "repeat", "stack"),
}
OTHER = "other element-wise work"


def rows(setting: Setting, steps: int) -> Iterator[Row]:
    """Milliseconds a step and share by kind, of our step as MoCoSE in float32, while it is watched."""
    training = OurTraining(setting, setting.mocose())
    torch.set_num_threads(setting.threads)
    training.block(steps)
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        began = time.perf_counter()
        training.block(steps)
        whole = time.perf_counter() - began
    count = steps + 2  # a block's first and last step are trained too
    spent: dict[str, float] = defaultdict(float)
    for event in watched.key_averages():
        if "::" in event.key:  # an operation, not a name that torch or the loop gave to several of them
            spent[kind(event.key)] += event.self_cpu_time_total / 1e6
    spent[OUTSIDE] = max(0.0, whole - sum(spent.values()))
    for name, seconds in sorted(spent.items(), key=lambda one: -one[1]):
        yield Row("profile", setting.name, name, 1e3 * seconds / count, "ms", note=f"{seconds / whole:.0%}")
    yield Row("profile", setting.name, "a step while it is watched", 1e3 * whole / count, "ms")


def kind(operation: str) -> str:
    """The kind of an operation such as aten::mm."""
    name = operation.lower()
    return next((kind for kind, parts in KINDS.items() if any(part in name for part in parts)), OTHER)
