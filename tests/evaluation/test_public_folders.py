"""Folders that public bug reports describe, each with its report: scored as they say, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tiny_checkpoint
from safetensors.torch import load_file, save_file

from core.data.sts import StsSet
from core.engine.evaluation import command, encoding
from core.engine.evaluation.encoding import installed, load_checkpoint
from core.engine.tokens import tokenise, unknown
from core.spec.errors import UserError
from core.spec.scale import DEMO

MODULES = [
    {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
    for i, (path, kind) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling")))
]
POOLING = {"word_embedding_dimension": tiny_checkpoint.HIDDEN, "pooling_mode_mean_tokens": True}
WITH_THE_LIBRARY = pytest.mark.skipif(not installed(), reason="requirements-evaluate.txt is not installed")


def with_json(folder: Path, name: str, **values) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps((json.loads(path.read_text()) if path.is_file() else {}) | values))
    return folder


def sentence_transformer(folder: Path, settings: dict | None = None, config: dict | None = None) -> Path:
    with_json(tiny_checkpoint.bert(folder), "1_Pooling/config.json", **POOLING)
    (folder / "modules.json").write_text(json.dumps(MODULES))
    with_json(folder, "config_sentence_transformers.json", **(config or {}))
    return with_json(folder, "sentence_bert_config.json", **({"max_seq_length": 16} | (settings or {})))


def evaluated(folder: Path, capsys, monkeypatch, words: str = "w1 w2") -> tuple[int, str]:
    pairs = tuple(f"{words} w{i}" for i in range(6)), tuple(f"{words} w{2 * i} w3" for i in range(6))
    small = {name: StsSet(name, (name,) * 6, *pairs, np.arange(6.0)) for name in (*DEMO.tests, DEMO.dev)}
    monkeypatch.setattr(command, "load_demo", lambda: small)
    status = command.main([str(folder), "--scale", "demo"])
    told = capsys.readouterr()
    return status, told.out + told.err


def test_a_tokenizer_that_sets_no_cls_is_refused_where_cls_is_read(tmp_path):
    # huggingface/transformers#13000
    with_json(tiny_checkpoint.bert(tmp_path), "tokenizer.json", post_processor=None)
    load_checkpoint(tmp_path, pooling="mean")
    with pytest.raises(UserError, match=r"sets no \[CLS\] before a sentence; .* --pooling mean"):
        load_checkpoint(tmp_path, pooling="cls")


def test_long_sentences_are_cut_on_the_side_that_the_folder_says(tmp_path):  # huggingface/transformers#12913
    with_json(tiny_checkpoint.bert(tmp_path), "tokenizer_config.json", truncation_side="left")
    tokenizer = load_checkpoint(tmp_path, pooling="cls").tokenizer
    words = tokenizer.convert_ids_to_tokens(tokenise(tokenizer, ["w1 w2 w3 w4"], 4)[0])
    assert words == ["[CLS]", "w3", "w4", "[SEP]"]


def test_unknown_words_are_counted_or_named(tmp_path, capsys, monkeypatch):
    folder = tiny_checkpoint.bert(tmp_path)  # princeton-nlp/SimCSE#137, allenai/scibert#79
    tokenizer = load_checkpoint(folder, pooling="cls").tokenizer
    assert not unknown(tokenise(tokenizer, ["w1 w2 w3"], 9), tokenizer)
    assert "40% of the tokens are unknown" in unknown(tokenise(tokenizer, ["x w2 x"], 9), tokenizer)
    assert "% of the tokens are unknown to the tokenizer" in evaluated(folder, capsys, monkeypatch, "x y")[1]
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]
    with_json(folder, "tokenizer.json", model=vocabulary | {"unk_token": "[none]"})  # tokenizers#168
    status, told = evaluated(folder, capsys, monkeypatch, "x y")
    assert status == 2 and "The tokenizer cannot read the text (WordLevel error: Missing" in told


@pytest.mark.parametrize("by_library", [False, pytest.param(True, marks=WITH_THE_LIBRARY)])
def test_what_a_folder_says_is_followed_or_told(by_library, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(encoding, "installed", lambda: by_library)
    # sentence-transformers#2441: another similarity; mteb#3641: prompts without a default
    said = {"similarity_fn_name": "dot", "prompts": {"query": "find: ", "document": ""}}
    status, told = evaluated(sentence_transformer(tmp_path / "dot", config=said), capsys, monkeypatch)
    assert status == 0 and "without a prompt are scored: the similarity dot, the prompt query." in told
    cross = sentence_transformer(tmp_path / "cross", config={"model_type": "CrossEncoder"})
    status, told = evaluated(cross, capsys, monkeypatch)
    assert status == 2 and "holds a CrossEncoder, which gives no sentence vectors" in told
    # sentence-transformers#1600: longer than the position table; #583: other names, so random weights
    long = sentence_transformer(tmp_path / "long", {"max_seq_length": 512})
    status, told = evaluated(long, capsys, monkeypatch, "w1 " * 50)
    assert status == 0 and "sentences are cut at 20 tokens" in told
    renamed = sentence_transformer(tmp_path / "renamed")
    file = renamed / "model.safetensors"
    weights = {f"_orig_mod.{name}": tensor for name, tensor in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
    status, told = evaluated(renamed, capsys, monkeypatch)
    assert status == 2 and "The weights in" in told and "do not fit its config.json" in told


@WITH_THE_LIBRARY
@pytest.mark.parametrize("length", [-1, 1, "8"])
def test_a_length_that_is_none_is_refused(length, tmp_path, capsys, monkeypatch):
    # sentence-transformers#1918
    folder = sentence_transformer(tmp_path, {"max_seq_length": length})
    status, told = evaluated(folder, capsys, monkeypatch)
    assert status == 2 and f"(max_seq_length {length!r})" in told
