"""Continuation and translation with tiny random models of the papers' kinds: against generation one
sentence at a time."""

import pytest
import tiny_checkpoint
import torch
from extras import needs
from transformers import AutoTokenizer, XLNetConfig, XLNetLMHeadModel

from core.errors import UserError
from core.methods.mocose.sections import TextView
from core.rewriting.generation import APPENDED, continued, translated
from core.rewriting.models import load_model
from core.rewriting.rewrite import rewrite

FSMT = needs("sacremoses", "requirements-rewriting.txt")
CPU = torch.device("cpu")
TEXTS = ["w1 w2 w3 w4 w5", "w7", "  ", "w3 w9 w9", "w5 w6 w8"]
ENGLISH = ["the cat sat", "a dog", "  ", "the the end"]


@pytest.fixture(scope="module")
def xlnet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xlnet")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"vocab_size": 44, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32}
        ends = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
        config = XLNetConfig(initializer_range=0.5, **sizes, **ends)
        XLNetLMHeadModel(config).save_pretrained(folder)
    tiny_checkpoint.tokenizer_files(folder)
    return folder


@pytest.fixture(scope="module")
def fsmt(tmp_path_factory):
    """WMT19's kind of model and its own tokenizer, from English and back."""
    folder = tmp_path_factory.mktemp("fsmt")
    return [
        tiny_checkpoint.fsmt(folder / "there", "en", "de", seed=0),
        tiny_checkpoint.fsmt(folder / "back", "de", "en", seed=1),
    ]


def test_text_is_appended_and_nothing_else_changed(xlnet):
    model, tokenizer = load_model(xlnet, "continuation", CPU)
    before = torch.random.get_rng_state()
    found = continued(model, tokenizer, TEXTS, 1)
    assert torch.equal(torch.random.get_rng_state(), before)
    for text, more in zip(TEXTS, found, strict=True):
        added = more[len(text) :].split()
        assert more.startswith(text)
        assert len(added) <= APPENDED
        assert set(added) <= set(tiny_checkpoint.WORDS)
    assert found[2] == TEXTS[2] and all(len(found[i]) > len(TEXTS[i]) for i in (0, 1, 3, 4))
    assert found == continued(model, tokenizer, TEXTS, 1) != continued(model, tokenizer, TEXTS, 2)


def test_a_sentence_goes_on_as_it_would_alone(xlnet, monkeypatch):
    model, tokenizer = load_model(xlnet, "continuation", CPU)
    # no chance: what follows a sentence is its own
    monkeypatch.setattr("core.rewriting.generation.LIKELIEST_TOKENS", 1)
    together = continued(model, tokenizer, TEXTS, 1)
    assert together == [continued(model, tokenizer, [text], 5)[0] for text in TEXTS]


@FSMT
def test_translation_against_one_sentence_at_a_time(fsmt):
    model, tokenizer = load_model(fsmt[0], "translation", CPU)
    found = translated(model, tokenizer, ENGLISH)
    for text, other in zip(ENGLISH, found, strict=True):
        if not text.strip():
            assert other == text
            continue
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            ids = model.generate(ids)[0]
        alone = AutoTokenizer.from_pretrained(fsmt[0]).decode(ids, skip_special_tokens=True)
        assert other == alone and other != text
    assert found == translated(model, tokenizer, ENGLISH)


@FSMT
def test_back_translation_goes_there_and_back(fsmt):
    there = translated(*load_model(fsmt[0], "translation", CPU), ENGLISH)
    back = translated(*load_model(fsmt[1], "translation", CPU), there)
    view = TextView(kind="back_translation", model="wmt19-en-de-en")
    found = rewrite(view, ENGLISH, 0, fsmt, CPU)
    assert found == back and len({*ENGLISH, *there, *back}) > len({*ENGLISH, *there})


def test_a_model_without_the_head_or_without_weights_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be loaded"):
        load_model(tmp_path, "translation", CPU)
    with pytest.raises(UserError, match="no head for masked words"):
        load_model(tiny_checkpoint.bert(tmp_path), "masked words", CPU)
