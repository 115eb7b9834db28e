"""An encoder's folder, checked before anything is trained (`check_encoder`) or scored
(`check_files`). Both refuse what `transformers` would pass over in silence. No torch here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from core.data.text import DEMO_FOLDER, named_digest
from core.errors import UserError, refusing
from core.store.files import regular

DEMO_ENCODER = DEMO_FOLDER / "encoder"
MINI_ENCODER = DEMO_FOLDER.parent / "mini" / "encoder"
# by scale; --encoder takes its place
SHIPPED_ENCODERS = {"demo": DEMO_ENCODER, "mini": MINI_ENCODER}
# Everything in an encoder's folder that can move a number; what is not there does not count.
ENCODER_FILES = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "spm.model",
    "sentencepiece.bpe.model",
)
BERTS = ("bert", "roberta")  # whose forward pass is our own
# Those that count positions from their padding's id, and those that do not.
BEHIND_PADDING = """camembert data2vec-text mpnet roberta roberta-prelayernorm xlm-roberta
    xlm-roberta-xl""".split()
TRAINABLE = sorted(
    BEHIND_PADDING
    + """albert bert deberta deberta-v2 distilbert electra ernie eurobert flaubert
    jina_embeddings_v3 megatron-bert modernbert nomic_bert rembert roformer xlm""".split()
)
# Settings of config.json that make attention compute positions itself.
RELATIVE = ("relative_attention", "relative_attention_num_buckets", "rope_parameters")
# of config.json: a width and a number of positions, by the names that architectures give them
WEIGHT_WIDTHS = ("hidden_size", "dim", "emb_dim")
POSITIONS = ("max_position_embeddings", "n_positions")
TOKENIZERS = (
    "tokenizer.json vocab.txt vocab.json spiece.model sentencepiece.bpe.model spm.model".split()
)
FLOATS = {"F64", "F32", "F16", "BF16"}
CAPITAL = re.compile("^[A-Z]", re.MULTILINE)
LFS = b"version https://git-lfs"  # how a file begins that stands for one that was not fetched
# Settings of config.json that nothing here follows, and what they make of the model.
UNFIT = {
    "auto_map": "model code of its own, which is never run",
    "is_decoder": "a decoder, in which [CLS] sees no other token",
    "add_cross_attention": "a decoder",
    "quantization_config": "quantised weights",
    "position_embedding_type": "relative positions, which transformers passes over",
}


def encoder_digest(folder: Path) -> str:
    """SHA-256 over an encoder's weights, configuration and tokenizer files, by name and content."""
    names = [name for name in ENCODER_FILES if (Path(folder) / name).is_file()]
    return named_digest((name, Path(folder) / name) for name in names)


def check_encoder(folder: Path) -> None:
    """Raises UserError for a folder that no run could train from; loading it says the rest."""
    kind = check_files(folder, allow_pickle=False).get("model_type")
    if kind not in TRAINABLE:
        raise UserError(
            f"{folder}/config.json has model_type {kind!r}, which is no bidirectional encoder "
            f"that can be trained here; give one of {', '.join(TRAINABLE)}."
        )
    hidden_size(folder)
    positions(folder)


def check_files(folder: Path, allow_pickle: bool) -> dict[str, Any]:
    """The folder's config.json. Raises UserError if it or the tokenizer is missing, if the only weights are pickled and not allowed, or if the folder states what
    nothing follows."""
    config = configuration(folder)
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise UserError(
            f"{folder} has no tokenizer; copy tokenizer.json (or vocab.txt) of the model there."
        )
    for name, meaning in UNFIT.items():
        if config.get(name) not in (None, False, {}, "absolute", "rotary"):
            raise UserError(
                f"{folder}/config.json has {name}, which means {meaning}; give another folder."
            )

    # Weights that transformers would pass over, or load in another way.
    if (folder / "adapter_config.json").is_file():  # it passes an adapter over without peft
        raise UserError(
            f"{folder} has an adapter (adapter_config.json); save it merged into its encoder."
        )
    weights = folder.glob("*.safetensors")
    pointers = [file.name for file in weights if file.open("rb").read(len(LFS)) == LFS]
    if pointers:
        raise UserError(
            f"{folder} has a pointer of git-lfs ({', '.join(pointers)}); fetch the weights with "
            "git lfs pull."
        )
    pickled = any(folder.glob("pytorch_model*")) and not any(folder.glob("model*.safetensors"))
    if pickled and not allow_pickle:
        raise UserError(
            f"{folder} has only pickled weights, which can run code when loaded; convert them to "
            "safetensors, or give evaluate --allow-pickle if you trust their source."
        )
    _check_words(folder)
    if (folder / "model.safetensors").is_file():
        tensor_shapes(folder)
    return config


