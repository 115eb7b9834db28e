"""MoCoSE's runs: rules, scales and profiles. No torch. Each value stands beside the
paper's sentence; what the paper leaves unsaid is a guess, and the same in all three profiles."""

from __future__ import annotations

import itertools
import math
from dataclasses import field
from typing import Any, Literal

from core.config.methods import Method
from core.config.run import (
    OWN_ENCODER,
    PAPER_STEPS,
    STS,
    Data,
    Encoder,
    Evaluation,
    Loss,
    Measure,
    RunConfig,
    Seed,
    Selection,
    Train,
    scaled_count,
)
from core.config.section import frozen
from core.config.vary import value_at
from core.errors import UserError
from core.methods.mocose.sections import (
    CONTEXTUAL,
    EMA,
    FGSM,
    Augmentation,
    Heads,
    NegativeQueue,
    Target,
    TextView,
)


def ema_decay(ema: EMA, update: int, steps: int) -> float:
    """eta of update number `update` (1 at the first training forward), D2.

    constant: eta = start. cosine_to_end: half a cosine from start to end over the run's `steps`,
    then end. released_cosine: end - (end - start) * (cos(pi * t / T) + 1) / 2, T = total_updates;
    after T down again.
    """
    if ema.end is None:
        return ema.start
    if ema.total_updates is None:
        progress = min(1.0, update / steps)
    else:
        progress = update / ema.total_updates
    return ema.end - (ema.end - ema.start) * (math.cos(math.pi * progress) + 1.0) / 2.0


def traceable_distance(decay: float, queue_size: int, batch_size: int) -> float:
    """Maximum traceable distance 1 / (1 - eta) + queue / batch (eq. 4) in steps; infinite at eta =
    1 (D4)."""
    if decay >= 1.0:
        return math.inf
    return 1.0 / (1.0 - decay) + queue_size / batch_size


def constant(decay: float) -> dict[str, object]:
    """A constant decay: what MoCoSE's paper says wherever it names one value (D2, D3)."""
    return {**rising(decay, None), "ema.schedule": "constant"}


def rising(start: float, end: float | None) -> dict[str, object]:
    """A decay that rises along half a cosine over the run: the paper's main model (Section 4.1,
    D2)."""
    return {
        "ema.schedule": "cosine_to_end",
        "ema.start": start,
        "ema.end": end,
        "ema.total_updates": None,
    }


def wrapping(start: float) -> dict[str, object]:
    """The code's decay: up to 1 in 15,000 updates, and down again (D2)."""
    return {**rising(start, 1.0), "ema.schedule": "released_cosine", "ema.total_updates": 15_000}


@frozen
class MoCoSERun(RunConfig):
    """One run of MoCoSE."""

    method: Literal["mocose"] = "mocose"
    heads: Heads
    queue: NegativeQueue
    target: Target
    ema: EMA
    fgsm: FGSM
    aug: Augmentation
    text: TextView | None = field(default=None, metadata={"neutral": None})  # Table 5

    cadence = 100

    def check(self):
        RunConfig.check(self)
        fgsm = self.fgsm
        if self.eval.vector is None or self.eval.head is not None:
            raise UserError("method mocose needs eval.vector and takes no eval.head.")
        if not self.loss.in_batch_negatives and self.queue.init_size == 0:
            raise UserError(
                "loss.in_batch_negatives=false needs queue.init_size of at least 1: step 1 has no "
                "negatives."
            )
        if fgsm.gradient == "stale_online" and not self.data.drop_last:
            raise UserError(
                "fgsm.gradient=stale_online needs data.drop_last=true: a ragged batch has other "
                "slots (D20)."
            )
        if (fgsm.gradient, fgsm.views) == ("current", "both_same") and self.text is not None:
            raise UserError("fgsm.gradient=current needs fgsm.views=online_only with another text.")

    def scaled(self, measure: Measure) -> dict[str, object]:
        """Widths, queue, period of the released decay (D2); the own encoder where no model is
        fetched."""
        queue = self.queue
        batches = measure.batches
        factors = {
            "heads.out_size": measure.width,
            "heads.predictor_hidden": measure.width,
            "queue.size": batches,
            "queue.init_size": batches,
            "ema.total_updates": measure.paper_steps / PAPER_STEPS,
        }
        changes: dict[str, object] = {}
        for path, factor in factors.items():
            count: Any = value_at(self, path)
            if count is not None and count > 1:
                changes[path] = scaled_count(count, factor)
        if queue.slice is not None:
            places = ((round(a * batches), round(b * batches)) for a, b in queue.slice)
            changes["queue.slice"] = tuple(places)
        if self.text is not None and self.text.kind in CONTEXTUAL and not measure.hub_models:
            changes["text.model"] = OWN_ENCODER
        return changes

    @property
    def passes(self) -> float:
        passes = 4.0
        if self.fgsm.gradient == "current":  # forward, and backward to the input (D18)
            passes += 2.0
        if not self.target.stop_gradient:  # D6
            passes += 2.0
        return passes

    @property
    def queue_size(self) -> int:
        return self.queue.size

    def initial_share(self, step: int) -> float:
        if self.ema.end is None:
            return math.prod(itertools.repeat(self.ema.start, step))
        steps = self.train.steps
        return math.prod(ema_decay(self.ema, update, steps) for update in range(1, step + 1))

    @property
    def memory(self) -> float:
        decay = max(self.ema.start, self.ema.end or 0.0)
        return traceable_distance(decay, self.queue_size, self.train.batch_size)

    @property
    def disturbed(self) -> bool:
        return self.eval.apply_augmentation or self.fgsm.at_eval

    @property
    def rewriting(self) -> TextView | None:
        return self.text


