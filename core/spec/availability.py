"""What a run needs that a scale or a device may not have. Known before any training, so that a plan can leave a cell out and say why."""

from __future__ import annotations

from core.spec.errors import UserError
from core.spec.rewriting import OWN_ENCODER
from core.spec.run import RunConfig
from core.spec.scale import SCALES, Scale, Sources
from core.spec.table import Metric


def unavailable(run: RunConfig, scale: str, sources: Sources) -> str | None:
    """Why this run (as `at_scale` made it) cannot be made at this scale with this encoder, in a few words without a full stop, or
    None if it can.

    Text-level views by a model need that model: another one's only where the scale fetches models from the hub, the run's own
    encoder's only where its checkpoint has a masked-word head.
    """
    text = run.rewriting
    if text is None or text.model is None:
        return None
    if text.model == OWN_ENCODER:
        if sources.encoder_masked_words:
            return None
        return f"needs a masked-word head, which the encoder {sources.encoder_name or 'at hand'} does not have"
    if SCALES[scale].hub_models:
        return None
    return f"needs {text.model}, which scale {scale} does not have"


def unmeasured(metric: Metric, transfer: bool, scale: Scale) -> str | None:
    """Why no run of this scale leaves a score on this metric's task, likewise; None if it does. `transfer`: whether the run scores transfer tasks."""
    if metric.quantity.startswith("accuracy"):
        if not transfer:
            return "its runs score no transfer tasks (eval.transfer)"
        return None if metric.task in ("avg_transfer", *scale.probes) else f"scale {scale.name} has no transfer task {metric.task}"
    scores = metric.quantity.startswith(("spearman", "like_length"))
    return f"scale {scale.name} has no test set {metric.task}" if scores and metric.task not in ("avg", "dev", *scale.tests) else None


def check_precision(run: RunConfig, device: str) -> None:
    """Raise UserError for a precision in which this kind of device, `cpu` or `cuda`, does not train."""
    if run.train.precision == "fp16":
        raise UserError("train.precision=fp16 can no longer be trained; use --set train.precision=bf16, or fp32.")
    if run.train.precision == "tf32" and device != "cuda":
        raise UserError("train.precision=tf32 needs a GPU; use --set train.precision=fp32 or bf16 on a CPU.")


def check_length(run: RunConfig, places: int, device: str) -> None:
    """Raise UserError for training sentences that an encoder with so many positions cannot read. A GPU pads them to the longest that
    repetition can make; a CPU reads only what is there."""
    if (run.longest if device == "cuda" else run.data.max_length) > places:
        more = f" and repetition makes it up to {run.longest}," if run.longest > run.data.max_length else ""
        raise UserError(f"data.max_length is {run.data.max_length}{more} but the encoder has only {places} positions; lower it.")
