"""Sentence vectors of checkpoints on disk: poolings, batching, truncation, refusals, and published
scores as the oracle."""

import random
from typing import get_args

import numpy as np
import pytest
import tiny_checkpoint
import torch
from extras import DATA, minilm, minilm_dir, senteval
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel, DebertaV2Config, DebertaV2ForMaskedLM

from core.data.sts import load_sick, load_sts
from core.encoder import streams
from core.errors import UserError
from core.evaluation.encoding import Pooling, load_checkpoint, sentence_vectors
from core.evaluation.metrics import spearman
from core.evaluation.scoring import evaluate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_checkpoint.bert(tmp_path_factory.mktemp("bert"))


def sentences(count, longest=15, seed=0):
    draw = random.Random(seed)
    return [
        " ".join(draw.choices(tiny_checkpoint.WORDS, k=draw.randint(1, longest)))
        for _ in range(count)
    ]


def one_by_one(checkpoint, text, pooling):
    """The vector of one sentence, in the plainest way."""
    tokens = checkpoint.tokenizer(
        text, return_tensors="pt", truncation=True, max_length=checkpoint.max_length
    )
    with torch.no_grad():
        layers = [
            layer[0]
            for layer in checkpoint.model(
                input_ids=tokens["input_ids"], output_hidden_states=True
            ).hidden_states
        ]
        if pooling == "pooler":
            return torch.tanh(checkpoint.model.pooler.dense(layers[-1][0])).numpy()
    means = {
        "cls": layers[-1][0],
        "mean": layers[-1].mean(0),
        "first_last_avg": ((layers[1] + layers[-1]) / 2).mean(0),
    }
    return means[pooling].numpy()


def compared(checkpoint, texts, pooling):
    vectors = sentence_vectors(checkpoint, texts, pooling)
    assert vectors.shape == (len(texts), tiny_checkpoint.HIDDEN) and vectors.dtype == np.float32
    np.testing.assert_allclose(
        vectors, np.stack([one_by_one(checkpoint, text, pooling) for text in texts]), atol=1e-5
    )
    return vectors


@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_poolings(folder, monkeypatch, pooling):
    monkeypatch.setitem(streams.TOKENS_PER_BATCH, "cpu", 60)  # several batches, with padding inside
    compared(load_checkpoint(folder, pooling=pooling), sentences(30), pooling)


def test_roberta_and_its_last_position(tmp_path):
    checkpoint = load_checkpoint(tiny_checkpoint.roberta(tmp_path), pooling="mean")
    vectors = compared(checkpoint, [*sentences(10), "w1 " * 18, "w1 " * 500], "mean")
    assert checkpoint.max_length == 20 and np.array_equal(vectors[-1], vectors[-2])


def test_cls_needs_no_pooler_and_an_encoder_of_any_kind_is_scored(tmp_path):
    assert (
        load_checkpoint(
            tiny_checkpoint.bert(tmp_path / "bert", pooler=False), pooling="cls"
        ).max_length
        == 20
    )
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    # it has no token types
    config = DebertaV2Config(vocab_size=50, type_vocab_size=0, max_position_embeddings=20, **sizes)
    DebertaV2ForMaskedLM(config).save_pretrained(tmp_path)
    tiny_checkpoint.tokenizer_files(tmp_path)
    compared(load_checkpoint(tmp_path, pooling="mean"), sentences(4), "mean")


# from which no run can train, with settings of their own
SCORED = {
    "fnet": {},
    "longformer": {"attention_window": [8, 8], "pad_token_id": 1},
    "luke": {"entity_vocab_size": 5, "entity_emb_size": 8, "pad_token_id": 1},
    "mobilebert": dict.fromkeys(
        ("embedding_size", "intra_bottleneck_size", "true_hidden_size"), tiny_checkpoint.HIDDEN
    ),
    "nystromformer": {"num_landmarks": 64, "segment_means_seq_len": 64, "conv_kernel_size": 3},
    "squeezebert": {"embedding_size": tiny_checkpoint.HIDDEN, "q_groups": 1},
    "yoso": {},
}


@pytest.mark.parametrize("kind", SCORED)
def test_what_transformers_loads_is_scored_without_padding(kind, tmp_path):
    sizes = {**tiny_checkpoint.SIZES, "max_position_embeddings": 22, "pad_token_id": 0}
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **{**sizes, **SCORED[kind]})
    AutoModel.from_config(config).save_pretrained(tmp_path)
    tiny_checkpoint.tokenizer_files(tmp_path, pad=config.pad_token_id)
    with pytest.raises(UserError, match="cannot be trained"):
        load_checkpoint(tmp_path)
    for pooling in ("cls", "first_last_avg"):
        checkpoint = load_checkpoint(tmp_path, pooling=pooling, trains=False)
        compared(checkpoint, sentences(9), pooling)


def test_pickles_only_when_allowed(tmp_path, folder):
    tiny_checkpoint.bert(tmp_path)
    torch.save(load_file(tmp_path / "model.safetensors"), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(UserError, match="--allow-pickle"):
        load_checkpoint(tmp_path, pooling="cls")
    both = (
        load_checkpoint(tmp_path, pooling="cls", allow_pickle=True),
        load_checkpoint(folder, pooling="cls"),
    )
    np.testing.assert_array_equal(*(sentence_vectors(one, ["w1 w2"], "cls") for one in both))


# Cosine Spearman of sentence-transformers/all-MiniLM-L6-v2 in the result files of the MTEB paper
# (github.com/embeddings-benchmark/mtebpaper, results/all-MiniLM-L6-v2, mteb 0.0.2), x 100. MTEB
# concatenates the subsets of STS12 to STS16 (our `all`) and scores SICK-R on train, trial and test
# together.
PUBLISHED = {
    "STS12": 72.36900735,
    "STS13": 80.60316722,
    "STS14": 75.58912800,
    "STS15": 85.38966052,
    "STS16": 78.98945343,
    "STS-B": 82.03246731,
    "STS-B dev": 86.71631198,
    "SICK-R, all splits": 77.58245130,
}


def minilm_scores(names) -> dict[str, float]:
    """The packaged MiniLM's scores on these sets, SICK-R's three splits together if they are among
    them."""
    checkpoint = load_checkpoint(minilm_dir(), pooling="mean")
    sick = "SICK-R, all splits"
    sets = {name: pairs for name, pairs in load_sts(DATA).items() if name in names}
    sets |= {
        f"SICK-R {split}": load_sick(DATA, split)
        for split in ("train", "dev", "test")
        if sick in names
    }
    found = evaluate(sets, lambda texts: sentence_vectors(checkpoint, texts, "mean"))
    blocks = [block for block in found.pairs if block.task.startswith("SICK-R")]
    scores = {name: score["all"] for name, score in found.scores.items()}
    if blocks:
        scores[sick] = spearman(
            *(
                np.concatenate([getattr(block, side) for block in blocks])
                for side in ("cosine", "gold")
            )
        )
    return {name: scores[name] for name in names}


@senteval
@minilm
def test_published_scores_of_minilm():
    assert minilm_scores(["STS-B"]) == pytest.approx({"STS-B": PUBLISHED["STS-B"]}, abs=0.01)


@senteval
@minilm
@pytest.mark.long
@pytest.mark.timeout(1500)
def test_all_published_scores_of_minilm():
    """Every set whose protocol coincides agrees to 0.01."""
    assert minilm_scores(PUBLISHED) == pytest.approx(PUBLISHED, abs=0.01)
