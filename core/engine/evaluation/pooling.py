"""How a folder makes one vector of a sentence: sentence-transformers' list of modules, read here as far as
`AutoModel` can follow it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Literal, get_args

from core.spec.errors import UserError

Pooling = Literal["cls", "pooler", "mean", "first_last_avg"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
FLAGS: dict[str, Pooling] = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


def installed() -> bool:
    """Whether sentence-transformers is installed, which reads its own folders."""
    return importlib.util.find_spec("sentence_transformers") is not None


def modules(folder: Path) -> list[tuple[str, Path]]:
    """The kinds and folders of the modules that `modules.json` lists, in order; empty without that file.
    Raises UserError."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        listed = [
            (str(one["type"]).rpartition(".")[2], folder / one["path"])
            for one in json.loads(path.read_text(encoding="utf-8"))
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(
            f"{path} cannot be read; copy it there again, or give --pooling and remove it."
        ) from error
    if not listed or listed[0][0] != "Transformer":
        raise UserError(
            f"{path} begins with no Transformer; give another folder, or --pooling to read its encoder alone."
        )
    return listed


def stated(folder: Path) -> tuple[Pooling, int | None]:
    """Pooling and longest sentence (tokens, or None) of a folder whose modules are an encoder and a pooling
    that we compute.

    Raises UserError for every other folder: `AutoModel` would leave out what it states, and the scores would
    be another model's.
    """
    listed = modules(folder)
    dropped = [f"the module {kind}" for kind, _ in listed[1:] if kind != "Pooling"]
    poolings = {
        mode for kind, place in listed if kind == "Pooling" for mode in _modes(_read(place / "config.json"))
    }
    if not dropped and len(poolings) != 1 or poolings - set(FLAGS.values()):
        dropped.append(f"the pooling {' and '.join(sorted(poolings)) or 'none'}")
    settings = _read(folder / "sentence_bert_config.json")
    dropped += ["do_lower_case"] if settings.get("do_lower_case") else []
    dropped += (
        ["a default prompt"]
        if _read(folder / "config_sentence_transformers.json").get("default_prompt_name")
        else []
    )
    if dropped:
        raise UserError(
            f"{folder} states {', '.join(dropped)[:200]}, which only sentence-transformers computes; "
            "install the extra [evaluate] (requirements-evaluate.txt), "
            "or give --pooling to score its encoder alone."
        )
    length = settings.get("max_seq_length")
    return next(mode for mode in FLAGS.values() if mode in poolings), length if type(
        length
    ) is int and length > 2 else None


def _modes(config: dict) -> list[str]:
    mode = config.get("pooling_mode")
    if mode is not None:
        return [str(mode)] if isinstance(mode, str) else [str(name) for name in mode]
    return [
        FLAGS.get(flag, flag)
        for flag, chosen in config.items()
        if flag.startswith("pooling_mode_") and chosen
    ]


def _read(path: Path) -> dict:
    """A JSON object; empty without the file. Raises UserError."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path} cannot be read; copy it there again, or give --pooling.") from error
