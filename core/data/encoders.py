"""An encoder's folder, looked at before any training: what it holds and whether its parts fit. Standard library only.

`core.engine.evaluation.encoding` loads it and has the last word; what is refused here would be refused there by every run.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

from core.spec.errors import UserError
from core.store import files

TRAINABLE = ("bert", "roberta")
_WANTED = "give a folder with config.json, model.safetensors and a tokenizer"
MOST_CONFIG, MOST_TOKENIZER = 16 << 20, 512 << 20  # bytes
_HEADER = 100 << 20  # bytes that a safetensors header may have


def check_encoder(folder: Path) -> None:
    """Raises UserError for a folder that no run could train from: configuration, architecture, weights or tokenizer."""
    config = configuration(folder)
    kind = config.get("model_type")
    if kind is not None and kind not in TRAINABLE:  # old checkpoints name none
        raise UserError(f"{folder} holds a model of type {kind!r}; only {' and '.join(TRAINABLE)} encoders can be trained.")
    weights = folder / "model.safetensors"
    if not weights.is_file():
        if any(folder.glob("pytorch_model*.bin")):
            raise UserError(
                f"{folder} has only pickled weights, which can run code when loaded; convert them to safetensors where they come from."
            )
        raise UserError(f"{folder} has no model.safetensors; {_WANTED}.")
    _check_tokenizer(folder)
    _check_shapes(folder, config, shapes(weights))


def configuration(folder: Path) -> dict:
    """The encoder's config.json, with a width. Raises UserError if it is missing or is none."""
    path = Path(folder) / "config.json"
    try:
        config = json.loads(files.content(path, MOST_CONFIG).decode())
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


def shapes(weights: Path) -> dict[str, list[int]]:
    """The shapes in a safetensors file, by name, from its header. Raises UserError if it is no such file or is cut short."""
    try:
        with open(weights, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _HEADER:
                raise ValueError("a header of this length is none")
            header = json.loads(file.read(length))
        tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
        end = 8 + length + max((entry["data_offsets"][1] for entry in tensors.values()), default=0)
        found = {name: list(entry["shape"]) for name, entry in tensors.items()}
    except OSError as error:
        raise UserError(f"{weights} cannot be read ({error.strerror}); check --encoder.") from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, struct.error) as error:
        raise UserError(f"{weights} is no safetensors file; copy the weights there again.") from error
    if end != weights.stat().st_size:
        raise UserError(f"{weights} has {weights.stat().st_size} bytes where its header says {end}; copy the weights there again.")
    return found


def _check_tokenizer(folder: Path) -> None:
    if not any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt", "vocab.json")):
        raise UserError(f"{folder} has no tokenizer; copy tokenizer.json (or vocab.txt) of the model there.")
    if (folder / "tokenizer.json").is_file():
        try:
            json.loads(files.content(folder / "tokenizer.json", MOST_TOKENIZER).decode())["model"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(f"The tokenizer {folder}/tokenizer.json cannot be read; copy it there again.") from error


def _check_shapes(folder: Path, config: dict, found: dict[str, list[int]]) -> None:
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
    by_end = {name[max(name.find("embeddings."), name.find("encoder.layer."), 0) :]: shape for name, shape in found.items()}
    for name, shape in wanted.items():
        if by_end.get(name) != shape:
            has = by_end.get(name, "missing")
            raise UserError(f"The weights in {folder} do not fit its config.json ({name} is {has}, not {shape}); give a whole checkpoint.")
