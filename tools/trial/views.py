"""What is wrong with the views of a batch, and with what the loss makes of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.config import methods
from core.encoder.packing import Packed, in_parts, padded, token_matrix
from core.encoder.streams import seed_libraries
from core.methods.simcse.model import Views
from tools.trial.short_run import NEAR, Material, own_sections

SAME = 1e-4  # of a loss: less is no difference
FAR = 1.5  # ranges of the other losses by which a single pairing lies below them
ALIKE = 0.6  # of the words of two sentences: they are views of one
Fault = tuple[str, str]  # hooks, of which the first that the method states is named; what is wrong


class Step(NamedTuple):
    """A loss, the views that it is of, and its further terms."""

    loss: float
    views: tuple[Tensor, ...]
    terms: dict[str, Tensor]


def pairing_fault(own: float, others: Sequence[float]) -> str:
    """What is wrong with the loss of each sentence's own views, beside those of its view with
    every other sentence's; or nothing. A sound method may learn its pairing yet: so the own loss
    need not be the lowest before it is trained."""
    lowest, *rest = sorted(others)
    labels = "look at its sign and its labels"
    if max(abs(other - own) for other in others) <= SAME * abs(own):
        return f"the loss is {own:.4g} whatever sentences are paired; {labels}"
    if own > rest[-1] + (rest[-1] - lowest):
        words = f"the loss of each sentence's own views is {own:.4g}, and of others' at most"
        return f"{words} {rest[-1]:.4g}; {labels}"
    if lowest < min(own, rest[0] - FAR * (rest[-1] - rest[0])):
        words = f"the loss of each sentence's own views is {own:.4g}, and of another's"
        return f"{words} {lowest:.4g}; {labels}"
    return ""


def views_faults(material: Material, model: Views) -> Iterator[Fault]:
    """What is wrong with the views of a first batch, after some steps: a part of the loss may grow
    from 0."""
    config = material.run.config
    batches: list[Any] = list(next(material.batches()))
    for i, batch in enumerate(batches):
        if not isinstance(batch, Packed):
            batches[i] = padded(batch.to(material.run.device))
    state = copy.deepcopy(model.state_dict())

    def step(given: Sequence[Any] = batches, views: Sequence[Tensor] = (), seed: int = 0) -> Step:
        model.load_state_dict(copy.deepcopy(state))
        seed_libraries(seed, "views")
        return _step(model, given, views)

    batch = batches[0]
    starts = batch.ids[batch.first] == int(material.text.table[0][0])
    if model.starts_from_cls() and not starts.all():
        words = "a view does not begin with [CLS], whose vector is pooled; keep the first token"
        yield "views", words
    views = step().views
    if not views:  # a loss of the method's own pools otherwise
        return
    own = step(views=views)
    drops = config.encoder.hidden_dropout + config.encoder.attention_dropout > 0
    if drops and any(torch.allclose(views[0], view, atol=1e-5) for view in views[1:]):
        words = "two views of each sentence are the same vectors; leave dropout on"
        yield "pooled build", words
    if config.columns == 1 and _interleaved(batch, len(views)):
        words = "the views of one sentence stand side by side; put all first views, then all second"
        yield "batch views", words
    for name, term in own.terms.items():
        if not name.isidentifier():
            yield "extra", f"it names a term {name!r}; name it by letters, digits and _"
        if not term.requires_grad:
            words = f"the term {name} has no gradient, so it trains nothing"
            yield "extra", f"{words}; leave out detach()"

    # with noise in place of a view, and with the first views of other sentences
    noise = torch.randn(views[0].shape, generator=torch.Generator().manual_seed(0))
    # a setting of the method's own sections may leave a view out
    usual = own_sections(config) == own_sections(methods.method(config.method).paper)
    for i, view in enumerate(views):
        changed = (*views[:i], noise.to(view), *views[i + 1 :])
        if usual and step(views=changed).loss == own.loss:
            words = f"the loss is the same whatever view {i + 1} of {len(views)} is"
            yield "contrast", f"{words}; read it, or make fewer views"
    if config.columns == 1 and len(views) > 1 and len(views[0]) > 3:
        rolled = [views[0].roll(by, 0) for by in range(1, len(views[0]))]
        others = [step(views=(view, *views[1:])).loss for view in rolled]
        words = pairing_fault(own.loss, others)
        if words:
            yield "contrast", words
    yield from _padding(model, step, batches)


def _step(model: Views, batches: Sequence[Any], given: Sequence[Tensor]) -> Step:
    """A step's loss; with `given` in place of the pooled views of the first batch."""
    first = batches[0]
    kept = model.pooled, model.extra
    views: list[Tensor] = []
    terms: dict[str, Tensor] = {}

    def pooled(batch: Packed) -> Tensor:
        if views or batch is not first:
            return kept[0](batch)
        whole = torch.cat([*given]) if given else kept[0](batch).float()
        views.extend(whole.chunk(first.parts or 2))
        return whole

    def extra(batch: Packed) -> dict[str, Tensor]:
        terms.update(kept[1](batch))
        return terms

    model.pooled, model.extra = pooled, extra  # type: ignore[method-assign]
    try:
        loss = float(model.loss(*batches).detach())
    finally:
        del model.pooled, model.extra
    return Step(loss, tuple(views), terms)


def _sentences(batch: Packed) -> list[np.ndarray]:
    """The token ids of each sentence of a batch."""
    ids, row = batch.ids.cpu().numpy(), batch.row.cpu().numpy()
    if batch.bias is None:
        return [ids[row == i] for i in range(batch.batch)]
    real = batch.mask.flatten().cpu().numpy()
    return [ids[real & (row == i)] for i in range(batch.batch)]


def _interleaved(batch: Packed, parts: int) -> bool:
    """Whether neighbours have the same words, and views that are contrasted have not."""
    words = [{*sentence[1:-1].tolist()} for sentence in _sentences(batch)]

    def alike(pairs: Sequence[tuple[set, set]]) -> float:
        return mean(len(a & b) / max(1, len(a | b)) for a, b in pairs)

    count = len(words) // parts
    neighbours = [*pairwise(words)][::parts]
    return parts > 1 and alike(neighbours) > ALIKE > alike(
        [*zip(words[:-count], words[count:], strict=True)]
    )


def _padding(model: Views, step: Callable[..., Step], batches: Sequence[Packed]) -> Iterator[Fault]:
    """A loss that depends on padding, which a GPU has; without dropout, since masks differ."""
    wider = []
    for batch in batches:
        texts = _sentences(batch)
        matrix: Any = token_matrix(texts, max(map(len, texts)) + 8)
        if batch.parts:
            matrix = in_parts(matrix, batch.parts)
        wider.append(padded(matrix.to(batch.ids.device)))
    model.eval()
    plain = step()
    with_padding = step(wider)
    draws = step(seed=1).loss != plain.loss  # for each token, perhaps
    model.train()
    if draws:
        return
    terms = {"loss": (plain.loss, with_padding.loss)}
    for name, term in plain.terms.items():
        terms[f"term {name}"] = term.item(), with_padding.terms[name].item()
    for name, (value, other) in reversed(terms.items()):
        if abs(value - other) > NEAR * max(abs(value), abs(other), NEAR):
            words = f"the {name} depends on padding, which a GPU has ({value:.4g}, {other:.4g})"
            hook = "contrast pool pooled" if name == "loss" else "extra"
            yield hook, f"{words}; leave out what packed.mask leaves out"
