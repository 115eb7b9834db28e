"""RunConfig: everything that can move a number, and nothing else; here what the runs of every
method have.

What a field means stands beside its type, for `--fields` to print, with the number of the
difference between paper and code that it stands for (D1 … D84). A run has the sections of its
method alone, so no field does nothing. Places, workers and logs belong to
`core.training.execution.Execution`, which is never hashed.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from core.config.section import ABOVE_0, SHARE, Section, at_least, frozen, neutral
from core.errors import UserError

PAPER_STEPS = 15_625  # one million sentences in batches of 64
PAPER_HIDDEN = 768
Switch = Literal["on", "off"]
# a model that rewrites text: the run's own encoder with its masked-word head, which the encoder's
# digest covers
OWN_ENCODER = "encoder"


@frozen
class Data(Section):
    """Training text, and how it is read."""

    digest: Annotated[str, "SHA-256 of the training text's content"]
    rows: Annotated[int, "sentences of the training text", at_least(1)]
    reader: Annotated[
        Literal["lines", "csv_quoted"], "lines, or the releases' quoted table (D36)"
    ] = "lines"
    max_length: Annotated[
        int, "tokens of a training sentence; the rest is cut (D33)", at_least(3)
    ] = 32
    padding: Annotated[Literal["static", "dynamic"], "to max_length, or the longest (D33)"] = (
        "static"
    )
    drop_last: Annotated[bool, "leave out the last batch if it is not full (D37, D78)"] = True
    columns: Annotated[int, "columns of the training text", at_least(1)] = neutral(1)


@frozen
class Encoder(Section):
    """The pretrained encoder."""

    digest: Annotated[str, "SHA-256 of the encoder's weights, configuration and tokenizer"]
    hidden_dropout: Annotated[float, "dropout behind embeddings and layers (D66)", SHARE] = 0.1
    attention_dropout: Annotated[float, "dropout on attention weights", SHARE] = 0.1
    # nothing reads it; it goes when NUMERICS rises next
    attention: Annotated[Literal["eager"], "a name in the ids of runs"] = "eager"


@frozen
class Loss(Section):
    """InfoNCE on cosines (MoCoSE eq. 3, ESimCSE's momentum contrast)."""

    temperature: Annotated[
        float, "what cosines are divided by before the softmax (D32)", ABOVE_0
    ] = 0.05
    in_batch_negatives: Annotated[bool, "other sentences of the batch are negatives, too (D1)"] = (
        True
    )


@frozen
class Train(Section):
    """Optimisation: AdamW, linear decay to zero, clipping (D30, D31, D34).

    Biases and LayerNorm weights have no weight decay. New layers are heads that start at random:
    short runs may give them a larger rate. fp16 can be stored but not trained.
    """

    steps: Annotated[int, "optimiser steps of the run", at_least(0)]
    batch_size: Annotated[int, "sentences in a batch (D30)", at_least(2)] = 64
    learning_rate: Annotated[float, "AdamW's rate at the start; it falls to 0", at_least(0)] = 3e-5
    weight_decay: Annotated[float, "AdamW's weight decay (D31)", at_least(0)] = 1e-6
    warmup_fraction: Annotated[float, "share of the steps in which the rate rises (D31)", SHARE] = (
        0.0
    )
    clip_norm: Annotated[float, "largest norm of the gradient", ABOVE_0] = 1.0
    beta1: Annotated[float, "AdamW's decay of the mean gradient", SHARE] = 0.9
    beta2: Annotated[float, "AdamW's decay of the mean squared gradient", SHARE] = 0.999
    epsilon: Annotated[float, "what AdamW adds to the root of the squared gradient", ABOVE_0] = 1e-8
    adamw: Annotated[Literal["torch", "transformers"], "whose form of AdamW (D84)"] = "torch"
    new_layer_factor: Annotated[float, "rate of new layers by learning_rate", ABOVE_0] = 1.0
    precision: Annotated[Literal["fp32", "tf32", "fp16", "bf16"], "arithmetic (D34, D71)"] = "fp32"


@frozen
class Evaluation(Section):
    """What is scored, when and on what. `transfer` costs minutes on real data (MoCoSE, Table 2)."""

    digest: Annotated[str, "SHA-256 of the evaluation sets' content"]
    every: Annotated[int, "steps between development checks (D30, D74, D88)", at_least(1)] = 100
    # one of these two is None: they go to sections of methods when NUMERICS rises next
    vector: Annotated[
        Literal["cls_before_pooler", "pooler", "projection"] | None,
        "MoCoSE's sentence vector (D10)",
    ] = None
    head: Annotated[
        Literal["on", "off", "never"] | None,
        "SimCSE's and ESimCSE's head on [CLS] in evaluation (D65); never: nor in training",
    ] = None
    apply_augmentation: Annotated[bool, "augment the embeddings in evaluation, too (D21)"] = False
    transfer: Annotated[bool, "add the transfer tasks' accuracies at the end (D42)"] = neutral(
        False
    )

    in_paths = "eval"


@frozen
class Selection(Section):
    """Which checkpoint is reported (D40, D41)."""

    metric: Annotated[Literal["stsb_dev", "sts_test_avg", "last"], "by what it is chosen (D40)"] = (
        "stsb_dev"
    )
    score: Annotated[
        Literal["mean_of_7", "mean_of_8_rounded"] | None, "how the tests become one score (D41)"
    ] = None

    in_paths = "select"

    def check(self) -> None:
        if (self.metric == "sts_test_avg") != (self.score is not None):
            raise UserError(
                "select.score goes with select.metric=sts_test_avg alone; set it or leave it none."
            )


@frozen
class STS(Section):
    """How the subsets of one test set become one Spearman: over all pairs, or a mean of subsets
    (D80)."""

    aggregate: Annotated[Literal["all", "mean", "wmean"], "how subsets become one score (D80)"] = (
        "all"
    )


@frozen
class Seed(Section):
    """D35: `model` seeds heads and queue; `data` seeds order, dropout and augmentation."""

    model: Annotated[int, "seed of heads and queue (D35)", at_least(0)] = 0
    data: Annotated[int, "seed of order, dropout and augmentation (D35)", at_least(0)] = 0


@frozen
class Measure:
    """What a method's sections are scaled by, as ratios to the paper's, and the paper's steps."""

    batches: float
    width: float
    paper_steps: float
    hub_models: bool  # whether models that rewrite text are fetched


@frozen
class RunConfig(Section):
    """One run: a cell of a study under one seed. Each method has a class with its sections."""

    scale: Annotated[str, "how large the run is"]
    method: Annotated[str, "what is trained"]
    data: Data
    encoder: Encoder
    loss: Loss
    train: Train
    eval: Evaluation
    select: Selection
    sts: STS
    seed: Seed

    in_paths = "run"
    cadence = 125  # steps between development checks in the method's paper
    trains = True  # False: the run scores the encoder that it starts from
    columns = 1  # columns of the training text that the method reads
    unread: ClassVar[tuple[str, ...]] = ()  # paths of fields that the method does not read

    def check(self) -> None:
        size = self.train.batch_size
        rows = self.data.rows
        if self.trains and self.train.steps == 0:
            raise UserError(
                f"train.steps is 0 with batches of {size}; give a step or smaller batches."
            )
        if self.data.drop_last and rows < size:
            raise UserError(
                f"train.batch_size is {size} but the training text has only {rows} sentences; "
                "give more text or a smaller batch."
            )

    def check_device(self, positions: int, device: str) -> None:
        """Raise UserError for a precision that the device, `cpu` or `cuda`, does not train in, and
        for sentences beyond the encoder's positions: a GPU pads them to the longest that repetition
        can make."""
        precision = self.train.precision
        length = self.data.max_length
        if precision == "fp16":
            raise UserError(
                "train.precision=fp16 can no longer be trained; use --set train.precision=bf16 or "
                "fp32."
            )
        if precision == "tf32" and device != "cuda":
            raise UserError(
                "train.precision=tf32 needs a GPU; use --set train.precision=fp32 or bf16 on a CPU."
            )
        padded = self.longest if device == "cuda" else length
        if padded > positions:
            more = (
                f" and repetition makes it up to {self.longest}," if self.longest > length else ""
            )
            raise UserError(
                f"data.max_length is {length}{more} but the encoder has only {positions} "
                "positions; lower it."
            )

    def scaled(self, measure: Measure) -> dict[str, object]:
        """What a scale changes in the method's own sections, by dotted path."""
        return {}

    @property
    def passes(self) -> float:
        """Work of a training step, in forward passes of the batch; a backward pass counts as
        two."""
        return 6.0

    @property
    def queue_size(self) -> int:
        """Sentences that the run's queue holds; 0 without a queue."""
        return 0

    def initial_share(self, step: int) -> float:
        """Share of its initial weights that a slowly moving branch has after `step` steps; else
        0."""
        return 0.0

    @property
    def memory(self) -> float:
        """Steps that slow branch and queue look back: 1 / (1 - decay) + queue / batch; 0 without
        both."""
        return 0.0

    @property
    def rewriting(self) -> Any:
        """How the text of a view is rewritten before training (MoCoSE's TextView), if it is."""
        return None

    @property
    def keepable(self) -> bool:
        """Whether the vectors that are scored are [CLS] without a head, which a kept model's folder
        holds."""
        return self.eval.head != "on" and self.eval.vector in (None, "cls_before_pooler")

    @property
    def disturbed(self) -> bool:
        """Whether sentences are disturbed when scored, which a kept model does not do (D20,
        D21)."""
        return self.eval.apply_augmentation

    @property
    def longest(self) -> int:
        """The most tokens that a training sentence of this run can have."""
        return self.data.max_length


def needs_columns(count: int) -> str:
    """What a method needs that reads so many columns of the training text."""
    option = f"--text FILE?columns={','.join('abcdefgh'[:count])}"
    return f"needs a training text with {count} columns; give {option} at scale mini or paper"


def scaled_count(count: int, factor: float) -> int:
    """A count under a scale, at least 1."""
    return max(1, round(count * factor))
