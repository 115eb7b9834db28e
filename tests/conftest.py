import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))
sys.path.insert(0, str(Path(__file__).parent.parent))


@pytest.fixture
def desk(tmp_path):
    """A place for one test of the command line."""
    from desk import Desk  # the path is set above

    return Desk(tmp_path)
