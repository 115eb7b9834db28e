"""ESimCSE's runs: sections, rules, scales and profiles. No torch. Each value stands beside the
paper's sentence; what the paper leaves unsaid is a guess, and the same in all three profiles."""

from __future__ import annotations

from typing import Annotated, Literal

from core.config.methods import Method
from core.config.run import Measure, RunConfig, Switch, scaled_count
from core.config.section import Bound, Section, at_least, frozen
from core.errors import UserError
from core.methods.simcse.settings import SHARED, check_two_views


@frozen
class MomentumQueue(Section):
    """ESimCSE's queue of momentum-encoder vectors, empty at the start, oldest first (D70)."""

    size: Annotated[int, "sentences in ESimCSE's queue, oldest first", at_least(1)] = 160
    view: Annotated[Literal["original", "repeated"], "which view enters the queue (D70)"] = (
        "original"
    )
    cut_first_batch: Annotated[bool, "cut the first batch to the queue's size (D70)"] = True

    in_paths = "queue"


@frozen
class Repetition(Section):
    """ESimCSE's repetition: view 2 writes some tokens (or words) twice
    (studies/reference/methods.md). `stopword` and `mask` write a random stop-word, or one mask
    token, behind each drawn word instead (Table 10, D72)."""

    rate: Annotated[
        float,
        "largest share of a sentence's tokens that is written twice (D67)",
        Bound("above 0 and at most 1; dup=none is no repetition", lambda value: 0 < value <= 1),
    ] = 0.32
    unit: Annotated[
        Literal["subword", "word", "stopword", "mask"], "what is repeated, or put in instead (D72)"
    ] = "subword"
    range: Annotated[
        Literal["paper", "released"], "how many are drawn: eq. 4, or released (D61)"
    ] = "paper"
    cap: Annotated[
        int | None, "most repetitions in a sentence; none is no limit (D62)", at_least(1)
    ] = 10
    recut: Annotated[bool, "cut at data.max_length again; word mode always does (D62)"] = False
    protect_special: Annotated[bool, "special tokens are never repeated (D63)"] = True
    resample: Annotated[Literal["per_epoch", "static"], "draw in each epoch, or once (D64)"] = (
        "per_epoch"
    )

    in_paths = "dup"

    def cap_is_idle(self, length: int) -> bool:
        """Whether `cap` changes no draw from sequences of at most this length: eq. 4's share stays
        within it. Words are counted before the cut, so a sentence of theirs may have any number."""
        paper = (self.unit, self.range) == ("subword", "paper")
        return paper and self.cap is not None and max(2, int(self.rate * length)) <= self.cap

    def largest_count(self, length: int) -> int:
        """The largest number of repetitions that may be drawn for a sequence of this length; the
        smallest is 0. A length counts words, or tokens with [CLS] and [SEP]."""
        share = int(self.rate * length)
        cap = length if self.cap is None else self.cap
        if self.range == "paper":
            return min(cap, max(2, share))
        if self.unit == "subword":
            return max(0, min(cap, share) - 1)
        return min(cap, length, max(2, share)) - 1


@frozen
class Momentum(Section):
    """ESimCSE's momentum encoder: theta_m <- lambda * theta_m + (1 - lambda) * theta_e."""

    lambda_: Annotated[
        float,
        "decay: momentum <- lambda * momentum + (1 - lambda) * encoder (D73)",
        Bound(
            "above 0 and below 1; queue=none and momentum=none is no queue",
            lambda value: 0 < value < 1,
        ),
    ] = 0.995
    init: Annotated[Literal["pretrained_copy", "random"], "start of the momentum encoder (D60)"] = (
        "pretrained_copy"
    )
    head: Annotated[Literal["online", "ema"], "head: the online one, or an average (D68)"] = (
        "online"
    )
    dropout: Annotated[Switch, "dropout in the momentum encoder (D68)"] = "off"
    when: Annotated[
        Literal["after_forward", "after_optimizer"], "when the encoder is moved (D69)"
    ] = "after_forward"


@frozen
class ESimCSERun(RunConfig):
    """One run of ESimCSE; without its queue and momentum encoder, repetition alone (Table 6)."""

    method: Literal["esimcse"] = "esimcse"
    dup: Repetition | None = None
    queue: MomentumQueue | None = None
    momentum: Momentum | None = None

    def check(self):
        check_two_views(self)
        if (self.queue is None) != (self.momentum is None):
            raise UserError(
                "ESimCSE's queue and momentum encoder go together; set both or set both to none."
            )
        if self.queue is None and self.dup is None:
            raise UserError(
                "ESimCSE without repetition and without a queue is SimCSE; set method=simcse."
            )
        if self.queue is not None and self.queue.view == "repeated" and self.dup is None:
            raise UserError("queue.view=repeated needs repetition; set dup or queue.view=original.")

    def scaled(self, measure: Measure) -> dict[str, object]:
        changes: dict[str, object] = {}
        if self.queue is not None:
            changes["queue.size"] = scaled_count(self.queue.size, measure.batches)
        if self.dup is not None and self.dup.cap_is_idle(self.data.max_length):
            changes["dup.cap"] = None  # the same run as without it, so it has the same name (D62)
        return changes

    @property
    def passes(self) -> float:
        passes = 6.0
        if self.dup is not None:
            passes += 3.0 * self.dup.rate / 2  # the mean of what is drawn
        if self.momentum is not None:
            passes += 1.0
        return passes

    @property
    def queue_size(self) -> int:
        return 0 if self.queue is None else self.queue.size

    def initial_share(self, step: int) -> float:
        return 0.0 if self.momentum is None else self.momentum.lambda_**step

    @property
    def memory(self) -> float:
        queue = self.queue_size / self.train.batch_size
        if self.momentum is None:
            return queue
        return 1.0 / (1.0 - self.momentum.lambda_) + queue

    @property
    def longest(self) -> int:
        width = self.data.max_length
        dup = self.dup
        if dup is None or dup.unit != "subword" or dup.recut:
            return width
        return width + dup.largest_count(width)


# 4.2 "batch size = 64", "τ = 0.05", "every 125 training steps". 4.2 "we add an MLP layer on top of
# the [CLS] representation to get the sentence embedding" stands under Training Details: that it is
# left off in evaluation is a guess (D65), as precision and length are (D71, D33).
PAPER = ESimCSERun(
    **SHARED,
    # 5.4 "2.5 times the batch size"; original sentences: guess (D70)
    queue=MomentumQueue(size=160),
    # 4.2 "λ = 0.995"; 3.2 "moving-average of its parameters" (D60); 1 "turn off dropout when using
    # the momentum encoder" (D68); head and moment: guess (D68, D69)
    momentum=Momentum(lambda_=0.995, init="pretrained_copy", dropout="off"),
    # 5.2 "when dup_rate = 0.32"; eq. 4, which has no other upper end (D61, D62); special tokens,
    # cut and redrawing: guess (D62, D63, D64)
    dup=Repetition(rate=0.32, unit="subword", range="paper", cap=None),
)

METHOD = Method(
    title="ESimCSE",
    paper=PAPER,
    repaired={"dup.cap": 10},  # D62
    released={
        "data.drop_last": False,  # D78
        "momentum.init": "random",  # D60
        "dup.range": "released",  # D61
        "dup.resample": "static",  # D64
        "queue.cut_first_batch": False,  # D70
        "train.adamw": "transformers",  # D84
        "seed.data": 42,  # D35
    },
)
