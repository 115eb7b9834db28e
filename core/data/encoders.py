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
# Kinds whose attention computes positions itself, and settings of config.json that make another
# kind one of these.
COMPUTED_POSITIONS = """eurobert flaubert jina_embeddings_v3 modernbert mpnet nomic_bert roformer
    xlm""".split()
RELATIVE = ("relative_attention", "relative_attention_num_buckets", "rope_parameters")
WORD_WIDTHS = ("embedding_size", "input_embedding_size")
# of config.json: a width and a number of positions, by the names that architectures give them
WEIGHT_WIDTHS = ("hidden_size", "dim", "emb_dim")
POSITIONS = ("max_position_embeddings", "n_positions")
TOKENIZERS = (
    "tokenizer.json vocab.txt vocab.json spiece.model sentencepiece.bpe.model spm.model".split()
)
FLOATS = {"F64", "F32", "F16", "BF16"}
CAPITAL = re.compile("[A-Z]")
LFS = b"version https://git-lfs"  # how a file begins that stands for one that was not fetched
# Of config.json: whole numbers, and the activations of transformers, which a test compares.
SIZES = ("num_hidden_layers", "num_attention_heads", "intermediate_size", "type_vocab_size")
ACTIVATIONS = """gelu gelu_10 gelu_fast gelu_new gelu_python gelu_pytorch_tanh gelu_python_tanh
    gelu_accurate hardswish laplace leaky_relu linear mish quick_gelu relu relu2 relu6 sigmoid silu
    sqrtsoftplus swish tanh prelu xielu""".split()
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
    """Raises UserError for a folder that no run could train from."""
    config, words = check_files(folder, allow_pickle=False)
    kind = config.get("model_type")
    if kind not in TRAINABLE:
        raise UserError(
            f"{folder}/config.json has model_type {kind!r}, which is no bidirectional encoder "
            f"that can be trained here; give one of {', '.join(TRAINABLE)}."
        )
    if kind in BERTS:
        _check_weights(folder, config)
    else:
        hidden_size(folder)
        positions(folder)
    _check_tokenizer(folder, config, words)


def _check_weights(folder: Path, config: dict[str, Any]) -> None:
    """Raises UserError for weights of other shapes than config.json says."""
    kind = config["model_type"]
    width = config.get("hidden_size")
    layers = config.get("num_hidden_layers")
    if layers is None:
        layers = 12
    shapes = {name.removeprefix(f"{kind}."): shape for name, shape in tensor_shapes(folder).items()}
    query = "encoder.layer.{}.attention.self.query.weight"
    wanted: dict[str, Any] = {
        "embeddings.word_embeddings.weight": [config.get("vocab_size"), width],
        "embeddings.position_embeddings.weight": [config.get("max_position_embeddings"), width],
        query.format(layers - 1): [width, width],
        query.format(layers): "missing",
    }
    inner = f"encoder.layer.{layers - 1}.intermediate.dense.weight"
    if inner in shapes:
        wanted[inner] = [config.get("intermediate_size", 3072), width]
    for name, expected in wanted.items():
        shape = shapes.get(name, "missing")
        if shape != expected:
            raise UserError(
                f"The weights in {folder} do not fit its config.json ({name} is {shape}, not "
                f"{expected}); give a whole checkpoint with the names that {kind} has."
            )


def _check_tokenizer(folder: Path, config: dict[str, Any], words: dict[str, int]) -> None:
    """Raises UserError for a tokenizer without what the encoder needs."""
    kind = config["model_type"]
    settings = json_object(folder / "tokenizer_config.json")
    generic = settings.get("tokenizer_class") in ("PreTrainedTokenizerFast", "TokenizersBackend")
    if generic and json_object(folder / "tokenizer.json").get("post_processor") is None:
        problem = "no post-processor, so it sets no [CLS] before a sentence"
        raise UserError(_of_tokenizer(folder, problem))
    unknown = {_token(settings, "unk_token", "[UNK]"), "[UNK]", "<unk>"}  # <unk> is XLM-RoBERTa's
    if kind == "bert" and words and unknown.isdisjoint(words):
        raise UserError(_of_tokenizer(folder, "no token for unknown words"))
    padding = config.get("pad_token_id", 1)
    pad = words.get(_token(settings, "pad_token", "<pad>"), padding)
    if kind == "roberta" and pad != padding:
        problem = f"{pad} as id of its padding, not {padding} as config.json"
        raise UserError(_of_tokenizer(folder, problem))


