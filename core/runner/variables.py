"""Variables of the environment that libraries read as numbers, with a traceback where one is
none."""

from __future__ import annotations

import os

from core.config.section import decimal, whole_number
from core.errors import say

# Of joblib, huggingface_hub, scikit-learn, torch, datasets and tqdm.
WHOLE_NUMBERS = """LOKY_MAX_CPU_COUNT LOKY_MAX_DEPTH JOBLIB_MULTIPROCESSING HF_HUB_ETAG_TIMEOUT
    HF_HUB_DOWNLOAD_TIMEOUT SKLEARN_WORKING_MEMORY TORCHDYNAMO_REPRO_LEVEL TQDM_NCOLS""".split()
NUMBERS = "HF_DATASETS_IN_MEMORY_MAX_SIZE TQDM_MININTERVAL TQDM_MAXINTERVAL TQDM_MINITERS".split()


def pass_over() -> None:
    """Take variables that are no number out of the environment, and name them. To be called before
    the libraries are imported."""
    for name in (*WHOLE_NUMBERS, *NUMBERS):
        parse = whole_number if name in WHOLE_NUMBERS else decimal
        if name in os.environ and parse(os.environ[name]) is None:
            say(
                f"The variable {name} is {os.environ.pop(name)[:40]!a}, which is no number; it is "
                "not used."
            )
