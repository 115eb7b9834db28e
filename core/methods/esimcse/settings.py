"""ESimCSE's runs: their sections and rules, the three profiles, and how they follow a scale. No torch.

Each value that the paper's text gives stands beside its sentence; what the paper leaves unsaid is a guess, and the same in all three.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from core.methods.esimcse.sections import Momentum, MomentumQueue, Repetition
from core.methods.simcse.settings import PAPER as SIMCSE
from core.methods.simcse.settings import check_two_views
from core.spec.errors import UserError
from core.spec.methods import Method
from core.spec.run import Measure, RunConfig, scaled_count


@dataclass(frozen=True, slots=True, kw_only=True)
class ESimCSERun(RunConfig):
    """One run of ESimCSE; without its queue and momentum encoder, repetition alone (Table 6)."""

    method: Literal["esimcse"] = "esimcse"
    dup: Repetition | None = None
    queue: MomentumQueue | None = None
    momentum: Momentum | None = None

    def check(self):
        RunConfig.check(self)
        if (self.queue is None) != (self.momentum is None):
            raise UserError("ESimCSE's queue and momentum encoder go together; set both or set both to none.")
        if self.queue is None and self.dup is None:
            raise UserError("ESimCSE without repetition and without a queue is SimCSE; set method=simcse.")
        if self.queue is not None and self.queue.view == "repeated" and self.dup is None:
            raise UserError("queue.view=repeated needs repetition; set dup or queue.view=original.")
        check_two_views(self)

    def scaled(self, measure: Measure) -> dict[str, object]:
        changes: dict[str, object] = {} if self.queue is None else {"queue.size": scaled_count(self.queue.size, measure.batches)}
        if self.dup is not None and self.dup.cap_is_idle(self.data.max_length):
            changes["dup.cap"] = None  # the same run as without it, so it has the same name (D62)
        return changes

    @property
    def passes(self) -> float:
        repeated = 0.0 if self.dup is None else self.dup.rate / 2  # the mean of what is drawn
        return 6.0 + 3.0 * repeated + (0.0 if self.momentum is None else 1.0)

    @property
    def kept(self) -> int:
        return 0 if self.queue is None else self.queue.size

    def initial_share(self, step: int) -> float:
        return 0.0 if self.momentum is None else self.momentum.lambda_**step

    @property
    def reads_words(self) -> bool:
        return self.dup is not None and self.dup.unit != "subword"

    @property
    def longest(self) -> int:
        width = self.data.max_length
        if self.dup is None or self.reads_words or self.dup.recut:
            return width
        return width + self.dup.largest_count(width)


# 4.2 "batch size = 64", "τ = 0.05", "every 125 training steps"; its MLP on [CLS] stands under Training Details: that it is left off in
# evaluation is a guess (D65), and so are precision and length (D71, D33).
SHARED = {field.name: getattr(SIMCSE, field.name) for field in dataclasses.fields(SIMCSE) if field.name != "method"}
PAPER = ESimCSERun(
    **SHARED,
    queue=MomentumQueue(size=160),  # 5.4 "2.5 times the batch size"; original sentences: guess (D70)
    momentum=Momentum(  # 4.2 "λ = 0.995"; 3.2 "moving-average of its parameters" (D60); head and moment: guess (D68, D69)
        lambda_=0.995,
        init="pretrained_copy",
        dropout="off",  # 1 "turn off dropout when using the momentum encoder" (D68)
    ),
    dup=Repetition(  # 5.2 "when dup_rate = 0.32"; special tokens, cut and redrawing: guess (D62, D63, D64)
        rate=0.32,
        unit="subword",
        range="paper",  # eq. 4 (D61)
        cap=None,  # eq. 4 has no other upper end (D62)
    ),
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
