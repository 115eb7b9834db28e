"""What a result records beside its numbers: versions, device, places' names, seconds, memory. Nothing of it
is hashed."""

from __future__ import annotations

import hashlib
import platform
import resource
import socket
import subprocess
from importlib import metadata
from pathlib import Path

import torch

from core.engine.processor import processor
from core.engine.tokens import TokenTable
from core.spec.run import Execution

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy")


def gather(
    execution: Execution, device: torch.device, seconds: dict[str, float], encoder: str
) -> dict[str, object]:
    """Provenance of the run that just ended in this process; `encoder` is the digest of its encoder."""
    if device.type == "cuda":
        name, memory = torch.cuda.get_device_name(device), torch.cuda.max_memory_allocated(device)
    else:
        name, memory = platform.machine(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    others = {digest: other for digest, _, other in execution.other_encoders}
    return {
        "versions": {library: metadata.version(library) for library in LIBRARIES},
        "python": platform.python_version(),
        "device": f"{device.type}: {name}",
        "processor": processor(),
        "threads": execution.threads,
        "host": socket.gethostname(),
        "commit": commit(),
        "encoder": others.get(encoder, execution.encoder_name),
        "corpus": execution.corpus_name,
        "evaluation": execution.evaluation_name,
        "seconds": {phase: round(value, 3) for phase, value in seconds.items()},
        "peak_memory_bytes": memory,
    }


def texts(rewritten: TokenTable | None) -> dict[str, object]:
    """The content of the target view's own text, if any: a model may write another text on another device."""
    if rewritten is None:
        return {}
    digest = hashlib.sha256(rewritten.ids.data).hexdigest()[:16]
    return {"rewritten_text": digest, "nlpaug": metadata.version("nlpaug")}


def commit() -> str:
    """The commit of the code, with `+` if files differ from it; `unknown` outside a checkout."""
    folder = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", str(folder.parent))
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
