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
from transformers import AutoConfig, AutoModel

from core.data.sts import load_split, load_sts
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
    length = checkpoint.max_length
    ids = checkpoint.tokenizer(text, return_tensors="pt", truncation=True, max_length=length)
    with torch.no_grad():
        output = checkpoint.model(input_ids=ids["input_ids"], output_hidden_states=True)
        layers = [layer[0] for layer in output.hidden_states]
        if pooling == "pooler":
            return torch.tanh(checkpoint.model.pooler.dense(layers[-1][0])).numpy()
    if pooling == "cls":
        return layers[-1][0].numpy()
    first = layers[1] if pooling == "first_last_avg" else layers[-1]
    return ((first + layers[-1]) / 2).mean(0).numpy()


def compared(checkpoint, texts, pooling):
    vectors = sentence_vectors(checkpoint, texts, pooling)
    assert vectors.shape == (len(texts), tiny_checkpoint.HIDDEN) and vectors.dtype == np.float32
    alone = np.stack([one_by_one(checkpoint, text, pooling) for text in texts])
    np.testing.assert_allclose(vectors, alone, atol=1e-5, rtol=1e-6)
    return vectors


@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_poolings(folder, monkeypatch, pooling):
    monkeypatch.setitem(streams.TOKENS_PER_BATCH, "cpu", 60)  # several batches, with padding inside
    compared(load_checkpoint(folder, pooling=pooling), sentences(30), pooling)


def test_roberta_and_its_last_position(tmp_path):
    checkpoint = load_checkpoint(tiny_checkpoint.roberta(tmp_path), pooling="mean")
    vectors = compared(checkpoint, [*sentences(10), "w1 " * 18, "w1 " * 500], "mean")
    assert checkpoint.max_length == 20 and np.array_equal(vectors[-1], vectors[-2])


# from which no run can train, with settings of their own: one that mixes padding in, and one that
# pads by itself
SCORED = {"fnet": {}, "longformer": {"attention_window": [8, 8], "pad_token_id": 1}}


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
    pickled = load_checkpoint(tmp_path, pooling="cls", allow_pickle=True)
    safe = load_checkpoint(folder, pooling="cls")
    np.testing.assert_array_equal(
        *(sentence_vectors(one, ["w1"], "cls") for one in (pickled, safe))
    )


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
    together = "SICK-R, all splits"
    sets = {name: pairs for name, pairs in load_sts(DATA).items() if name in names}
    if together in names:
        sets |= {
            f"SICK-R {split}": load_split(DATA, "SICK-R", split)
            for split in ("train", "dev", "test")
        }
    evaluated = evaluate(sets, lambda texts: sentence_vectors(checkpoint, texts, "mean"))
    scores = {name: score["all"] for name, score in evaluated.scores.items()}
    blocks = [block for block in evaluated.pairs if block.task.startswith("SICK-R")]
    if blocks:
        cosine = np.concatenate([block.cosine for block in blocks])
        scores[together] = spearman(cosine, np.concatenate([block.gold for block in blocks]))
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
