"""Sentence vectors of any encoder on disk: what `evaluate` scores, independent of how the model was trained.

`transformers` loads a folder (config, weights, tokenizer), sentence-transformers a folder with its list of
modules; neither uses a network or runs code of the folder. Sentences are sorted by length and encoded in
batches of near-equal length, so that almost nothing is spent on padding.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from core.data.encoders import check_files, json_object
from core.engine.encoder.packing import rows
from core.engine.evaluation.scoring import length_batches
from core.engine.streams import TOKENS_PER_BATCH, each
from core.engine.tokens import tokenise
from core.spec.errors import UserError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Pooling = Literal["cls", "pooler", "mean", "first_last_avg"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
FLAGS: dict[str, Pooling] = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


@dataclass(frozen=True)
class LoadedEncoder:
    """A loaded encoder. `max_length` is its limit in tokens, special ones included; longer sentences are cut
    (D82). `unused` names the parts of the weights file that are no part of the encoder."""

    model: Any
    tokenizer: Any
    max_length: int
    device: str
    unused: tuple[str, ...] = ()


def load_checkpoint(
    folder: Path, *, pooling: Pooling, device: str = "cpu", allow_pickle: bool = False
) -> LoadedEncoder:
    """The encoder in this folder, in float32 and evaluation mode, with every weight that `pooling` needs.

    Raises UserError for anything that is not such a folder, for decoders, for pickled weights unless allowed
    (a pickle can run code), and for weights that the checkpoint lacks: `transformers` would fill those with
    random numbers.
    """
    folder = Path(folder)
    check_files(folder, allow_pickle)
    from transformers import AutoConfig, AutoModel, AutoTokenizer, logging  # slow to import
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    logging.set_verbosity_error()  # unused weights are reported otherwise; missing ones are refused below
    logging.disable_progress_bar()
    local = {"local_files_only": True, "trust_remote_code": False}

    def loaded(part: str, load: Callable[..., Any], **settings) -> Any:
        try:
            return load(folder, **local, **settings)
        except Exception as error:
            reason = _first_line(error)
            raise UserError(f"{part} in {folder} cannot be read ({reason}); copy it there again.") from error

    config = loaded("config.json", AutoConfig.from_pretrained)
    if config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES or config.is_encoder_decoder:
        kind = config.model_type
        raise UserError(f"{folder} holds a {kind} model, which is no encoder; give another folder.")
    tokenizer = loaded("The tokenizer", AutoTokenizer.from_pretrained)
    model, info = loaded(
        "The file of weights",
        AutoModel.from_pretrained,
        dtype=torch.float32,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # named and refused below
        use_safetensors=not allow_pickle or any(folder.glob("model.safetensors*")),
    )
    missing = sorted(info["missing_keys"])
    shapes = info.get("mismatched_keys", ())
    wrong = [name for name in missing if not name.startswith("pooler.")]
    wrong += sorted(f"{name} is {list(has)}, not {list(wants)}" for name, has, wants in shapes)
    if wrong:
        what = f"wrong or missing: {wrong[0]}"
        raise UserError(f"The weights in {folder} do not fit its config.json ({what}); copy all of them.")
    if beyond := [name for name in sorted(info["unexpected_keys"]) if re.search(r"\blayers?\.\d", name)]:
        raise UserError(f"{folder} has weights of more layers than its config.json ({beyond[0]}); mend it.")
    first = [*tokenise(tokenizer, ["a"], 8)[0][:1]]
    if pooling in ("cls", "pooler") and first != [tokenizer.cls_token_id]:
        raise UserError(
            f"The tokenizer in {folder} sets no [CLS] before a sentence; save it with its post-processor, "
            "or take --pooling mean."
        )
    if pooling == "pooler" and (missing or getattr(model, "pooler", None) is None):
        raise UserError(f"{folder} has no trained pooler; take --pooling cls or mean.")
    unused = tuple(sorted({name.partition(".")[0] for name in info["unexpected_keys"]}))
    longest = min(_positions(model), tokenizer.model_max_length)
    return LoadedEncoder(model.eval().to(device), tokenizer, longest, device, unused)


def _positions(model: Any) -> int:
    """The tokens that the model has positions for; RoBERTa's table starts behind its padding."""
    places = getattr(model.config, "max_position_embeddings", None) or 512
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return places if padding is None else places - padding - 1


