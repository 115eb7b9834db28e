"""A tiny random BERT and RoBERTa for tests, in memory: nothing is downloaded."""

import numpy as np
import tiny_checkpoint
import torch
from tiny_checkpoint import HIDDEN
from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

from core.config.methods import base
from core.config.vary import vary
from core.encoder.bert import Encoder
from core.encoder.packing import pack, token_matrix

NO_FGSM = {"fgsm__gradient": "none", "fgsm__epsilon": 0.0}
SHUFFLED = {"aug__position_shuffle": "per_batch", "aug__position_shuffle_range": "padded"}
CUT_OFF = {"aug__token_cutoff": 0.3, "aug__token_cutoff_pool": "real_tokens"}


SIZES = tiny_checkpoint.SIZES | {"attn_implementation": "eager"}


def bert(seed=0):
    torch.manual_seed(seed)
    return BertModel(BertConfig(max_position_embeddings=40, **SIZES)).eval()


def roberta(seed=0):
    torch.manual_seed(seed)
    return RobertaModel(
        RobertaConfig(max_position_embeddings=42, pad_token_id=1, type_vocab_size=1, **SIZES)
    ).eval()


def encoder(model, dropout=0.0, attention_dropout=0.0):
    return Encoder(model, hidden_dropout=dropout, attention_dropout=attention_dropout)


def sentences(count, seed=0, shortest=3, longest=9):
    """Random token-id arrays, first and last token special."""
    draw = np.random.default_rng(seed)
    lengths = (draw.integers(shortest, longest + 1) - 2 for _ in range(count))
    return [np.array([2, *draw.integers(5, 50, length), 3], np.int32) for length in lengths]


def padded(arrays, width, pad=0):
    """ids and attention mask, (B, width), as a tokenizer with static padding gives them."""
    ids = np.full((len(arrays), width), pad, dtype=np.int64)
    mask = np.zeros((len(arrays), width), dtype=np.int64)
    for row, array in enumerate(arrays):
        ids[row, : len(array)], mask[row, : len(array)] = array, 1
    return torch.from_numpy(ids), torch.from_numpy(mask)


def config(method, profile="repaired", **changes):
    """A tiny run of a method. Double underscores in the keywords stand for dots."""
    small = {
        "data.digest": "d",
        "encoder.digest": "e",
        "eval.digest": "v",
        "train.batch_size": 4,
        "train.steps": 6,
        "data.rows": 100,
        "data.max_length": 10,
        "encoder.hidden_dropout": 0.0,
        "encoder.attention_dropout": 0.0,
        "train.precision": "fp32",
        "train.learning_rate": 1e-3,
    }
    run = vary(base(method, profile), small)
    if method == "mocose":
        heads = {"heads.out_size": HIDDEN, "heads.dropout": 0.0}
        run = vary(run, heads | {"queue.size": 12, "queue.init_size": 6})
    elif method == "esimcse" and run.queue is not None:
        run = vary(run, {"queue.size": 10})
    return vary(run, {key.replace("__", "."): value for key, value in changes.items()})


def steps(model, *seeds, shortest=3):
    """Losses of steps of MoCoSE without an optimiser, on four sentences each."""
    losses = []
    for seed in seeds:
        losses.append(model.loss(pack(sentences(4, seed=seed, shortest=shortest))))
        losses[-1].backward()
        model.after_update()
        model.after_step()
        model.zero_grad(set_to_none=True)
    return [loss.item() for loss in losses]


def views(config, texts, device="cpu", padded=False):
    """A step's batch of these sentences, each its own second view: without padding on a CPU, as
    matrices elsewhere and if `padded`."""

    def batch(some):
        if padded or str(device) != "cpu":
            return token_matrix(some, config.longest)
        return pack(some, device)

    if config.method == "mocose":
        return (batch(texts),)
    return (batch(texts + texts), batch(texts)) if config.queue_size else (batch(texts + texts),)
