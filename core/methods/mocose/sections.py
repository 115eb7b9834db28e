"""MoCoSE's configuration sections: heads, queue, target branch, EMA, FGSM, augmentation.

Each field that stands for a known difference between the paper and its code carries the deviation's number. A default is the profile
`repaired`'s; `settings.py` says where the paper has another value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from core.spec.errors import UserError
from core.spec.run import Switch
from core.spec.section import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads(Section):
    """MoCoSE's pooler, projection and predictor (dossier 1.2). `out_size` is the width of the contrastive space (D13)."""

    projection_layers: int = 1  # D12: 0 is the identity
    predictor_layers: int = 2  # D12: 0 is the identity
    out_size: int = 768  # D13
    predictor_hidden: int | None = None  # D13: None = out_size
    projection_tail: Literal["linear_ln_dropout", "linear_ln", "linear"] = "linear_ln_dropout"  # D11
    dropout: float = 0.1

    def check(self):
        for name in ("projection_layers", "predictor_layers"):
            if not 0 <= getattr(self, name) <= 3:
                raise UserError(f"heads.{name} is {getattr(self, name)}, but only depths 0 to 3 are defined (D12).")
        if self.out_size < 1:
            raise UserError(f"heads.out_size is {self.out_size}, but it must be at least 1.")
        if not 0.0 <= self.dropout < 1.0:
            raise UserError(f"heads.dropout is {self.dropout}, but a dropout rate lies in [0, 1).")
        if self.predictor_hidden is not None and self.predictor_layers < 2:
            raise UserError("heads.predictor_hidden has no effect with fewer than 2 predictor layers; leave it none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeQueue(Section):
    """MoCoSE's queue of past keys, newest first (D17)."""

    size: int = 512
    init: Literal["paper_grow", "released_2022"] = "paper_grow"  # D14, D15
    init_size: int = 128  # D14: random vectors at the start
    slice: tuple[tuple[int, int], ...] | None = None  # D44: columns that enter the loss once the queue is full
    # Slide deck only: what stands for the visible entries in the loss. `clusters` counts centres, not sentences: no scale changes it.
    negatives: Literal["entries", "mean", "kmeans"] = field(default="entries", metadata={"neutral": "entries"})
    clusters: int | None = field(default=None, metadata={"neutral": None})  # with kmeans: 5, 10, 15 or 20 in the slides

    @classmethod
    def label(cls):
        return "queue"

    def check(self):
        if self.size < 1:
            raise UserError(f"queue.size is {self.size}, but the queue needs at least one place.")
        if not 0 <= self.init_size <= self.size:
            raise UserError(f"queue.init_size is {self.init_size}, but it must lie between 0 and queue.size={self.size}.")
        for start, stop in self.slice or ():
            if not 0 <= start < stop <= self.size:
                raise UserError(
                    f"queue.slice {start}-{stop} does not fit a queue of {self.size}; choose 0 <= start < stop <= size."
                )
        if self.slice is not None and not self.slice:
            raise UserError("queue.slice is empty; leave it none to use the whole queue.")
        if (self.negatives == "kmeans") != (self.clusters is not None):
            raise UserError("queue.clusters goes with queue.negatives=kmeans and with nothing else; set both or neither.")
        if self.clusters is not None and not 1 <= self.clusters <= self.size:
            raise UserError(f"queue.clusters is {self.clusters}, but it must lie between 1 and queue.size={self.size}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Section):
    """MoCoSE's target branch."""

    stop_gradient: bool = True  # D6
    freeze_projection: bool = True  # D7
    embeddings: Literal["shared", "ema"] = "shared"  # D8
    dropout: Switch = "on"  # D9

    def check(self):
        if not self.freeze_projection and self.stop_gradient:
            raise UserError(
                "target.freeze_projection=false needs target.stop_gradient=false, since no gradient reaches it otherwise."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class EMA(Section):
    """Decay eta of MoCoSE's target branch: target <- eta * target + (1 - eta) * online."""

    schedule: Literal["constant", "cosine_to_end", "released_cosine"] = "released_cosine"  # D2
    start: float = 0.85
    end: float | None = 1.0  # D2: None with a constant decay
    total_updates: int | None = 15000  # D2: period of released_cosine; None = over the run
    when: Literal["after_optimizer_step", "before_forward"] = "after_optimizer_step"  # D5

    def check(self):
        if not 0.0 <= self.start <= 1.0:
            raise UserError(f"ema.start is {self.start}, but a decay lies between 0 and 1.")
        if self.schedule == "constant":
            if self.end is not None or self.total_updates is not None:
                raise UserError("ema.schedule=constant takes neither ema.end nor ema.total_updates; set both to none.")
            return
        if self.end is None or not 0.0 <= self.end <= 1.0:
            raise UserError(f"ema.schedule={self.schedule} needs ema.end between 0 and 1.")
        if self.schedule == "released_cosine":
            if self.total_updates is None or self.total_updates < 1:
                raise UserError("ema.schedule=released_cosine needs ema.total_updates of at least 1.")
        elif self.total_updates is not None:
            raise UserError("ema.schedule=cosine_to_end runs over the whole run; set ema.total_updates to none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FGSM(Section):
    """x' = x + epsilon * sign(gradient) on the looked-up word embeddings (D18 - D20)."""

    epsilon: float = 5e-9  # D19
    gradient: Literal["none", "stale_online", "current"] = "stale_online"  # D18
    views: Literal["both_same", "online_only"] = "both_same"  # D18
    at_eval: bool = False  # D20

    def check(self):
        if self.epsilon < 0:
            raise UserError(f"fgsm.epsilon is {self.epsilon}, but it must not be negative.")
        if (self.gradient == "none") != (self.epsilon == 0):
            raise UserError("fgsm.gradient=none and fgsm.epsilon=0 go together; set both or neither.")
        if self.at_eval and self.gradient != "stale_online":
            raise UserError("fgsm.at_eval=true needs fgsm.gradient=stale_online: only a stored gradient can be replayed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation(Section):
    """MoCoSE's embedding-level augmentations (dossier 1.9); the two views draw separately."""

    position_shuffle: Literal["off", "per_batch", "per_sentence"] = "off"  # D24 scope
    position_shuffle_range: Literal["padded", "real_tokens"] | None = None  # D24 range
    token_cutoff: float = 0.0
    token_cutoff_pool: Literal["padded_all", "real_tokens", "real_tokens_no_special"] | None = None  # D22
    feature_cutoff: float = 0.0  # D23

    @classmethod
    def label(cls):
        return "aug"

    def check(self):
        for name in ("token_cutoff", "feature_cutoff"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise UserError(f"aug.{name} is {getattr(self, name)}, but a rate lies in [0, 1).")
        if (self.position_shuffle == "off") != (self.position_shuffle_range is None):
            raise UserError("aug.position_shuffle and aug.position_shuffle_range go together; set both or neither.")
        if (self.token_cutoff == 0) != (self.token_cutoff_pool is None):
            raise UserError("aug.token_cutoff and aug.token_cutoff_pool go together; set both or neither.")

    def active(self) -> bool:
        """Whether any of them is on."""
        return self.position_shuffle != "off" or self.token_cutoff > 0 or self.feature_cutoff > 0
