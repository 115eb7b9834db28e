"""Sentence vectors of any encoder on disk: what `evaluate` scores, independent of how it was
trained. `transformers` loads a folder, sentence-transformers a folder with its list of modules;
neither uses a network or runs code of the folder."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from safetensors import safe_open

from core.data.encoders import COPY, ENCODER_FILES, check_files, json_object
from core.encoder.any import encoder_over
from core.encoder.bert import Encoder, position_offset, positions
from core.encoder.tokens import tokenise
from core.encoder.vectors import array
from core.errors import UserError, refusing
from core.evaluation.baselines import Untrained
from core.evaluation.scoring import table_vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Pooling = Literal["cls", "pooler", "mean", "first_last_avg"]
EARLY = {"mean": (-1,), "first_last_avg": (1,)}  # layers, as `Untrained` takes them
MASKED_WORDS = ("cls.predictions.transform.", "lm_head.dense.")  # heads of BERT and RoBERTa
LOCAL = {"local_files_only": True, "trust_remote_code": False}  # no network, no code of a folder


@dataclass(frozen=True)
class LoadedEncoder:
    """A loaded encoder over the parameters of transformers' model. Sentences are cut at
    `max_length` tokens, special ones included (D82). `unused` are the weights of its checkpoint
    that are no part of it."""

    encoder: Encoder
    model: Any
    tokenizer: Any
    max_length: int
    unused: tuple[str, ...]

    def heads(self) -> list[str]:
        """The parts of the checkpoint that are no part of the encoder."""
        prefix = f"{self.model.base_model_prefix}."
        return sorted({name.removeprefix(prefix).partition(".")[0] for name in self.unused})


def load_checkpoint(
    folder: Path,
    *,
    pooling: Pooling = "cls",
    device: str = "cpu",
    allow_pickle: bool = False,
    hidden_dropout: float = 0.0,
    attention_dropout: float = 0.0,
    trains: bool = True,
) -> LoadedEncoder:
    """The encoder in this folder as a run trains it, in float32, with these rates of dropout and
    every weight that `pooling` needs; unless a run `trains` it, any that transformers loads.

    Raises UserError for what a run cannot train, such as decoders, for pickled weights unless
    allowed (a pickle can run code), and for weights that the checkpoint lacks: `transformers` would
    fill those with random numbers.
    """
    folder = Path(folder)
    check_files(folder)
    from transformers import AutoModel, AutoTokenizer, logging  # slow to import

    # load; unused weights are reported otherwise, and missing ones are refused below
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    hint = f"{COPY}, with git lfs pull if they came by git"
    if any(folder.glob("pytorch_model*")) and not allow_pickle:
        hint = "save its weights as safetensors, or give evaluate --allow-pickle if you trust them"
    with refusing(f"The encoder in {folder} cannot be loaded", hint):
        tokenizer = AutoTokenizer.from_pretrained(folder, **LOCAL)
        safe = not allow_pickle or any(folder.glob("model.safetensors*"))
        model, info = AutoModel.from_pretrained(
            folder,
            dtype=torch.float32,
            use_safetensors=safe,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # which are named and refused below
            **LOCAL,
        )
        longest = min(positions(model), tokenizer.model_max_length)
        first = [*tokenise(tokenizer, ["a"], 8)[0][:1]]

    # refuse what does not fit
    wrong = _wrong_weights(folder, model, info)
    if wrong:
        raise UserError(
            f"{folder} has weights that do not fit its config.json ({wrong[0]}); {COPY}."
        )
    padding = tokenizer.pad_token_id or 0
    first_position = position_offset(getattr(model, "embeddings", None))
    # without its files a tokenizer has some special tokens alone
    known = model.config.vocab_size / 2 < len(tokenizer) <= model.config.vocab_size
    if not known or first_position not in (0, padding + 1) or longest < 3:
        raise UserError(
            f"{folder} has a tokenizer of {len(tokenizer)} tokens that pads with {padding} and "
            f"cuts sentences at {longest}, and an encoder of {model.config.vocab_size} tokens "
            f"whose first position is {first_position}; {COPY}."
        )
    if pooling in ("cls", "pooler") and first != [tokenizer.cls_token_id]:
        raise UserError(
            f"{folder} has a tokenizer that sets no [CLS] before a sentence; save it with its "
            "post-processor, or take --pooling mean."
        )
    encoder = encoder_over(model.to(device), hidden_dropout, attention_dropout, trains)
    encoder.mask_token = tokenizer.mask_token_id
    if pooling == "pooler" and (info["missing_keys"] or encoder.pretrained_pooler[0] is None):
        raise UserError(f"{folder} has no trained pooler; take --pooling cls or mean.")
    unused = tuple(sorted(info["unexpected_keys"]))
    return LoadedEncoder(encoder, model, tokenizer, longest, unused)


def main(folder: Path) -> None:
    """Print what loading an encoder says of it, as fields of `EncoderSource` in JSON, or why no run
    could train from it."""
    about: dict[str, Any]
    try:
        loaded = load_checkpoint(folder)
        about = {
            "hidden": loaded.encoder.hidden,
            "positions": loaded.encoder.max_positions,
            "masked_words": any(name.startswith(MASKED_WORDS) for name in loaded.unused),
            "unused": [head for head in loaded.heads() if head not in ("cls", "lm_head", "pooler")],
        }
        undigested = {*loaded.tokenizer.vocab_files_names.values()} - {*ENCODER_FILES}
        whole = (folder / "model.safetensors").is_file()
        if not whole or any((folder / name).is_file() for name in undigested):
            raise UserError(
                f"{folder} has weights or words in other files than "
                f"{', '.join(ENCODER_FILES)}; save it anew with transformers."
            )
    except UserError as error:
        about = {"refusal": str(error)}
    print(json.dumps(about))


def stated_pooling(folder: Path) -> Pooling:
    """The pooling of a model that a run kept; cls for any other folder."""
    if not (folder / "run.json").is_file():
        return "cls"
    pooling = json_object(folder / "1_Pooling" / "config.json")
    return "mean" if pooling.get("pooling_mode_mean_tokens") is True else "cls"


def _wrong_weights(folder: Path, model: Any, info: Mapping[str, Any]) -> list[str]:
    """What is wrong with loaded weights, but for a pooler that is missing."""
    missing = sorted(info["missing_keys"])
    wrong = [f"{name} is missing" for name in missing if not name.startswith("pooler.")]
    for name, has, wants in info["mismatched_keys"]:
        wrong.append(f"{name} is {[*has]}, not {[*wants]}")
    for name in sorted(info["unexpected_keys"]):
        if re.search(r"\blayers?\.\d", name):
            wrong.append(f"{name} is of a layer too many")
    for name, weight in model.named_parameters():
        if not weight.isfinite().all():
            wrong.append(f"{name} is not finite")
    for file in sorted(folder.glob("model*.safetensors")):
        with safe_open(file, framework="pt") as tensors:  # quantised ones are read as they stand
            for name in list(tensors.keys()):
                kind = tensors.get_slice(name).get_dtype()
                if name.endswith(("weight", "bias")) and "F" not in kind:
                    wrong.append(f"{name} is in whole numbers")
    return wrong


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
    encoder = checkpoint.encoder
    model = Untrained(encoder, EARLY.get(pooling, ()))
    device = checkpoint.model.device
    vectors = array(table_vectors(model, table, np.arange(len(table)), device))
    pooler = encoder.pretrained_pooler[0]
    if pooling == "pooler" and pooler is not None:
        with torch.inference_mode():
            return array(pooler(torch.from_numpy(vectors).to(device)).tanh())
    return vectors


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
            folder / listed[0]["path"], pooling="mean", allow_pickle=allow_pickle, trains=False
        )
        from sentence_transformers import SentenceTransformer  # an extra

        arguments: dict[str, Any] = {"dtype": torch.float32}
        if not allow_pickle:
            arguments["use_safetensors"] = True
        modules = SentenceTransformer(
            str(folder), device=device, model_kwargs=arguments, **LOCAL
        ).eval()
        places = positions(encoder.model)
        modules.max_seq_length = min(modules.max_seq_length or places, places)
        modules.encode(["a"])  # a module may lack what the module before it should give
        return modules


if __name__ == "__main__":
    main(Path(sys.argv[1]))
