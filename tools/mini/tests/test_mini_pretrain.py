"""The parts of the script that makes the encoder of scale mini: pieces, the cut, passages."""

import random

import torch
from transformers import BertConfig, BertModel

from tools.mini import passages
from tools.mini.cut import cut, kept_pieces, neuron_importance
from tools.pretraining import SPECIALS


def test_pieces_are_kept_by_count_and_characters_always():
    pieces = [*SPECIALS, "a", "##b", "cat", "##ing", "dog"]
    assert kept_pieces(pieces, {"cat": 3, "##ing": 1, "dog": 0, "a": 0, "##b": 0}, fewest=2) == [
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
    ]


def test_a_cut_that_takes_nothing_away_changes_nothing():
    torch.manual_seed(0)
    model = BertModel(
        BertConfig(
            vocab_size=30,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=12,
        )
    ).eval()
    ids = torch.randint(5, 30, (3, 8))
    mask = torch.ones(3, 8, dtype=torch.long)
    importance = neuron_importance(model, ids, mask)
    whole = cut(
        model, layers=[0, 1], inner=24, pieces=range(30), positions=12, importance=importance
    ).eval()
    one = cut(
        model, layers=[1], inner=6, pieces=range(10), positions=8, importance=importance
    ).eval()
    with torch.no_grad():
        assert torch.allclose(
            whole.bert(ids).last_hidden_state, model(ids).last_hidden_state, atol=1e-6
        )
        kept = importance[1].topk(6).indices.sort().values
        assert torch.equal(
            one.bert.encoder.layer[0].intermediate.dense.weight,
            model.encoder.layer[1].intermediate.dense.weight[kept],
        )
        assert one.bert.embeddings.word_embeddings.weight.shape == (10, 16)


def test_the_second_segment_goes_on_from_the_first_where_it_says_so():
    # sentence s of document d is [10 d + s] three times
    running = [[[10 * d + s] * 3 for s in range(4)] for d in range(1, 6)]
    single = [list(range(100 * i, 100 * i + 8)) for i in range(1, 6)]
    stream = passages.examples(running, single, random.Random(0))
    seen = [next(stream) for _ in range(2000)]
    alone = [row for row in seen if not row[1]]
    assert 0.2 < len(alone) / len(seen) < 0.3 and all(
        follows == passages.NO_PAIR for _, _, follows in alone
    )
    for first, second, follows in seen:
        if second and follows:
            assert second[0] == first[-1] + 1
    told = [follows for _, second, follows in seen if second]
    assert 0.45 < sum(told) / len(told) < 0.55
