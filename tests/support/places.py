"""Where things lie: the checkout, what the tests share, and data beside the checkout that not every
machine has."""

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parents[1]
SHIPPED = ("mocose", "esimcse", "simcse", "own")  # folders of studies; others are a user's own
SHARED = ROOT.parent / "shared"


@functools.cache
def temporary(prefix: str) -> tempfile.TemporaryDirectory:
    """A folder that this process removes at its end.

    The cache holds it: what `atexit` alone holds is collected, and removed, by a child that
    multiprocessing forks.
    """
    return tempfile.TemporaryDirectory(prefix=prefix)


def python(*words, cwd=ROOT, **environment: str) -> subprocess.CompletedProcess:
    """A process of this Python with these words, to its end."""
    env = {**os.environ, **environment}
    words = [sys.executable, *map(str, words)]
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
