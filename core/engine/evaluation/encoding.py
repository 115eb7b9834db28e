"""Sentence vectors of any encoder checkpoint on disk: what `evaluate` scores, independent of how the model was trained.

The folder is loaded by `transformers` (config, safetensors weights, tokenizer), never from a network. Sentences are tokenised
once, sorted by length and encoded in batches of near-equal length, so that almost nothing is spent on padding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from core.engine.evaluation.pooling import Pooling
from core.engine.streams import TOKENS_PER_BATCH, each
from core.engine.tokens import TokenTable, tokenise
from core.spec.errors import UserError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# Encoders whose output starts with one sentence token and that need no decoder.
ARCHITECTURES = frozenset(
    {"bert", "roberta", "distilbert", "electra", "mpnet", "albert", "camembert", "xlm-roberta", "ernie", "deberta", "deberta-v2"}
)
# What of a configuration counts parts of the model.
COUNTS = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "type_vocab_size",
)
_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
_SAFE = ("model.safetensors", "model.safetensors.index.json")
_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "spm.model")


@dataclass(frozen=True)
class LoadedEncoder:
    """A loaded encoder. `max_length` is its limit in tokens, special ones included; longer sentences are cut (D82)."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    max_length: int
    device: str


def load_checkpoint(folder: Path, *, pooling: Pooling, device: str = "cpu", allow_pickle: bool = False) -> LoadedEncoder:
    """The encoder in this folder, in float32 and evaluation mode, with every weight that `pooling` needs.

    Raises UserError for anything that is not such a folder, for pickled weights unless allowed (a pickle can run code), for
    other architectures, and for weights that the checkpoint lacks: `transformers` would fill those with random numbers.
    """
    folder = Path(folder)
    _check_files(folder, allow_pickle)
    from transformers import AutoConfig, AutoModel, AutoTokenizer, logging  # slow to import; the checks above need none of it

    logging.set_verbosity_error()  # unused weights are reported otherwise; missing ones are refused below
    logging.disable_progress_bar()

    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise UserError(f"{folder}/config.json does not describe a model ({_first_line(error)}); give another folder.") from error
    if config.model_type not in ARCHITECTURES:
        raise UserError(
            f"{folder} holds a model of type {config.model_type!r}, which gives no sentence vectors here; "
            f"give an encoder ({', '.join(sorted(ARCHITECTURES))})."
        )
    for name in COUNTS:
        count = getattr(config, name, None)
        if isinstance(count, int) and count < 1:  # without layers it would score the embeddings and call them the model's
            raise UserError(f"{folder}/config.json has {name} {count}, but a model has at least 1; copy the file there again.")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise UserError(f"The tokenizer in {folder} cannot be read ({_first_line(error)}); copy it there again.") from error
    try:
        model, info = AutoModel.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # named and refused below
            use_safetensors=any((folder / name).is_file() for name in _SAFE),
        )
    except Exception as error:
        raise UserError(f"The weights in {folder} cannot be loaded ({_first_line(error)}); copy them there again.") from error
    _check_weights(folder, info, pooling, model)
    return LoadedEncoder(model.eval().to(device), tokenizer, _max_length(config, tokenizer), device)


def load_modules(folder: Path, device: str, allow_pickle: bool) -> SentenceTransformer:
    """All modules of a folder, read by sentence-transformers; `load_checkpoint` has checked its encoder. Raises UserError."""
    from sentence_transformers import SentenceTransformer  # an extra

    arguments = {"dtype": torch.float32} | ({} if allow_pickle else {"use_safetensors": True})
    try:
        return SentenceTransformer(
            str(folder), device=device, local_files_only=True, trust_remote_code=False, model_kwargs=arguments
        ).eval()
    except Exception as error:
        raise UserError(
            f"sentence-transformers cannot load {folder} ({_first_line(error)}); give --pooling to score its encoder alone."
        ) from error


