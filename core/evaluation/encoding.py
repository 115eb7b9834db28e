"""Sentence vectors of any encoder on disk: what `evaluate` scores, independent of how it was
trained. `transformers` loads a folder, sentence-transformers a folder with its list of modules;
neither uses a network or runs code of the folder."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from core.data.encoders import check_files, json_object
from core.encoder.packing import token_matrix
from core.encoder.tokens import tokenise
from core.encoder.vectors import array
from core.errors import UserError, refusing, say
from core.evaluation.scoring import in_batches

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Pooling = Literal["cls", "pooler", "mean", "first_last_avg"]
LOCAL = {"local_files_only": True, "trust_remote_code": False}  # no network, no code of a folder


@dataclass(frozen=True)
class LoadedEncoder:
    """A loaded encoder. Sentences are cut at `max_length` tokens, special ones included (D82)."""

    model: Any
    tokenizer: Any
    max_length: int


def load_checkpoint(
    folder: Path, *, pooling: Pooling, device: str = "cpu", allow_pickle: bool = False
) -> LoadedEncoder:
    """The encoder in this folder, in float32 and evaluation mode, with every weight that `pooling`
    needs.

    Raises UserError for decoders, for pickled weights unless allowed (a pickle can run code), and
    for weights that the checkpoint lacks: `transformers` would fill those with random numbers.
    """
    folder = Path(folder)
    check_files(folder, allow_pickle)
    from transformers import AutoModel, AutoTokenizer, logging  # slow to import
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    # load; unused weights are reported otherwise, and missing ones are refused below
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    with refusing(f"The encoder in {folder} cannot be loaded", "copy its files there again"):
        tokenizer = AutoTokenizer.from_pretrained(folder, **LOCAL)
        safe = not allow_pickle or any(folder.glob("model.safetensors*"))
        model, info = AutoModel.from_pretrained(
            folder,
            dtype=torch.float32,
            use_safetensors=safe,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **LOCAL,  # mismatches are named and refused below
        )
    kind = model.config.model_type
    missing = sorted(info["missing_keys"])
    unused = info["unexpected_keys"]

    # refuse what does not fit
    if len(tokenizer) > model.config.vocab_size:
        raise UserError(
            f"The tokenizer in {folder} has {len(tokenizer)} tokens, and the encoder "
            f"{model.config.vocab_size}; copy the encoder's own tokenizer there."
        )
    wrong = _wrong_weights(info)
    first = [*tokenise(tokenizer, ["a"], 8)[0][:1]]
    if kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES or model.config.is_encoder_decoder:
        raise UserError(f"{folder} holds a {kind} model, which is no encoder; give another folder.")
    if wrong:
        raise UserError(
            f"{folder} has weights that do not fit its config.json ({wrong[0]}); copy both."
        )
    if pooling in ("cls", "pooler") and first != [tokenizer.cls_token_id]:
        raise UserError(
            f"{folder} has a tokenizer that sets no [CLS] before a sentence; save it with its "
            "post-processor, or take --pooling mean."
        )
    if pooling == "pooler" and (missing or getattr(model, "pooler", None) is None):
        raise UserError(f"{folder} has no trained pooler; take --pooling cls or mean.")

    # say what is not used
    prefix = f"{model.base_model_prefix}."
    heads = {name.removeprefix(prefix).split(".")[0] for name in unused}
    if heads:
        say(f"Weights outside the encoder are not used: {', '.join(sorted(heads))[:200]}.")
    longest = min(_positions(model), tokenizer.model_max_length)
    return LoadedEncoder(model.eval().to(device), tokenizer, longest)


def stated_pooling(folder: Path) -> Pooling:
    """The pooling of a model that a run kept; cls for any other folder."""
    if not (folder / "run.json").is_file():
        return "cls"
    pooling = json_object(folder / "1_Pooling" / "config.json")
    return "mean" if pooling.get("pooling_mode_mean_tokens") is True else "cls"


def _wrong_weights(info: Mapping[str, Any]) -> list[str]:
    """What is wrong with loaded weights, but for a pooler that is missing."""
    missing = sorted(info["missing_keys"])
    wrong = [f"{name} is missing" for name in missing if not name.startswith("pooler.")]
    for name, has, wants in info["mismatched_keys"]:
        wrong.append(f"{name} is {[*has]}, not {[*wants]}")
    for name in sorted(info["unexpected_keys"]):
        if re.search(r"\blayers?\.\d", name):
            wrong.append(f"{name} is of a layer too many")
    return wrong


def _positions(model: Any) -> int:
    """The tokens that the model has positions for; RoBERTa's table starts behind its padding."""
    places = getattr(model.config, "max_position_embeddings", None) or 512
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    if padding is None:
        return places
    return places - padding - 1


