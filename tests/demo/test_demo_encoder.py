"""The shipped encoder and the script that makes it: loads offline, knows the words, holds what its README says."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModel, AutoTokenizer, BertForMaskedLM

from core.demo import pretrain
from core.demo.corpus import training_sentences
from core.demo.pairs import DEV, TESTS, graded_pairs
from core.demo.vocabulary import SPECIALS, word_counts, word_pieces

FOLDER = Path(pretrain.__file__).parent / "encoder"


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
    sentences = training_sentences(5000) + [s for name in (DEV, *TESTS) for p in graded_pairs(name) for s in (p.a, p.b)]
    encoded = tokenizer(sentences)["input_ids"]
    assert all(tokenizer.unk_token_id not in ids for ids in encoded)
    assert max(map(len, encoded)) <= 64
    lengths = torch.tensor([len(ids) for ids in tokenizer(training_sentences(5000))["input_ids"]])
    assert (lengths > 32).float().mean() < 0.01


def test_frequent_words_are_whole_and_rare_words_split(tokenizer):
    counts = word_counts(training_sentences(20_000))
    ranked = sorted(counts, key=lambda word: -counts[word])
    pieces = {word: len(tokenizer.tokenize(word)) for word in ranked}
    assert all(pieces[word] == 1 for word in ranked[:300])
    assert sum(n > 1 for n in pieces.values()) >= 100
    assert tokenizer.tokenize("The Doctor") == ["the", "doctor"]


def test_word_pieces_join_the_most_frequent_pair_first():
    size = len(word_pieces(Counter({"the": 100}), whole=1, size=10_000)) + 1
    pieces = word_pieces(Counter({"dab": 5, "cab": 3, "the": 100}), whole=1, size=size)
    assert pieces[:5] == list(SPECIALS) and "the" in pieces
    assert pieces[-1] == "##ab"  # `##a ##b` occurs 8 times, `d ##a` 5 times
    assert len(pieces) == size == len(set(pieces))


def test_a_vocabulary_without_room_is_refused():
    with pytest.raises(ValueError, match="no room"):
        word_pieces(Counter({"the": 1}), whole=1, size=20)


def test_pretraining_again_gives_the_same_weights():
    def weights():
        tokenizer = pretrain.build_tokenizer()
        model = pretrain.build_model(seed=3, layers=1, width=32, vocabulary=len(tokenizer))
        pretrain.train(model, pretrain.Encoding(tokenizer), seed=3, steps=3)
        return model.state_dict()

    before = torch.random.get_rng_state()
    first, second = weights(), weights()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(before, torch.random.get_rng_state())


def test_masking_follows_berts_rule():
    ids = torch.full((400, 50), 300)
    ids[:, 0] = pretrain.CLS
    corrupted, chosen = pretrain.masked(ids, torch.Generator().manual_seed(0))
    assert not chosen[:, 0].any()
    assert chosen[:, 1:].float().mean().item() == pytest.approx(pretrain.MASKED, abs=0.01)
    assert (corrupted[chosen] == pretrain.MASK).float().mean().item() == pytest.approx(0.8, abs=0.02)
    assert (corrupted[chosen] == 300).float().mean().item() == pytest.approx(0.1, abs=0.02)
    assert torch.equal(corrupted[~chosen], ids[~chosen])


def test_saving_keeps_the_masked_word_head_and_nothing_twice(tmp_path):
    tokenizer = pretrain.build_tokenizer()
    model = pretrain.build_model(seed=0, layers=1, width=32, vocabulary=len(tokenizer))
    digest = pretrain.save(model, tokenizer, tmp_path)
    assert digest == hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        names = set(file.keys())
    assert "bert.pooler.dense.weight" in names and "cls.predictions.transform.dense.weight" in names
    assert not any(re.match("cls.seq_relationship|cls.predictions.decoder", name) for name in names)
