"""Fetching what is not at hand from the hub: one process (`core.engine.hub`, started by name), then everything is offline."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from core.runner.nursery import PROJECT
from core.runner.sources import Places
from core.spec.errors import UserError


def prefetch(scale: str, cache_dir: Path, at_hand: Places) -> Places:
    """`at_hand` with its empty places filled from the hub. Raises UserError with the hub's own sentence if that fails."""
    command = [sys.executable, "-m", "core.engine.hub", "prefetch", "--scale", scale, "--cache-dir", str(cache_dir)]
    done = subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise UserError(said[-1] if said else "The hub could not be reached; give --data-dir and --encoder, or use --scale demo.")
    try:
        paths = json.loads(done.stdout.strip().splitlines()[-1])
        fetched = Places(
            corpus=Path(paths["corpus_path"]), evaluation=Path(paths["evaluation_path"]), encoder=Path(paths["encoder_path"]),
            corpus_name=paths["corpus_name"], evaluation_name=paths["evaluation_name"], encoder_name=paths["encoder_name"],
        )  # fmt: skip
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise UserError("The hub's answer could not be understood; give --data-dir and --encoder, or use --scale demo.") from error
    own = {part: getattr(at_hand, part) for part in ("corpus", "evaluation", "encoder") if getattr(at_hand, part) is not None}
    return replace(fetched, **own, **{f"{part}_name": getattr(at_hand, f"{part}_name") for part in own})
