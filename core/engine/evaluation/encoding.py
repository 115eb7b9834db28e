"""Sentence vectors of any encoder on disk: what `evaluate` scores, independent of how the model was trained.

`transformers` loads a folder (config, weights, tokenizer), sentence-transformers a folder with its list of
modules; neither uses a network or runs code of the folder.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from core.data.encoders import check_files, json_object
from core.engine.encoder.packing import rows
from core.engine.evaluation.metrics import array
from core.engine.evaluation.scoring import in_batches
from core.engine.tokens import tokenise
from core.spec.errors import UserError, say

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Pooling = Literal["cls", "pooler", "mean", "first_last_avg"]
CONFIG = "config_sentence_transformers.json"
ALONE = "give --pooling to score its encoder alone"
FLAGS = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


@dataclass(frozen=True)
class LoadedEncoder:
    """A loaded encoder. Sentences are cut at `max_length` tokens, special ones included (D82)."""

    model: Any
    tokenizer: Any
    max_length: int
    device: str


def load_checkpoint(
    folder: Path, *, pooling: Pooling, device: str = "cpu", allow_pickle: bool = False
) -> LoadedEncoder:
    """The encoder in this folder, in float32 and evaluation mode, with every weight that `pooling` needs.

    Raises UserError for decoders, for pickled weights unless allowed (a pickle can run code), and for weights
    that the checkpoint lacks: `transformers` would fill those with random numbers.
    """
    folder = Path(folder)
    check_files(folder, allow_pickle)
    from transformers import AutoModel, AutoTokenizer, logging  # slow to import
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    logging.set_verbosity_error()  # unused weights are reported otherwise; missing ones are refused below
    logging.disable_progress_bar()
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **local)
        model, info = AutoModel.from_pretrained(
            folder,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # named and refused below
            use_safetensors=not allow_pickle or any(folder.glob("model.safetensors*")),
            **local,
        )
    except Exception as error:
        what = f"The encoder in {folder} cannot be loaded ({_in_short(error)})"
        raise UserError(f"{what}; copy its files there again.") from error
    kind, missing = model.config.model_type, sorted(info["missing_keys"])
    wrong = [f"{name} is missing" for name in missing if not name.startswith("pooler.")]
    wrong += [f"{name} is {[*has]}, not {[*wants]}" for name, has, wants in info["mismatched_keys"]]
    layers = [name for name in sorted(info["unexpected_keys"]) if re.search(r"\blayers?\.\d", name)]
    wrong += [f"{name} is of a layer too many" for name in layers]
    reads_cls, first = pooling in ("cls", "pooler"), [*tokenise(tokenizer, ["a"], 8)[0][:1]]
    no_pooler = pooling == "pooler" and (missing or getattr(model, "pooler", None) is None)
    refusals = {
        f"holds a {kind} model, which is no encoder; give another folder": (
            kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES or model.config.is_encoder_decoder
        ),
        f"has weights that do not fit its config.json ({next(iter(wrong), '')}); copy both again": wrong,
        "has a tokenizer that sets no [CLS] before a sentence; save it with its post-processor, or take "
        "--pooling mean": reads_cls and first != [tokenizer.cls_token_id],
        "has no trained pooler; take --pooling cls or mean": no_pooler,
    }
    for sentence, applies in refusals.items():
        if applies:
            raise UserError(f"{folder} {sentence}.")
    encoder = model.base_model_prefix
    heads = {name.removeprefix(f"{encoder}.").split(".")[0] for name in info["unexpected_keys"]}
    if heads:
        say(f"Weights outside the encoder are not used: {', '.join(sorted(heads))[:200]}.")
    longest = min(_positions(model), tokenizer.model_max_length)
    return LoadedEncoder(model.eval().to(device), tokenizer, longest, device)


def _positions(model: Any) -> int:
    """The tokens that the model has positions for; RoBERTa's table starts behind its padding."""
    places = getattr(model.config, "max_position_embeddings", None) or 512
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return places if padding is None else places - padding - 1


def sentence_vectors(checkpoint: LoadedEncoder, sentences: Sequence[str], pooling: Pooling) -> np.ndarray:
    """The sentences' vectors, (sentences, hidden) float32, in the order given.

    cls: last layer's first token, before any pooler. pooler: the model's own pooler on it (dense and tanh in
    BERT). mean: mean of the last layer over real tokens, special ones included. first_last_avg: the same mean
    of the average of the first transformer layer and the last one (D77).
    """
    table = tokenise(checkpoint.tokenizer, sentences, checkpoint.max_length)

    @torch.inference_mode()
    def encoded(batch: np.ndarray) -> Tensor:
        matrix = rows([table[place] for place in batch]).to(checkpoint.device)  # (B, 1 + L)
        mask = torch.arange(matrix.shape[1] - 1, device=matrix.device) < matrix[:, :1]  # (B, L)
        ids = matrix[:, 1:].where(mask, checkpoint.tokenizer.pad_token_id or 0)
        return _pooled(checkpoint.model, ids, mask.to(torch.int64), pooling).float()

    return array(in_batches(encoded, np.diff(table.offsets), checkpoint.device, pads=True, in_order=False))


