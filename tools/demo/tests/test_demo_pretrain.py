"""The script that makes the demo's encoder: its vocabulary, its masks, and what it saves."""

import hashlib
import re
from collections import Counter

import pytest
import torch
from safetensors import safe_open

from tools.demo import pretrain
from tools.demo.vocabulary import word_pieces
from tools.pretraining import CLS, MASK, SPECIALS, masked, save


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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
    first = weights()
    second = weights()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(before, torch.random.get_rng_state())


def test_masking_follows_berts_rule():
    ids = torch.full((400, 50), 300)
    ids[:, 0] = CLS
    corrupted, chosen = masked(ids, 800, pretrain.MASKED, torch.Generator().manual_seed(0))
    assert not chosen[:, 0].any()
    assert chosen[:, 1:].float().mean().item() == pytest.approx(pretrain.MASKED, abs=0.01)
    assert (corrupted[chosen] == MASK).float().mean().item() == pytest.approx(0.8, abs=0.02)
    assert (corrupted[chosen] == 300).float().mean().item() == pytest.approx(0.1, abs=0.02)
    assert torch.equal(corrupted[~chosen], ids[~chosen])


def test_saving_keeps_the_masked_word_head_and_nothing_twice(tmp_path):
    tokenizer = pretrain.build_tokenizer()
    model = pretrain.build_model(seed=0, layers=1, width=32, vocabulary=len(tokenizer))
    digest = save(model, tokenizer, tmp_path, torch.float32)
    assert digest == hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        names = set(file.keys())
    assert "bert.pooler.dense.weight" in names and "cls.predictions.transform.dense.weight" in names
    assert not any(re.match("cls.seq_relationship|cls.predictions.decoder", name) for name in names)
