"""A trial without torch: it finds what `FAKE_FAULT` says, and notes each method that it tries in
`<cache_dir>/tried`."""

import os
from pathlib import Path

from core.errors import UserError


def trial(config, execution) -> list[str]:
    with open(Path(execution.cache_dir) / "tried", "a") as file:
        file.write(f"{config.method}\n")
    fault = os.environ.get("FAKE_FAULT")
    if fault == "crash":
        raise UserError("no memory")
    return [fault] if fault else []
