"""`evaluate`: folders of sentence-transformers, some of public bug reports, are scored as they say
or refused."""

import json

import numpy as np
import pytest
import tiny_checkpoint
import torch
from extras import needs
from safetensors.torch import load_file, save_file
from tiny_checkpoint import with_json

from core.config.scale import DEMO, EncoderSource
from core.data.encoders import unused
from core.data.sts import StsSet
from core.encoder.tokens import tokenise, unknown_tokens
from core.errors import UserError
from core.evaluation.encoding import load_checkpoint
from core.runner import cli
from core.runner import evaluate as command
from core.runner.orders import EvaluateOrder

WITH_THE_LIBRARY = needs("sentence_transformers", "requirements-evaluate.txt")
POOLING = {"word_embedding_dimension": tiny_checkpoint.HIDDEN, "pooling_mode_mean_tokens": True}


def listed(*kinds):
    """`modules.json` with these modules behind one another."""
    parts = (
        (i, f"{i}_{kind}" if i else "", f"sentence_transformers.models.{kind}")
        for i, kind in enumerate(kinds)
    )
    return [{"idx": i, "name": str(i), "path": path, "type": kind} for i, path, kind in parts]


def sentence_transformer(folder, settings=None, config=None):
    with_json(tiny_checkpoint.bert(folder), "1_Pooling/config.json", **POOLING)
    (folder / "modules.json").write_text(json.dumps(listed("Transformer", "Pooling")))
    with_json(folder, "config_sentence_transformers.json", **(config or {}))
    limit = {"max_seq_length": 16} | (settings or {})
    return with_json(folder, "sentence_bert_config.json", **limit)


@pytest.fixture
def evaluated(capsys, monkeypatch):
    """Exit status and output of `evaluate` on six pairs a set."""

    def evaluate(folder, *options, words="w1 w2"):
        a = tuple(f"{words} w{i}" for i in range(6))
        b = tuple(f"{words} w{2 * i} w3" for i in range(6))
        names = (*DEMO.tests, DEMO.dev)
        small = {name: StsSet(name, (name,) * 6, a, b, np.arange(6.0)) for name in names}
        monkeypatch.setattr(command, "load_demo", lambda: small)
        try:
            command.score_encoders(
                cli.parse(["evaluate", str(folder), "--scale", "demo", *options])
            )
            status = 0
            told = ""
        except UserError as error:
            status = 2
            told = str(error)
        return status, capsys.readouterr().out + told

    return evaluate


def test_without_the_library_modules_need_a_pooling(tmp_path, evaluated, monkeypatch):
    monkeypatch.setattr("core.runner.evaluate.find_spec", lambda name: None)
    plain = tiny_checkpoint.bert(tmp_path / "plain")
    folder = sentence_transformer(tmp_path / "own")
    assert "Pooling cls. Choose another" in evaluated(plain)[1]
    status, told = evaluated(folder)
    assert status == 2
    assert "install the extra [evaluate]" in told
    status, told = evaluated(folder, "--pooling", "mean")
    assert status == 0
    assert f"What {folder} says of modules, prompts and similarity is not used." in told
    with_json(folder, "run.json")  # a kept model
    assert evaluated(folder)[0] == 0 and "Pooling mean.\n" in evaluated(folder)[1]


def test_the_encoder_beside_a_pooling_is_not_scored_by_another_in_silence(tmp_path, evaluated):
    """0_Transformer of sentence-transformers' old layout: its pooling lies in ../1_Pooling."""
    whole = sentence_transformer(tmp_path / "whole")
    part = tiny_checkpoint.bert(whole / "0_Transformer")
    status, told = evaluated(part)
    assert status == 2
    assert f"{part} is a part of {whole}, which states a pooling; give that, or" in told
    status, told = evaluated(part, "--pooling", "mean")
    assert status == 0 and f"What {whole} says" in told


