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
    parts = [] if at_hand.corpus is not None else ["data"]
    parts += [] if at_hand.encoder is not None else ["encoder"]
    command = [sys.executable, "-m", "core.engine.hub", "prefetch", "--scale", scale, "--cache-dir", str(cache_dir)]
    print(f"Fetching {' and '.join(parts)} for scale {scale} from the hub, unless it was fetched before.", flush=True)
    done = subprocess.run([*command, "--parts", *parts], cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise UserError(said[-1] if said else "The hub could not be reached; give --data-dir and --encoder, or use --scale demo.")
    try:
        paths = json.loads(done.stdout.strip().splitlines()[-1])
        found = {part: Path(paths[f"{part}_path"]) for part in wanted(parts)}
        names = {f"{part}_name": str(paths[f"{part}_name"]) for part in wanted(parts)}
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise UserError("The hub's answer could not be understood; give --data-dir and --encoder, or use --scale demo.") from error
    return replace(at_hand, **found, **names)


def wanted(parts: list[str]) -> list[str]:
    """The places that these parts of a fetch fill."""
    return (["corpus", "evaluation"] if "data" in parts else []) + (["encoder"] if "encoder" in parts else [])