def sentence_vectors(
    checkpoint: LoadedEncoder,
    sentences: Sequence[str],
    pooling: Pooling,
    first_layer: int = 1,
    told: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """The sentences' vectors, (sentences, hidden) float32, in the order given.

    cls: last layer's first token, before any pooler. pooler: the model's own pooler on it (dense and tanh in BERT). mean:
    mean of the last layer over real tokens, special ones included. first_last_avg: the same mean of the average of layer
    `first_layer` and the last one; 1 is the first transformer layer, 0 the embedding output (D77). `told` hears, from any thread, how
    many sentences each batch had.
    """
    if not len(sentences):
        return np.zeros((0, checkpoint.model.config.hidden_size), dtype=np.float32)
    table = tokenise(checkpoint.tokenizer, sentences, checkpoint.max_length)
    lengths = np.diff(table.offsets)
    order = np.argsort(lengths, kind="stable")
    vectors = np.empty((len(sentences), checkpoint.model.config.hidden_size), dtype=np.float32)
    pad = checkpoint.tokenizer.pad_token_id or 0

    def encode(batch: slice) -> None:
        places = order[batch]
        ids, mask = padded(table, places, pad)  # (B, L) both
        with torch.inference_mode():
            vectors[places] = _pooled(checkpoint, ids, mask, pooling, first_layer).float().cpu().numpy()
        told(len(places))

    was_training = checkpoint.model.training
    checkpoint.model.eval()  # D53: with dropout the scores would be others
    batches = length_batches(lengths[order], TOKENS_PER_BATCH[checkpoint.device])[::-1]  # the longest first
    try:
        each(encode, batches, checkpoint.device)
    finally:
        checkpoint.model.train(was_training)
    return vectors


def length_batches(lengths: np.ndarray, budget: int) -> list[slice]:
    """Slices of ascending lengths such that sentences x longest stays within `budget` tokens (or is one sentence)."""
    batches, start = [], 0
    for place, length in enumerate(lengths):
        if place > start and (place + 1 - start) * int(length) > budget:
            batches.append(slice(start, place))
            start = place
    return batches + [slice(start, len(lengths))] if len(lengths) else []


def padded(table: TokenTable, places: np.ndarray, pad: int) -> tuple[Tensor, Tensor]:
    """Token ids and mask of some sentences, (B, L) int64 each; the mask is 1 at real tokens."""
    rows = [table[place] for place in places]
    width = max(len(row) for row in rows)
    ids = np.full((len(rows), width), pad, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return torch.from_numpy(ids), torch.from_numpy(mask)


def _pooled(checkpoint: LoadedEncoder, ids: Tensor, mask: Tensor, pooling: Pooling, first_layer: int) -> Tensor:
    """(B, hidden) from ids and mask (B, L)."""
    ids, mask = ids.to(checkpoint.device), mask.to(checkpoint.device)
    output = checkpoint.model(input_ids=ids, attention_mask=mask, output_hidden_states=pooling == "first_last_avg")
    if pooling == "pooler":
        return output.pooler_output
    tokens = output.last_hidden_state  # (B, L, hidden)
    if pooling == "cls":
        return tokens[:, 0]
    if pooling == "first_last_avg":
        tokens = (output.hidden_states[first_layer] + tokens) / 2
    elif pooling != "mean":
        raise ValueError(f"pooling is {pooling!r}")
    weights = mask.unsqueeze(-1).to(tokens.dtype)  # (B, L, 1)
    return (tokens * weights).sum(1) / weights.sum(1)


def _check_files(folder: Path, allow_pickle: bool) -> None:
    wanted = "give a folder with config.json, model.safetensors and a tokenizer"
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; {wanted}.")
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder} has no config.json; {wanted}.")
    if not any((folder / name).is_file() for name in _SAFE):
        if not any((folder / name).is_file() for name in _PICKLES):
            raise UserError(f"{folder} has no weights; {wanted}.")
        if not allow_pickle:
            raise UserError(
                f"{folder} has only pickled weights, which can run code when loaded; convert them to safetensors, or give "
                "--allow-pickle if you trust where they came from."
            )
    if not any((folder / name).is_file() for name in _VOCABULARIES):
        raise UserError(f"{folder} has no tokenizer; copy tokenizer.json (or vocab.txt) of the model there.")


def _check_weights(folder: Path, info: dict, pooling: Pooling, model: nn.Module) -> None:
    missing = sorted(info["missing_keys"])
    trunk = [name for name in missing if not name.startswith("pooler.")]
    wrong = sorted(f"{name} is {list(has)}, not {list(wanted)}" for name, has, wanted in info.get("mismatched_keys", ()))
    if trunk or wrong:
        name = trunk[0] if trunk else wrong[0]
        raise UserError(f"The weights in {folder} do not fit its config.json (wrong or missing: {name}); give a whole checkpoint.")
    if pooling == "pooler" and (missing or getattr(model, "pooler", None) is None):
        raise UserError(f"{folder} has no trained pooler; take --pooling cls or mean.")


def _max_length(config, tokenizer) -> int:
    """The smaller of the tokenizer's and the position table's limit; RoBERTa's table starts behind its padding index."""
    places = getattr(config, "max_position_embeddings", None) or 512
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        places -= config.pad_token_id + 1
    return min(places, tokenizer.model_max_length)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")[:200]
