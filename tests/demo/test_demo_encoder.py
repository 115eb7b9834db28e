"""The demo's shipped encoder: it loads offline, knows the words, and is the one of its README."""

import hashlib
import json
import re
from collections import Counter

import pytest
import torch
from transformers import AutoModel, AutoTokenizer, BertForMaskedLM

from core.data.sources import DEMO_CORPUS_DIGEST, DEMO_CORPUS_ROWS
from core.data.sts import load_demo
from core.data.text import DEMO_FOLDER, training_text
from core.spec.run import Data

FOLDER = DEMO_FOLDER / "encoder"
TEXT = training_text(Data(digest=DEMO_CORPUS_DIGEST, rows=DEMO_CORPUS_ROWS), None)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)


def test_weights_are_the_ones_of_the_readme():
    digest = hashlib.sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()
    assert digest in (FOLDER / "README.md").read_text()
    assert sum(f.stat().st_size for f in FOLDER.iterdir()) < 6_000_000


def test_the_whole_encoder_loads_offline_with_its_pooler():
    model, report = AutoModel.from_pretrained(FOLDER, local_files_only=True, output_loading_info=True)
    assert not report["missing_keys"] and not report["mismatched_keys"]
    assert {key.split(".")[0] for key in report["unexpected_keys"]} <= {"cls"}
    weight = model.pooler.dense.weight
    assert torch.allclose(weight @ weight.T, torch.eye(len(weight)), atol=1e-5)
    assert all(p.dtype == torch.float32 for p in model.parameters())


def test_the_configuration_offers_berts_usual_range_for_new_layers():
    assert json.loads((FOLDER / "config.json").read_text())["initializer_range"] == 0.02


def test_masked_words_are_predicted_from_the_other_sentence(tokenizer):
    model = BertForMaskedLM.from_pretrained(FOLDER, local_files_only=True).eval()
    encoded = tokenizer("The farmer praised the nurse.", "The nurse was praised by the [MASK].", return_tensors="pt")
    with torch.no_grad():
        logits = model(**encoded).logits[0]
    guess = logits[encoded["input_ids"][0] == tokenizer.mask_token_id].topk(5).indices[0]
    assert {"farmer", "grower"} & set(tokenizer.convert_ids_to_tokens(guess.tolist()))


def test_no_sentence_has_unknown_pieces_or_too_many(tokenizer):
    sentences = TEXT[:5000] + [sentence for pairs in load_demo().values() for sentence in (*pairs.a, *pairs.b)]
    encoded = tokenizer(sentences)["input_ids"]
    assert all(tokenizer.unk_token_id not in ids for ids in encoded)
    assert max(map(len, encoded)) <= 64
    lengths = torch.tensor([len(ids) for ids in tokenizer(TEXT[:5000])["input_ids"]])
    assert (lengths > 32).float().mean() < 0.01


def test_frequent_words_are_whole_and_rare_words_split(tokenizer):
    counts = Counter(re.findall("[a-z]+", " ".join(TEXT).lower()))
    ranked = sorted(counts, key=lambda word: -counts[word])
    pieces = {word: len(tokenizer.tokenize(word)) for word in ranked}
    assert all(pieces[word] == 1 for word in ranked[:300])
    assert sum(n > 1 for n in pieces.values()) >= 100
    assert tokenizer.tokenize("The Doctor") == ["the", "doctor"]
