"""An encoder is loaded once before anything is trained: folders of public reports and damaged files
are refused, each with its report, and what loading says is kept under everything that decides it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import tiny_checkpoint
import torch
from safetensors.torch import load_file, save_file
from tiny_checkpoint import roberta, with_json
from transformers import AutoTokenizer

from core.data import encoders
from core.data.encoders import (
    DEMO_ENCODER,
    MINI_ENCODER,
    PLAIN,
    SHIPPED,
    encoder_digest,
    encoder_in,
)
from core.errors import UserError
from core.evaluation.encoding import load_checkpoint, main

SETTINGS = "tokenizer_config.json"


def setting(name: str, value: object, file: str = "config.json"):
    return lambda folder: with_json(folder, file, **{name: value})


def weights(change):
    """What makes each weight, by name and tensor, another (name, tensor), or None for none."""

    def harm(folder: Path) -> None:
        file = folder / "model.safetensors"
        changed = [change(name, weight) for name, weight in load_file(file).items()]
        save_file(dict(filter(None, changed)), file, metadata={"format": "pt"})

    return harm


def words_alone(*missing: str, more: str = ""):
    """Only a vocab.txt, as the authors of BERT wrote it, some of its words missing."""

    def change(folder: Path) -> None:
        words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        for name in ("tokenizer.json", SETTINGS):
            (folder / name).unlink()
        lines = "".join(f"{word}\n" for word in words if word not in missing)
        (folder / "vocab.txt").write_text(lines + more)

    return change


def fifo(folder: Path) -> None:
    """A named pipe in place of the weights: whoever opens it waits for ever."""
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")


def without_words(folder: Path) -> None:
    """Saved without its tokenizer, in whose place transformers makes one of special tokens, with
    the ids that they have here."""
    shutil.copytree(DEMO_ENCODER, folder, dirs_exist_ok=True)
    (folder / "tokenizer.json").unlink()


def added_tokens(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([f"x{i}" for i in range(9)])
    tokenizer.save_pretrained(folder)


def content(name: str, text: str):
    return lambda folder: (folder / name).write_text(text)


def marked(name: str):
    """A byte-order mark before the file, which transformers cannot read."""
    return lambda f: (f / name).write_bytes(b"\xef\xbb\xbf" + (f / name).read_bytes())


def not_finite(name, weight):
    weight = weight.clone()
    weight.view(-1)[0] = torch.nan
    return name, weight


REFUSED = {
    # huggingface/transformers#34733, sentence-transformers#3247: passed over without peft
    "an adapter": content("adapter_config.json", "{}"),
    "a decoder": setting("is_decoder", True),  # huggingface/transformers#12704
    "code of its own": setting("auto_map", {"AutoModel": "own.Model"}),
    "a pointer of git-lfs": content("model.safetensors", "version https://git-lfs.github.com\n"),
    "quantised": setting("quantization_config", {"load_in_8bit": True}),
    # ml-explore/mlx-lm#1865: read as something else, in silence
    "whole numbers": weights(lambda name, weight: (name, (100 * weight).round().to(torch.int8))),
    "not finite": weights(not_finite),
    # huggingface/transformers#12763: tokens without an embedding
    "added tokens": added_tokens,
    # huggingface/sentence-transformers#931: none of them is read, and vectors are of chance
    "another model's names": weights(lambda name, weight: (f"albert.{name}", weight)),
    "a missing weight": weights(lambda n, w: None if "1.output.dense.w" in n else (n, w)),
    "a layer too many": setting("num_hidden_layers", 1),
    "a layer too few": setting("num_hidden_layers", 3),
    "fewer tokens than the tokenizer": setting("vocab_size", 40),
    "no heads": setting("num_attention_heads", 0),
    "another width": setting("intermediate_size", 64),
    "an epsilon as text": setting("layer_norm_eps", "1e-12"),
    "flash attention": setting("_attn_implementation", "flash_attention_2"),
    "no configuration": lambda folder: (folder / "config.json").unlink(),
    "no weights": lambda folder: (folder / "model.safetensors").unlink(),
    "a pipe for weights": fifo,
    "torn weights": content("model.safetensors", "torn"),
    "no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "no tokenizer, and special tokens of the usual ids": without_words,
    "a torn tokenizer": content("tokenizer.json", "{"),
    "a mark before the settings": marked(SETTINGS),
    # iPieter/RobBERT#28, huggingface/sentence-transformers#1918: the longest sentence
    **{f"cut at {n!r}": setting("model_max_length", n, SETTINGS) for n in (2, "64")},
    # huggingface/transformers#343, dmis-lab/biobert-pytorch#24: a cased vocabulary, and all text in
    # small letters
    "capitals in small letters": words_alone(more="Paris\n"),
    # huggingface/transformers#34528 and #15292: positions are counted from the tokenizer's padding
    "padding 0 of RoBERTa": lambda folder: setting("pad_token_id", 0)(roberta(folder)),
    "no padding of RoBERTa": lambda folder: setting("pad_token_id", None)(roberta(folder)),
    # huggingface/tokenizers#168 and #531
    "no unknown word": words_alone("[UNK]"),
    "no [CLS]": setting("post_processor", None, "tokenizer.json"),  # huggingface/transformers#13000
    "words of a package": setting("tokenizer_class", "BertJapaneseTokenizer", SETTINGS),
    "a file of the tokenizer that no digest has": lambda folder: (
        setting("tokenizer_class", "BertweetTokenizer", SETTINGS)(folder),
        content("bpe.codes", "a b 1\n")(folder),
    ),
}
TAKEN = {
    # huggingface/transformers#11809: the norms' older names
    "gamma and beta": weights(
        lambda n, w: (n.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"), w)
    ),
    "a vocabulary in small letters": words_alone(),
    "stated capitals": lambda folder: (
        words_alone(more="Paris\n")(folder),
        setting("do_lower_case", True, SETTINGS)(folder),
    ),
    "no limit": setting("model_max_length", 10**30, SETTINGS),
}


@pytest.mark.parametrize("harm", REFUSED.values(), ids=REFUSED)
def test_what_no_run_could_train_from_is_refused_in_one_sentence(harm, tmp_path):
    harm(tiny_checkpoint.bert(tmp_path))
    with pytest.raises(UserError, match=r"^[^\n]+\.$"):
        load_checkpoint(tmp_path)


def test_what_can_be_trained_from_is_taken(tmp_path):
    for name, change in TAKEN.items():
        change(tiny_checkpoint.bert(tmp_path / name))
        load_checkpoint(tmp_path / name)


def test_what_evaluate_needs_of_a_folder(tmp_path):
    bare = tiny_checkpoint.bert(tmp_path / "bare", pooler=False)
    assert load_checkpoint(bare, pooling="cls").max_length == 20
    with pytest.raises(UserError, match="--pooling"):
        load_checkpoint(bare, pooling="pooler")
    with pytest.raises(UserError):
        load_checkpoint(tiny_checkpoint.gpt2(tmp_path / "gpt2"), pooling="mean")
    load_checkpoint(tmp_path / "gpt2", pooling="mean", trains=False)


def test_the_shipped_encoders_are_known_as_they_load(capsys):
    assert encoder_digest(PLAIN.folder) == PLAIN.digest
    shipped = SHIPPED | {PLAIN.digest: PLAIN[2:6]}
    for folder in (DEMO_ENCODER, MINI_ENCODER, PLAIN.folder):
        main(folder)
        about = json.loads(capsys.readouterr().out)
        width, _, positions, masked_words = shipped[encoder_digest(folder)]
        sizes = {"hidden": width, "positions": positions, "masked_words": masked_words}
        assert about == sizes | {"unused": []}


def test_loading_is_done_once_by_another_process(tmp_path, monkeypatch):
    folder = tiny_checkpoint.bert(tmp_path / "encoder")
    weights(lambda n, w: (n, w))(folder)
    found = encoder_in("bert-base", folder, tmp_path)
    assert (found.hidden, found.positions, found.masked_words) == (16, 20, False)
    asked = []
    monkeypatch.setattr(encoders, "_loaded", lambda folder: asked.append(folder) or {"unused": []})
    assert encoder_in("bert-base", folder, tmp_path) == found and not asked
    content("adapter_config.json", "{}")(folder)  # no digest has it, and it stops the loading
    with pytest.raises(TypeError):
        encoder_in("bert-base", folder, tmp_path)
    assert asked
