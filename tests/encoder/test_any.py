"""Encoders through transformers' own module give what transformers gives: vectors, losses and
gradients; equal masks come again. `tests/training/test_checkpoint.py` resumes a training."""

import copy
from types import SimpleNamespace

import pytest
import tiny
import torch
from transformers import AutoConfig, AutoModel

from core.config import methods
from core.encoder.any import AnyEncoder, encoder_over
from core.encoder.bert import Encoder
from core.encoder.packing import pack, padded, token_matrix
from core.errors import UserError
from core.methods.mocose.model import MoCoSE

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
LENGTHS = [9, 4, 6, 3]
# smaller embeddings, relative positions, rotary ones in a window, and positions behind padding
FEW = ("albert", "deberta-v2", "modernbert", "xlm-roberta")


def model_of(kind, seed=0, **changes):
    torch.manual_seed(seed)
    config = AutoConfig.for_model(kind, **{**SIZES, **KINDS.get(kind, {}), **changes})
    model = AutoModel.from_config(config).double().eval()
    for p in model.parameters():  # biases and norms, too
        p.data += 0.1 * torch.randn_like(p)
    return model


def sentences(lengths, seed=0):
    drawn = torch.Generator().manual_seed(seed)
    return [torch.randint(5, 50, (n,), generator=drawn).int().numpy() for n in lengths]


def theirs_of(model, arrays):
    """The vectors of all tokens (T, hidden) and of first ones (B, hidden), by token ids."""
    ids, mask = tiny.padded(arrays, max(map(len, arrays)), model.config.pad_token_id)
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
def test_vectors_and_gradients_are_those_of_transformers(kind):
    model = model_of(kind)
    arrays = sentences(LENGTHS)
    ours = AnyEncoder(model, 0.0, 0.0)
    wanted, first = theirs_of(model, arrays)
    for batch in (pack(arrays), padded(token_matrix(arrays, 10))):
        real = batch.mask[batch.row, batch.slot]
        assert difference(ours.every(batch)[real], wanted) < CLOSE
        assert difference(ours(batch), first) < CLOSE
    by_ids = gradients((wanted**3).sum(), model)
    got = gradients((ours.every(pack(arrays)) ** 3).sum(), ours)
    for name, gradient in named_as_theirs(got).items():
        largest = max(1.0, float(by_ids[name].abs().max()))
        assert difference(gradient, by_ids[name]) < CLOSE * largest, name
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


def model_in(method, encoder, **changes):
    """The model of a run in float64."""
    config = tiny.config(method, **changes)
    model = methods.model(method).Model(config, encoder, CPU).double()
    if method == "mocose":
        model.queue.entries = model.queue.entries.double()
    return model


@pytest.mark.parametrize("method", ["simcse", "esimcse", "mocose"])
def test_bert_this_way_is_bert_by_the_fast_path(method):
    """Some steps of training, with FGSM, shuffled positions and a moving target."""
    source = model_of("bert")
    changes = {}
    if method == "mocose":
        changes = {"fgsm__gradient": "current", "fgsm__epsilon": 0.01, **tiny.SHUFFLED}
    results = []
    for kind in (AnyEncoder, Encoder):
        model = model_in(method, kind(copy.deepcopy(source), 0.0, 0.0), **changes)
        losses = []
        for step in range(3):
            model.before_step()
            losses.append(model.loss(*tiny.views(model.config, sentences(LENGTHS, seed=step))))
            losses[-1].backward()
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None:
                        p -= 0.01 * p.grad
            model.after_update()
            model.zero_grad()
            model.after_step()
        batch = pack(sentences([8, 5], seed=9))
        every = torch.stack(model.encoder.layers(batch))
        results.append((torch.stack(losses), every, model.eval().sentence_vectors(batch)))
    for ours, fast in zip(*results, strict=True):
        assert difference(ours, fast) < CLOSE and float(fast.detach().abs().max()) > 1e-4


def test_no_layer_is_dropped_whole():
    """FlauBERT drops layers in training, whatever the rates."""
    model = model_of("flaubert", emb_dim=tiny.HIDDEN, n_layers=3, n_heads=2, layerdrop=0.9).float()
    encoder = encoder_over(model, 0.0, 0.0).train()
    batch = pack(sentences(LENGTHS))
    assert torch.equal(encoder(batch), encoder.eval()(batch))


def test_rates_of_dropout_are_those_of_the_run():
    for kind in FEW:
        encoder = AnyEncoder(model_of(kind), 0.3, 0.2)
        config = encoder.stack.model.config
        rates = {n: v for n, v in vars(config).items() if n in ("attention_dropout", "dropout")}
        rates |= {n: v for n, v in vars(config).items() if n.endswith(("hidden_dropout_prob",))}
        wanted = {name: 0.2 if "att" in name else 0.3 for name in rates}
        assert rates and rates == wanted
        modules = [m.p for m in encoder.modules() if isinstance(m, torch.nn.Dropout)]
        assert set(modules) <= {0.2, 0.3}
        batch = pack(sentences([6, 4]))
        assert not torch.equal(encoder.train()(batch), encoder(batch))
        assert torch.equal(encoder.eval()(batch), encoder(batch))


def test_both_passes_of_fgsm_have_equal_masks():
    """The gradient of the step before the words move is that of FGSM's own pass."""
    encoder = AnyEncoder(model_of("modernbert"), 0.3, 0.3)
    model = model_in("mocose", encoder, fgsm__gradient="current", fgsm__epsilon=1e-30).train()
    seen = []
    contrast = model._contrast

    def watched(*arguments):
        loss, words = contrast(*arguments)
        seen.append(float(loss.detach()))
        return loss, words

    model._contrast = watched
    torch.manual_seed(5)
    model.loss(pack(sentences(LENGTHS)))
    model.loss(pack(sentences(LENGTHS)))
    assert seen[0] == seen[1] and seen[2] == seen[3] and seen[0] != seen[2]


@pytest.mark.parametrize(
    "shuffles, width, changes, setting",
    [
        (False, 16, tiny.SHUFFLED, "position_shuffle=off"),
        (True, 8, {"aug__feature_cutoff": 0.1}, "feature_cutoff=0"),
    ],
)
def test_augmentations_that_an_encoder_cannot_have_are_refused(shuffles, width, changes, setting):
    encoder = SimpleNamespace(shuffles_positions=shuffles, word_width=width, hidden=16)
    with pytest.raises(UserError, match=setting):
        MoCoSE(tiny.config("mocose", **changes), encoder, CPU)
