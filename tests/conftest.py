import os
import signal
import sys

import pytest
from extras import skip_what_lacks

# Several processes test at once; more threads than cores wait for each other and make a step ten
# times as slow.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# ignored in a shell's background, and then by every command
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    skip_what_lacks(items)


@pytest.fixture(autouse=True)
def without_bytecode(monkeypatch):
    """Tests change a study within a second, which its bytecode would not show."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.fixture
def desk(tmp_path):
    """A place for one test of the command line."""
    from desk import Desk  # in tests/support, as pyproject.toml says

    return Desk(tmp_path)


@pytest.fixture
def thin(execution, monkeypatch):
    """A module's own `execution`, where runs are evaluated on the thinned sets, which their
    configurations then name."""
    from small_runs import thinned

    from core.training import job  # torch takes its time, and most tests need none

    monkeypatch.setattr(job, "load_demo", thinned)
    return execution
