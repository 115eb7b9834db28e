"""Does FGSM make the two views of a sentence differ? Both views of fixed sentences through the online encoder, dropout off (D18, D19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from core.engine.encoder.packing import Packed
from core.engine.evaluation.metrics import cosines

if TYPE_CHECKING:
    from core.methods.mocose.model import MoCoSE


def view_differences(model: MoCoSE, batch: Packed) -> dict[str, float]:
    """How far apart FGSM puts what the two branches are given of these sentences; nothing without FGSM, or if not finite.

    view_cosine: mean cosine of the [CLS] of the online and of the target view's input, perturbed as the run perturbs them.
    view_cosine_plain: the same without FGSM; 1 up to rounding. view_input_difference: mean over tokens of
    |online - target| / |target|, of the word embeddings that enter the encoder.
    Both inputs go through the online encoder, as the target branch's weights are others anyway; no augmentation, full precision.
    Views of `fgsm.views=both_same` are perturbed alike, so they do not differ. Nothing is drawn from the run's streams, and the model
    stays as it is.
    """
    fgsm = model.config.fgsm
    if fgsm.gradient == "none":
        return {}
    was_training = model.training
    model.eval()
    sign = model.stale.sign_for(batch) if fgsm.gradient == "stale_online" else model.sign_at(batch)  # (T, hidden)
    with torch.no_grad():
        words = model.encoder.embeddings.lookup(batch)  # (T, hidden)
        online = words if sign is None else words + fgsm.epsilon * sign  # before the first step there is no gradient to replay
        target = words if fgsm.views == "online_only" else online
        real = batch.mask[batch.row, batch.slot]  # (T,)
        found = {
            "view_cosine": _mean_cosine(model, batch, online, target),
            "view_cosine_plain": _mean_cosine(model, batch, words, words.clone()),
            "view_input_difference": float(((online - target).norm(dim=1) / target.norm(dim=1))[real].mean()),
        }
    model.train(was_training)
    return {name: value for name, value in found.items() if np.isfinite(value)}


def _mean_cosine(model: MoCoSE, batch: Packed, online: Tensor, target: Tensor) -> float:
    """Mean cosine of the online encoder's [CLS] of two inputs (T, hidden), each encoded on its own."""
    encoder = model.encoder
    one, other = (encoder.stack(encoder.embeddings.finish(words, batch.slot), batch) for words in (online, target))  # (B, hidden)
    return float(cosines(one.float().cpu().numpy(), other.float().cpu().numpy()).mean(dtype=np.float64))