def sentence_vectors(
    checkpoint: LoadedEncoder,
    sentences: Sequence[str],
    pooling: Pooling,
    first_layer: int = 1,
    report: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """The sentences' vectors, (sentences, hidden) float32, in the order given.

    cls: last layer's first token, before any pooler. pooler: the model's own pooler on it (dense and tanh in
    BERT). mean: mean of the last layer over real tokens, special ones included. first_last_avg: the same mean
    of the average of layer `first_layer` and the last one; 1 is the first transformer layer, 0 the embedding
    output (D77). `report` gets the number of sentences of each batch, from any thread.
    """
    model, pad = checkpoint.model, checkpoint.tokenizer.pad_token_id or 0
    vectors = np.empty((len(sentences), model.config.hidden_size), dtype=np.float32)
    if not len(sentences):
        return vectors
    table = tokenise(checkpoint.tokenizer, sentences, checkpoint.max_length)
    if (largest := int(table.ids.max())) >= model.config.vocab_size:
        raise UserError(
            f"The tokenizer gives token {largest}, but the model has {model.config.vocab_size} words; "
            "copy its own tokenizer there."
        )
    lengths = np.diff(table.offsets)
    order = np.argsort(lengths, kind="stable")

    def encode(batch: slice) -> None:
        places = order[batch]
        matrix = rows([table[place] for place in places]).to(checkpoint.device)  # (B, 1 + L)
        mask = torch.arange(matrix.shape[1] - 1, device=matrix.device) < matrix[:, :1]  # (B, L)
        ids = matrix[:, 1:].where(mask, pad)
        with torch.inference_mode():
            pooled = _pooled(model, ids, mask.to(torch.int64), pooling, first_layer)
            vectors[places] = pooled.float().cpu().numpy()
        report(len(places))

    was_training = model.training
    model.eval()  # D53: with dropout the scores would differ
    batches = length_batches(lengths[order], TOKENS_PER_BATCH[checkpoint.device], padding=True)
    try:
        each(encode, batches[::-1], checkpoint.device)  # the longest first
    finally:
        model.train(was_training)
    return vectors


def _pooled(model: Any, ids: Tensor, mask: Tensor, pooling: Pooling, first_layer: int) -> Tensor:
    """(B, hidden) from ids and mask (B, L)."""
    output = model(input_ids=ids, attention_mask=mask, output_hidden_states=pooling == "first_last_avg")
    if pooling == "pooler":
        return output.pooler_output
    tokens = output.last_hidden_state  # (B, L, hidden)
    if pooling == "cls":
        return tokens[:, 0]
    if pooling == "first_last_avg":
        tokens = (output.hidden_states[first_layer] + tokens) / 2
    weights = mask.unsqueeze(-1).to(tokens.dtype)  # (B, L, 1)
    return (tokens * weights).sum(1) / weights.sum(1)


def installed() -> bool:
    """Whether sentence-transformers is installed, which reads its own folders."""
    return importlib.util.find_spec("sentence_transformers") is not None


def load_modules(folder: Path, device: str, allow_pickle: bool) -> SentenceTransformer:
    """All modules of a folder, read by sentence-transformers; sentences are cut where their encoder's
    positions end. Raises UserError."""
    encoders = [place for kind, place in listed_modules(folder) if kind == "Transformer"]
    if not encoders:
        raise UserError(f"{folder}/modules.json lists no Transformer; give the folder of an encoder.")
    encoder = load_checkpoint(encoders[0], pooling="mean", allow_pickle=allow_pickle)  # refused if incomplete
    from sentence_transformers import SentenceTransformer  # an extra

    arguments = {"dtype": torch.float32} | ({} if allow_pickle else {"use_safetensors": True})
    try:
        modules = SentenceTransformer(
            str(folder), device=device, local_files_only=True, trust_remote_code=False, model_kwargs=arguments
        ).eval()
        limit, places = modules.max_seq_length, _positions(encoder.model)
        if limit is not None and (type(limit) is not int or limit < 3):
            raise ValueError(f"max_seq_length {limit!r}")
        modules.max_seq_length = min(limit or places, places)
        modules.encode(["a"])  # a module may lack what the module before it should give
        return modules
    except Exception as error:
        raise UserError(
            f"sentence-transformers cannot load {folder} ({_first_line(error)}); "
            "give --pooling to score its encoder alone."
        ) from error


def listed_modules(folder: Path) -> list[tuple[str, Path]]:
    """Kinds and folders of the modules in modules.json, in order. Raises UserError, also for what is no model
    of sentence vectors."""
    kind = json_object(folder / "config_sentence_transformers.json").get("model_type", "SentenceTransformer")
    if kind != "SentenceTransformer":
        raise UserError(
            f"{folder} holds a {kind}, which gives no sentence vectors; give --pooling to score its encoder."
        )
    try:
        listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        return [(str(one["type"]).rpartition(".")[2], folder / one["path"]) for one in listed]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(
            f"{folder}/modules.json cannot be read; copy it there again, or give --pooling."
        ) from error


def unfollowed(folder: Path) -> str:
    """What a folder says of the use of its vectors that no score follows, in a sentence; "" if nothing."""
    config = json_object(folder / "config_sentence_transformers.json")
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
    settings = json_object(folder / "sentence_bert_config.json")
    prompts = json_object(folder / "config_sentence_transformers.json")
    listed = listed_modules(folder)
    kinds, places = [kind for kind, _ in listed], dict(listed)
    config = json_object(places["Pooling"] / "config.json") if "Pooling" in places else {}
    chosen = [flag for flag, on in config.items() if flag.startswith("pooling_mode_") and on]
    modes = config.get("pooling_mode", [FLAGS.get(flag, flag) for flag in chosen])
    modes = [modes] if isinstance(modes, str) else list(modes)
    dropped = [f"the module {kind}" for kind in kinds if kind not in ("Transformer", "Pooling")]
    if kinds[:1] != ["Transformer"] or places["Transformer"] != folder:
        dropped.append("no encoder in the folder itself")
    if len(modes) != 1 or modes[0] not in FLAGS.values():
        dropped.append(f"the pooling {' and '.join(map(str, modes)) or 'none'}")
    dropped += ["do_lower_case"] if settings.get("do_lower_case") else []
    dropped += ["a default prompt"] if prompts.get("default_prompt_name") else []
    if dropped:
        raise UserError(
            f"{folder} states {', '.join(dropped)[:200]}, which only sentence-transformers computes; install "
            "the extra [evaluate] (requirements-evaluate.txt), or give --pooling to score its encoder alone."
        )
    length = settings.get("max_seq_length")
    return modes[0], length if type(length) is int and length > 2 else None


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")[:200]