PAPER = MoCoSERun(
    scale="paper",
    # 4.1 "1 million sentences from the English Wikipedia"; how they are read (D36): guess
    data=Data(digest="", rows=1_000_000),
    encoder=Encoder(digest=""),  # 3 "dropout = 0.1", for both sizes
    # 5.2 "projection is 1 layer and the prediction has 2 layers"; 5.4 "consistent with the
    # encoder": 768. 3 "composed of several fully connected layers": so a key ends in one, not in
    # LayerNorm and dropout. Between layers and behind the predictor: guess, the code's LayerNorm,
    # dropout and tanh (D11).
    heads=Heads(projection_tail="linear"),
    # temperature: guess (D32); eq. 3, "l is the negative samples in the queue"; Algorithm 1, line 6
    # (D1)
    loss=Loss(in_batch_negatives=False),
    # 4.1 "The negative queue size is 512"; 3 "randomly initialized at the beginning, and then
    # enqueue and dequeue normally" (D14); 5.6 "the smaller initial queue size set to 128"; of other
    # sizes a guess (D16)
    queue=NegativeQueue(init="paper_grow", init_size=128),
    # 3 "The target branch truncates the gradient" (D6, D7); dropout (D9), embeddings (D8): guess
    target=Target(stop_gradient=True, freeze_projection=True),
    # 5.1 "when the decay weight of EMA is set to 0.85": one value, so a constant; of tables without
    # one: guess (D2, D3); Algorithm 1, lines 7 and 8 (D5)
    ema=EMA(schedule="constant", start=0.85, end=None, total_updates=None),
    fgsm=FGSM(  # 3 "fgsm = 5e-9"
        # 3 "calculates the derivative of model with respect to the input" (D18)
        gradient="current",
        # eq. 1, "θ is the online branch of the model"; 5.3 "difference between the two samples"
        # (D18)
        views="online_only",
    ),
    aug=Augmentation(),  # 5.3 "we discard the feature cut off method"
    # 4.1 "3e-5", "weight decay of 1e-6", "batch size of the base model is 64"; the rest (D31):
    # guess
    train=Train(steps=PAPER_STEPS),
    # 4.1 "every 100 step", "token embedding from the model output"
    eval=Evaluation(digest="", every=100, vector="cls_before_pooler"),
    select=Selection(),  # 4.1 "validate", not on what: guess (D40)
    sts=STS(),  # guess (D80)
    seed=Seed(),
)

METHOD = Method(
    title="MoCoSE",
    paper=PAPER,
    repaired={
        "loss.in_batch_negatives": True,  # D1
        "ema.schedule": "released_cosine",  # D2
        "ema.end": 1.0,
        "ema.total_updates": 15_000,
        "heads.projection_tail": "linear_ln_dropout",  # D11
        "fgsm.gradient": "stale_online",  # D18
        "fgsm.views": "both_same",  # D18
    },
    # D28 is no change: `continuation` is what the code did under the name of a paraphrase.
    released={
        "data.reader": "csv_quoted",  # D36
        "ema.when": "before_forward",  # D5
        "target.stop_gradient": False,  # D6
        "target.freeze_projection": False,  # D7
        "queue.init": "released_2022",  # D14, D15
        "eval.apply_augmentation": True,  # D21
        "text.detokenize": "wordpiece_join",  # D26
        "text.kind": {"contextual_substitute": "contextual_insert"},  # D27
        "select.metric": "sts_test_avg",  # D40
        "select.score": "mean_of_8_rounded",  # D41
        "train.adamw": "transformers",  # D84
        "seed.data": 42,  # D35
    },
)
