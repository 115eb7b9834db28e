"""Encoders through transformers' own module give what transformers gives: vectors, losses and
gradients; equal masks come again, and a resumed training is the undisturbed one."""

import copy
import io

import pytest
import tiny
import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModel

from core.config import methods
from core.config.vary import vary
from core.encoder.any import AnyEncoder
from core.encoder.bert import Encoder
from core.encoder.packing import pack, padded, token_matrix
from core.encoder.streams import seed_libraries
from core.errors import UserError
from core.training.job import refuse_augmentation
from core.training.optimiser import adamw
from core.training.step import step_for

CPU = torch.device("cpu")
CLOSE = 1e-10
SIZES = {
    **tiny.SIZES,
    "num_hidden_layers": 3,
    "max_position_embeddings": 42,
    "embedding_size": tiny.HIDDEN,
    "pad_token_id": 0,
    "attn_implementation": None,
}
# architectures, with settings of their own
KINDS = {
    "albert": {"embedding_size": 8},
    "bert": {},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {
        "relative_attention": True,
        "pos_att_type": ["c2p", "p2c"],
        "position_biased_input": False,
        "conv_kernel_size": 3,
        "type_vocab_size": 0,
    },
    "distilbert": {"dim": tiny.HIDDEN, "n_heads": 2, "hidden_dim": 32, "n_layers": 3},
    "electra": {"embedding_size": 8},
    "eurobert": {},
    "modernbert": {"local_attention": 4},
    "mpnet": {},
    "nomic_bert": {},
    "roformer": {},
    "xlm-roberta": {"pad_token_id": 1},
}
LENGTHS = {"padded": [9, 4, 6, 3], "single": [7]}


def model_of(kind, seed=0, **changes):
    torch.manual_seed(seed)
    config = AutoConfig.for_model(kind, **{**SIZES, **KINDS[kind], **changes})
    model = AutoModel.from_config(config).double().eval()
    for p in model.parameters():  # biases and norms, too
        p.data += 0.1 * torch.randn_like(p)
    return model


def sentences(lengths, seed=0):
    drawn = torch.Generator().manual_seed(seed)
    return [torch.randint(5, 50, (n,), generator=drawn).int().numpy() for n in lengths]


def theirs_of(model, arrays):
    """The vectors of all tokens (T, hidden) and of first ones (B, hidden), by token ids."""
    width = max(map(len, arrays))
    ids, mask = tiny.padded(arrays, width, model.config.pad_token_id)
    every = model(input_ids=ids, attention_mask=mask).last_hidden_state
    return every[mask.bool()], every[:, 0]


def difference(a, b):
    return float((a - b).detach().abs().max())


def gradients(loss, model):
    """By name; zero where there is none."""
    model.zero_grad()
    loss.backward()
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad.clone()
        for name, p in model.named_parameters()
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_vectors_and_gradients_are_those_of_transformers(kind, lengths):
    model = model_of(kind)
    arrays = sentences(LENGTHS[lengths])
    ours = AnyEncoder(model, 0.0, 0.0)
    wanted, first = theirs_of(model, arrays)
    for batch in (pack(arrays), padded(token_matrix(arrays, 10))):
        real = batch.mask[batch.row, batch.slot]
        assert difference(ours.every(batch)[real], wanted) < CLOSE
        assert difference(ours(batch), first) < CLOSE
    by_ids = gradients((wanted**3).sum(), model)
    got = gradients((ours.every(pack(arrays)) ** 3).sum(), ours)
    for name, gradient in named_as_theirs(got).items():
        scale = max(1.0, float(by_ids[name].abs().max()))
        assert difference(gradient, by_ids[name]) < CLOSE * scale, name
    assert max(float(gradient.abs().max()) for gradient in got.values()) > 0.1


def named_as_theirs(by_name):
    """Our gradients by transformers' names, without the pooler's, which are none here."""
    named = {}
    for name, gradient in by_name.items():
        if name.startswith("stack.model."):
            named[name.removeprefix("stack.model.")] = gradient
        elif name == "embeddings.source.weight":
            named["embed_tokens.weight"] = gradient
        else:
            named[name.replace("embeddings.source.", "embeddings.")] = gradient
    return named


def run_of(method, **changes):
    return tiny.config(method, **changes)


def info_nce(first, second, others, temperature, in_batch):
    """A second formulation: cross-entropy over cosines, in a loop over sentences."""
    loss = 0.0
    for i in range(len(first)):
        rest = [] if others is None else list(others)
        candidates = [second[i]]
        if in_batch:
            candidates += [second[j] for j in range(len(second)) if j != i]
        cosines = torch.stack([F.cosine_similarity(first[i], c, 0) for c in candidates + rest])
        loss = loss - (cosines / temperature).log_softmax(0)[0]
    return loss / len(first)


def model_in(method, encoder, monkeypatch, **changes):
    for name in ("core.methods.simcse.model", "core.methods.esimcse.model"):
        monkeypatch.setattr(f"{name}.info_nce", doubled, raising=False)
    monkeypatch.setattr("core.methods.mocose.model.info_nce", doubled)
    monkeypatch.setattr("core.methods.simcse.model.in_float32", lambda x: x)
    config = run_of(method, **changes)
    return methods.model(method).Model(config, encoder, CPU).double()


def doubled(first, second, others=None, *, temperature, in_batch_negatives=True):
    """The loss of the methods, in float64."""
    if others is not None:
        others = others.to(first.dtype)
    return info_nce(first, second, others, temperature, in_batch_negatives)


class ByIds(Encoder):
    """An encoder that gives transformers token ids: no embeddings enter it."""

    def __init__(self, model):
        torch.nn.Module.__init__(self)
        self.model = model
        self.hidden = model.config.hidden_size
        self.pretrained_pooler = [None]

    def forward(self, batch):
        ids, mask = tiny.padded(
            [batch.ids[batch.row == i].numpy() for i in range(batch.batch)],
            batch.width,
            self.model.config.pad_token_id,
        )
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["simcse", "esimcse"])
def test_losses_and_gradients_of_views_are_those_of_token_ids(kind, method, monkeypatch):
    arrays = sentences(LENGTHS["padded"])
    source = model_of(kind)
    results = []
    for make in (lambda m: AnyEncoder(m, 0.0, 0.0), ByIds):
        encoder = make(copy.deepcopy(source))
        model = model_in(method, encoder, monkeypatch)
        for part in (model, getattr(model, "momentum_encoder", None)):
            part and part.eval()
        batch = tiny.views(model.config, arrays)
        with torch.no_grad():
            model.loss(*batch)  # fills the queue
            model.after_update()
        loss = model.loss(*batch)
        results.append((loss, gradients(loss, model.encoder)))
    (ours, got), (theirs, wanted) = results
    wanted = {name.removeprefix("model."): gradient for name, gradient in wanted.items()}
    assert difference(ours, theirs) < CLOSE and float(ours) > 0.01
    for name, gradient in named_as_theirs(got).items():
        scale = max(1.0, float(wanted[name].abs().max()))
        assert difference(gradient, wanted[name]) < CLOSE * scale, name
