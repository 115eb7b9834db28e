"""The layout in which sentence-transformers keeps a model: modules.json, 1_Pooling and layers behind it. Written and read here.

The folder itself is a checkpoint of transformers: config.json, model.safetensors, tokenizer files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np
from safetensors.numpy import load_file, save_file

from core.spec.errors import UserError

Pooling = Literal["cls", "pooler", "mean", "first_last_avg"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
POOLING_FLAGS: dict[str, Pooling] = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
OTHER_FLAGS = ("pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken")
ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"Identity": lambda x: x, "Tanh": np.tanh}
_TYPES = "sentence_transformers.models"


@dataclass(frozen=True)
class Dense:
    """A layer behind the pooling: activation(x W^T + b); weight (out, in), bias (out,) float32."""

    weight: np.ndarray
    bias: np.ndarray
    activation: str  # of ACTIVATIONS

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """(sentences, in) to (sentences, out)."""
        return ACTIVATIONS[self.activation](vectors @ self.weight.T + self.bias)


@dataclass(frozen=True)
class SentenceLayout:
    """What such a folder says of itself; lengths are equal whatever Normalize does, so that is left out: only cosines are scored."""

    pooling: Pooling  # cls or mean, where the folder says it
    layers: tuple[Dense, ...] = ()
    max_length: int | None = None  # tokens, special ones included
    lower_case: bool = False

    @property
    def words(self) -> str:
        """The pooling in a few words."""
        return self.pooling + (f" and {len(self.layers)} dense layer{'s' if len(self.layers) > 1 else ''}" if self.layers else "")


def write_layout(folder: Path, layout: SentenceLayout, width: int) -> None:
    """Write the layout's files into a checkpoint folder of hidden size `width`."""
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")] + [(f"{2 + i}_Dense", "Dense") for i in range(len(layout.layers))]
    listed = [{"idx": i, "name": str(i), "path": path, "type": f"{_TYPES}.{kind}"} for i, (path, kind) in enumerate(modules)]
    pooling = {flag: mode == layout.pooling for flag, mode in POOLING_FLAGS.items()} | dict.fromkeys(OTHER_FLAGS[:2], False)
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": width} | pooling)
    _write(folder / "sentence_bert_config.json", {"max_seq_length": layout.max_length, "do_lower_case": layout.lower_case})
    for i, dense in enumerate(layout.layers):
        out, inner = dense.weight.shape
        function = f"torch.nn.modules.{'linear' if dense.activation == 'Identity' else 'activation'}.{dense.activation}"
        place = folder / f"{2 + i}_Dense"
        _write(place / "config.json", {"in_features": inner, "out_features": out, "bias": True, "activation_function": function})
        save_file({"linear.weight": dense.weight, "linear.bias": dense.bias}, place / "model.safetensors")
    _write(folder / "modules.json", listed)


def read_layout(folder: Path) -> SentenceLayout | None:
    """The layout of this folder, or None where it says nothing. Raises UserError for what is not understood here."""
    if not (folder / "modules.json").is_file():
        return _pooling_alone(folder)
    modules = _read(folder / "modules.json")
    if not isinstance(modules, list) or not all(
        isinstance(m, dict) and isinstance(m.get("type"), str) and isinstance(m.get("path"), str) for m in modules
    ):
        raise UserError(f"{folder}/modules.json lists no modules; copy it there again, or give --pooling and leave it out.")
    pooling, layers = None, []
    for module in modules:
        kind, place = module["type"].rpartition(".")[2], _inside(folder, module["path"])
        if kind == "Pooling":
            pooling = _pooling(place / "config.json")
        elif kind == "Dense":
            layers.append(_dense(place))
        elif kind not in ("Transformer", "Normalize"):
            raise UserError(
                f"{folder} has a module {kind[:80]!r} behind its encoder, which is not known here; give --pooling to leave it out."
            )
    if pooling is None:
        raise UserError(f"{folder}/modules.json names no pooling; give --pooling cls or mean.")
    return SentenceLayout(pooling, tuple(layers), *_sentence_settings(folder))


def _pooling_alone(folder: Path) -> SentenceLayout | None:
    path = folder / "1_Pooling" / "config.json"
    return SentenceLayout(_pooling(path), (), *_sentence_settings(folder)) if path.is_file() else None


def _pooling(path: Path) -> Pooling:
    said = _read(path)
    if not isinstance(said, dict):
        raise UserError(f"{path} describes no pooling; give --pooling cls or mean.")
    mode = said.get("pooling_mode")
    modes = [mode] if isinstance(mode, str) else list(mode or ()) if isinstance(mode, list | None) else [str(mode)]
    modes = modes or [name for flag, name in POOLING_FLAGS.items() if said.get(flag)] + [flag for flag in OTHER_FLAGS if said.get(flag)]
    if len(modes) != 1 or modes[0] not in POOLING_FLAGS.values():
        names = " and ".join(str(name) for name in modes)[:80] or "none"
        raise UserError(f"{path} asks for the pooling {names}, and only cls or mean is known here; give --pooling.")
    return cast(Pooling, modes[0])


def _dense(folder: Path) -> Dense:
    said = _read(folder / "config.json")
    activation = str(said.get("activation_function", "")).rpartition(".")[2] if isinstance(said, dict) else ""
    if activation not in ACTIVATIONS:
        raise UserError(f"{folder} has the activation {activation[:80]!r}, which is not known here; give --pooling to leave the layer out.")
    try:
        tensors = load_file(folder / "model.safetensors")
        weight = tensors["linear.weight"].astype(np.float32)
        bias = tensors["linear.bias"].astype(np.float32) if "linear.bias" in tensors else np.zeros(len(weight), dtype=np.float32)
    except Exception as error:  # safetensors has errors of its own
        raise UserError(f"The layer in {folder} cannot be read ({type(error).__name__}); give --pooling to leave it out.") from error
    return Dense(weight, bias, activation)


def _sentence_settings(folder: Path) -> tuple[int | None, bool]:
    path = folder / "sentence_bert_config.json"
    said = _read(path) if path.is_file() else {}
    length = said.get("max_seq_length") if isinstance(said, dict) else None
    if length is not None and (type(length) is not int or length < 3):
        raise UserError(f"{path} has max_seq_length {str(length)[:40]}; write a whole number of at least 3 there.")
    return length, isinstance(said, dict) and said.get("do_lower_case") is True


def _inside(folder: Path, path: str) -> Path:
    place = (folder / path).resolve()
    if not place.is_relative_to(folder.resolve()):
        raise UserError(f"{folder}/modules.json leads out of its folder ({path[:80]!r}); mend it.")
    return place


def _read(path: Path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read; copy it there again, or give --pooling and remove it.") from error


def _write(path: Path, content: Sequence | dict) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
