"""An encoder's folder, checked before any training: what it holds and whether its parts fit. No torch here.

`core.engine.evaluation.encoding` loads it and has the last word. What is refused here would be refused there by every run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.data.digests import named_digest
from core.data.text import DEMO_FOLDER
from core.spec.errors import UserError

DEMO_ENCODER = DEMO_FOLDER / "encoder"
MINI_ENCODER = DEMO_FOLDER.parent / "mini" / "encoder"
SHIPPED_ENCODERS = {"mini": MINI_ENCODER}  # by scale, for scales whose data is the user's; --encoder takes its place
# Everything in an encoder's folder that can move a number; what is not there does not count.
ENCODER_FILES = (
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt",
)  # fmt: skip
TRAINABLE = ("bert", "roberta")


def encoder_digest(folder: Path) -> str:
    """SHA-256 over an encoder's weights, configuration and tokenizer files, by name and content."""
    return named_digest((name, Path(folder) / name) for name in ENCODER_FILES if (Path(folder) / name).is_file())


def check_encoder(folder: Path) -> None:
    """Raises UserError for a folder that no run could train from, by its configuration, weights or tokenizer."""
    config = configuration(folder)
    kind = config.get("model_type")
    if kind is not None and kind not in TRAINABLE:  # old checkpoints name none
        raise UserError(f"{folder} holds a model of type {kind!r}; only {' and '.join(TRAINABLE)} encoders can be trained.")
    if not (folder / "model.safetensors").is_file():
        if any(folder.glob("pytorch_model*.bin")):
            raise UserError(
                f"{folder} has only pickled weights, which can run code when loaded; convert them to safetensors where they come from."
            )
        raise UserError(f"{folder} has no model.safetensors; give a folder with config.json, model.safetensors and a tokenizer.")
    if not any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt", "vocab.json")):
        raise UserError(f"{folder} has no tokenizer; copy tokenizer.json (or vocab.txt) of the model there.")
    if (folder / "tokenizer.json").is_file():
        try:
            json.loads((folder / "tokenizer.json").read_bytes())["model"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(f"The tokenizer {folder}/tokenizer.json cannot be read; copy it there again.") from error
    _check_shapes(folder, config)


def configuration(folder: Path) -> dict[str, Any]:
    """The encoder's config.json, with a width. Raises UserError if it is missing or is none."""
    path = Path(folder) / "config.json"
    try:
        config = json.loads(path.read_bytes())
        width = config["hidden_size"]
    except FileNotFoundError as error:
        raise UserError(f"{folder} holds no encoder: config.json is missing; give another --encoder or mend the checkout.") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path} names no hidden_size; give a BERT or RoBERTa encoder.") from error
    if type(width) is not int or width < 1:
        raise UserError(f"{path} has hidden_size {width!r}; give a BERT or RoBERTa encoder.")
    return config


def positions(folder: Path) -> int | None:
    """The tokens that the encoder has positions for, or None if its configuration does not say."""
    config = configuration(folder)
    places, pad = config.get("max_position_embeddings"), config.get("pad_token_id", 1)
    if type(places) is not int or type(pad) is not int:
        return None
    return places - (pad + 1) if config.get("model_type") == "roberta" else places


def has_masked_words(folder: Path) -> bool:
    """Whether an encoder's weights include BERT's or RoBERTa's masked-word head."""
    try:
        names = list(tensor_shapes(folder))
    except UserError:
        return False  # several files, or a damaged one, of which loading it will say more
    return any(name.startswith(("cls.predictions.transform.", "lm_head.dense.")) for name in names)


def tensor_shapes(folder: Path) -> dict[str, list[int]]:
    """The shapes in the folder's model.safetensors, by name. Raises UserError if it is damaged or another format."""
    from safetensors import SafetensorError, safe_open

    weights = folder / "model.safetensors"
    try:
        with safe_open(weights, framework="numpy") as file:
            return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 (it is no dictionary)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{weights} is no whole safetensors file ({error}); copy the weights there again.") from error


def _check_shapes(folder: Path, config: dict[str, Any]) -> None:
    """Embeddings and every layer's queries, under whatever prefix the checkpoint has."""
    width, layers, heads = config["hidden_size"], config.get("num_hidden_layers", 0), config.get("num_attention_heads", 1)
    if type(layers) is not int or not ("num_hidden_layers" not in config or 1 <= layers <= 1000):
        raise UserError(f"{folder}/config.json has num_hidden_layers {layers!r}; give a BERT or RoBERTa encoder.")
    if type(heads) is not int or heads < 1 or width % heads:
        raise UserError(
            f"{folder}/config.json has num_attention_heads {heads!r}, which does not divide its hidden_size {width}; give a whole checkpoint."
        )
    wanted = {f"encoder.layer.{i}.attention.self.query.weight": [width, width] for i in range(layers)}
    for table, size in (("word", "vocab_size"), ("position", "max_position_embeddings")):
        if size in config:
            wanted[f"embeddings.{table}_embeddings.weight"] = [config[size], width]
    shapes = {name[max(name.find("embeddings."), name.find("encoder.layer."), 0) :]: shape for name, shape in tensor_shapes(folder).items()}
    for name, shape in wanted.items():
        if shapes.get(name) != shape:
            has = shapes.get(name, "missing")
            raise UserError(f"The weights in {folder} do not fit its config.json ({name} is {has}, not {shape}); give a whole checkpoint.")