def _pooled(model: Any, ids: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """(B, hidden) from ids and mask (B, L)."""
    output = model(input_ids=ids, attention_mask=mask, output_hidden_states=pooling == "first_last_avg")
    tokens = output.last_hidden_state  # (B, L, hidden)
    if pooling in ("cls", "pooler"):
        return tokens[:, 0] if pooling == "cls" else output.pooler_output
    if pooling == "first_last_avg":
        tokens = (output.hidden_states[1] + tokens) / 2
    weights = mask.unsqueeze(-1).to(tokens.dtype)  # (B, L, 1)
    return (tokens * weights).sum(1) / weights.sum(1)


def installed() -> bool:
    """Whether sentence-transformers is installed, which reads its own folders."""
    return importlib.util.find_spec("sentence_transformers") is not None


def load_modules(folder: Path, device: str, allow_pickle: bool) -> SentenceTransformer:
    """All modules of a folder, read by sentence-transformers. Raises UserError."""
    encoder = load_checkpoint(
        dict(_modules(folder))["Transformer"], pooling="mean", allow_pickle=allow_pickle
    )
    from sentence_transformers import SentenceTransformer  # an extra

    arguments = {"dtype": torch.float32} | ({} if allow_pickle else {"use_safetensors": True})
    try:
        modules = SentenceTransformer(
            str(folder), device=device, local_files_only=True, trust_remote_code=False, model_kwargs=arguments
        ).eval()
        places = _positions(encoder.model)
        modules.max_seq_length = min(modules.max_seq_length or places, places)
        modules.encode(["a"])  # a module may lack what the module before it should give
        return modules
    except Exception as error:
        what = f"sentence-transformers cannot load {folder} ({_in_short(error)})"
        raise UserError(f"{what}; {ALONE}.") from error


def _modules(folder: Path) -> list[tuple[str, Path]]:
    """Kinds and folders of the modules in modules.json, in order. Raises UserError."""
    kind = json_object(folder / CONFIG).get("model_type", "SentenceTransformer")
    if kind != "SentenceTransformer":
        raise UserError(f"{folder} holds a {kind}, which gives no sentence vectors; {ALONE}.")
    try:
        listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        modules = [(str(part["type"]).rpartition(".")[2], folder / part["path"]) for part in listed]
        dict(modules)["Transformer"]
        return modules
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder}/modules.json lists no Transformer; copy it there again, or {ALONE}."
        ) from error


def unfollowed(folder: Path) -> str:
    """What a folder says of the use of its vectors that no score follows, in a sentence; "" if nothing."""
    config = json_object(folder / CONFIG)
    similarity, prompts = config.get("similarity_fn_name") or "cosine", config.get("prompts") or {}
    parts = [f"the similarity {similarity}"] if similarity != "cosine" else []
    if not config.get("default_prompt_name"):
        parts += [f"the prompt {name}" for name, prompt in prompts.items() if prompt]
    return f"Not used, since cosines without a prompt are scored: {', '.join(parts)[:200]}." if parts else ""


def stated(folder: Path) -> tuple[Pooling, int | None]:
    """Pooling and longest sentence (tokens, or None) of a folder of sentence-transformers that has an encoder
    in it and a pooling that we compute.

    Raises UserError for every other folder: `AutoModel` would leave out what it states, and the scores would
    be another model's.
    """
    files = sorted(folder.glob("sentence_*_config.json"))  # also sentence_roberta_config.json and the like
    settings, listed = json_object(files[0] if files else folder / "none"), _modules(folder)
    config = json_object(dict(listed).get("Pooling", folder / "none") / "config.json")
    flags = [flag for flag, on in config.items() if flag.startswith("pooling_mode_") and on]
    mode = config.get("pooling_mode", " and ".join(FLAGS.get(flag, flag) for flag in flags))
    unread = {
        f"the modules {', '.join(kind for kind, _ in listed)}": [*dict(listed)] != ["Transformer", "Pooling"],
        "no encoder in the folder itself": dict(listed)["Transformer"] != folder,
        f"the pooling {mode}": mode not in FLAGS.values(),
        "do_lower_case": settings.get("do_lower_case"),
        "a default prompt": json_object(folder / CONFIG).get("default_prompt_name"),
    }
    if what := ", ".join(name for name, there in unread.items() if there):
        raise UserError(
            f"{folder} states {what[:200]}, which only sentence-transformers computes; install "
            f"the extra [evaluate] (requirements-evaluate.txt), or {ALONE}."
        )
    length = settings.get("max_seq_length")
    return mode, length if type(length) is int and length > 2 else None


def _in_short(error: Exception) -> str:
    """The kind of an error and the first line of what it says."""
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(".")[:200]
