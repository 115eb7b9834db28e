"""Leaving a run's selected checkpoint as a folder that transformers and sentence-transformers load."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from torch import nn

from core.data.encoders import ENCODER_FILES
from core.engine.encoder.bert import from_pretrained
from core.engine.evaluation.encoding import load_checkpoint
from core.engine.sentence_folder import Dense, SentenceLayout, write_layout
from core.methods.contrastive import Contrastive
from core.spec.identity import canonical_json, run_id
from core.spec.printable import printable
from core.spec.run import RunConfig
from core.store.models import model_folder, whole_folder

CARD = """# Run {run}

{method}, trained at scale {scale} from {encoder}; the checkpoint of step {step} of {steps}.
A sentence's vector is {vector}; compare vectors by their cosine.

    from sentence_transformers import SentenceTransformer
    vectors = SentenceTransformer("{run}").encode(["A sentence."])

`run.json` holds the whole configuration. {warning}
"""


def keep_model(config: RunConfig, model: Contrastive, source: Path, results: Path, step: int, encoder_name: str) -> Path | None:
    """Write the model's encoder, whose weights are those of the selected checkpoint, and what stands behind it; the folder, or None
    where the layout cannot hold what this run scores. `source` is the folder of the encoder that the run started from.

    Raises UserError of one sentence if it cannot be written.
    """
    if not config.keepable:
        return None
    checkpoint = load_checkpoint(source, pooling="cls")
    encoder = from_pretrained(checkpoint.model, hidden_dropout=0.0, attention_dropout=0.0, attention="eager")  # shares its parameters
    encoder.load_state_dict(model.encoder.state_dict())
    layers = tuple(_dense(layer, activation) for layer, activation in model.layers_behind())
    layout = SentenceLayout("cls", layers, encoder.max_positions)
    run = run_id(config)
    with whole_folder(model_folder(results, run)) as folder, system_errors():
        checkpoint.model.save_pretrained(folder)
        for name in ENCODER_FILES:
            if name not in ("config.json", "model.safetensors") and (source / name).is_file():
                shutil.copyfile(source / name, folder / name)
        (folder / "run.json").write_text(canonical_json(config) + "\n")
        (folder / "README.md").write_text(_card(config, run, layout, step, encoder_name))
        write_layout(folder, layout, encoder.hidden)
    return model_folder(results, run)


def _dense(layer: nn.Linear, activation: str) -> Dense:
    weight, bias = (np.ascontiguousarray(tensor.detach().cpu().float().numpy()) for tensor in (layer.weight, layer.bias))
    return Dense(weight, bias, activation)


@contextlib.contextmanager
def system_errors() -> Iterator[None]:
    """Within this context the system's errors on writing come as OSError; safetensors wraps them in an error of its own."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)|code: (\d+)", str(error))
        code = int(number[1] or number[2]) if number else errno.EIO
        raise OSError(code, os.strerror(code)) from error


def _card(config: RunConfig, run: str, layout: SentenceLayout, step: int, encoder_name: str) -> str:
    warning = (
        "The run disturbed sentences when it was scored (D20, D21); the folder does not, so its scores differ." if config.disturbed else ""
    )
    vector = "[CLS] of the last layer" + (f", then {len(layout.layers)} dense layers" if layout.layers else "")
    return CARD.format(
        run=run, method=config.method, scale=config.scale, encoder=_plain(encoder_name) or "its encoder", step=step, steps=config.train.steps,
        vector=vector, warning=warning,
    ).rstrip() + "\n"  # fmt: skip


def _plain(name: str) -> str:
    """A name in Markdown, whose letters are no markup."""
    return "".join(c if c.isalnum() or c in " .-/" else f"&#{ord(c)};" for c in printable(name))
