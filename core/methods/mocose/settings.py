"""MoCoSE's runs: sections, rules, scales and profiles. No torch. Each value stands beside the
paper's sentence; what the paper leaves unsaid is a guess, and the same in all three profiles."""

from __future__ import annotations

import itertools
import math
from dataclasses import field
from typing import Annotated, Any, Literal

from core.config import run as common
from core.config.methods import Method
from core.config.run import Measure, RunConfig, Switch, TextView, scaled_count
from core.config.section import SHARE, Bound, Section, at_least, frozen, neutral
from core.config.vary import value_at
from core.errors import UserError

DEPTH = Bound("one of 0 to 3 (D12)", lambda value: 0 <= value <= 3)
DECAY = Bound("between 0 and 1", lambda value: 0 <= value <= 1)


@frozen
class Heads(Section):
    """MoCoSE's pooler, projection and predictor (studies/reference/methods.md)."""

    projection_layers: Annotated[int, "layers of the projection; 0 is none (D12)", DEPTH] = 1
    predictor_layers: Annotated[int, "layers of the predictor; 0 is none (D12)", DEPTH] = 2
    out_size: Annotated[int, "width of the contrastive space (D13)", at_least(1)] = 768
    predictor_hidden: Annotated[
        int | None, "predictor's width; none is out_size (D13)", at_least(1)
    ] = None
    projection_tail: Annotated[
        Literal["linear_ln_dropout", "linear_ln", "linear"], "what the projection ends in (D11)"
    ] = "linear_ln_dropout"
    predictor_tail: Annotated[Literal["tanh", "linear"], "what the predictor ends in (D11)"] = (
        neutral("tanh")
    )
    dropout: Annotated[float, "dropout between the heads' layers", SHARE] = 0.1

    def check(self):
        if self.predictor_tail != "tanh" and not self.predictor_layers:
            raise UserError("heads.predictor_tail needs predictor layers; leave it tanh.")
        if self.predictor_hidden is not None and self.predictor_layers < 2:
            raise UserError("heads.predictor_hidden needs 2 predictor layers; leave it none.")


@frozen
class NegativeQueue(Section):
    """MoCoSE's queue of past keys, newest first (D17). Only the slide deck has other `negatives`
    than the entries. `clusters` counts centres, not sentences, so no scale changes it."""

    size: Annotated[int, "keys that MoCoSE's queue holds, newest first (D17)", at_least(1)] = 512
    init: Annotated[
        Literal["paper_grow", "released_2022"],
        "how the queue starts: grows from random vectors, or as released (D14, D15)",
    ] = "paper_grow"
    init_size: Annotated[
        int, "random vectors in the queue at the start (D14, D16)", at_least(0)
    ] = 128
    slice: Annotated[
        tuple[tuple[int, int], ...] | None,
        "places of the full queue that enter the loss; none is all (D44)",
    ] = None
    negatives: Annotated[
        Literal["entries", "mean", "kmeans"], "what stands for the entries in the loss"
    ] = neutral("entries")
    clusters: Annotated[int | None, "k-means centres, with negatives kmeans alone", at_least(1)] = (
        neutral(None)
    )

    in_paths = "queue"

    def check(self):
        for name, count in (("init_size", self.init_size), ("clusters", self.clusters or 0)):
            if count > self.size:
                raise UserError(f"queue.{name}={count} exceeds queue.size={self.size}; lower it.")
        for start, stop in self.slice or ():
            if not 0 <= start < stop <= self.size:
                raise UserError(f"queue.slice {start}-{stop} exceeds {self.size} keys; lower it.")
        if self.slice == ():
            raise UserError("queue.slice is empty; leave it none to use the whole queue.")
        if (self.negatives == "kmeans") != (self.clusters is not None):
            raise UserError("queue.clusters goes with queue.negatives=kmeans; set both or neither.")


@frozen
class Target(Section):
    """MoCoSE's target branch."""

    stop_gradient: Annotated[bool, "no gradient flows into the target branch (D6)"] = True
    freeze_projection: Annotated[bool, "the target's projection is not trained (D7)"] = True
    embeddings: Annotated[
        Literal["shared", "ema"],
        "word embeddings: the online branch's, or an average of their own (D8)",
    ] = "shared"
    dropout: Annotated[Switch, "dropout in the target branch (D9)"] = "on"

    def check(self):
        if not self.freeze_projection and self.stop_gradient:
            raise UserError("target.freeze_projection=false needs target.stop_gradient=false.")


