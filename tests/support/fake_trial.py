"""A trial without torch: it finds what `FAKE_FAULT` says, and notes each method that it tries in
`<cache_dir>/tried`."""

import json
import os
import sys
from pathlib import Path

from core.config.identity import from_canonical_json

request = json.load(sys.stdin)
for config in request["configs"]:
    with open(Path(request["execution"]["cache_dir"]) / "tried", "a") as file:
        file.write(f"{from_canonical_json(config)[0].method}\n")
    fault = os.environ.get("FAKE_FAULT")
    if fault == "crash":
        sys.exit("no memory")
    print(json.dumps([fault] if fault else []))
