"""Tiny random checkpoints on disk, with tokenizers made here: nothing is downloaded."""

import json
from pathlib import Path

import torch
import transformers as hf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = [f"w{i}" for i in range(40)]
SPECIAL = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
HIDDEN = 16
SIZES = {
    "vocab_size": 50,
    "hidden_size": HIDDEN,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.3,
}


def tokenizer_files(folder: Path, pad: int = 0, limit: int = 512) -> None:
    """A word-level tokenizer that sets [CLS] before and [SEP] after, as `transformers` loads it."""
    tokens = list(SPECIAL) + WORDS
    tokens.insert(pad, tokens.pop(0))  # RoBERTa pads with 1
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {f"{name.strip('[]').lower()}_token": name for name in SPECIAL}
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": limit}
    (folder / "tokenizer_config.json").write_text(json.dumps(kind | names))


def with_json(folder: Path, name: str, **values) -> Path:
    """The folder with these values in a JSON file of it."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps((json.loads(path.read_text()) if path.is_file() else {}) | values))
    return folder


def bert(folder: Path, pooler: bool = True) -> Path:
    """A 2-layer BERT of width 16 for 20 tokens at most."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        hf.BertModel(
            hf.BertConfig(max_position_embeddings=20, **SIZES), add_pooling_layer=pooler
        ).save_pretrained(folder)
    tokenizer_files(folder)
    return folder


def roberta(folder: Path) -> Path:
    """A 2-layer RoBERTa whose position table has room for 20 tokens behind its padding index 1."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = hf.RobertaConfig(
            max_position_embeddings=22, pad_token_id=1, type_vocab_size=1, **SIZES
        )
        hf.RobertaModel(config).save_pretrained(folder)
    tokenizer_files(folder, pad=1)
    return folder


def gpt2(folder: Path) -> Path:
    """A tiny decoder, which gives no sentence vectors."""
    hf.GPT2Model(
        hf.GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=20)
    ).save_pretrained(folder)
    tokenizer_files(folder)
    return folder


def fsmt(folder: Path, source: str, target: str, seed: int) -> Path:
    """A one-layer translation model of WMT19's kind, with the files of its own byte-pair
    tokenizer."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    ends = [f"{letter}</w>" for letter in letters]
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *letters, *ends, "th", "the</w>"]
    folder.mkdir()
    for name in ("vocab-src.json", "vocab-tgt.json"):
        (folder / name).write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    (folder / "merges.txt").write_text("t h 5\nth e</w> 4\n")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"langs": [source, target], "model_max_length": 64})
    )
    sizes = {"d_model": 16, "max_position_embeddings": 64, "max_length": 20, "num_beams": 2}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
    words = {"src_vocab_size": len(pieces), "tgt_vocab_size": len(pieces)}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = hf.FSMTConfig(langs=[source, target], init_std=0.5, **words, **sizes)
        hf.FSMTForConditionalGeneration(config).save_pretrained(folder)
    return folder
