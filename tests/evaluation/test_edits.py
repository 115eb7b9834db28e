"""Edited copies: one edit each, the same ones every time, and their mean cosines against a loop of its own."""

import random
from collections import Counter

import numpy as np
import pytest
import tiny
import tiny_checkpoint
import torch
from transformers import AutoTokenizer

from core.data.sts import StsSet, load_demo
from core.engine.encoder.packing import pack
from core.engine.evaluation import edits
from core.engine.evaluation.baselines import Untrained
from core.engine.evaluation.edits import EDITS, SENTENCES, edit_rows, edited_copies, edited_sentences


def pairs(a, b):
    return StsSet(name="D", subset=("D",) * len(a), a=tuple(a), b=tuple(b), gold=np.zeros(len(a)))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return AutoTokenizer.from_pretrained(tiny_checkpoint.bert(tmp_path_factory.mktemp("tokenizer")))


def test_sentences_are_the_first_distinct_long_ones():
    six, other = "a b c d e f", "g h i j k l"
    assert edited_sentences(pairs([six, "a b c d e", other], ["short", six, six])) == [six, other]
    chosen = edited_sentences(load_demo()["DEV"])
    assert len(chosen) == len(set(chosen)) == SENTENCES and min(len(text.split()) for text in chosen) >= 6


@pytest.mark.parametrize("seed", range(4))
def test_each_edit_is_one_edit(seed):
    stream, words = random.Random(seed), "a b c d e f".split()
    longer = edits.insertion(words, ["x", "y"], stream)
    assert [w for w in longer if w in words] == words and sum(w in "xy" for w in longer) == 1
    shorter = edits.written(words, 0, stream)
    assert len(shorter) == 5 and shorter == [w for w in words if w in shorter]
    twice = edits.written(words, 2, stream)
    assert sorted(Counter(twice).values()) == [1, 1, 1, 1, 1, 2] and sorted(set(twice), key=twice.index) == words
    assert twice == sorted(twice)  # the copy stands beside its word


def test_means_are_those_of_single_sentences(tokenizer):
    draw = random.Random(1)
    a, b = ([" ".join(f"w{draw.randrange(40)}" for _ in range(draw.randint(6, 9))) for _ in range(30)] for _ in "ab")
    dev = pairs(a, b)
    chosen = edited_sentences(dev)
    copies, again = (edited_copies(chosen, tokenizer, 40) for _ in range(2))
    assert np.array_equal(copies.ids, again.ids)
    model = Untrained(tiny.encoder(tiny.bert(), dropout=0.5)).train()
    rows = edit_rows(model, dev, tokenizer, torch.device("cpu"), 3)
    assert [(row.checkpoint, row.task, row.metric, row.step) for row in rows] == [("selected", "edits", f"cosine_{e}", 3) for e in EDITS]
    count = len(chosen)
    lengths = np.diff(copies.offsets).reshape(-1, count)
    assert ((lengths[1:] - lengths[0]) == np.array([[0, 1, -1, 1, 1]]).T).all()
    for i in range(count):  # the first and last token stay where they are
        plain, again = copies[i].tolist(), copies[5 * count + i].tolist()
        assert again in [[*plain[: place + 1], *plain[place:]] for place in range(1, len(plain) - 1)]
    with torch.no_grad():
        vectors = [model.eval().sentence_vectors(pack([copies[i]]))[0] for i in range(len(copies))]
    for kind, row in enumerate(rows, start=1):
        found = [torch.cosine_similarity(vectors[i], vectors[kind * count + i], dim=0) for i in range(count)]
        assert row.value == pytest.approx(float(torch.stack(found).mean()), abs=1e-5)
    assert rows[0].value == pytest.approx(1.0, abs=1e-6) and all(row.value < 0.9999 for row in rows[1:])
    assert edit_rows(model, pairs(a[:1], ["short"]), tokenizer, torch.device("cpu"), 3) == []
    long = [" ".join(["w1"] * 60), " ".join(["w2"] * 60)]
    assert np.diff(edited_copies(long, tokenizer, 20).offsets).max() == 20  # they fit the encoder
