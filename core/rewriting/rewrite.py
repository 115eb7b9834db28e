"""Rewriting sentences as a `TextView` says (Table 5, D26 - D28)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from core.methods.mocose.sections import CONTEXTUAL, TextView
from core.rewriting.contextual import proposed
from core.rewriting.generation import continued, translated
from core.rewriting.models import load_model
from core.rewriting.typos import misspelt


def rewrite(
    text: TextView, texts: list[str], seed: int, folders: Sequence[Path], device: torch.device
) -> list[str]:
    """The texts, rewritten in order, the same for the same seed. `folders` hold the models that
    `text.model` names. Raises UserError if a model cannot be loaded or lacks a head."""
    if text.kind == "typos":
        return misspelt(texts, text.rate, seed)
    if text.kind in CONTEXTUAL:
        return proposed(*load_model(folders[0], "masked words", device), texts, text, seed)
    if text.kind == "continuation":
        return continued(*load_model(folders[0], "continuation", device), texts, seed)
    for folder in folders:  # to German, and back
        texts = translated(*load_model(folder, "translation", device), texts)
    return texts
