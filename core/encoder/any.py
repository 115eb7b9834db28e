"""Any other bidirectional encoder of transformers, behind the interface of `Encoder`: padded
batches through transformers' own module.

The module is cut behind its embeddings. So word embeddings can be changed before positions are
added, and a second branch can share the embeddings and copy the layers. Dropout draws from torch's
generator, which a run seeds anew for each step on a CPU.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.encoder.bert import (
    Embeddings,
    Encoder,
    position_offset,
    positions,
    pretrained_pooler,
)
from core.encoder.packing import Packed, pack
from core.errors import UserError, refusing

OWN_FORWARD = ("bert", "roberta")  # model types that `Encoder` computes itself
EPSILONS = ("layer_norm_eps", "norm_eps", "layer_norm_epsilon", "rms_norm_eps")
# Settings of a configuration that make attention compute positions itself.
RELATIVE = ("relative_attention", "relative_attention_num_buckets", "rope_parameters")
# in the name of a rate that drops no token
OTHER_RATES = ("classif", "pooler", "head", "summary")
ANOTHER = "give another encoder"
SAME_VECTOR = 1e-3  # of the largest number: rounding of float32 is a thousandth of it


@torch.no_grad()
def encoder_over(
    model: Any, hidden_dropout: float, attention_dropout: float, trains: bool = True
) -> Encoder:
    """The encoder over a loaded model's parameters, by the fast path where there is one; unless a
    run `trains` it, also one that transformers alone can compute.

    Raises UserError unless it gives the tokens of two sentences the vectors that transformers gives
    each by itself, in training if nothing is dropped, and a sentence's last token counts in its
    first one's vector.
    """
    kind = model.config.model_type
    tokens = [np.arange(2, 11) % model.config.vocab_size, np.arange(5, 11)]
    batch = pack(tokens, model.device)
    whole = WholeEncoder(model.eval())
    with refusing(f"A {kind} model is no encoder", ANOTHER):
        theirs = whole.every(batch)  # (T, hidden)
    try:
        with refusing(f"A {kind} encoder cannot be trained here", ANOTHER):
            make = Encoder if kind in OWN_FORWARD else AnyEncoder
            encoder = make(model, hidden_dropout, attention_dropout)
            ours = encoder.train(not (hidden_dropout or attention_dropout)).every(batch)
            if not float((ours - theirs).abs().max()) <= SAME_VECTOR * float(theirs.abs().max()):
                raise ValueError("it has other vectors than in transformers")
            batch.ids[8] = batch.ids[0]
            if torch.equal(encoder.every(batch)[0], ours[0]):
                raise ValueError("its first token sees no later ones, as in a decoder")
    except UserError:
        if trains:
            raise
        return whole
    return encoder.train()


class WholeEncoder(Encoder):
    """An encoder that transformers computes from token ids: it can be scored, and not trained.
    Sentences of one length go together, since padding moves some models' vectors."""

    def __init__(self, model: Any):
        nn.Module.__init__(self)
        self.model = model
        self.pretrained_pooler = [pretrained_pooler(model)]

    def forward(self, packed: Packed) -> Tensor:
        return self.layers(packed)[-1][packed.first]

    def layers(self, packed: Packed) -> list[Tensor]:
        outputs: list[Tensor] = []
        for length in packed.lengths.unique().tolist():
            chosen = packed.mask[packed.row, packed.slot] & (packed.lengths[packed.row] == length)
            ids = packed.ids[chosen].view(-1, length)
            output = self.model(input_ids=ids, output_hidden_states=True, return_dict=True)
            states = [*output.hidden_states[:-1], output.last_hidden_state]  # (n, length, hidden)
            if not outputs:
                outputs = [state.new_zeros(len(chosen), state.shape[2]) for state in states]
            for rows, state in zip(outputs, states, strict=True):
                rows[chosen] = state.flatten(0, 1)
        return outputs


class Entered(nn.Module):
    """Stands for the embeddings of a model that is given finished embeddings."""

    def forward(self, *arguments: Any, **named: Any) -> Tensor:
        """The finished embeddings (B, L, width) among the arguments."""
        for argument in (*arguments, *named.values()):
            if isinstance(argument, Tensor) and argument.is_floating_point() and argument.dim() > 2:
                return argument
        raise TypeError("no embeddings entered the model")


