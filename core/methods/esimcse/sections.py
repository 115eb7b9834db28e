"""ESimCSE's configuration sections: repetition, momentum queue, momentum encoder.

Each field that stands for a known difference between the paper and its code carries the deviation's number. A default is the profile
`repaired`'s; `settings.py` says where the paper has another value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.spec.errors import UserError
from core.spec.run import Switch
from core.spec.section import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentumQueue(Section):
    """ESimCSE's queue of momentum-encoder vectors, empty at the start, oldest first (D70)."""

    size: int = 160  # in sentences: 2.5 x 64
    view: Literal["original", "repeated"] = "original"  # D70
    cut_first_batch: bool = True  # D70: the released code keeps the first batch whole even if size < batch

    @classmethod
    def label(cls):
        return "queue"

    def check(self):
        if self.size < 1:
            raise UserError(f"queue.size is {self.size}; for no queue set queue=none and momentum=none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition(Section):
    """ESimCSE's repetition: view 2 writes some tokens (or words) twice (dossier 2.1).

    `stopword` and `mask` write a random stop-word, or one mask token, behind each drawn word instead (Table 10, D72).
    """

    rate: float = 0.32  # D67
    unit: Literal["subword", "word", "stopword", "mask"] = "subword"
    range: Literal["paper", "released"] = "paper"  # D61
    cap: int | None = 10  # D62
    recut: bool = False  # D62: cut the repeated sequence at data.max_length again (word mode always is)
    protect_special: bool = True  # D63
    resample: Literal["per_epoch", "static"] = "per_epoch"  # D64

    @classmethod
    def label(cls):
        return "dup"

    def check(self):
        if not 0.0 < self.rate <= 1.0:
            raise UserError(f"dup.rate is {self.rate}, but it lies in (0, 1]; set dup=none for no repetition.")
        if self.cap is not None and self.cap < 1:
            raise UserError(f"dup.cap is {self.cap}, but it must be at least 1, or none.")

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
    """ESimCSE's momentum encoder: theta_m <- lambda * theta_m + (1 - lambda) * theta_e (dossier 2.2)."""

    lambda_: float = 0.995  # D73
    init: Literal["pretrained_copy", "random"] = "pretrained_copy"  # D60
    head: Literal["online", "ema"] = "online"  # D68
    dropout: Switch = "off"  # D68
    when: Literal["after_forward", "after_optimizer"] = "after_forward"  # D69

    def check(self):
        if not 0.0 < self.lambda_ < 1.0:
            raise UserError(
                f"momentum.lambda is {self.lambda_}, but it lies strictly between 0 and 1; "
                "to switch the queue off set queue=none and momentum=none (D73)."
            )
