"""Where and how a run is executed: everything that must not move a number, and is therefore never hashed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Places and resources. Paths are text; `corpus_path`, `evaluation_path` and `encoder_path` are None at the
    generated scales (demo and long), whose text and encoder are part of the project."""

    results_dir: str
    cache_dir: str
    corpus_path: str | None = None
    evaluation_path: str | None = None
    encoder_path: str | None = None
    corpus_name: str = ""
    evaluation_name: str = ""
    encoder_name: str = ""
    device: str = "cpu"  # "cpu" or "cuda"; a GPU slot narrows CUDA_VISIBLE_DEVICES before the run starts
    threads: int = 1
    pairs: tuple[tuple[str, str], ...] = ()  # (name, path) of graded pairs of one's own
    other_encoders: tuple[tuple[str, str, str], ...] = ()  # (digest, path, name) besides encoder_path
    keep_models: bool = False  # leave the selected checkpoint as a folder of its own
    checkpoint_minutes: float | None = None  # between two checkpoints of a training; None: none is written
