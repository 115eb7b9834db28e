"""Where things lie: the checkout, what the tests share, and data beside the checkout that not every
machine has."""

import functools
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
