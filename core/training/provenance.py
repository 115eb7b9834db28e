"""What a result records beside its numbers: versions, device, names, seconds. None of it is
hashed."""

from __future__ import annotations

import hashlib
import platform
import resource
import socket
from collections.abc import Collection
from importlib import metadata

import torch

from core.config.method_code import code_digest
from core.encoder.processor import processor
from core.encoder.tokens import TokenTable
from core.store import code
from core.training.run import Run

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy")
# of the files that this process imports, which may change while it trains
CODE = code.digest()
COMMIT = code.current_commit()[0]


def provenance_before(run: Run, rewritten: TokenTable | None) -> dict[str, object]:
    """What is known of a run of this process before its first step. `rewritten` is the target
    view's own text, if any: a model may write another text on another device."""
    execution = run.execution
    name = platform.machine()
    provenance: dict[str, object] = {}
    if execution.device == "cuda":
        name = torch.cuda.get_device_name()
        provenance["gpu_runs"] = execution.gpu_runs
        provenance["mps"] = execution.mps
    if rewritten is not None:
        provenance["rewritten_text"] = hashlib.sha256(rewritten.ids.data).hexdigest()[:16]
    return provenance | {
        "versions": {library: metadata.version(library) for library in LIBRARIES},
        "python": platform.python_version(),
        "device": f"{execution.device}: {name}",
        "processor": processor(),
        "threads": execution.threads,
        "host": socket.gethostname(),
        "commit": COMMIT,
        "method_digest": code_digest(run.config.method),
        "encoder": run.encoder.name,
    }


def provenance_after(run: Run, codes: Collection[str]) -> dict[str, object]:
    """What is known at its end. `codes` are digests of the code of this and earlier attempts."""
    if run.device.type == "cuda":
        peak = torch.cuda.max_memory_allocated()
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "code": CODE if {CODE, code.digest(), *codes} == {CODE} else "changed during the run",
        "peak_memory_bytes": peak,
    }
