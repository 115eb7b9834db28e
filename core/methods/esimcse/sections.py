"""ESimCSE's configuration sections: repetition, momentum queue, momentum encoder.

Each field that stands for a known difference between the paper and its code carries the deviation's number. A default is the profile
`repaired`'s; `settings.py` says where the paper has another value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from core.spec.errors import UserError
from core.spec.run import Switch
from core.spec.section import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentumQueue(Section):
    """ESimCSE's queue of momentum-encoder vectors, empty at the start, oldest first (D70)."""

    size: Annotated[int, "sentences in ESimCSE's queue, oldest first"] = 160
    view: Annotated[Literal["original", "repeated"], "which view of a sentence enters the queue (D70)"] = "original"
    cut_first_batch: Annotated[bool, "cut the first batch to the queue's size; the release keeps it whole (D70)"] = True

    @classmethod
    def label(cls):
        return "queue"

    def check(self):
        if self.size < 1:
            raise UserError(f"queue.size is {self.size}; for no queue set queue=none and momentum=none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition(Section):
    """ESimCSE's repetition: view 2 writes some tokens (or words) twice (studies/reference/methods.md).

    `stopword` and `mask` write a random stop-word, or one mask token, behind each drawn word instead (Table 10, D72).
    """

    rate: Annotated[float, "largest share of a sentence's tokens that is written twice (D67)"] = 0.32
    unit: Annotated[
        Literal["subword", "word", "stopword", "mask"],
        "what is repeated, or put in instead: a stop-word or a mask (D72)",
    ] = "subword"
    range: Annotated[Literal["paper", "released"], "how many are drawn: eq. 4, or as released (D61)"] = "paper"
    cap: Annotated[int | None, "most repetitions in a sentence; none is no limit (D62)"] = 10
    recut: Annotated[bool, "cut the repeated sentence at data.max_length again; word mode always does (D62)"] = False
    protect_special: Annotated[bool, "special tokens are never repeated (D63)"] = True
    resample: Annotated[Literal["per_epoch", "static"], "draw anew in each epoch, or once (D64)"] = "per_epoch"

    @classmethod
    def label(cls):
        return "dup"

    def check(self):
        if not 0.0 < self.rate <= 1.0:
            raise UserError(f"dup.rate is {self.rate}, but it lies in (0, 1]; set dup=none for no repetition.")
        if self.cap is not None and self.cap < 1:
            raise UserError(f"dup.cap is {self.cap}, but it must be at least 1, or none.")

    def cap_is_idle(self, length: int) -> bool:
        """Whether `cap` changes no draw from sequences of at most this length: eq. 4's share stays within it. Words are counted before
        the cut, so a sentence of theirs may have any number."""
        return self.unit == "subword" and self.range == "paper" and self.cap is not None and max(2, int(self.rate * length)) <= self.cap

    def largest_count(self, length: int) -> int:
        """The largest number of repetitions that may be drawn for a sequence of this length; the smallest is 0.

        paper: max(2, int(rate * N)), at most `cap`. released sub-word: min(cap, int(rate * N)) - 1, and 0 when int(rate * N) is 0.
        released word: min(cap, n, max(2, int(rate * n))) - 1. N counts [CLS] and [SEP]; n counts words.
        """
        share = int(self.rate * length)
        cap = self.cap if self.cap is not None else length
        if self.range == "paper":
            return min(cap, max(2, share))
        if self.unit == "subword":
            return max(0, min(cap, share) - 1)
        return min(cap, length, max(2, share)) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Momentum(Section):
    """ESimCSE's momentum encoder: theta_m <- lambda * theta_m + (1 - lambda) * theta_e (studies/reference/methods.md)."""

    lambda_: Annotated[float, "decay: momentum <- lambda * momentum + (1 - lambda) * encoder (D73)"] = 0.995
    init: Annotated[Literal["pretrained_copy", "random"], "how the momentum encoder starts (D60)"] = "pretrained_copy"
    head: Annotated[Literal["online", "ema"], "the momentum encoder's head: the online one, or an average of its own (D68)"] = "online"
    dropout: Annotated[Switch, "dropout in the momentum encoder (D68)"] = "off"
    when: Annotated[Literal["after_forward", "after_optimizer"], "when in a step the momentum encoder is moved (D69)"] = "after_forward"

    def check(self):
        if not 0.0 < self.lambda_ < 1.0:
            raise UserError(
                f"momentum.lambda is {self.lambda_}, but it lies strictly between 0 and 1; "
                "to switch the queue off set queue=none and momentum=none (D73)."
            )
