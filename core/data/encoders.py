"""An encoder's folder, checked before anything is trained or scored: its files and whether they fit. No torch
here.

`check_encoder` is for folders that runs start from, by the plan and by each run; `check_files` for folders
that `evaluate` scores. `core.engine` loads them and has the last word.
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
SHIPPED_ENCODERS = {"mini": MINI_ENCODER}  # by scale; --encoder takes its place
# Everything in an encoder's folder that can move a number; what is not there does not count.
ENCODER_FILES = (
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt",
)  # fmt: skip
TRAINABLE = ("bert", "roberta")
WHOLE = "give a whole checkpoint"
WANTED = "give a folder with config.json, model.safetensors and a tokenizer"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json")
PIECES = ("spiece.model", "sentencepiece.bpe.model", "spm.model")
COUNTS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "max_position_embeddings")
# Settings of config.json that nothing here follows, and what they make of the model.
UNFIT = {
    "auto_map": "model code of its own, which is never run",
    "is_decoder": "a decoder, in which [CLS] sees no other token",
    "add_cross_attention": "a decoder",
    "quantization_config": "quantised weights",
}
PADDED = ("roberta", "xlm-roberta", "camembert", "mpnet")  # positions are counted from the padding's id


def encoder_digest(folder: Path) -> str:
    """SHA-256 over an encoder's weights, configuration and tokenizer files, by name and content."""
    return named_digest(
        (name, Path(folder) / name) for name in ENCODER_FILES if (Path(folder) / name).is_file()
    )


def check_encoder(folder: Path) -> None:
    """Raises UserError for a folder that no run could train from."""
    config = configuration(folder)
    kind = config.get("model_type")
    if kind not in TRAINABLE:
        names = " and ".join(TRAINABLE)
        hint = f"only {names} encoders can be trained"
        raise UserError(f"{folder}/config.json has model_type {kind!r}; {hint}.")
    if not (folder / "model.safetensors").is_file():
        pickled = any(folder.glob("pytorch_model*.bin"))
        has = "only pickled weights, which can run code when loaded" if pickled else "no model.safetensors"
        has = "its weights in several files" if any(folder.glob("*.safetensors.index.json")) else has
        raise UserError(f"{folder} has {has}; save its weights as one model.safetensors beside config.json.")
    check_files(folder, allow_pickle=False)
    shapes, width = _named_as_plain(folder, str(kind)), config["hidden_size"]
    layers, heads = config.get("num_hidden_layers", 0), config.get("num_attention_heads", 1)
    if width % heads:
        what = f"num_attention_heads {heads}, which does not divide its hidden_size {width}"
        raise UserError(f"{folder}/config.json has {what}; {WHOLE}.")
    places = range(min(layers, 1000))
    wanted = {f"encoder.layer.{i}.attention.self.query.weight": [width, width] for i in places}
    for table, size in (("word", "vocab_size"), ("position", "max_position_embeddings")):
        if size in config:
            wanted[f"embeddings.{table}_embeddings.weight"] = [config[size], width]
    for name, shape in wanted.items():
        if (has_shape := shapes.get(name, "missing")) != shape:
            what = f"{name} is {has_shape}, not {shape}"
            raise UserError(f"The weights in {folder} do not fit its config.json ({what}); {WHOLE}.")
    if layers and f"encoder.layer.{layers}.attention.self.query.weight" in shapes:
        hint = "mend config.json"
        raise UserError(f"{folder} has weights of more layers than its num_hidden_layers {layers}; {hint}.")
    words, settings = _vocabulary(folder), json_object(folder / "tokenizer_config.json")
    generic, what = settings.get("tokenizer_class") in ("PreTrainedTokenizerFast", "TokenizersBackend"), ""
    if generic and json_object(folder / "tokenizer.json").get("post_processor") is None:
        what = "no post-processor, so it sets no [CLS] before a sentence"
    unknown = {_named(settings, "unk_token", "[UNK]"), "[UNK]", "<unk>"}  # <unk> is XLM-RoBERTa's
    if kind == "bert" and words and unknown.isdisjoint(words):
        what = "no token for unknown words"
    pad = words.get(_named(settings, "pad_token", "<pad>"), config.get("pad_token_id", 1))
    if kind == "roberta" and pad != config.get("pad_token_id", 1):
        what = f"{pad} as id of its padding, but config.json has pad_token_id {config['pad_token_id']}"
    if what:
        raise UserError(f"The tokenizer in {folder} has {what}; copy the encoder's own tokenizer there.")


def check_files(folder: Path, allow_pickle: bool) -> None:
    """Raises UserError for a folder without config.json, weights or a tokenizer of its own."""
    config = json_object(folder / "config.json")
    check_settings(folder, config)
    if not folder.is_dir() or not (folder / "config.json").is_file():
        what = "is not a folder" if not folder.is_dir() else "has no config.json"
        raise UserError(f"{folder} {what}; {WANTED}.")
    for name in COUNTS:  # without layers, transformers would score the embeddings
        if name in config and (type(config[name]) is not int or config[name] < 1):
            raise UserError(f"{folder}/config.json has {name} {config[name]!r}; copy the file there again.")
    names = ("model.safetensors", "pytorch_model")
    safe, pickled = (any(path.is_file() for path in folder.glob(f"{name}*")) for name in names)
    if pickled and not safe and not allow_pickle:
        hint = "convert them to safetensors, or give --allow-pickle if you trust where they came from"
        raise UserError(f"{folder} has only pickled weights, which can run code when loaded; {hint}.")
    if not pickled and not safe:
        raise UserError(f"{folder} has no weights; {WANTED}.")
    pieces = any((folder / name).is_file() for name in PIECES)
    largest = -1 if pieces else max(_vocabulary(folder).values(), default=-1)
    if largest >= config.get("vocab_size", largest + 1):
        what = f"token ids up to {largest}, but config.json a vocab_size of {config['vocab_size']}"
        raise UserError(f"The tokenizer in {folder} has {what}; copy the encoder's own tokenizer there.")


