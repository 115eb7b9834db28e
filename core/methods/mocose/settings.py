"""MoCoSE's runs: their sections and rules, the three profiles, and how they follow a scale. No torch.

Each value that the paper's text gives stands beside its sentence; what the paper leaves unsaid is a guess,
and the same in all three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal

from core.spec import run as common
from core.spec.errors import UserError
from core.spec.methods import Method
from core.spec.run import Measure, RunConfig, Switch, TextView, scaled_count
from core.spec.section import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads(Section):
    """MoCoSE's pooler, projection and predictor (studies/reference/methods.md). `out_size` is the width of
    the contrastive space (D13)."""

    projection_layers: Annotated[int, "layers of the projection; 0 is none (D12)"] = 1
    predictor_layers: Annotated[int, "layers of the predictor; 0 is none (D12)"] = 2
    out_size: Annotated[int, "width of the space in which vectors are contrasted (D13)"] = 768
    predictor_hidden: Annotated[int | None, "width inside the predictor; none is out_size (D13)"] = None
    projection_tail: Annotated[
        Literal["linear_ln_dropout", "linear_ln", "linear"], "what the projection ends in (D11)"
    ] = "linear_ln_dropout"
    predictor_tail: Annotated[Literal["tanh", "linear"], "what the predictor ends in (D11)"] = field(
        default="tanh", metadata={"neutral": "tanh"}
    )
    dropout: Annotated[float, "dropout between the heads' layers"] = 0.1

    def check(self):
        for name in ("projection_layers", "predictor_layers"):
            if not 0 <= (depth := getattr(self, name)) <= 3:
                raise UserError(f"heads.{name} is {depth}, but only depths 0 to 3 are defined (D12).")
        if self.out_size < 1:
            raise UserError(f"heads.out_size is {self.out_size}, but it must be at least 1.")
        if not 0.0 <= self.dropout < 1.0:
            raise UserError(f"heads.dropout is {self.dropout}, but a dropout rate lies in [0, 1).")
        if self.predictor_tail != "tanh" and not self.predictor_layers:
            raise UserError("heads.predictor_tail has no effect without predictor layers; leave it tanh.")
        if self.predictor_hidden is not None and self.predictor_layers < 2:
            raise UserError("heads.predictor_hidden has no effect below 2 predictor layers; leave it none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeQueue(Section):
    """MoCoSE's queue of past keys, newest first (D17)."""

    size: Annotated[int, "keys that MoCoSE's queue holds, newest first (D17)"] = 512
    init: Annotated[
        Literal["paper_grow", "released_2022"],
        "how the queue starts: grows from random vectors, or as released in 2022 (D14, D15)",
    ] = "paper_grow"
    init_size: Annotated[int, "random vectors in the queue at the start (D14, D16)"] = 128
    slice: Annotated[
        tuple[tuple[int, int], ...] | None,
        "places of the full queue that enter the loss, such as 0-128 or 0-128,384-512; none is all (D44)",
    ] = None
    # Slide deck only: what stands for the visible entries in the loss. `clusters` counts centres, not
    # sentences: no scale changes it.
    negatives: Annotated[
        Literal["entries", "mean", "kmeans"],
        "what stands for the visible entries in the loss; only the slides have another than entries",
    ] = field(default="entries", metadata={"neutral": "entries"})
    clusters: Annotated[int | None, "k-means centres, whatever the scale; with negatives kmeans alone"] = (
        field(default=None, metadata={"neutral": None})
    )

    @classmethod
    def label(cls):
        return "queue"

    def check(self):
        if self.size < 1:
            raise UserError(f"queue.size is {self.size}, but the queue needs at least one place.")
        if not 0 <= self.init_size <= self.size:
            raise UserError(
                f"queue.init_size is {self.init_size}, but it lies in 0 … queue.size={self.size}."
            )
        for start, stop in self.slice or ():
            if not 0 <= start < stop <= self.size:
                hint = "choose 0 <= start < stop <= size"
                raise UserError(f"queue.slice {start}-{stop} does not fit a queue of {self.size}; {hint}.")
        if self.slice is not None and not self.slice:
            raise UserError("queue.slice is empty; leave it none to use the whole queue.")
        if (self.negatives == "kmeans") != (self.clusters is not None):
            raise UserError("queue.clusters goes with queue.negatives=kmeans alone; set both or neither.")
        if self.clusters is not None and not 1 <= self.clusters <= self.size:
            raise UserError(f"queue.clusters is {self.clusters}, but it lies in 1 … {self.size}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Section):
    """MoCoSE's target branch."""

    stop_gradient: Annotated[bool, "no gradient flows into the target branch (D6)"] = True
    freeze_projection: Annotated[bool, "the target's projection is not trained (D7)"] = True
    embeddings: Annotated[
        Literal["shared", "ema"],
        "word embeddings of the target branch: those of the online one, or an average of their own (D8)",
    ] = "shared"
    dropout: Annotated[Switch, "dropout in the target branch (D9)"] = "on"

    def check(self):
        if not self.freeze_projection and self.stop_gradient:
            raise UserError("target.freeze_projection=false needs target.stop_gradient=false.")


@dataclass(frozen=True, slots=True, kw_only=True)
class EMA(Section):
    """Decay eta of MoCoSE's target branch: target <- eta * target + (1 - eta) * online."""

    schedule: Annotated[
        Literal["constant", "cosine_to_end", "released_cosine"],
        "how the decay of the target's moving average goes along the run (D2)",
    ] = "released_cosine"
    start: Annotated[float, "decay at the start: target <- decay * target + (1 - decay) * online (D3)"] = 0.85
    end: Annotated[float | None, "decay at the end of its rise; none with a constant one (D2)"] = 1.0
    total_updates: Annotated[
        int | None, "updates in which released_cosine rises and comes down; none is the whole run (D2)"
    ] = 15000
    when: Annotated[
        Literal["after_optimizer_step", "before_forward"], "when in a step the target is moved (D5)"
    ] = "after_optimizer_step"

    def check(self):
        if not 0.0 <= self.start <= 1.0:
            raise UserError(f"ema.start is {self.start}, but a decay lies between 0 and 1.")
        if self.schedule == "constant":
            if self.end is not None or self.total_updates is not None:
                hint = "set none"
                raise UserError(f"ema.schedule=constant takes neither ema.end nor ema.total_updates; {hint}.")
            return
        if self.end is None or not 0.0 <= self.end <= 1.0:
            raise UserError(f"ema.schedule={self.schedule} needs ema.end between 0 and 1.")
        if self.schedule == "released_cosine":
            if self.total_updates is None or self.total_updates < 1:
                raise UserError("ema.schedule=released_cosine needs ema.total_updates of at least 1.")
        elif self.total_updates is not None:
            hint = "set ema.total_updates to none"
            raise UserError(f"ema.schedule=cosine_to_end runs over the whole run; {hint}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FGSM(Section):
    """x' = x + epsilon * sign(gradient) on the looked-up word embeddings (D18 - D20)."""

    epsilon: Annotated[float, "length of the step along the gradient's sign, on word embeddings (D19)"] = 5e-9
    gradient: Annotated[
        Literal["none", "stale_online", "current"],
        "whose gradient: of this input, of the previous step's batch, or none (D18)",
    ] = "stale_online"
    views: Annotated[Literal["both_same", "online_only"], "which views are moved (D18)"] = "both_same"
    at_eval: Annotated[bool, "move sentences in evaluation, too, by the last stored gradient (D20)"] = False

    def check(self):
        if self.epsilon < 0:
            raise UserError(f"fgsm.epsilon is {self.epsilon}, but it must not be negative.")
        if (self.gradient == "none") != (self.epsilon == 0):
            raise UserError("fgsm.gradient=none and fgsm.epsilon=0 go together; set both or neither.")
        if self.at_eval and self.gradient != "stale_online":
            raise UserError("fgsm.at_eval=true replays a stored gradient; set fgsm.gradient=stale_online.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation(Section):
    """MoCoSE's embedding-level augmentations (studies/reference/methods.md); the two views draw
    separately."""

    position_shuffle: Annotated[
        Literal["off", "per_batch", "per_sentence"],
        "shuffle positions, one order a batch or one a sentence (D24)",
    ] = "off"
    position_shuffle_range: Annotated[
        Literal["padded", "real_tokens"] | None, "which positions are shuffled (D24)"
    ] = None
    token_cutoff: Annotated[float, "share of tokens whose embeddings become 0"] = 0.0
    token_cutoff_pool: Annotated[
        Literal["padded_all", "real_tokens", "real_tokens_no_special"] | None,
        "of which tokens that share is taken (D22)",
    ] = None
    feature_cutoff: Annotated[float, "share of embedding dimensions that become 0 (D23)"] = 0.0

    @classmethod
    def label(cls):
        return "aug"

    def check(self):
        for name in ("token_cutoff", "feature_cutoff"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise UserError(f"aug.{name} is {getattr(self, name)}, but a rate lies in [0, 1).")
        if (self.position_shuffle == "off") != (self.position_shuffle_range is None):
            hint = "set both or neither"
            raise UserError(f"aug.position_shuffle and position_shuffle_range go together; {hint}.")
        if (self.token_cutoff == 0) != (self.token_cutoff_pool is None):
            raise UserError("aug.token_cutoff and aug.token_cutoff_pool go together; set both or neither.")

    def active(self) -> bool:
        """Whether any of them is on."""
        return self.position_shuffle != "off" or self.token_cutoff > 0 or self.feature_cutoff > 0


def ema_decay(ema: EMA, update: int, steps: int) -> float:
    """eta of update number `update` (1 at the first training forward), D2.

    constant: eta = start. cosine_to_end: half a cosine from start to end over the run's `steps`, then end.
    released_cosine: end - (end - start) * (cos(pi * t / T) + 1) / 2, T = total_updates; after T down again.
    """
    if ema.schedule == "constant" or ema.end is None:
        return ema.start
    if ema.schedule == "released_cosine" and ema.total_updates is not None:
        progress = update / ema.total_updates
    else:
        progress = min(1.0, update / steps)
    return ema.end - (ema.end - ema.start) * (math.cos(math.pi * progress) + 1.0) / 2.0


def traceable_distance(decay: float, queue_size: int, batch_size: int) -> float:
    """Maximum traceable distance 1 / (1 - eta) + queue / batch (eq. 4) in steps; infinite at eta = 1 (D4)."""
    return math.inf if decay >= 1.0 else 1.0 / (1.0 - decay) + queue_size / batch_size


def constant(decay: float) -> dict[str, object]:
    """A constant decay: what MoCoSE's paper says wherever it names one value (D2, D3)."""
    return {"ema.schedule": "constant", "ema.start": decay, "ema.end": None, "ema.total_updates": None}


def rising(start: float, end: float) -> dict[str, object]:
    """A decay that rises along half a cosine over the run: the paper's main model (Section 4.1, D2)."""
    return {"ema.schedule": "cosine_to_end", "ema.start": start, "ema.end": end, "ema.total_updates": None}


def wrapping(start: float) -> dict[str, object]:
    """The code's decay: up to 1 in 15,000 updates, and down again (D2)."""
    return {**rising(start, 1.0), "ema.schedule": "released_cosine", "ema.total_updates": 15_000}


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
            why = "or the first step has no negatives"
            raise UserError(f"loss.in_batch_negatives=false needs queue.init_size of at least 1, {why}.")
        if self.fgsm.gradient == "stale_online" and not self.data.drop_last:
            why = "since a ragged batch has other slots (D20)"
            raise UserError(f"fgsm.gradient=stale_online needs data.drop_last=true, {why}.")
        if self.text is not None and self.fgsm.gradient == "current" and self.fgsm.views == "both_same":
            hint = "a target view of another text; set fgsm.views=online_only"
            raise UserError(f"fgsm.gradient=current has no gradient for {hint}.")

    def scaled(self, measure: Measure) -> dict[str, object]:
        """Widths, queue, period of the released decay (D2); the own encoder where no model is fetched."""
        heads, queue = self.heads, self.queue
        changes: dict[str, object] = {
            "heads.out_size": scaled_count(heads.out_size, measure.width),
            "queue.size": scaled_count(queue.size, measure.batches),
        }
        if queue.init_size > 1:
            changes["queue.init_size"] = scaled_count(queue.init_size, measure.batches)
        if heads.predictor_hidden is not None:
            changes["heads.predictor_hidden"] = scaled_count(heads.predictor_hidden, measure.width)
        if queue.slice is not None:
            changes["queue.slice"] = tuple(
                tuple(round(n * measure.batches) for n in cut) for cut in queue.slice
            )
        if self.ema.total_updates is not None:
            share = measure.paper_steps / common.PAPER_STEPS
            changes["ema.total_updates"] = scaled_count(self.ema.total_updates, share)
        if self.text is not None and self.text.kind in common.CONTEXTUAL and not measure.hub_models:
            changes["text.model"] = common.OWN_ENCODER
        return changes

    @property
    def passes(self) -> float:
        # a forward pass, and a backward one to the input (D18)
        ahead = 2.0 if self.fgsm.gradient == "current" else 0.0
        return 4.0 + ahead + (0.0 if self.target.stop_gradient else 2.0)  # D6

    @property
    def kept(self) -> int:
        return self.queue.size

    def initial_share(self, step: int) -> float:
        return math.prod(ema_decay(self.ema, update, self.train.steps) for update in range(1, step + 1))

    @property
    def memory(self) -> float:
        return traceable_distance(max(self.ema.start, self.ema.end or 0.0), self.kept, self.train.batch_size)

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
    # 4.1 "1 million sentences from the English Wikipedia"; how they are read (D36): guess
    data=common.Data(digest="", rows=1_000_000),
    encoder=common.Encoder(digest=""),  # 3 "dropout = 0.1", for both sizes
    # 5.2 "projection is 1 layer and the prediction has 2 layers"; 5.4 "consistent with the encoder": 768
    heads=Heads(
        # 3 "composed of several fully connected layers": so a key ends in one, not in LayerNorm and dropout
        # (D11). What stands between layers and behind the predictor is unsaid (the poster has an "MLP"):
        # guess, the code's LayerNorm, dropout and tanh (D11).
        projection_tail="linear",
    ),
    loss=common.Loss(  # temperature: guess (D32)
        in_batch_negatives=False,  # eq. 3, "l is the negative samples in the queue"; Algorithm 1, line 6 (D1)
    ),
    queue=NegativeQueue(  # 4.1 "The negative queue size is 512"
        # 3 "randomly initialized at the beginning, and then enqueue and dequeue normally" (D14)
        init="paper_grow",
        # 5.6 "the negative queue size set to 512 and the smaller initial queue size set to 128"; of other
        # sizes a guess (D16)
        init_size=128,
    ),
    # 3 "The target branch truncates the gradient" (D6, D7); dropout makes the two views (D9); embeddings
    # (D8): guess
    target=Target(stop_gradient=True, freeze_projection=True),
    # 5.1 "when the decay weight of EMA is set to 0.85": one value, so a constant; of tables without one:
    # guess (D2, D3); Algorithm 1, lines 7 and 8 (D5)
    ema=EMA(schedule="constant", start=0.85, end=None, total_updates=None, when="after_optimizer_step"),
    fgsm=FGSM(  # 3 "fgsm = 5e-9"
        gradient="current",  # 3 "calculates the derivative of model with respect to the input" (D18)
        # eq. 1, "θ is the online branch of the model"; 5.3 "difference between the two samples" (D18)
        views="online_only",
    ),
    aug=Augmentation(),  # 5.3 "we discard the feature cut off method"
    # 4.1 "3e-5", "weight decay of 1e-6", "batch size of the base model is 64"; the rest (D31): guess
    train=common.Train(steps=common.PAPER_STEPS),
    # 4.1 "every 100 step", "token embedding from the model output"
    eval=common.Evaluation(digest="", every=100, vector="cls_before_pooler"),
    select=common.Selection(),  # 4.1 "validate", not on what: guess (D40)
    sts=common.STS(),  # guess (D80)
    seed=common.Seed(),
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
