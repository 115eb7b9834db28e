"""RunConfig: everything that can move a number, and nothing else.

Each field that stands for a known difference between a paper and its code carries the deviation's number (D1 … D83).
Sections that a method does not have are None, so no run carries a knob that does nothing. Where things lie, how many
workers there are and what is logged belong to `Execution`, which is never hashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.spec.errors import UserError
from core.spec.section import Section

Switch = Literal["on", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Data(Section):
    """Training text. `digest` is the SHA-256 of the text file (or of the generated text), `rows` its sentences."""

    digest: str
    rows: int
    reader: Literal["lines", "csv_quoted"] = "lines"  # D36
    max_length: int = 32  # tokens, special ones included (D33)
    padding: Literal["static", "dynamic"] = "static"  # D33: moves numbers only through D22 and D24
    drop_last: bool = True  # D37, D78

    def check(self):
        if self.max_length < 3:
            raise UserError(f"data.max_length is {self.max_length}, but a sentence needs at least 3 tokens; raise it.")
        if self.rows < 1:
            raise UserError("data.rows is 0: the training text has no sentences; give a text file with one a line.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder(Section):
    """The pretrained encoder, by content. `digest` covers its weights, its configuration and its tokenizer."""

    digest: str
    hidden_dropout: float = 0.1  # D66
    attention_dropout: float = 0.1
    attention: Literal["eager", "sdpa"] = "eager"

    def check(self):
        for name in ("hidden_dropout", "attention_dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise UserError(f"encoder.{name} is {getattr(self, name)}, but a dropout rate lies in [0, 1).")


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
class Loss(Section):
    """InfoNCE on cosines (MoCoSE eq. 3, ESimCSE's momentum contrast)."""

    temperature: float = 0.05  # D32
    in_batch_negatives: bool = True  # D1: False is MoCoSE eq. 3, queue only

    def check(self):
        if self.temperature <= 0:
            raise UserError(f"loss.temperature is {self.temperature}, but it must be above 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeQueue(Section):
    """MoCoSE's queue of past keys, newest first (D17)."""

    size: int = 512
    init: Literal["paper_grow", "released_2022"] = "paper_grow"  # D14, D15
    init_size: int = 128  # D14: random vectors at the start
    slice: tuple[tuple[int, int], ...] | None = None  # D44: columns that enter the loss once the queue is full

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition(Section):
    """ESimCSE's repetition: view 2 writes some tokens (or words) twice (dossier 2.1)."""

    rate: float = 0.32  # D67
    unit: Literal["subword", "word"] = "subword"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Train(Section):
    """Optimisation: AdamW, linear decay to zero, clipping (D30, D31, D34)."""

    steps: int
    batch_size: int = 64  # D30
    learning_rate: float = 3e-5
    weight_decay: float = 1e-6  # biases and LayerNorm weights excluded (D31)
    warmup_fraction: float = 0.0  # D31
    clip_norm: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    precision: Literal["fp32", "tf32", "fp16", "bf16"] = "fp32"  # D34, D71

    def check(self):
        if self.steps < 1:
            raise UserError(f"train.steps is {self.steps}, but a run needs at least one step.")
        if self.batch_size < 2:
            raise UserError(f"train.batch_size is {self.batch_size}, but contrast needs at least 2 sentences.")
        if self.learning_rate < 0 or self.weight_decay < 0:
            raise UserError("train.learning_rate and train.weight_decay must not be negative.")
        if not 0.0 <= self.warmup_fraction < 1.0:
            raise UserError(f"train.warmup_fraction is {self.warmup_fraction}, but it lies in [0, 1).")
        if self.clip_norm <= 0:
            raise UserError(f"train.clip_norm is {self.clip_norm}, but it must be above 0.")
        if not (0.0 <= self.beta1 < 1.0 and 0.0 <= self.beta2 < 1.0 and self.epsilon > 0.0):
            raise UserError("train.beta1 and train.beta2 lie in [0, 1) and train.epsilon is above 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Section):
    """What is scored, when and on what. `digest` is the SHA-256 of the evaluation sets' content."""

    digest: str
    every: int = 100  # steps between development checks (D30, D74)
    vector: Literal["cls_before_pooler", "pooler", "projection"] | None = None  # D10, MoCoSE
    head: Switch | None = None  # D65, SimCSE and ESimCSE
    apply_augmentation: bool = False  # D21

    @classmethod
    def label(cls):
        return "eval"

    def check(self):
        if self.every < 1:
            raise UserError(f"eval.every is {self.every}, but it must be at least 1 step.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Section):
    """Which checkpoint is reported (D40, D41)."""

    metric: Literal["stsb_dev", "sts_test_avg", "last"] = "stsb_dev"  # D40
    score: Literal["mean_of_7", "mean_of_8_rounded"] | None = None  # D41: with sts_test_avg only

    @classmethod
    def label(cls):
        return "select"

    def check(self):
        if (self.metric == "sts_test_avg") != (self.score is not None):
            raise UserError("select.score goes with select.metric=sts_test_avg and with nothing else; set it or leave it none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class STS(Section):
    """How the subsets of one test set become one Spearman (D80)."""

    aggregate: Literal["all", "mean", "wmean"] = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed(Section):
    """D35: `model` seeds heads and queue; `data` seeds order, dropout and augmentation."""

    model: int = 0
    data: int = 0

    def check(self):
        if self.model < 0 or self.data < 0:
            raise UserError("seed.model and seed.data must not be negative.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig(Section):
    """One run: a cell of a study under one seed. Which sections exist depends on `method`."""

    scale: str
    method: Literal["mocose", "esimcse", "simcse"]
    data: Data
    encoder: Encoder
    heads: Heads | None = None
    loss: Loss
    queue: NegativeQueue | MomentumQueue | None = None
    target: Target | None = None
    ema: EMA | None = None
    fgsm: FGSM | None = None
    aug: Augmentation | None = None
    dup: Repetition | None = None
    momentum: Momentum | None = None
    train: Train
    eval: Evaluation
    select: Selection
    sts: STS
    seed: Seed

    @classmethod
    def label(cls):
        return "run"

    def check(self):
        {"mocose": self._check_mocose, "esimcse": self._check_esimcse, "simcse": self._check_simcse}[self.method]()
        if self.data.drop_last and self.data.rows < self.train.batch_size:
            raise UserError(
                f"train.batch_size is {self.train.batch_size} but the training text has only {self.data.rows} sentences; "
                "give more text or a smaller batch."
            )

    def _check_mocose(self):
        self._require("heads", "queue", "target", "ema", "fgsm", "aug")
        self._forbid("dup", "momentum")
        if not isinstance(self.queue, NegativeQueue):
            raise UserError("method mocose needs its own queue (size, init, init_size), not ESimCSE's.")
        if self.eval.vector is None or self.eval.head is not None:
            raise UserError("method mocose needs eval.vector and takes no eval.head.")
        if not self.loss.in_batch_negatives and self.queue.init_size == 0:
            raise UserError("loss.in_batch_negatives=false with queue.init_size=0 leaves the first step without negatives; "
                            "set queue.init_size to at least 1.")
        if self.fgsm.gradient == "stale_online" and not self.data.drop_last:
            raise UserError("fgsm.gradient=stale_online needs data.drop_last=true, since a ragged batch has other slots (D20).")

    def _check_esimcse(self):
        self._forbid("heads", "target", "ema", "fgsm", "aug")
        if (self.queue is None) != (self.momentum is None):
            raise UserError("ESimCSE's queue and momentum encoder go together; set both or set both to none.")
        if self.queue is not None and not isinstance(self.queue, MomentumQueue):
            raise UserError("method esimcse needs its own queue (size, view), not MoCoSE's.")
        if self.queue is None and self.dup is None:
            raise UserError("ESimCSE without repetition and without a queue is SimCSE; set method=simcse.")
        if self.queue is not None and self.queue.view == "repeated" and self.dup is None:
            raise UserError("queue.view=repeated needs repetition; set dup or queue.view=original.")
        self._check_plain_head()

    def _check_simcse(self):
        self._forbid("heads", "queue", "target", "ema", "fgsm", "aug", "dup", "momentum")
        self._check_plain_head()

    def _check_plain_head(self):
        if self.eval.head is None or self.eval.vector is not None:
            raise UserError(f"method {self.method} needs eval.head and takes no eval.vector.")
        if not self.loss.in_batch_negatives:
            raise UserError(f"method {self.method} has in-batch negatives by definition; leave loss.in_batch_negatives true.")
        if self.eval.apply_augmentation:
            raise UserError("eval.apply_augmentation concerns MoCoSE's embedding-level augmentations; leave it false (D21).")

    def _require(self, *names):
        for name in names:
            if getattr(self, name) is None:
                raise UserError(f"method {self.method} needs the section {name}, which is none.")

    def _forbid(self, *names):
        for name in names:
            if getattr(self, name) is not None:
                raise UserError(f"method {self.method} has no section {name}; set it to none.")
