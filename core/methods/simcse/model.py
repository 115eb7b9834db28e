"""Views of each sentence by one encoder and its head; and SimCSE, whose two views differ by dropout
alone."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.encoder.bert import Encoder
from core.encoder.dropout import Dropout, dropping
from core.encoder.layers import new_linear
from core.encoder.packing import Packed, in_parts
from core.encoder.pooling import Encoded
from core.encoder.streams import torch_stream
from core.encoder.tokens import tokenise
from core.errors import UserError, counted, line_of, place
from core.methods.contrastive import Batcher, Batches, Contrastive, Terms, TrainingText
from core.methods.losses import in_float32, info_nce


class Draw:
    """What `views` may use beside the tokens of a sentence.

    rng: draw what is random from it alone. config: the run's configuration. `draw.random()` and
    other names of `rng` work, too.
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
        assert self._text.sentences is not None, "a job gives the sentences"
        return self._text.sentences[self._index].split()

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """Token ids of the text's further columns, as far as the method reads them."""
        return tuple(table[self._index] for table in self._text.columns)

    def tokens(self, words: Sequence[str]) -> np.ndarray:
        """Token ids of these words, special tokens included, cut at data.max_length."""
        return tokenise(self.tokenizer, [" ".join(words)], self.config.data.max_length)[0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rng, name)


