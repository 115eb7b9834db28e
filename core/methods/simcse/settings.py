"""SimCSE's runs: rules and profiles. No torch. SimCSE, the papers' baseline, has no section of its
own."""

from __future__ import annotations

from typing import Any, Literal

from core.config.methods import Method
from core.config.run import (
    PAPER_STEPS,
    STS,
    Data,
    Encoder,
    Evaluation,
    Loss,
    RunConfig,
    Seed,
    Selection,
    Train,
)
from core.config.section import frozen
from core.errors import UserError


def check_two_views(run: RunConfig) -> None:
    """The rules of every method that contrasts two views by one encoder and its head."""
    RunConfig.check(run)
    if run.eval.head is None or run.eval.vector is not None:
        raise UserError(f"method {run.method} needs eval.head and takes no eval.vector.")
    if not run.loss.in_batch_negatives and run.queue_size == 0:
        raise UserError(
            f"{run.method} without a queue has in-batch negatives alone; leave "
            "loss.in_batch_negatives true."
        )
    if run.eval.apply_augmentation:
        raise UserError(
            "eval.apply_augmentation concerns MoCoSE's embedding-level augmentations; leave it "
            "false (D21)."
        )


@frozen
class SimCSERun(RunConfig):
    """One run of SimCSE."""

    method: Literal["simcse"] = "simcse"

    check = check_two_views


SHARED: dict[str, Any] = {  # with ESimCSE
    "scale": "paper",
    "data": Data(digest="", rows=1_000_000, padding="dynamic"),
    "encoder": Encoder(digest=""),
    "loss": Loss(),
    "train": Train(steps=PAPER_STEPS, weight_decay=0.0, precision="fp16"),
    "eval": Evaluation(digest="", every=125, head="off"),
    "select": Selection(),
    "sts": STS(),
    "seed": Seed(),
}

METHOD = Method(
    title="SimCSE",
    paper=SimCSERun(**SHARED),
    repaired={},
    # D78, D84, D35
    released={"data.drop_last": False, "train.adamw": "transformers", "seed.data": 42},
)