def check_settings(folder: Path, config: dict[str, Any]) -> None:
    """Raises UserError for settings that nothing here follows, or that are no such settings."""
    if (folder / "adapter_config.json").is_file():  # passed over by transformers without peft
        raise UserError(f"{folder} has an adapter (adapter_config.json); save it merged into its encoder.")
    for name, what in UNFIT.items():
        if config.get(name):
            raise UserError(f"{folder}/config.json has {name}, which means {what}; give another folder.")
    kinds = {"layer_norm_eps": float} | ({"pad_token_id": int} if config.get("model_type") in PADDED else {})
    for name, kind in kinds.items():
        if type(config.get(name, kind())) is not kind:
            raise UserError(f"{folder}/config.json has {name} {config[name]!r}; copy the file there again.")
    longest = json_object(folder / "tokenizer_config.json").get("model_max_length")
    if longest is not None and (type(longest) not in (int, float) or longest < 3):
        hint = "write at least 3, for [CLS], a word and [SEP]"
        raise UserError(f"{folder}/tokenizer_config.json has model_max_length {longest!r}; {hint}.")


def json_object(path: Path) -> dict[str, Any]:
    """A JSON object; empty if the file is missing. Raises UserError."""
    try:
        content = path.read_bytes() if path.is_file() else b"{}"
        if content.startswith(b"\xef\xbb\xbf"):  # which transformers cannot read
            raise UserError(f"{path} begins with a byte-order mark; save it as UTF-8 without one.")
        return dict(json.loads(content))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path} cannot be read; copy it there again.") from error


def configuration(folder: Path) -> dict[str, Any]:
    """The encoder's config.json, with a width. Raises UserError if it is missing or is none."""
    folder, path = Path(folder), Path(folder) / "config.json"
    if not path.is_file():
        inner = [*folder.glob("*_Transformer/config.json"), *folder.glob("snapshots/*/config.json")]
        hint = (
            f"; give {inner[0].parent}" if inner else "; give a folder saved by transformers with --encoder"
        )
        raise UserError(f"{folder} holds no config.json{hint}.")
    config = json_object(path)
    width = config.get("hidden_size")
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
    return any(
        name.startswith(("cls.predictions.transform.", "lm_head.dense.")) for name in tensor_shapes(folder)
    )


def tensor_shapes(folder: Path) -> dict[str, list[int]]:
    """The shapes in the folder's model.safetensors, by name. Raises UserError if it is damaged."""
    from safetensors import SafetensorError, safe_open

    weights = folder / "model.safetensors"
    try:
        with open(weights, "rb") as file:
            if file.read(24).startswith(b"version https://git-lfs"):
                hint = "fetch them with git lfs pull"
                raise UserError(f"{weights} is a pointer of git-lfs, not the weights; {hint}.")
        with safe_open(weights, framework="numpy") as tensors:
            return {name: tensors.get_slice(name).get_shape() for name in list(tensors.keys())}
    except (OSError, SafetensorError) as error:
        hint = "copy the weights there again"
        raise UserError(f"{weights} is no whole safetensors file ({error}); {hint}.") from error


def _named_as_plain(folder: Path, kind: str) -> dict[str, list[int]]:
    """The shapes of the encoder's tensors by plain name. Raises UserError for a foreign prefix."""
    shapes = {}
    for name, shape in tensor_shapes(folder).items():
        start = max(name.find("embeddings."), name.find("encoder.layer."), 0)
        plain = name[:start] in ("", "bert.", "roberta.") or name.startswith(("cls.", "lm_head."))
        if not plain:
            hint = f"rename them as {kind} has them, {name[start:]}"
            raise UserError(f"The weights in {folder} have names such as {name}; {hint}.")
        shapes[name[start:]] = shape
    return shapes


def _named(settings: dict[str, Any], role: str, default: str) -> str:
    """The token of this role in tokenizer_config.json."""
    token = settings.get(role) or default
    return str(token.get("content") if isinstance(token, dict) else token)


def _vocabulary(folder: Path) -> dict[str, int]:
    """The tokens of the folder's tokenizer with their ids. Raises UserError."""
    path = next((folder / name for name in TOKENIZERS if (folder / name).is_file()), None)
    if path is None:
        raise UserError(f"{folder} has no tokenizer; copy tokenizer.json (or vocab.txt) of the model there.")
    try:
        if path.suffix == ".txt":
            lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
            return {word: number for number, word in enumerate(lines)}
        tokenizer = json_object(path)
        words = tokenizer["model"].get("vocab", {}) if path.name == "tokenizer.json" else tokenizer
        ids = words if isinstance(words, dict) else {word: i for i, (word, _) in enumerate(words)}
        ids |= {token["content"]: token["id"] for token in tokenizer.get("added_tokens") or ()}
        return ids | json_object(folder / "added_tokens.json")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UserError) as error:
        raise UserError(f"The tokenizer {path} cannot be read; copy it there again.") from error