class Views(Contrastive, ABC):
    """A model that contrasts views of each sentence. A method of your own implements `contrast`. It
    may replace `views` (what the encoder reads), `pool` (how tokens become a vector), `pooled`
    (what is contrasted), `extra` (further terms of the loss) and `build` (more layers). Every layer
    outside the encoder counts as new."""

    config: Any  # a RunConfig with the method's own section
    terms: Terms  # of a method with `extra`

    def __init__(self, config: Any, encoder: Encoder, device: torch.device):
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.head: nn.Module = nn.Identity()
        # the views of the step that is computed, as `contrast` gets them
        self.pooled_views: tuple[Tensor, ...] = ()
        self._half = False  # whether the step's products are in bf16 on a CPU
        if config.eval.head != "never":
            linear = self.linear("heads", encoder.hidden, encoder.hidden)
            self.head = nn.Sequential(OrderedDict(linear=linear, tanh=nn.Tanh()))
        self.build()
        if type(self).extra is not Views.extra:
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
        return self.head(self._vectors(batch))

    def _vectors(self, batch: Packed) -> Tensor:
        """What `pool` gives of a batch, (B, hidden). Raises UserError for another shape."""
        vectors: Any = self.pool(Encoded(self.encoder, batch))
        if not isinstance(vectors, Tensor):
            problem = f"gave {type(vectors).__name__}; give a vector of each sentence, (B, dim)"
            raise self._refusal("pool", problem)
        if vectors.ndim != 2 or len(vectors) != batch.batch:
            shape = ", ".join(map(str, vectors.shape))
            problem = f"gave the shape ({shape}) for {counted(batch.batch, 'sentence')}"
            raise self._refusal("pool", f"{problem}; give a vector of each, in their order")
        return vectors

    def extra(self, batch: Packed) -> Mapping[str, Tensor]:
        """Further terms of the loss by name, a scalar each. They are added to it and logged.
        `self.pooled_views` holds the views that `contrast` got."""
        return {}

    def build(self) -> None:
        """Make more layers; `self.linear` makes one. Called before the model goes to its device."""

    def linear(self, name: str, inputs: int, outputs: int) -> nn.Linear:
        """A new Linear with weights of the random stream of this name."""
        return new_linear(inputs, outputs, torch_stream(self.config.seed.model, name))

    def clean(self, batch: Packed) -> Tensor:
        """What `pooled` gives of a batch without dropout, (B, dim) in float32. Gradients pass; stop
        them with `detach`."""
        with self._without_dropout(), self._as_the_step_computes():
            return in_float32(self.pooled(batch))

    @contextmanager
    def _without_dropout(self) -> Iterator[None]:
        modules = [m for m in self.modules() if isinstance(m, (Dropout, nn.Dropout))]
        modes = [module.training for module in modules]
        for module in modules:
            module.training = False
        try:
            yield
        finally:
            for module, mode in zip(modules, modes, strict=True):
                module.training = mode

    def _as_the_step_computes(self) -> torch.autocast:
        """The arithmetic of the step's own pass; `contrast` and `extra` are called in float32."""
        return torch.autocast("cpu", torch.bfloat16, enabled=self._half, cache_enabled=False)

    def loss(self, views: Packed) -> Tensor:
        """The loss of one step. `views` holds the first views of a batch, then its second views,
        and so on."""
        self._half = torch.is_autocast_enabled("cpu")
        whole = self.pooled(views)
        if len(whole) != views.batch:
            rows = counted(len(whole), "row")
            problem = f"gave {rows} for {views.batch} sentences; give one each, in their order"
            raise self._refusal("pooled", problem)
        pooled = whole.chunk(views.parts or 2)  # (B, dim) each
        with torch.autocast("cpu", enabled=False):
            self.pooled_views = tuple(map(in_float32, pooled))
            loss = self._scalar("contrast", self._contrasted())
            terms = self.extra(views)
            if not isinstance(terms, Mapping):
                raise self._refusal("extra", "returned no dict; return a number by name")
            for name, term in terms.items():
                if not isinstance(name, str) or not name.isidentifier():
                    problem = f"names a term {name!r}; give a name of letters, digits and _"
                    raise self._refusal("extra", problem)
                loss = loss + self._scalar("extra", term)
                self.terms.add(name, term)
        self._half = False
        self.pooled_views = ()
        return loss

    def _contrasted(self) -> Any:
        """What `contrast` makes of the views. Raises UserError if it takes another number."""
        count = len(self.pooled_views)
        try:
            inspect.signature(self.contrast).bind(*self.pooled_views)
        except TypeError:
            made = counted(count, "view")
            problem = f"does not take the {made} of a sentence; write contrast(self, *pooled)"
            raise self._refusal("contrast", problem) from None
        return self.contrast(*self.pooled_views)

    def _scalar(self, hook: str, loss: Any) -> Tensor:
        """A loss that a hook returned. Raises UserError unless it is one number."""
        if isinstance(loss, Tensor) and loss.numel() == 1:  # the shape alone: a GPU replays this
            return loss
        returned = type(loss).__name__
        if isinstance(loss, Tensor):
            returned = counted(loss.numel(), "number")
        raise self._refusal(hook, f"returned {returned}; return one number, such as their mean")

    @classmethod
    def _refusal(cls, hook: str, problem: str) -> UserError:
        """A sentence about a hook of the method's file, with its line."""
        where = place(Path(inspect.getfile(cls)), f"    def {hook}")
        return UserError(f"{where}: {hook} {problem}.")

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, hidden): those of `pool`, or the head's output with
        eval.head=on (D65)."""
        vectors = self._vectors(batch)
        if self.config.eval.head == "on":
            return self.head(vectors)
        return vectors

    def starts_from_cls(self) -> bool:
        own = type(self)
        return own.pool is Views.pool and own.sentence_vectors is Views.sentence_vectors

    def term_means(self) -> dict[str, float]:
        if type(self).extra is Views.extra:
            return {}
        return self.terms.means()

    def new_layers(self) -> list[nn.Module]:
        others = ("encoder", "dropping", "terms")
        return [module for name, module in self.named_children() if name not in others]

    @classmethod
    def batch(
        cls, config: Any, text: TrainingText, pack: Batcher, rng: Random, places: Sequence[int]
    ) -> Batches:
        """The views of each sentence: all first views, then all second views, and so on."""
        by_sentence = []
        for i in places:
            made = cls._views_of(config, text, rng, i)
            if not isinstance(made, (tuple, list)) or not made:
                problem = f"returned {type(made).__name__}; return a tuple of arrays of token ids"
                raise cls._refusal("views", problem)
            if cls.views is not Views.views:
                cls._check_views(made, text.tokenizer)
            by_sentence.append(made)
        counts = sorted(set(map(len, by_sentence)))
        if len(counts) > 1:
            problem = f"returned {counts[0]} views of one sentence and {counts[-1]} of another"
            raise cls._refusal("views", f"{problem}; return as many of each")
        by_view = zip(*by_sentence, strict=True)
        return (in_parts(pack(list(chain.from_iterable(by_view))), counts[0]),)

    @classmethod
    def _check_views(cls, made: Sequence[Any], tokenizer: Any) -> None:
        """Refuse a view that is no line of token ids: others would be cut to whole numbers, or have
        no embedding."""
        for view in made:
            is_array = isinstance(view, np.ndarray) and view.ndim == 1
            if not is_array or view.dtype.kind not in "iu" or not len(view):
                kind = type(view).__name__
                if isinstance(view, np.ndarray):
                    kind = f"an array of {view.dtype} with the shape {view.shape}"
                problem = f"made {kind} of a sentence; make an array of its token ids, one at least"
                raise cls._refusal("views", problem)
            if tokenizer is not None and not 0 <= view.min() <= view.max() < len(tokenizer):
                problem = f"made token ids from {view.min()} to {view.max()}; the tokenizer has"
                raise cls._refusal("views", f"{problem} {len(tokenizer)}, counted from 0")

    @classmethod
    def _views_of(cls, config: Any, text: TrainingText, rng: Random, index: int) -> Any:
        """What `views` makes of one sentence. Raises UserError if it writes into the tokens that it
        gets: every epoch reads them."""
        try:
            return cls.views(text.table[index], Draw(rng, config, text, index))
        except ValueError as error:  # numpy's, of arrays that are read-only, or the method's own
            if not cls._writes(config, text, rng, index):
                raise
            where = _place_of(error, cls, "views")
            raise UserError(
                f"{where}: views writes into its tokens, which every epoch reads; write into a "
                "copy, such as tokens.copy()."
            ) from error

    @classmethod
    def _writes(cls, config: Any, text: TrainingText, rng: Random, index: int) -> bool:
        """Whether `views` can do with arrays that may be written what it could not do without."""
        copies: Any = [{index: table[index].copy()} for table in (text.table, *text.columns)]
        written = text._replace(table=copies[0], columns=tuple(copies[1:]))
        try:
            cls.views(written.table[index], Draw(rng, config, written, index))
        except ValueError:
            pairs = zip(copies, (text.table, *text.columns), strict=True)
            return any(not np.array_equal(copy[index], table[index]) for copy, table in pairs)
        return True


def _place_of(error: Exception, kind: type, hook: str) -> str:
    """The innermost line of a method's files in which an error arose, else that of its hook."""
    for base in kind.__mro__[: kind.__mro__.index(Views)]:
        file = Path(inspect.getfile(base))
        line = line_of(error, file)
        if line is not None:
            return place(file, "", line)
    return place(Path(inspect.getfile(kind)), f"    def {hook}")


TwoViews = Views  # the name that methods with two views were written with


class SimCSE(Views):
    """The model of one run."""

    capturable = True

    def contrast(self, first: Tensor, second: Tensor) -> Tensor:
        return info_nce(first, second, None, temperature=self.config.loss.temperature)


Model = SimCSE
