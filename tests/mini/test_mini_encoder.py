"""The shipped encoders of scales demo and mini: each loads offline, knows its words, and is the one of its README."""

import hashlib

import numpy as np
import pytest
import real
import torch
from transformers import AutoTokenizer, BertForMaskedLM

from core.data.encoders import DEMO_ENCODER, MINI_ENCODER, has_masked_words
from core.data.sources import DEMO_CORPUS_DIGEST, DEMO_CORPUS_ROWS
from core.data.sts import load_demo, load_sts
from core.data.text import training_text
from core.engine.evaluation.encoding import load_checkpoint, sentence_vectors
from core.engine.evaluation.scoring import evaluate
from core.spec.run import Data

BOTH = pytest.mark.parametrize("folder", [DEMO_ENCODER, MINI_ENCODER], ids=["demo", "mini"])


def tokenizer_of(folder):
    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


@BOTH
def test_weights_are_the_ones_of_the_readme(folder):
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert digest in (folder / "README.md").read_text() and has_masked_words(folder)
    assert sum(file.stat().st_size for file in folder.iterdir()) < (25_000_000 if folder == MINI_ENCODER else 6_000_000)


@pytest.mark.parametrize("folder, texts, words", [
    (MINI_ENCODER, ["He was born in the [MASK] of New York."], {"city", "state", "town", "county"}),
    (DEMO_ENCODER, ["The farmer praised the nurse.", "The nurse was praised by the [MASK]."], {"farmer", "grower"}),
])  # fmt: skip
def test_transformers_fills_a_gap_with_a_word_that_fits(folder, texts, words):
    tokenizer, encoded = tokenizer_of(folder), tokenizer_of(folder)(*texts, return_tensors="pt")
    model, report = BertForMaskedLM.from_pretrained(folder, local_files_only=True, output_loading_info=True)
    assert not report["missing_keys"] and not report["mismatched_keys"]
    with torch.no_grad():
        logits = model.eval()(**encoded).logits[0]
    guess = logits[encoded["input_ids"][0] == tokenizer.mask_token_id].topk(5).indices[0]
    assert words & set(tokenizer.convert_ids_to_tokens(guess.tolist()))


def test_no_sentence_of_the_demo_has_unknown_pieces_or_too_many():
    text = training_text(Data(digest=DEMO_CORPUS_DIGEST, rows=DEMO_CORPUS_ROWS), None)[:5000]
    pairs, tokenizer = load_demo().values(), tokenizer_of(DEMO_ENCODER)
    encoded = tokenizer(text + [sentence for each in pairs for sentence in (*each.a, *each.b)])["input_ids"]
    assert all(tokenizer.unk_token_id not in ids for ids in encoded) and max(map(len, encoded)) <= 64
    assert np.mean([len(ids) > 32 for ids in encoded[:5000]]) < 0.01


def test_the_cls_of_scale_mini_is_no_finished_sentence_vector():
    dev = load_sts(real.data_dir())["STS-B dev"]
    checkpoint = load_checkpoint(MINI_ENCODER, pooling="cls")
    score = evaluate({dev.name: dev}, lambda texts: sentence_vectors(checkpoint, texts, "cls")).scores[dev.name]["all"]
    assert score == pytest.approx(61.2, abs=0.3)  # below its first-last average on the tests; a sentence encoder has 80 and more
