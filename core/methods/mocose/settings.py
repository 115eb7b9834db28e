"""MoCoSE's runs: their sections and rules, the three profiles, and how they follow a scale. No torch.

Each value that the paper's text gives stands beside its sentence; what the paper leaves unsaid is a guess, and the same in all three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from core.methods.mocose.sections import EMA, FGSM, Augmentation, Heads, NegativeQueue, Target, ema_decay
from core.spec.errors import UserError
from core.spec.methods import Method
from core.spec.rewriting import CONTEXTUAL, OWN_ENCODER, TextView
from core.spec.run import PAPER_STEPS, STS, Data, Encoder, Evaluation, Loss, Measure, RunConfig, Seed, Selection, Train, scaled_count


def constant(decay: float) -> dict[str, object]:
    """A constant decay: what MoCoSE's paper says wherever it names one value (D2, D3)."""
    return {"ema.schedule": "constant", "ema.start": decay, "ema.end": None, "ema.total_updates": None}


def rising(start: float, end: float) -> dict[str, object]:
    """A decay that rises along half a cosine over the run: the paper's main model (Section 4.1, D2)."""
    return {"ema.schedule": "cosine_to_end", "ema.start": start, "ema.end": end, "ema.total_updates": None}


def wrapping(start: float) -> dict[str, object]:
    """The code's decay: up to 1 in 15,000 updates, and down again (D2)."""
    return {"ema.schedule": "released_cosine", "ema.start": start, "ema.end": 1.0, "ema.total_updates": 15_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class MoCoSERun(RunConfig):
    """One run of MoCoSE."""

    method: Literal["mocose"] = "mocose"
    heads: Heads
    queue: NegativeQueue
    target: Target
    ema: EMA
    fgsm: FGSM
    aug: Augmentation
    text: TextView | None = field(default=None, metadata={"neutral": None})  # Table 5's text-level rows

    @classmethod
    def cadence(cls):
        return 100

    def check(self):
        RunConfig.check(self)
        if self.eval.vector is None or self.eval.head is not None:
            raise UserError("method mocose needs eval.vector and takes no eval.head.")
        if not self.loss.in_batch_negatives and self.queue.init_size == 0:
            raise UserError(
                "loss.in_batch_negatives=false with queue.init_size=0 leaves the first step without negatives; "
                "set queue.init_size to at least 1."
            )
        if self.fgsm.gradient == "stale_online" and not self.data.drop_last:
            raise UserError("fgsm.gradient=stale_online needs data.drop_last=true, since a ragged batch has other slots (D20).")
        if self.text is not None and self.fgsm.gradient == "current" and self.fgsm.views == "both_same":
            raise UserError("fgsm.gradient=current has no gradient for a target view of another text; set fgsm.views=online_only.")

    def scaled(self, measure: Measure) -> dict[str, object]:
        """Widths, queue and the period of the released decay (D2). A model that rewrites text is the run's own encoder where none is fetched."""
        heads, queue = self.heads, self.queue
        changes: dict[str, object] = {
            "heads.out_size": scaled_count(heads.out_size, measure.width),
            "queue.size": scaled_count(queue.size, measure.batches),
            "queue.init_size": scaled_count(queue.init_size, measure.batches) if queue.init_size > 1 else queue.init_size,
        }
        if heads.predictor_hidden is not None:
            changes["heads.predictor_hidden"] = scaled_count(heads.predictor_hidden, measure.width)
        if queue.slice is not None:
            changes["queue.slice"] = tuple((round(a * measure.batches), round(b * measure.batches)) for a, b in queue.slice)
        if self.ema.total_updates is not None:
            changes["ema.total_updates"] = scaled_count(self.ema.total_updates, measure.paper_steps / PAPER_STEPS)
        if self.text is not None and self.text.kind in CONTEXTUAL and not measure.hub_models:
            changes["text.model"] = OWN_ENCODER
        return changes

    @property
    def passes(self) -> float:
        ahead = 2.0 if self.fgsm.gradient == "current" else 0.0  # a forward pass, and a backward one to the input (D18)
        return 4.0 + ahead + (0.0 if self.target.stop_gradient else 2.0)  # D6

    @property
    def kept(self) -> int:
        return self.queue.size

    def initial_share(self, step: int) -> float:
        return math.prod(ema_decay(self.ema, update, self.train.steps) for update in range(1, step + 1))

    @property
    def keepable(self) -> bool:
        return self.eval.vector == "cls_before_pooler"

    @property
    def disturbed(self) -> bool:
        return self.eval.apply_augmentation or self.fgsm.at_eval

    @property
    def rewriting(self) -> TextView | None:
        return self.text


PAPER = MoCoSERun(
    scale="paper",
    data=Data(digest="", rows=1_000_000),  # 4.1 "1 million sentences from the English Wikipedia"; how they are read (D36): guess
    encoder=Encoder(digest=""),  # 3 "dropout = 0.1", for both sizes
    heads=Heads(  # 5.2 "projection is 1 layer and the prediction has 2 layers"; 5.4 "consistent with the encoder": 768
        # 3 "composed of several fully connected layers": so a key ends in one, not in LayerNorm and dropout (D11). What stands between
        # layers and behind the predictor is unsaid (the poster has an "MLP"): guess, the code's LayerNorm, dropout and tanh.
        projection_tail="linear",
    ),
    loss=Loss(  # temperature: guess (D32)
        in_batch_negatives=False,  # eq. 3, "l is the negative samples in the queue"; Algorithm 1, line 6 (D1)
    ),
    queue=NegativeQueue(  # 4.1 "The negative queue size is 512"
        init="paper_grow",  # 3 "randomly initialized at the beginning, and then enqueue and dequeue normally" (D14)
        init_size=128,  # 5.6 "the initial queue size to 128", of Table 8; elsewhere a guess (D16)
    ),
    target=Target(  # 3 "The target branch truncates the gradient" (D6, D7); dropout makes the two views (D9); embeddings (D8): guess
        stop_gradient=True,
        freeze_projection=True,
    ),
    ema=EMA(  # 5.1 "when the decay weight of EMA is set to 0.85": one value, so a constant; of tables without one: guess (D2, D3); Algorithm 1, lines 7 and 8 (D5)
        schedule="constant",
        start=0.85,
        end=None,
        total_updates=None,
        when="after_optimizer_step",
    ),
    fgsm=FGSM(  # 3 "fgsm = 5e-9"
        gradient="current",  # 3 "calculates the derivative of model with respect to the input" (D18)
        views="online_only",  # eq. 1, "θ is the online branch of the model"; 5.3 "difference between the two samples" (D18)
    ),
    aug=Augmentation(),  # 5.3 "we discard the feature cut off method"
    train=Train(steps=PAPER_STEPS),  # 4.1 "3e-5", "weight decay of 1e-6", "batch size of the base model is 64"; the rest (D31): guess
    eval=Evaluation(digest="", every=100, vector="cls_before_pooler"),  # 4.1 "every 100 step", "token embedding from the model output"
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
