"""A BERT or RoBERTa encoder over lines of tokens: Hugging Face's parameters, our forward pass.

A CPU multiplies real tokens only; a GPU gets padded batches, whose one shape a CUDA graph can
replay, and torch's fused attention. The last layer is computed for the rows that are read ([CLS] in
all methods here). With dropout off both give what `transformers` gives, to rounding.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.activations import ACT2FN

from core.encoder.dropout import Dropout
from core.encoder.packing import Layout, Packed
from core.encoder.products import batched_product, linear

# torch's fused attention copies, in every layer, a bias whose rows are no multiple of it apart
ALIGNED = 16


def position_offset(embeddings: Any) -> int:
    """The position of a sentence's first token: RoBERTa and its relatives count behind that of
    padding."""
    table = getattr(embeddings, "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return 0 if padding is None else padding + 1


def positions(model: Any) -> int:
    """The tokens that a loaded model has positions for."""
    places = getattr(model.config, "max_position_embeddings", None) or 512
    return places - position_offset(getattr(model, "embeddings", None))


def pretrained_pooler(model: Any) -> nn.Linear | None:
    """The layer behind [CLS] of a loaded model that has one as wide as its vectors."""
    pooler = getattr(model, "pooler", None)
    dense = getattr(pooler, "dense", pooler)
    if isinstance(dense, nn.Linear) and dense.out_features == model.config.hidden_size:
        return dense
    return None


class Embeddings(nn.Module):
    """Word, position and token-type embeddings, LayerNorm, dropout; `source` is transformers'
    module."""

    def __init__(self, source: Any, dropout: float):
        super().__init__()
        self.word = source.word_embeddings
        self.position = source.position_embeddings
        self.token_type = source.token_type_embeddings
        self.norm = source.LayerNorm
        self.dropout = Dropout(dropout)
        self.position_offset = position_offset(source)

    def lookup(self, packed: Packed) -> Tensor:
        """Word embeddings (T, hidden): the input that FGSM and cut-off change."""
        return F.embedding(packed.ids, self.word.weight)

    def finish(self, words: Tensor, positions: Tensor) -> Tensor:
        """Add position and type, normalise, drop out: (T, hidden) of words (T, hidden) and
        positions (T,)."""
        position = F.embedding(positions + self.position_offset, self.position.weight)
        return self.dropout(self.norm(words + position + self.token_type.weight[0]))

    def forward(self, packed: Packed) -> Tensor:
        """The plain embedding of a batch, (T, hidden)."""
        return self.finish(self.lookup(packed), packed.slot)


class Layer(nn.Module):
    """One post-LayerNorm transformer layer; `source` is transformers' layer, `config` that of its
    model."""

    def __init__(self, source: Any, config: Any, hidden_dropout: float, attention_dropout: float):
        super().__init__()
        attention = source.attention.self
        out = source.attention.output
        self.query = attention.query
        self.key = attention.key
        self.value = attention.value
        self.attention_out = out.dense
        self.attention_norm = out.LayerNorm
        self.up = source.intermediate.dense
        self.down = source.output.dense
        self.norm = source.output.LayerNorm
        self.activation = ACT2FN[config.hidden_act]
        self.heads = config.num_attention_heads
        self.hidden_dropout = Dropout(hidden_dropout)
        self.attention_dropout = Dropout(attention_dropout)

    def forward(self, x: Tensor, layout: Layout | Tensor, first: Tensor | None = None) -> Tensor:
        """(R, hidden) to (R, hidden), the line with its spare rows; or to (B, hidden) of the tokens
        `first`.

        `layout` is that of a batch without padding, or the padded batch's bias (B, 1, 1, L),
        typed as x.
        """
        # (Q, hidden), Q is B or R
        if first is None:
            wanted = x
            sources = [self.query, self.key, self.value]
        else:
            wanted = x.index_select(0, first)
            sources = [self.key, self.value]
        line = linear(
            x, torch.cat([m.weight for m in sources]), torch.cat([m.bias for m in sources])
        )
        query = None
        if first is not None:
            query = _apply(self.query, wanted)  # (B, hidden)
        spare = 0
        if isinstance(layout, Tensor):
            context = self._padded(line, query, layout)  # (Q, hidden)
        else:
            context = self._packed(line, query, layout)
            if first is None:
                spare = layout.spare
        x = self.attention_norm(
            self.hidden_dropout.added(wanted, _apply(self.attention_out, context), spare)
        )
        y = _apply(self.down, self.activation(_apply(self.up, x)))
        return self.norm(self.hidden_dropout.added(x, y, spare))

    def _padded(self, line: Tensor, query: Tensor | None, bias: Tensor) -> Tensor:
        """Context (B * L, hidden), or (B, hidden) of `query` (B, hidden); line (B * L, 3 or 2 *
        hidden), bias (B, 1, 1, L)."""
        batch = len(bias)
        width = bias.shape[-1]
        if query is None:
            query, key, value = line.view(batch, width, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        else:
            key, value = line.view(batch, width, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
            query = query.view(batch, 1, self.heads, -1).transpose(1, 2)
        rate = 0.0
        if self.attention_dropout.active:
            rate = self.attention_dropout.rate
        bias = bias.expand(batch, self.heads, query.shape[2], -1)
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=rate)
        return context.transpose(1, 2).reshape(batch * query.shape[2], -1)

    def _packed(self, line: Tensor, query: Tensor | None, layout: Layout) -> Tensor:
        """Context (R, hidden), or (B, hidden) of `query` (B, hidden); line (R, 3 or 2 * hidden)."""
        # key, value (B * heads, L, d); asked (B * heads, Q, d)
        if query is None:
            asked, key, value = layout.to_grid(line, 3)
        else:
            key, value = layout.to_grid(line, 2)
            asked = query.view(len(key), 1, -1)
        alpha = 1.0 / math.sqrt(asked.shape[-1])
        # scores (B * heads, Q, L)
        scores = batched_product(
            torch.baddbmm, layout.bias.to(asked.dtype), asked, key.transpose(1, 2), alpha=alpha
        )
        context = batched_product(torch.bmm, self.attention_dropout(scores.softmax(-1)), value)
        if query is None:
            return layout.to_line(context)
        return context.reshape(len(query), -1)


def _apply(layer: nn.Linear, x: Tensor) -> Tensor:
    return linear(x, layer.weight, layer.bias)


class Stack(nn.Module):
    """The transformer layers above the embeddings."""

    def __init__(self, layers: list[Layer]):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.heads = layers[0].heads

    def forward(self, x: Tensor, packed: Packed) -> Tensor:
        """Last-layer vectors of the first tokens, (B, hidden), from embeddings (T, hidden)."""
        x, layout = self._laid_out(x, packed)
        for layer in self.layers[:-1]:
            x = layer(x, layout)
        return self.layers[-1](x, layout, packed.first)

    def every(self, x: Tensor, packed: Packed) -> list[Tensor]:
        """The embeddings and what each layer makes of them, (T, hidden) each."""
        line, layout = self._laid_out(x, packed)
        outputs = [line]
        for layer in self.layers:
            outputs.append(layer(outputs[-1], layout))
        return [rows[: len(x)] for rows in outputs]

    def _laid_out(self, x: Tensor, packed: Packed) -> tuple[Tensor, Layout | Tensor]:
        """The line that layers compute with, in their weights' type, and what attention needs
        beside it."""
        if packed.bias is not None:
            x = x.to(next(self.layers.parameters()).dtype)
            bias = packed.bias.to(x.dtype)  # (B, L)
            spare = -packed.width % ALIGNED
            if spare:
                bias = F.pad(bias, (0, spare))[:, : packed.width]
            return x, bias[:, None, None]
        layout = Layout(packed, self.heads)
        return layout.lengthened(x), layout


class Encoder(nn.Module):
    """The packed encoder over the parameters of a loaded BertModel or RobertaModel (shared, not
    copied).

    Its state keeps the order of the layers, so a trained encoder can be written back by saving
    `model`.
    """

    capturable = True  # whether a GPU can replay its steps as a CUDA graph
    shuffles_positions = True  # whether positions enter beside the words, and nowhere else
    word_width: int  # of a word embedding

    def __init__(self, model: Any, hidden_dropout: float, attention_dropout: float):
        super().__init__()
        config = model.config
        layers = [
            Layer(source, config, hidden_dropout, attention_dropout)
            for source in model.encoder.layer
        ]
        self.embeddings = Embeddings(model.embeddings, hidden_dropout)
        self.stack = Stack(layers)
        self.hidden = config.hidden_size
        self.word_width = config.hidden_size
        self.norm_eps = config.layer_norm_eps
        self.max_positions = positions(model)
        self.mask_token: int | None = None  # the id of [MASK], which the tokenizer names
        # in a list: a source of initial weights, not a part of this module
        self.pretrained_pooler = [pretrained_pooler(model)]

    def forward(self, packed: Packed) -> Tensor:
        """[CLS] of the last layer, (B, hidden)."""
        return self.stack(self.embeddings(packed), packed)

    def layers(self, packed: Packed) -> list[Tensor]:
        """The embeddings and what each layer makes of them, (T, hidden) each."""
        return self.stack.every(self.embeddings(packed), packed)

    def every(self, packed: Packed) -> Tensor:
        """All tokens of the last layer, (T, hidden)."""
        return self.layers(packed)[-1]
