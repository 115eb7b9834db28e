"""What a result records beside its numbers: versions, device, names, seconds. None of it is hashed."""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import socket
import subprocess
from importlib import metadata
from pathlib import Path

import torch

from core.engine.processor import processor
from core.engine.tokens import TokenTable
from core.spec import methods
from core.spec.run import Execution, RunConfig

OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR")
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy")


def gather(
    config: RunConfig, execution: Execution, seconds: dict[str, float], rewritten: TokenTable | None
) -> dict[str, object]:
    """Provenance of the run that just ended in this process. `rewritten` is the target view's own text, if
    any: a model may write another text on another device."""
    cuda, used = execution.device == "cuda", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    name = torch.cuda.get_device_name() if cuda else platform.machine()
    others = {digest: other for digest, _, other in execution.other_encoders}
    written = {} if rewritten is None else {
        "rewritten_text": hashlib.sha256(rewritten.ids.data).hexdigest()[:16],
        "nlpaug": metadata.version("nlpaug"),
    }  # fmt: skip
    return written | {
        "versions": {library: metadata.version(library) for library in LIBRARIES},
        "python": platform.python_version(),
        "device": f"{execution.device}: {name}",
        "processor": processor(),
        "threads": execution.threads,
        "host": socket.gethostname(),
        "commit": commit(),
        "method_code": methods.code_digest(config.method),
        "encoder": others.get(config.encoder.digest, execution.encoder_name),
        "seconds": {phase: round(value, 3) for phase, value in seconds.items()},
        "peak_memory_bytes": torch.cuda.max_memory_allocated() if cuda else used,
    }


def commit() -> str:
    """The commit of the code, with `+` if files differ from it; `unknown` outside a checkout."""
    folder = str(Path(__file__).parents[1])
    # A hook of git names its own repository to all that it starts. A lock would stop a commit of the user's.
    environment = {name: value for name, value in os.environ.items() if name not in OF_HOOKS}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            ["git", "-C", folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "--", "."],
            capture_output=True, text=True, check=True, env=environment,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    first, *rest = done.stdout.splitlines()  # "# branch.oid COMMIT", more about the branch, changed files
    return first.split()[-1][:12] + "+" * any(not line.startswith("#") for line in rest)
