"""Leaving a run's selected checkpoint as a folder that transformers and sentence-transformers
load."""

from __future__ import annotations

import json
import shutil

import torch
from safetensors import SafetensorError

from core.config.identity import canonical_json
from core.data.encoders import ENCODER_FILES
from core.encoder.packing import Packed
from core.encoder.pooling import KEPT_POOLINGS, Encoded
from core.errors import refusing
from core.evaluation.encoding import load_checkpoint
from core.formatting import printable
from core.methods.contrastive import Contrastive
from core.store.files import AGAIN, whole
from core.training.run import Run

CARD = """# Run {run}

{method}, trained at scale {scale} from {encoder}; the checkpoint of step {step} of {steps}.
A sentence's vector is {vector} of the last layer; compare vectors by their cosine.

    from sentence_transformers import SentenceTransformer
    vectors = SentenceTransformer("{run}").encode(["A sentence."])

`run.json` holds the whole configuration.{warning}
"""
WARNING = (
    " The run scored disturbed sentences (D20, D21) and the folder does not, so its scores differ."
)
MODULES = [  # as sentence-transformers lists them
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]
VECTORS = {"cls": "[CLS]", "mean": "the mean of the tokens"}
CLOSE = 1e-4  # of a vector's largest number: two ways of pooling that differ less are the same


def keep_model(run: Run, model: Contrastive, step: int, pooling: str) -> None:
    """Write the model's encoder with its weights, those after `step`. `pooling` is a name of
    VECTORS. Raises UserError if it cannot be written."""
    config = run.config
    loaded = load_checkpoint(run.encoder_folder)
    encoder = loaded.encoder
    encoder.load_state_dict(model.encoder.state_dict())  # into the parameters of loaded.model

    # the files that sentence-transformers reads
    layout = {
        "modules.json": MODULES,
        "1_Pooling/config.json": {
            "word_embedding_dimension": encoder.hidden,
            "pooling_mode_cls_token": pooling == "cls",
            "pooling_mode_mean_tokens": pooling == "mean",
        },
        "sentence_bert_config.json": {
            "max_seq_length": encoder.max_positions,
            "do_lower_case": False,
        },
    }
    card = CARD.format(
        run=run.id,
        vector=VECTORS[pooling],
        method=config.method,
        scale=config.scale,
        step=step,
        steps=config.train.steps,
        encoder=printable(run.encoder.name) or "its encoder",
        warning=WARNING if config.disturbed else "",
    )

    # the folder
    run.store.check_there()
    with whole(run.store.path("models", run.id), folder=True) as folder:
        with refusing(f"{folder} could not be written", f"make space and {AGAIN}", SafetensorError):
            loaded.model.save_pretrained(folder)  # which wraps the system's errors
        for name in ENCODER_FILES:
            if (
                name not in ("config.json", "model.safetensors")
                and (run.encoder_folder / name).is_file()
            ):
                shutil.copyfile(run.encoder_folder / name, folder / name)
        (folder / "run.json").write_text(canonical_json(config) + "\n")
        (folder / "README.md").write_text(card, encoding="utf-8")
        (folder / "1_Pooling").mkdir()
        for name, content in layout.items():
            (folder / name).write_text(json.dumps(content, indent=2) + "\n")


@torch.inference_mode()
def scored_pooling(model: Contrastive, batch: Packed) -> str | None:
    """The pooling that gives the scored vectors of this batch: cls, mean, or None for others.

    It compares the vectors themselves, so it holds for whatever a method computes.
    """
    model.eval()
    scored = model.sentence_vectors(batch).float()
    for name, pool in KEPT_POOLINGS.items():
        vectors = pool(Encoded(model.encoder, batch)).float()
        same = vectors.shape == scored.shape
        if same and float((vectors - scored).abs().max()) <= CLOSE * float(vectors.abs().max()):
            return name
    return None