def _check_words(folder: Path) -> None:
    """Raises UserError for a tokenizer that would cut or write sentences otherwise than the
    encoder's own."""
    settings = json_object(folder / "tokenizer_config.json")
    longest = settings.get("model_max_length")
    if longest is not None and (type(longest) not in (int, float) or longest < 3):
        raise UserError(
            f"{folder}/tokenizer_config.json has model_max_length {longest!r}; write at least 3, "
            "for [CLS], a word and [SEP]."
        )
    words = folder / "vocab.txt"
    by_word = words.is_file() and not (folder / "tokenizer.json").is_file()
    if by_word and "do_lower_case" not in settings and CAPITAL.search(words.read_text("utf-8")):
        raise UserError(
            f"{words} has words with capitals, and transformers writes all text in small letters; "
            "state do_lower_case in tokenizer_config.json there."
        )


def json_object(path: Path) -> dict[str, Any]:
    """A JSON object; empty if the file is missing. Raises UserError."""
    kinds = OSError, ValueError, TypeError, RecursionError
    if not path.is_file():
        return {}
    with refusing(f"{path} cannot be read", "copy it there again", *kinds):
        return dict(json.loads(path.read_text(encoding="utf-8")))


def configuration(folder: Path) -> dict[str, Any]:
    """The encoder's config.json. Raises UserError if it is missing or unreadable."""
    path = Path(folder) / "config.json"
    hint = "give a folder with it, model.safetensors and a tokenizer"
    if not path.is_file():
        raise UserError(f"{folder} holds no config.json; {hint}.")
    return json_object(path)


def positions(folder: Path) -> int:
    """The tokens that a trainable encoder has positions for; RoBERTa and its relatives count them
    from their padding's id. Raises UserError if config.json does not state them."""
    config = configuration(folder)
    places = _size(folder, config, POSITIONS)
    if config["model_type"] in BEHIND_PADDING:
        return places - int(config.get("pad_token_id", 1)) - 1
    return places


def hidden_size(folder: Path) -> int:
    """The width of an encoder's vectors. Raises UserError if config.json does not state it."""
    return _size(folder, configuration(folder), WEIGHT_WIDTHS)


def _size(folder: Path, config: dict[str, Any], names: tuple[str, ...]) -> int:
    """A size of config.json under the first of these names that is there. Raises UserError."""
    for name in names:
        if type(config.get(name)) is int:
            return int(config[name])
    raise UserError(
        f"{folder}/config.json states no {names[0]}; copy the encoder's own config.json there."
    )


def has_masked_words(folder: Path) -> bool:
    """Whether an encoder's weights include BERT's or RoBERTa's masked-word head."""
    heads = ("cls.predictions.transform.", "lm_head.dense.")
    return any(name.startswith(heads) for name in tensor_shapes(folder))


def unused(folder: Path) -> list[str]:
    """What lies beside the encoder and enters no run: heads among its weights but that of masked
    words, and files on modules."""
    kind = configuration(folder)["model_type"]
    prefix = f"{kind}."
    parts = {name.removeprefix(prefix).partition(".")[0] for name in tensor_shapes(folder)}
    files = ("modules.json", "config_sentence_transformers.json")
    heads = []
    if kind in BERTS:  # loading names those of other encoders
        heads = sorted(parts - {"embeddings", "encoder", "pooler", "cls", "lm_head"})
    settings = unfollowed(folder, positions(folder))
    return [*heads, *(name for name in files if (folder / name).is_file()), *settings]


def unfollowed(folder: Path, longest: int) -> list[str]:
    """Settings of sentence_bert_config.json, or of the same file for another kind of encoder, that
    change sentences. Only sentence-transformers follows these. Here sentences are cut at `longest`
    tokens."""
    named = []
    for file in sorted(folder.glob("sentence_*_config.json")):
        for name, value in json_object(file).items():
            follows = name == "max_seq_length" and type(value) is int and value >= longest
            if value not in (None, False) and not follows:
                named.append(f"{name} {value!r} of {file.name}")
    return named


def tensor_shapes(folder: Path) -> dict[str, list[int]]:
    """The shapes in the folder's model.safetensors, by name. Raises UserError if it is damaged, or
    if weights are no floats: transformers takes the whole numbers of quantised weights for the
    weights."""
    from safetensors import SafetensorError, safe_open

    weights = folder / "model.safetensors"
    problem = f"{weights} is no whole safetensors file"
    hint = "save all weights there as one file"
    shapes = {}
    odd = set()
    with (
        refusing(problem, hint, OSError, SafetensorError),
        safe_open(regular(weights), framework="numpy") as tensors,
    ):
        for name in list(tensors.keys()):
            part = tensors.get_slice(name)
            shapes[name] = part.get_shape()
            if name.endswith(("weight", "bias")) and part.get_dtype() not in FLOATS:
                odd.add(part.get_dtype())
    if odd:
        raise UserError(
            f"{weights} has weights of type {', '.join(sorted(odd))}, as quantised ones are; save "
            "them as float32."
        )
    return shapes