def sentence_vectors(
    checkpoint: LoadedEncoder, sentences: Sequence[str], pooling: Pooling
) -> np.ndarray:
    """The sentences' vectors, (sentences, hidden) float32, in the order given.

    cls: last layer's first token, before any pooler. pooler: the model's own pooler on it (dense
    and tanh in BERT). mean: mean of the last layer over real tokens, special ones included.
    first_last_avg: the same mean of the average of the first transformer layer and the last one
    (D77).
    """
    table = tokenise(checkpoint.tokenizer, sentences, checkpoint.max_length)

    @torch.inference_mode()
    def encoded(batch: np.ndarray) -> Tensor:
        matrix = token_matrix([table[place] for place in batch]).to(
            checkpoint.model.device
        )  # (B, 1 + L)
        mask = torch.arange(matrix.shape[1] - 1, device=matrix.device) < matrix[:, :1]  # (B, L)
        ids = matrix[:, 1:].where(mask, checkpoint.tokenizer.pad_token_id or 0)
        return _pooled(checkpoint.model, ids, mask.to(torch.int64), pooling).float()

    lengths = np.diff(table.offsets)
    device = checkpoint.model.device.type
    return array(in_batches(encoded, lengths, device, pads=True, in_order=False))


def _pooled(model: Any, ids: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """(B, hidden) from ids and mask (B, L)."""
    every_layer = pooling == "first_last_avg"
    output = model(input_ids=ids, attention_mask=mask, output_hidden_states=every_layer)
    tokens = output.last_hidden_state  # (B, L, hidden)
    if pooling == "cls":
        return tokens[:, 0]
    if pooling == "pooler":
        return output.pooler_output
    if pooling == "first_last_avg":
        tokens = (output.hidden_states[1] + tokens) / 2
    weights = mask.unsqueeze(-1).to(tokens.dtype)  # (B, L, 1)
    return (tokens * weights).sum(1) / weights.sum(1)


def installed() -> bool:
    """Whether sentence-transformers is installed, which reads its own folders."""
    return importlib.util.find_spec("sentence_transformers") is not None


def load_modules(folder: Path, *, device: str, allow_pickle: bool) -> SentenceTransformer:
    """All modules of a folder, read by sentence-transformers. Raises UserError."""
    kind = json_object(folder / "config_sentence_transformers.json").get(
        "model_type", "SentenceTransformer"
    )
    hint = "give --pooling to score its encoder alone"
    if kind != "SentenceTransformer":
        raise UserError(f"{folder} holds a {kind}, which gives no vectors; {hint}.")
    with refusing(f"sentence-transformers cannot load {folder}", hint):
        listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        encoder = load_checkpoint(
            folder / listed[0]["path"], pooling="mean", allow_pickle=allow_pickle
        )
        from sentence_transformers import SentenceTransformer  # an extra

        arguments: dict[str, Any] = {"dtype": torch.float32}
        if not allow_pickle:
            arguments["use_safetensors"] = True
        modules = SentenceTransformer(
            str(folder), device=device, model_kwargs=arguments, **LOCAL
        ).eval()
        places = _positions(encoder.model)
        modules.max_seq_length = min(modules.max_seq_length or places, places)
        modules.encode(["a"])  # a module may lack what the module before it should give
        return modules
