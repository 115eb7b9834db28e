"""RunConfig: everything that can move a number, and nothing else; here what the runs of every method have.

Each field that stands for a known difference between a paper and its code carries the deviation's number (D1 … D84).
A run has the sections of its method alone, so none carries a knob that does nothing. Where things lie, how many
workers there are and what is logged belong to `Execution`, which is never hashed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from core.spec.errors import UserError
from core.spec.section import Section
from core.spec.views import TextView

PAPER_STEPS = 15_625  # one million sentences in batches of 64
PAPER_HIDDEN = 768

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
    attention: Literal["eager", "sdpa"] = "eager"  # sdpa: torch's fused attention wherever no attention is dropped

    def check(self):
        for name in ("hidden_dropout", "attention_dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise UserError(f"encoder.{name} is {getattr(self, name)}, but a dropout rate lies in [0, 1).")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(Section):
    """InfoNCE on cosines (MoCoSE eq. 3, ESimCSE's momentum contrast)."""

    temperature: float = 0.05  # D32
    in_batch_negatives: bool = True  # D1: False is MoCoSE eq. 3, queue only

    def check(self):
        if self.temperature <= 0:
            raise UserError(f"loss.temperature is {self.temperature}, but it must be above 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Train(Section):
    """Optimisation: AdamW, linear decay to zero, clipping (D30, D31, D34).

    D84: the releases' trainer has AdamW as transformers 4 wrote it (`core.engine.optimiser`), not as torch does. New layers are
    heads that start at random; how far they come in a run depends on rate times steps, so short runs may give them a larger rate.
    """

    steps: int
    batch_size: int = 64  # D30
    learning_rate: float = 3e-5
    weight_decay: float = 1e-6  # biases and LayerNorm weights excluded (D31)
    warmup_fraction: float = 0.0  # D31
    clip_norm: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    adamw: Literal["torch", "transformers"] = "torch"  # D84
    new_layer_factor: float = 1.0  # rate of layers that start at random, over learning_rate
    precision: Literal["fp32", "tf32", "fp16", "bf16"] = "fp32"  # D34, D71

    def check(self):
        if self.steps < 1:
            raise UserError(f"train.steps is {self.steps}, but a run needs at least one step.")
        if self.batch_size < 2:
            raise UserError(f"train.batch_size is {self.batch_size}, but contrast needs at least 2 sentences.")
        if self.learning_rate < 0 or self.weight_decay < 0:
            raise UserError("train.learning_rate and train.weight_decay must not be negative.")
        if not 0.0 < self.new_layer_factor < float("inf"):
            raise UserError(f"train.new_layer_factor is {self.new_layer_factor}, but it must be above 0; 1 gives new layers the encoder's rate.")
        if not 0.0 <= self.warmup_fraction < 1.0:
            raise UserError(f"train.warmup_fraction is {self.warmup_fraction}, but it lies in [0, 1).")
        if self.clip_norm <= 0:
            raise UserError(f"train.clip_norm is {self.clip_norm}, but it must be above 0.")
        if not (0.0 <= self.beta1 < 1.0 and 0.0 <= self.beta2 < 1.0 and self.epsilon > 0.0):
            raise UserError("train.beta1 and train.beta2 lie in [0, 1) and train.epsilon is above 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Section):
    """What is scored, when and on what. `digest` is the SHA-256 of the evaluation sets' content.

    `transfer` adds the transfer tasks' accuracies (MoCoSE, Table 2) to the finished run; it costs minutes on real data.
    """

    digest: str
    every: int = 100  # steps between development checks (D30, D74)
    vector: Literal["cls_before_pooler", "pooler", "projection"] | None = None  # D10, MoCoSE
    head: Switch | None = None  # D65, SimCSE and ESimCSE
    apply_augmentation: bool = False  # D21
    transfer: bool = field(default=False, metadata={"neutral": False})  # D42: test and development accuracies are both kept

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
class Measure:
    """What a method's sections are scaled by: batches and widths over the papers', the run's steps, and the papers' steps that it stands for."""

    batches: float
    width: float
    paper_steps: float
    hub_models: bool  # whether models that rewrite text are fetched


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig(Section):
    """One run: a cell of a study under one seed. Each method's runs are a class of their own, with its sections (`core.methods`)."""

    scale: str
    method: str
    data: Data
    encoder: Encoder
    loss: Loss
    train: Train
    eval: Evaluation
    select: Selection
    sts: STS
    seed: Seed

    @classmethod
    def label(cls):
        return "run"

    @classmethod
    def cadence(cls) -> int:
        """Steps between development checks in the method's paper."""
        return 125

    def check(self):
        if self.data.drop_last and self.data.rows < self.train.batch_size:
            raise UserError(
                f"train.batch_size is {self.train.batch_size} but the training text has only {self.data.rows} sentences; "
                "give more text or a smaller batch."
            )

    def scaled(self, measure: Measure) -> dict[str, object]:
        """What a scale changes in the method's own sections, by dotted path."""
        return {}

    @property
    def kept(self) -> int:
        """Sentences that the run's queue holds; 0 without a queue."""
        return 0

    def initial_share(self, step: int) -> float:
        """Share of its initial weights that a slowly moving branch still has after `step` steps; 0 without one."""
        return 0.0

    @property
    def rewriting(self) -> TextView | None:
        """How the text of a view is rewritten before training, if it is."""
        return None

    @property
    def reads_words(self) -> bool:
        """Whether a view is made of words, so that batches need the text beside its tokens."""
        return False

    @property
    def longest(self) -> int:
        """The most tokens that a training sentence of this run can have."""
        return self.data.max_length


def scaled_count(count: int, factor: float) -> int:
    """A count under a scale, at least 1."""
    return max(1, round(count * factor))