class AnyEmbeddings(Embeddings):
    """The embeddings of transformers' model. `source` is its module, in which `table` names the
    word embeddings; a bare table has no positions, and is finished."""

    def __init__(self, source: nn.Module, table: str):
        nn.Module.__init__(self)
        self.source = source
        self.table = table
        self.bare = not table
        self.arguments = set(inspect.signature(source.forward).parameters)
        positions = getattr(source, "position_embeddings", None)
        self.has_positions = isinstance(positions, nn.Embedding)
        self.position_offset = position_offset(source)

    def lookup(self, packed: Packed) -> Tensor:
        weight = self.source.get_submodule(self.table).weight
        return F.embedding(packed.ids, weight)  # type: ignore[arg-type]

    def finish(self, words: Tensor, positions: Tensor) -> Tensor:
        """What enters the layers, (T, width), of words (T, width) and positions (T,)."""
        if self.bare:
            return words
        named: dict[str, Tensor | None] = {"inputs_embeds": words[None]}
        if "input_ids" in self.arguments:
            named["input_ids"] = None
        if "position_ids" in self.arguments:
            named["position_ids"] = positions[None] + self.position_offset
        return self.source(**named)[0]


class AnyStack(nn.Module):
    """The model behind its embeddings."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, packed: Packed) -> Tensor:
        """Last-layer vectors of the first tokens, (B, hidden), from embeddings (T, width)."""
        return self._output(x, packed).last_hidden_state[:, 0]

    def every(self, x: Tensor, packed: Packed) -> list[Tensor]:
        """The embeddings and what each layer makes of them, (T, hidden) each."""
        output = self._output(x, packed, output_hidden_states=True)
        layers = [*output.hidden_states[:-1], output.last_hidden_state]  # (B, L, hidden) each
        return [layer[packed.row, packed.slot] for layer in layers]

    def _output(self, x: Tensor, packed: Packed, **settings: bool) -> Any:
        """The model's output of a padded batch, in which padding is zero."""
        x = x.to(next(self.model.parameters()).dtype)
        batch, width = packed.mask.shape
        grid = x.new_zeros(batch * width, x.shape[1])
        grid = grid.index_copy(0, packed.row * width + packed.slot, x).view(batch, width, -1)
        grid = torch.where(packed.mask.unsqueeze(2), grid, 0.0)
        mask = packed.mask.to(torch.int64)
        return self.model(inputs_embeds=grid, attention_mask=mask, return_dict=True, **settings)


class AnyEncoder(Encoder):
    """The encoder over the parameters of a loaded model, which are shared and not copied. Raises
    UserError for a model without a table of word embeddings."""

    capturable = False

    def __init__(self, model: Any, hidden_dropout: float, attention_dropout: float):
        nn.Module.__init__(self)
        config = _with_dropout(model.config, hidden_dropout, attention_dropout)
        rebuilt = type(model)(config).to(model.dtype)
        rebuilt.load_state_dict(model.state_dict(), assign=True)
        self.pretrained_pooler = [pretrained_pooler(rebuilt)]
        if getattr(rebuilt, "pooler", None) is not None:
            rebuilt.pooler = None
        root, table = _word_table(rebuilt)
        self.embeddings = AnyEmbeddings(getattr(rebuilt, root), table)
        setattr(rebuilt, root, Entered())
        self.stack: Any = AnyStack(rebuilt)
        self.hidden = config.hidden_size
        self.word_width = model.get_input_embeddings().weight.shape[1]
        self.norm_eps = next((getattr(config, n) for n in EPSILONS if hasattr(config, n)), 1e-12)
        self.max_positions = positions(model)
        relative = any(getattr(config, name, None) for name in RELATIVE)
        self.shuffles_positions = self.embeddings.has_positions and not relative
        self.mask_token: int | None = None


def _with_dropout(config: Any, hidden_dropout: float, attention_dropout: float) -> Any:
    """A copy of a model's configuration with these rates in all its layers, of which none is
    dropped whole."""
    changed = copy.deepcopy(config)
    for name, value in vars(config).items():
        rate = "drop" in name and isinstance(value, (int, float)) and not isinstance(value, bool)
        if "layerdrop" in name:
            setattr(changed, name, 0.0)
        elif rate and not any(part in name for part in OTHER_RATES):
            setattr(changed, name, attention_dropout if "att" in name else hidden_dropout)
    return changed


def _word_table(model: Any) -> tuple[str, str]:
    """Where the word embeddings lie: the model's attribute, and the path within it."""
    table = model.get_input_embeddings()
    for name, module in model.named_modules():
        if module is table:
            root, _, path = name.partition(".")
            return root, path
    kind = model.config.model_type
    raise UserError(f"A {kind} encoder has no table of word embeddings; give another encoder.")
