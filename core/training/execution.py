"""Where and with what a run is executed. Nothing of it is part of a run's identity. No torch."""

from __future__ import annotations

from pathlib import Path

from core.config.scale import Sources
from core.config.section import frozen
from core.data.sources import NOT_FETCHED


@frozen
class Execution:
    """Places and resources of runs. Where `sources` has no place, runs read what the project
    ships."""

    results_dir: str
    cache_dir: str
    sources: Sources = NOT_FETCHED
    # "cpu" or "cuda"; a GPU slot narrows CUDA_VISIBLE_DEVICES before the run starts
    device: str = "cpu"
    threads: int = 1
    gpu_runs: int = 1  # that share its GPU at most
    mps: bool = False  # whether they share it through NVIDIA's MPS
    tensorboard: Path | None = None  # where curves are written for TensorBoard, a folder a run
    keep_models: bool = False  # leave the selected checkpoint as a folder of its own
    # between two checkpoints of a training; None: none is written
    checkpoint_minutes: float | None = None
