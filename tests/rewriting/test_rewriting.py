"""Rewritten text: the table that seeds share, when it is made anew, and what the target branch
reads."""

import json
from pathlib import Path

import pytest
import tiny
import torch
from english import TEXTS
from extras import needs
from transformers import AutoTokenizer

from core.config.methods import base
from core.config.scale import DEMO, at_scale
from core.config.vary import vary
from core.data.encoders import DEMO_ENCODER
from core.data.sources import demo_sources
from core.encoder import tokens
from core.encoder.packing import pack
from core.encoder.tokens import tokenise
from core.methods.losses import info_nce
from core.methods.mocose.model import MoCoSE
from core.methods.mocose.sections import TextView
from core.rewriting.typos import misspelt
from core.training.execution import Execution

TYPOS = needs("nlpaug", "requirements-rewriting.txt")
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(DEMO_ENCODER, local_files_only=True)


def small(**text):
    run = vary(at_scale(base("mocose", "repaired"), DEMO, demo_sources()), {"data.max_length": 12})
    return vary(run, {"text": TextView(**text)})


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An execution with a cache of its own, over four sentences; counts how often they are read."""
    reads = []
    monkeypatch.setattr(tokens, "training_text", lambda data, path: reads.append(1) or list(TEXTS))
    return Execution(results_dir=str(tmp_path), cache_dir=str(tmp_path / "cache")), reads


def table(config, execution, tokenizer, view):
    places = (execution.sources, Path(execution.cache_dir))
    return tokens.rewritten_table(config, config.text, *places, tokenizer, CPU, view)


def rows(table):
    return [table[i].tolist() for i in range(len(table))]


@TYPOS
def test_a_text_is_rewritten_once_for_all_seeds(place, tokenizer):
    execution, reads = place
    config = small(kind="typos")
    first = table(config, execution, tokenizer, "target")
    other_seed = vary(config, {"seed.model": 3, "seed.data": 4})
    assert rows(table(other_seed, execution, tokenizer, "target")) == rows(first)
    assert len(reads) == 1
    seed = tokens.stream_seed(0, "text view typos target")
    wanted = tokenise(tokenizer, misspelt(TEXTS, 0.3, seed), 12)
    assert rows(first) == rows(wanted)


@TYPOS
def test_each_field_makes_another_table(place, tokenizer):
    execution, reads = place
    model = {"model": "encoder"}
    cases = [
        small(kind="typos"),
        small(kind="typos", rate=0.9),
        small(kind="typos", detokenize="wordpiece_join"),
        small(kind="contextual_insert", **model),
        small(kind="contextual_substitute", **model),
        small(kind="contextual_substitute", rate=0.9, **model),
        vary(small(kind="typos"), {"data.max_length": 6}),
    ]
    found = [
        rows(table(config, execution, tokenizer, view))
        for config in cases
        for view in ("target", "online")
    ]
    assert len(reads) == len(found) and len({json.dumps(table) for table in found}) == len(found)


def test_word_pieces_are_joined_with_their_marks(tokenizer):  # D26
    texts = ["The xylophonist slept.", "a b c d e f g h i j k l m n o p"]
    pieces, plain = (
        small(kind="typos", detokenize=how) for how in ("wordpiece_join", "original_text")
    )
    joined = tokens.source_texts(pieces, pieces.text, texts, tokenizer)
    assert joined == [" ".join(tokenizer.tokenize(texts[0])[:10]), "a b c d e f g h i j"]
    assert "##" in joined[0] and tokenizer.tokenize("##s") == ["[UNK]", "[UNK]", "s"]
    assert tokens.source_texts(plain, plain.text, texts, tokenizer) is texts


def test_the_target_branch_alone_reads_the_rewritten_text():
    config = tiny.config("mocose", fgsm__gradient="none", fgsm__epsilon=0.0)
    batch = pack(tiny.sentences(4, seed=1))
    other = pack(tiny.sentences(4, seed=2))
    by_hand, model = (MoCoSE(config, tiny.encoder(tiny.bert()), CPU).train() for _ in range(2))
    cls = by_hand.encoder(batch)
    other_cls = by_hand.target_stack(by_hand.encoder.embeddings(other), other)
    query = by_hand.predictor(by_hand.projection(by_hand.pooler(cls)))
    key = by_hand.target_projection(by_hand.target_pooler(other_cls))
    expected = info_nce(query, key, by_hand.queue.visible(), temperature=0.05)
    assert torch.allclose(model.loss(batch, other), expected, atol=1e-6)
    assert torch.allclose(model.queue.visible()[:4], key, atol=1e-6)


@pytest.mark.parametrize("seen", ["both_same", "online_only"])
def test_a_stale_gradient_falls_on_the_slots_of_either_text(seen):
    config = tiny.config("mocose", fgsm__epsilon=0.05, fgsm__views=seen)
    model = MoCoSE(config, tiny.encoder(tiny.bert()), CPU).train()
    batch = pack(tiny.sentences(4, seed=1))
    other = pack(tiny.sentences(4, seed=2))
    model.stale.signs = torch.ones(4, 9, tiny.HIDDEN)
    given = []
    lookup = model.encoder.embeddings.finish
    model.encoder.embeddings.finish = lambda words, slots: (
        given.append(words) or lookup(words, slots)
    )
    model.loss(batch, other)
    keys, queries = given  # the target branch goes first
    assert torch.allclose(queries, model.encoder.embeddings.lookup(batch) + 0.05)
    moved = 0.05 if seen == "both_same" else 0.0
    assert torch.allclose(keys, model.encoder.embeddings.lookup(other) + moved)
