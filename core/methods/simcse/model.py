"""Views of each sentence by one encoder and its head; and SimCSE, whose two views differ by dropout
alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import chain
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.encoder.bert import Encoder
from core.encoder.dropout import dropping
from core.encoder.layers import new_linear
from core.encoder.packing import Packed, in_parts
from core.encoder.pooling import Encoded
from core.encoder.streams import torch_stream
from core.encoder.tokens import tokenise
from core.errors import UserError
from core.methods.contrastive import Batcher, Batches, Contrastive, Terms, TrainingText
from core.methods.losses import in_float32, info_nce


class Draw:
    """What `views` may use beside the tokens of a sentence.

    rng: draw what is random from it alone. config: the run's configuration.
    """

    def __init__(self, rng: Random, config: Any, text: TrainingText, index: int):
        self.rng = rng
        self.config = config
        self.tokenizer = text.tokenizer
        self._text = text
        self._index = index

    @property
    def words(self) -> list[str]:
        """The words of the sentence, between blanks."""
        return self._text.sentences()[self._index].split()

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """Token ids of the text's further columns, as far as the method reads them."""
        return tuple(table[self._index] for table in self._text.columns)

    def tokens(self, words: Sequence[str]) -> np.ndarray:
        """Token ids of these words, special tokens included, cut at data.max_length."""
        return tokenise(self.tokenizer, [" ".join(words)], self.config.data.max_length)[0]


class Views(Contrastive, ABC):
    """A model that contrasts views of each sentence. A method of your own implements `contrast`. It
    may replace `views` (what the encoder reads), `pool` (how tokens become a vector), `pooled`
    (what is contrasted), `extra` (further terms of the loss) and `build` (more layers). Every layer
    outside the encoder counts as new."""

    config: Any  # a RunConfig with the method's own section

    def __init__(self, config: Any, encoder: Encoder, device: torch.device):
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.head: nn.Module = nn.Identity()
        # the views of the step that is computed, as `contrast` gets them
        self.pooled_views: tuple[Tensor, ...] = ()
        if config.eval.head != "never":
            linear = self.linear("heads", encoder.hidden, encoder.hidden)
            self.head = nn.Sequential(OrderedDict(linear=linear, tanh=nn.Tanh()))
        self.build()
        self.terms = Terms()
        self.to(device)
        self.dropping = dropping(config.seed.data, device, self)

    @abstractmethod
    def contrast(self, *pooled: Any, **_: Any) -> Tensor:
        """The loss, a scalar, of the pooled views, (B, dim) each, in float32 outside autocast. A
        method writes `contrast(self, first, second)`, or as many as it has views."""

    @staticmethod
    def views(tokens: np.ndarray, draw: Draw) -> tuple[np.ndarray, ...]:
        """The views of a sentence's token ids, special tokens included: as many of each sentence.
        Usually the sentence twice, or the columns of a text that has columns."""
        if draw.columns:
            return (tokens, *draw.columns)
        return tokens, tokens

    def pool(self, encoded: Encoded) -> Tensor:
        """One vector of each sentence, (B, hidden), in training, scoring and a kept model."""
        return encoded.first

    def pooled(self, batch: Packed) -> Tensor:
        """What `contrast` gets of a batch, (B, dim)."""
        return self.head(self.pool(Encoded(self.encoder, batch)))

    def extra(self, batch: Packed) -> Mapping[str, Tensor]:
        """Further terms of the loss by name, a scalar each. They are added to it and logged.
        `self.pooled_views` holds the views that `contrast` got."""
        return {}

    def build(self) -> None:
        """Make more layers; `self.linear` makes one. Called before the model goes to its device."""

    def linear(self, name: str, inputs: int, outputs: int) -> nn.Linear:
        """A new Linear with weights of the random stream of this name."""
        return new_linear(inputs, outputs, torch_stream(self.config.seed.model, name))

    def loss(self, views: Packed) -> Tensor:
        """The loss of one step. `views` holds the first views of a batch, then its second views,
        and so on."""
        whole = self.pooled(views)
        if len(whole) != views.batch:
            raise UserError(f"pooled gave {len(whole)} rows for {views.batch} sentences.")
        pooled = whole.chunk(views.parts or 2)  # (B, dim) each
        with torch.autocast("cpu", enabled=False):
            self.pooled_views = tuple(map(in_float32, pooled))
            loss = self.contrast(*self.pooled_views)
            for name, term in self.extra(views).items():
                loss = loss + term
                self.terms.add(name, term)
        self.pooled_views = ()
        return loss

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, hidden): those of `pool`, or the head's output with
        eval.head=on (D65)."""
        vectors = self.pool(Encoded(self.encoder, batch))
        if self.config.eval.head == "on":
            return self.head(vectors)
        return vectors

    def starts_from_cls(self) -> bool:
        own = type(self)
        return own.pool is Views.pool and own.sentence_vectors is Views.sentence_vectors

    def term_means(self) -> dict[str, float]:
        return self.terms.means()

    def new_layers(self) -> list[nn.Module]:
        others = ("encoder", "dropping", "terms")
        return [module for name, module in self.named_children() if name not in others]

    @classmethod
    def batch(
        cls, config: Any, text: TrainingText, pack: Batcher, rng: Random, places: Sequence[int]
    ) -> Batches:
        """The views of each sentence: all first views, then all second views, and so on."""
        by_sentence = [cls.views(text.table[i], Draw(rng, config, text, i)) for i in places]
        by_view = zip(*by_sentence, strict=True)
        count = len(by_sentence[0])
        return (in_parts(pack(list(chain.from_iterable(by_view))), count),)


class SimCSE(Views):
    """The model of one run."""

    capturable = True

    def contrast(self, first: Tensor, second: Tensor) -> Tensor:
        return info_nce(first, second, None, temperature=self.config.loss.temperature)


Model = SimCSE
