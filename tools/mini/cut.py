"""A smaller BERT cut out of a larger one: fewer layers, fewer feed-forward neurons, and the pieces
that a text needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForPreTraining, BertModel

from tools.pretraining import SPECIALS

# occurrences of a piece that is kept: 14,260 of 30,522 pieces, which are all but 1 % of the text
FEWEST = 16


def piece_counts(tokenizer, sentences: Iterable[str]) -> Counter:
    """How often each piece of the tokenizer's vocabulary occurs in the sentences."""
    counts: Counter = Counter()
    for ids in tokenizer(list(sentences), add_special_tokens=False, verbose=False)["input_ids"]:
        counts.update(ids)
    names = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    return Counter({names[place]: count for place, count in counts.items()})


def kept_pieces(pieces: list[str], counts: Counter, fewest: int = FEWEST) -> list[int]:
    """Places in `pieces`, ascending, of the specials, of all single characters (with and without
    ##) and of what occurs often enough.

    The characters are why nothing is lost: a word whose own piece goes is split into shorter ones.
    """
    return [
        place
        for place, piece in enumerate(pieces)
        if piece in SPECIALS or len(piece.removeprefix("##")) == 1 or counts[piece] >= fewest
    ]


def neuron_importance(model: BertModel, ids: Tensor, mask: Tensor) -> list[Tensor]:
    """For each layer's feed-forward neurons (inner,): mean |activation| on real tokens x norm of
    the weights that read it."""
    importance: list[Tensor] = []

    def keep(layer):
        def hook(_, __, output):  # output (B, L, inner)
            activity = output[mask.bool()].abs().mean(0)
            importance.append(activity * layer.output.dense.weight.norm(dim=0))

        return hook

    hooks = [layer.intermediate.register_forward_hook(keep(layer)) for layer in model.encoder.layer]
    with torch.inference_mode():
        model(input_ids=ids, attention_mask=mask)
    for hook in hooks:
        hook.remove()
    return importance


def cut(
    model: BertModel,
    *,
    layers: Sequence[int],
    inner: int,
    pieces: Sequence[int],
    positions: int,
    importance: list[Tensor],
) -> BertForPreTraining:
    """The model of these layers (0 is the lowest), of the `inner` most important neurons each, with
    these rows of the word embeddings.

    The heads for masked words and pairs are new: the masked-word head begins as the identity over
    the word embeddings.
    """
    was = model.config
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=was.hidden_size,
        num_hidden_layers=len(layers),
        num_attention_heads=was.num_attention_heads,
        intermediate_size=inner,
        max_position_embeddings=positions,
        layer_norm_eps=was.layer_norm_eps,
    )

    # The weights
    small = BertForPreTraining(config)
    source = model.embeddings
    target = small.bert.embeddings
    with torch.no_grad():
        target.word_embeddings.weight.copy_(source.word_embeddings.weight[list(pieces)])
        target.position_embeddings.weight.copy_(source.position_embeddings.weight[:positions])
        target.token_type_embeddings.load_state_dict(source.token_type_embeddings.state_dict())
        target.LayerNorm.load_state_dict(source.LayerNorm.state_dict())
        for new, place in zip(small.bert.encoder.layer, layers, strict=True):
            old = model.encoder.layer[place]
            neurons = importance[place].topk(inner).indices.sort().values
            new.attention.load_state_dict(old.attention.state_dict())
            new.output.LayerNorm.load_state_dict(old.output.LayerNorm.state_dict())
            new.output.dense.bias.copy_(old.output.dense.bias)
            new.intermediate.dense.weight.copy_(old.intermediate.dense.weight[neurons])
            new.intermediate.dense.bias.copy_(old.intermediate.dense.bias[neurons])
            new.output.dense.weight.copy_(old.output.dense.weight[:, neurons])
        small.bert.pooler.load_state_dict(model.pooler.state_dict())
        nn.init.eye_(small.cls.predictions.transform.dense.weight)
    return small