@frozen
class EMA(Section):
    """Decay eta of MoCoSE's target branch: target <- eta * target + (1 - eta) * online."""

    schedule: Annotated[
        Literal["constant", "cosine_to_end", "released_cosine"],
        "how the decay goes along the run (D2)",
    ] = "released_cosine"
    start: Annotated[float, "decay at the start (D3)", DECAY] = 0.85
    end: Annotated[
        float | None, "decay at the end of its rise; none with a constant one (D2)", DECAY
    ] = 1.0
    total_updates: Annotated[
        int | None, "updates in which released_cosine rises (D2)", at_least(1)
    ] = 15000
    when: Annotated[
        Literal["after_optimizer_step", "before_forward"], "when in a step the target is moved (D5)"
    ] = "after_optimizer_step"

    def check(self):
        if (self.schedule == "constant") != (self.end is None):
            raise UserError("ema.end goes with every schedule but constant; set both or neither.")
        if (self.schedule == "released_cosine") != (self.total_updates is not None):
            raise UserError(
                "ema.total_updates goes with ema.schedule=released_cosine alone; set both or "
                "neither."
            )


@frozen
class FGSM(Section):
    """x' = x + epsilon * sign(gradient) on the looked-up word embeddings (D18 - D20)."""

    epsilon: Annotated[float, "length of the step along the gradient's sign (D19)", at_least(0)] = (
        5e-9
    )
    gradient: Annotated[
        Literal["none", "stale_online", "current"],
        "of this input, of the previous step's batch, or none (D18)",
    ] = "stale_online"
    views: Annotated[Literal["both_same", "online_only"], "which views are moved (D18)"] = (
        "both_same"
    )
    at_eval: Annotated[bool, "move sentences in evaluation, too, by the stored gradient (D20)"] = (
        False
    )

    def check(self):
        if (self.gradient == "none") != (self.epsilon == 0):
            raise UserError("fgsm.gradient=none goes with fgsm.epsilon=0; set both or neither.")
        if self.at_eval and self.gradient != "stale_online":
            raise UserError(
                "fgsm.at_eval=true replays a stored gradient; set fgsm.gradient=stale_online."
            )


@frozen
class Augmentation(Section):
    """MoCoSE's augmentations of embeddings (studies/reference/methods.md); the two views draw
    separately."""

    position_shuffle: Annotated[
        Literal["off", "per_batch", "per_sentence"], "one order a batch, or one a sentence (D24)"
    ] = "off"
    position_shuffle_range: Annotated[
        Literal["padded", "real_tokens"] | None, "which positions are shuffled (D24)"
    ] = None
    token_cutoff: Annotated[float, "share of tokens whose embeddings become 0", SHARE] = 0.0
    token_cutoff_pool: Annotated[
        Literal["padded_all", "real_tokens", "real_tokens_no_special"] | None,
        "of which tokens that share is taken (D22)",
    ] = None
    feature_cutoff: Annotated[float, "share of embedding dimensions that become 0 (D23)", SHARE] = (
        0.0
    )

    in_paths = "aug"

    def check(self):
        if (self.position_shuffle == "off") != (self.position_shuffle_range is None):
            raise UserError("aug.position_shuffle goes with its range; set both or neither.")
        if (self.token_cutoff == 0) != (self.token_cutoff_pool is None):
            raise UserError("aug.token_cutoff goes with token_cutoff_pool; set both or neither.")

    def active(self) -> bool:
        """Whether any of them is on."""
        return self.position_shuffle != "off" or self.token_cutoff > 0 or self.feature_cutoff > 0


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
            "ema.total_updates": measure.paper_steps / common.PAPER_STEPS,
        }
        changes: dict[str, object] = {}
        for path, factor in factors.items():
            count: Any = value_at(self, path)
            if count is not None and count > 1:
                changes[path] = scaled_count(count, factor)
        if queue.slice is not None:
            places = ((round(a * batches), round(b * batches)) for a, b in queue.slice)
            changes["queue.slice"] = tuple(places)
        if self.text is not None and self.text.kind in common.CONTEXTUAL and not measure.hub_models:
            changes["text.model"] = common.OWN_ENCODER
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
    def kept(self) -> int:
        return self.queue.size

    def initial_share(self, step: int) -> float:
        if self.ema.end is None:
            return math.prod(itertools.repeat(self.ema.start, step))
        steps = self.train.steps
        return math.prod(ema_decay(self.ema, update, steps) for update in range(1, step + 1))

    @property
    def memory(self) -> float:
        decay = max(self.ema.start, self.ema.end or 0.0)
        return traceable_distance(decay, self.kept, self.train.batch_size)

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
    # 5.2 "projection is 1 layer and the prediction has 2 layers"; 5.4 "consistent with the
    # encoder": 768. 3 "composed of several fully connected layers": so a key ends in one, not in
    # LayerNorm and dropout. Between layers and behind the predictor: guess, the code's LayerNorm,
    # dropout and tanh (D11).
    heads=Heads(projection_tail="linear"),
    # temperature: guess (D32); eq. 3, "l is the negative samples in the queue"; Algorithm 1, line 6
    # (D1)
    loss=common.Loss(in_batch_negatives=False),
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
