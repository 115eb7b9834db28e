"""Continuation and translation with tiny random models of the papers' kinds: against generation one sentence at a time."""

import pytest
import torch
from transformers import AutoTokenizer, BartConfig, BartForConditionalGeneration, XLNetConfig, XLNetLMHeadModel

import tiny_checkpoint
from core.engine.rewriting import APPENDED, continued, translated
from core.engine.view_models import load_model
from core.spec.errors import UserError

CPU = torch.device("cpu")
TEXTS = ["w1 w2 w3 w4 w5", "w7", "  ", "w3 w9 w9", "w5 w6 w8"]


@pytest.fixture(scope="module")
def xlnet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xlnet")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        XLNetLMHeadModel(XLNetConfig(
            vocab_size=44, d_model=16, n_layer=2, n_head=2, d_inner=32, initializer_range=0.5, pad_token_id=0, eos_token_id=3, bos_token_id=2,
        )).save_pretrained(folder)  # fmt: skip
    tiny_checkpoint.tokenizer_files(folder)
    return folder


@pytest.fixture(scope="module")
def bart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bart")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BartForConditionalGeneration(BartConfig(
            vocab_size=44, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=30, init_std=0.5, pad_token_id=0, bos_token_id=2,
            eos_token_id=3, decoder_start_token_id=3, forced_eos_token_id=3,
        )).save_pretrained(folder)  # fmt: skip
    tiny_checkpoint.tokenizer_files(folder, limit=30)
    return folder


def test_text_is_appended_and_nothing_else_changed(xlnet):
    model, tokenizer = load_model(xlnet, "continuation", CPU)
    before = torch.random.get_rng_state()
    found = continued(model, tokenizer, TEXTS, 1)
    assert torch.equal(torch.random.get_rng_state(), before)
    for text, more in zip(TEXTS, found):
        added = more[len(text) :].split()
        assert more.startswith(text) and len(added) <= APPENDED and set(added) <= set(tiny_checkpoint.WORDS)
    assert found[2] == TEXTS[2] and all(len(found[i]) > len(TEXTS[i]) for i in (0, 1, 3, 4))
    assert found == continued(model, tokenizer, TEXTS, 1) != continued(model, tokenizer, TEXTS, 2)


def test_a_sentence_goes_on_as_it_would_alone(xlnet, monkeypatch):
    model, tokenizer = load_model(xlnet, "continuation", CPU)
    monkeypatch.setattr("core.engine.rewriting.TOP", 1)  # no chance: what follows a sentence is its own
    together = continued(model, tokenizer, TEXTS, 1)
    assert together == [continued(model, tokenizer, [text], 5)[0] for text in TEXTS]


def test_translation_against_one_sentence_at_a_time(bart):
    model, tokenizer = load_model(bart, "translation", CPU)
    found = translated(model, tokenizer, TEXTS)
    for text, other in zip(TEXTS, found):
        if not text.strip():
            assert other == text
            continue
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            alone = AutoTokenizer.from_pretrained(bart).decode(model.generate(ids)[0], skip_special_tokens=True)
        assert other == alone and other != text
    assert found == translated(model, tokenizer, TEXTS)


def test_a_model_without_the_head_or_without_weights_is_refused(bart, tmp_path):
    with pytest.raises(UserError, match="cannot be loaded"):
        load_model(tmp_path, "translation", CPU)
    with pytest.raises(UserError, match="no head for masked words"):
        load_model(tiny_checkpoint.bert(tmp_path), "masked words", CPU)
