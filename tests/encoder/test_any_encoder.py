"""Encoders through transformers' own module give what transformers gives: vectors, losses and
gradients; equal masks come again, and a resumed training is the undisturbed one."""

import copy
import io
from types import SimpleNamespace

import pytest
import tiny
import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModel

from core.config import methods
from core.encoder.any import AnyEncoder, encoder_over
from core.encoder.bert import Encoder
from core.encoder.packing import pack, padded, token_matrix
from core.encoder.streams import seed_libraries
from core.errors import UserError
from core.methods.mocose.model import MoCoSE
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
    same_gradients(named_as_theirs(got), by_ids)
    assert max(float(gradient.abs().max()) for gradient in got.values()) > 0.1


def same_gradients(ours, theirs):
    """Whether all of ours are theirs, by name, relative to the largest entry."""
    for name, gradient in ours.items():
        scale = max(1.0, float(theirs[name].abs().max()))
        assert difference(gradient, theirs[name]) < CLOSE * scale, name


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


@pytest.fixture
def in_float64(monkeypatch):
    """The methods' losses in float64, by a second formulation."""
    for name in ("simcse", "esimcse", "mocose"):
        monkeypatch.setattr(f"core.methods.{name}.model.info_nce", doubled, raising=False)
    monkeypatch.setattr("core.methods.simcse.model.in_float32", lambda x: x)


def model_in(method, encoder, **changes):
    config = tiny.config(method, **changes)
    return methods.model(method).Model(config, encoder, CPU).double()


def doubled(first, second, others=None, *, temperature, in_batch_negatives=True):
    """The loss of the methods, in float64."""
    if others is not None:
        others = others.to(first.dtype)
    return info_nce(first, second, others, temperature, in_batch_negatives)


def steps_of(model, counts=3, seed=0):
    """Losses and last gradients of a few plain steps of gradient descent."""
    losses = []
    by_name = {}
    model.train()
    for step in range(counts):
        model.before_step()
        seed_libraries(seed, f"step {step}")
        loss = model.loss(pack(sentences(LENGTHS, seed=step)))
        loss.backward()
        by_name = {
            name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None
        }
        with torch.no_grad():
            for p in model.trained:
                if p.grad is not None:
                    p -= 0.01 * p.grad
        losses.append(loss.detach())
        model.after_update()
        model.zero_grad(set_to_none=True)
        model.after_step()
    return torch.stack(losses), by_name


class CutByHand(torch.nn.Module):
    """MoCoSE's `embeddings` and `stack` by transformers' whole model, to which words enter."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def train(self, mode=True):
        return super().train(False)  # transformers' own rates are not 0

    def lookup(self, batch):
        return F.embedding(batch.ids, self.model.get_input_embeddings().weight)

    def finish(self, words, positions):
        return words

    def forward(self, x, batch):
        grid = x.new_zeros(*batch.mask.shape, x.shape[1])
        grid = grid.index_put((batch.row, batch.slot), x)
        output = self.model(inputs_embeds=grid, attention_mask=batch.mask.long())
        return output.last_hidden_state[:, 0]


@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("fgsm", ["current", "stale_online"])
def test_mocose_is_that_of_the_whole_model(kind, fgsm, in_float64):
    """The first step's loss: target and online branch have equal weights there, so that whole
    models stand for the shared embeddings. FGSM's sign and gradients go through the words."""
    changes = {"fgsm__gradient": fgsm, "fgsm__epsilon": 0.01, **tiny.CUT_OFF}
    source = model_of(kind)
    results = []
    for whole in (False, True):
        encoder = AnyEncoder(copy.deepcopy(source), 0.0, 0.0)
        model = model_in("mocose", encoder, **changes)
        if whole:
            cut = CutByHand(copy.deepcopy(source))
            model.encoder.embeddings = cut
            model.encoder.stack = cut
            model.target_stack = CutByHand(copy.deepcopy(source)).requires_grad_(False)
        model.trained = [p for p in model.parameters() if p.requires_grad]
        losses, by_name = steps_of(model, 1)
        inner = {
            name.removeprefix("encoder."): by_name.pop(name)
            for name in list(by_name)
            if name.startswith("encoder.")
        }
        results.append((losses, by_name, inner))
    (ours, heads, inner), (theirs, other_heads, other_inner) = results
    assert difference(ours, theirs) < CLOSE and float(ours[0]) > 1e-4
    same_gradients(heads, other_heads)
    ends = {name.removeprefix("embeddings.model."): g for name, g in other_inner.items()}
    same_gradients(named_as_theirs(inner), ends)


@pytest.mark.parametrize("method", ["simcse", "esimcse", "mocose"])
def test_bert_this_way_is_bert_by_the_fast_path(method, in_float64):
    """Some steps of training, with FGSM, cut-off, shuffled positions and a moving target."""
    source = model_of("bert")
    results = []
    for kind in (AnyEncoder, Encoder):
        encoder = kind(copy.deepcopy(source), 0.0, 0.0)
        if method == "mocose":
            current = {"fgsm__gradient": "current", "fgsm__epsilon": 0.01}
            model = model_in("mocose", encoder, **current, **tiny.SHUFFLED)
            losses, _ = steps_of(model)
        else:
            model = model_in(method, encoder)
            batch = tiny.views(model.config, sentences(LENGTHS))
            losses = []
            for _ in range(3):
                losses.append(model.loss(*batch))
                model.after_update()
            losses = torch.stack(losses)
        batch = pack(sentences([8, 5], seed=9))
        every = model.encoder.stack.every(model.encoder.embeddings(batch), batch)
        results.append((losses, torch.stack(every), model.eval().sentence_vectors(batch)))
    for ours, fast in zip(*results, strict=True):
        assert difference(ours, fast) < CLOSE and float(fast.abs().max()) > 1e-4


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


def test_both_passes_of_fgsm_have_equal_masks(in_float64):
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
    "kind, method", [("deberta-v2", "simcse"), ("xlm-roberta", "esimcse"), ("modernbert", "mocose")]
)
def test_a_resumed_training_is_the_undisturbed_one_bit_for_bit(kind, method):
    config = tiny.config(method)
    texts = sentences([9, 4, 6, 3, 7, 5, 8, 6], seed=3)

    def training():
        encoder = AnyEncoder(model_of(kind).float(), 0.1, 0.1)
        model = methods.model(method).Model(config, encoder, CPU).train()
        optimiser = adamw(config.train, model, model.new_layers())
        return model, optimiser, step_for(config.train, model, optimiser, CPU)

    def advance(step, first, last):
        for number in range(first, last):
            seed_libraries(0, f"step {number}")
            step(tiny.views(config, texts[number % 4 : number % 4 + 4]), 1e-3)

    whole, _, step = training()
    advance(step, 0, 5)
    model, optimiser, step = training()
    advance(step, 0, 2)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict()}, file)
    file.seek(0)
    read = torch.load(file, weights_only=True)
    model, optimiser, step = training()
    model.load_state_dict(read["model"])
    optimiser.load_state_dict(read["optimiser"])
    advance(step, 2, 5)
    resumed = model.state_dict()
    for name, value in whole.state_dict().items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, resumed[name]), name


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