def _check_config(folder: Path, config: dict[str, Any]) -> None:
    """Raises UserError for a config.json of BERT's or RoBERTa's from which transformers makes no
    model."""
    path = f"{folder}/config.json"
    hint = "copy the encoder's own config.json there"
    for name in SIZES:
        size = config.get(name)
        if size is not None and (type(size) is not int or size < 1):
            raise UserError(
                f"{path} has {name} {size!r}, which is no whole number above 0; {hint}."
            )
    width = config.get("hidden_size") or 768
    heads = config.get("num_attention_heads") or 12
    if type(width) is int and width % heads:
        raise UserError(f"{path} has {heads} attention heads, which do not divide {width}; {hint}.")
    activation = config.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise UserError(f"{path} has the activation {activation!r}, which is not known; {hint}.")


def check_files(folder: Path, allow_pickle: bool) -> tuple[dict[str, Any], dict[str, int]]:
    """The folder's config.json, and the tokens of its tokenizer with their ids. Raises UserError if
    either is missing, if the only weights are pickled and not allowed, or if the folder states what
    nothing follows."""
    config = configuration(folder)
    words = _vocabulary(folder)
    if config.get("model_type") in BERTS:
        _check_config(folder, config)
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
    _check_words(folder, config, words)
    if (folder / "model.safetensors").is_file():
        tensor_shapes(folder)
    return config, words


def _check_words(folder: Path, config: dict[str, Any], words: dict[str, int]) -> None:
    """Raises UserError for a tokenizer that would cut or write sentences otherwise than the
    encoder's own, or has words beyond the encoder's."""
    settings = json_object(folder / "tokenizer_config.json")
    longest = settings.get("model_max_length")
    if longest is not None and (type(longest) not in (int, float) or longest < 3):
        raise UserError(
            f"{folder}/tokenizer_config.json has model_max_length {longest!r}; write at least 3, "
            "for [CLS], a word and [SEP]."
        )
    by_word = (folder / "vocab.txt").is_file() and not (folder / "tokenizer.json").is_file()
    if by_word and "do_lower_case" not in settings and any(map(CAPITAL.match, words)):
        raise UserError(
            f"{folder}/vocab.txt has words with capitals, and transformers writes all text in "
            "small letters; state do_lower_case in tokenizer_config.json there."
        )
    largest = max(words.values(), default=-1)
    table = config.get("vocab_size")
    if table is not None and largest >= table:
        problem = f"token ids up to {largest}, but config.json a vocab_size of {table}"
        raise UserError(_of_tokenizer(folder, problem))


def _of_tokenizer(folder: Path, problem: str) -> str:
    """The sentence for a tokenizer that is not the encoder's own."""
    return f"The tokenizer in {folder} has {problem}; copy the encoder's own tokenizer there."


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


def shuffles_positions(folder: Path) -> bool:
    """Whether positions enter beside the words and nowhere else."""
    config = configuration(folder)
    if any(config.get(name) for name in RELATIVE):
        return False
    return config["model_type"] not in COMPUTED_POSITIONS


def word_width(folder: Path) -> int:
    """The width of an encoder's word embeddings."""
    return _size(folder, configuration(folder), (*WORD_WIDTHS, *WEIGHT_WIDTHS))


def check_augmentation(run: Any, shuffles_positions: bool, word_width: int, hidden: int) -> None:
    """Raises UserError for an augmentation of embeddings that an encoder cannot have: one with word
    embeddings of `word_width` numbers and vectors of `hidden`."""
    augmentation = getattr(run, "aug", None)
    if augmentation is None:
        return
    if augmentation.position_shuffle != "off" and not shuffles_positions:
        raise UserError(
            "Positions cannot be shuffled in this encoder, whose attention computes positions "
            "itself; set aug.position_shuffle=off, or give an encoder such as BERT."
        )
    if augmentation.feature_cutoff and word_width != hidden:
        raise UserError(
            f"Features cannot be cut off in this encoder, whose word embeddings have {word_width} "
            f"numbers and vectors {hidden}; set aug.feature_cutoff=0, or give an encoder such as "
            "BERT."
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


def _token(settings: dict[str, Any], role: str, default: str) -> str:
    """The token of this role in tokenizer_config.json."""
    token = settings.get(role) or default
    if isinstance(token, dict):
        token = token.get("content")
    return str(token)


def _vocabulary(folder: Path) -> dict[str, int]:
    """The tokens of the folder's tokenizer with their ids; none for SentencePiece. Raises
    UserError."""
    from tokenizers import Tokenizer

    paths = [folder / name for name in TOKENIZERS if (folder / name).is_file()]
    if not paths:
        raise UserError(
            f"{folder} has no tokenizer; copy tokenizer.json (or vocab.txt) of the model there."
        )
    path = paths[0]
    words = {}
    with refusing(f"The tokenizer {path} cannot be read", "copy it there again"):
        if path.name == "tokenizer.json":
            return Tokenizer.from_file(str(path)).get_vocab()
        if path.name == "vocab.txt":
            lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
            words = {word: number for number, word in enumerate(lines)}
        elif path.suffix == ".json":
            words = json_object(path)
        return words | json_object(folder / "added_tokens.json")
