"""Fetching what is not at hand from the hub: one process (`core.data.hub`, started by name), then everything is offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.data.own import needs_the_scale_s
from core.data.pins import ENCODERS
from core.data.sources import Places
from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.spec.views import OWN_ENCODER

PROJECT = Path(__file__).resolve().parents[2]
OFFLINE = "HF_HUB_OFFLINE"  # the hub's client fetches nothing where this is set
HUB_NAMES = {"bert-base": "bert-base-uncased", "bert-large": "bert-large-uncased"}  # the others are called as in the papers


def prefetch(scale: str, cache_dir: Path, at_hand: Places, others: Sequence[str] = ()) -> Places:
    """`at_hand` with its empty places filled from the hub, and with these other encoders of the papers.

    Raises UserError with the hub's own sentence if that fails.
    """
    known = {stands_for for stands_for, _, _ in at_hand.others}
    for stands_for in others:
        if stands_for not in known:
            found, names = _fetched(scale, cache_dir, ["encoder"], HUB_NAMES.get(stands_for, stands_for))
            at_hand = replace(at_hand, others=(*at_hand.others, (stands_for, found["encoder"], names["encoder_name"])))
    parts = lacking(at_hand)
    if not parts:
        return at_hand
    found, names = _fetched(scale, cache_dir, parts)
    filled: dict[str, Any] = {**found, **names}
    if at_hand.own_text:
        filled |= {"corpus": at_hand.corpus, "corpus_name": at_hand.corpus_name}
    return replace(at_hand, **filled)


def lacking(at_hand: Places) -> list[str]:
    """The parts of a scale that would be fetched: `data`, `encoder`, both or none."""
    complete = bool(at_hand.pairs) and not needs_the_scale_s([name for name, _ in at_hand.pairs])
    parts = [] if at_hand.corpus is not None and (at_hand.evaluation is not None or complete) else ["data"]
    return parts + ([] if at_hand.encoder is not None else ["encoder"])


def pinned(scale: str, cache_dir: Path, encoder: Path, *, offline: bool = False) -> Path:
    """The folder of an encoder: itself, or, where there is none and its name is that of a pinned one, what the hub has under that name.

    Raises UserError with the hub's own sentence if that fails, or, with `offline`, if it was not fetched before.
    """
    if encoder.exists() or encoder.name not in ENCODERS:
        return encoder
    try:
        found, _ = _fetched(scale, cache_dir, ["encoder"], encoder.name, offline=offline)
    except UserError as error:
        if not (offline and OFFLINE in str(error)):
            raise
        raise UserError(
            f"Encoder {encoder.name} is not at hand, and only training fetches; train with it first, or give a folder."
        ) from error
    return found["encoder"]


def _fetched(
    scale: str, cache_dir: Path, parts: list[str], encoder: str | None = None, *, offline: bool = False
) -> tuple[dict[str, Path], dict[str, str]]:
    """Places and names of these parts, from the hub or from what it gave before; with `offline` from that alone."""
    said = _ask(scale, cache_dir, [*(["--encoder", encoder] if encoder else []), "--parts", *parts], parts, offline=offline)
    try:
        paths = json.loads(said.strip().splitlines()[-1])
        found = {part: Path(paths[f"{part}_path"]) for part in wanted(parts)}
        names = {f"{part}_name": str(paths[f"{part}_name"]) for part in wanted(parts)}
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise UserError("The hub's answer could not be understood; give --data-dir and --encoder, or use --scale demo.") from error
    return found, names


def prefetch_text_models(scale: str, cache_dir: Path, runs: Iterable[RunConfig]) -> None:
    """Fetch the models that rewrite these runs' texts, so that the runs find them. Raises UserError with the hub's own sentence."""
    names = sorted({run.rewriting.model for run in runs if run.rewriting is not None and run.rewriting.model not in (None, OWN_ENCODER)})
    if names:
        _ask(scale, cache_dir, ["--text-models", *names], names)


def _ask(scale: str, cache_dir: Path, arguments: list[str], what: list[str], *, offline: bool = False) -> str:
    command = [sys.executable, "-m", "core.data.hub", "prefetch", "--scale", scale, "--cache-dir", str(cache_dir), *arguments]
    if not offline:
        print(f"Fetching {' and '.join(what)} for scale {scale} from the hub, unless it was fetched before.", flush=True)
    environment = os.environ | {OFFLINE: "1"} if offline else None
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise UserError(said[-1] if said else "The hub could not be reached; give --data-dir and --encoder, or use --scale demo.")
    return done.stdout


def wanted(parts: list[str]) -> list[str]:
    """The places that these parts of a fetch fill."""
    return (["corpus", "evaluation"] if "data" in parts else []) + (["encoder"] if "encoder" in parts else [])