@WITH_THE_LIBRARY
def test_sentence_transformers_reads_its_own_folders(tmp_path, capsys):
    """With Dense and Normalize; the same vectors as the library gives by itself."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers import models as parts

    encoder = parts.Transformer(str(tiny_checkpoint.bert(tmp_path)))
    modules = [encoder, parts.Pooling(16), parts.Dense(16, 4), parts.Normalize()]
    model = SentenceTransformer(modules=modules, device="cpu")
    sentences = ["w1 w2 w3", "w4"]
    model.save(str(tmp_path / "whole"))
    encode, pooling = command._encode_and_pooling(EvaluateOrder(), tmp_path / "whole")
    np.testing.assert_allclose(encode(sentences), model.encode(sentences), atol=1e-6)
    assert encode(sentences).shape == (2, 4) and pooling == "pooling, dense, normalize"
    assert "Pooling pooling, dense, normalize, by sentence-transformers." in capsys.readouterr().out


def test_tokenizers_of_public_reports(tmp_path, evaluated):
    folder = tiny_checkpoint.bert(tmp_path / "side")
    with_json(folder, "tokenizer_config.json", truncation_side="left")
    tokenizer = load_checkpoint(folder, pooling="cls").tokenizer
    words = tokenizer.convert_ids_to_tokens(tokenise(tokenizer, ["w1 w2 w3 w4"], 4)[0])
    assert words == ["[CLS]", "w3", "w4", "[SEP]"]  # huggingface/transformers#12913
    # princeton-nlp/SimCSE#137, allenai/scibert#79: words that the tokenizer does not know
    assert not unknown_tokens(tokenise(tokenizer, ["w1 w2 w3"], 9), tokenizer)
    table = tokenise(tokenizer, ["x w2 x"], 9)
    assert "40% of the tokens are unknown" in unknown_tokens(table, tokenizer)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]
    # tokenizers#168
    with_json(folder, "tokenizer.json", model=vocabulary | {"unk_token": "[none]"})
    status, told = evaluated(folder, words="x y")
    assert status == 2 and "The tokenizer cannot read the text (WordLevel error: Missing" in told
    # huggingface/transformers#13000: no [CLS]
    folder = tiny_checkpoint.bert(tmp_path / "plain")
    with_json(folder, "tokenizer.json", post_processor=None)
    load_checkpoint(folder, pooling="mean")
    with pytest.raises(UserError, match=r"sets no \[CLS\] before a sentence; .* --pooling mean"):
        load_checkpoint(folder, pooling="cls")


@WITH_THE_LIBRARY
def test_what_a_folder_says_is_followed_or_told(tmp_path, evaluated):
    # sentence-transformers#2441: another similarity; mteb#3641: prompts without a default
    config = {"similarity_fn_name": "dot", "prompts": {"query": "find: ", "document": ""}}
    status, told = evaluated(sentence_transformer(tmp_path / "dot", config=config))
    assert status == 0
    assert "with prompt none; the folder names the similarity dot and prompts: query." in told
    config |= {"default_prompt_name": "query"}
    told = evaluated(sentence_transformer(tmp_path / "query", config=config))[1]
    assert "with prompt query;" in told
    config = {"model_type": "CrossEncoder"}
    status, told = evaluated(sentence_transformer(tmp_path / "cross", config=config))
    assert status == 2 and "holds a CrossEncoder, which gives no vectors" in told
    # sentence-transformers#1600: longer than the position table; #583: other names, so random
    # weights
    folder = sentence_transformer(tmp_path / "long", {"max_seq_length": 512})
    status, told = evaluated(folder, words="w1 " * 50)
    assert status == 0 and "sentences are cut at 20 tokens" in told
    status, told = evaluated(renamed(sentence_transformer(tmp_path / "renamed")))
    assert status == 2 and "has weights that do not fit its config.json" in told
    # sentence-transformers#1918
    status, told = evaluated(sentence_transformer(tmp_path / "none", {"max_seq_length": -1}))
    assert status == 2 and "sentence-transformers cannot load" in told
    folder = sentence_transformer(tmp_path / "list")
    (folder / "modules.json").write_text("[]")
    status, told = evaluated(folder)
    assert status == 2 and "sentence-transformers cannot load" in told


def renamed(folder):
    """The folder with a prefix before the name of each weight, as torch.compile writes them."""
    file = folder / "model.safetensors"
    weights = {f"_orig_mod.{name}": tensor for name, tensor in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
    return folder


def test_weights_beyond_the_encoder_are_named_and_renamed_ones_refused(tmp_path, evaluated):
    file = tiny_checkpoint.bert(tmp_path) / "model.safetensors"
    weights = load_file(file) | {"mlp.dense.weight": torch.zeros(16, 16)}
    save_file(weights, file, metadata={"format": "pt"})
    assert "not used: mlp.\n" in evaluated(tmp_path)[1]  # SimCSE's trainer
    with_json(tmp_path, "config_sentence_transformers.json")
    heads = tuple(load_checkpoint(tmp_path).heads())
    encoder = EncoderSource("bert-base", "", 16, "", positions=20, unused=heads, folder=tmp_path)
    # which a plan names
    assert unused(encoder) == ["mlp", "config_sentence_transformers.json"]
    for settings, named in (
        ({"max_seq_length": 20, "do_lower_case": False}, []),  # as a kept model has them
        ({"max_seq_length": 8, "do_lower_case": True}, ["max_seq_length 8", "do_lower_case True"]),
    ):
        (tmp_path / "sentence_bert_config.json").write_text(json.dumps(settings))
        named = [f"{setting} of sentence_bert_config.json" for setting in named]
        assert unused(encoder)[2:] == named
        assert all(name in evaluated(tmp_path, "--pooling", "mean")[1] for name in named)
    status, told = evaluated(renamed(tmp_path))
    assert status == 2 and "has weights that do not fit its config.json" in told
