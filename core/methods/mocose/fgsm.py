"""FGSM as released: the sign of the previous step's gradient, applied slot by slot to the next batch (D18);
what it changes (D18, D19)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from core.engine.encoder.bert import Encoder
from core.engine.encoder.packing import Packed
from core.engine.evaluation.metrics import cosines
from core.methods.contrastive import Kept
from core.methods.mocose.settings import FGSM


class StaleGradient(Kept):
    """Signs of the online view's gradient of the loss with respect to its word embeddings, kept by batch slot
    and token slot.

    Padding slots have no gradient, so a token that stands where the previous batch had padding is not
    changed.
    """

    kept = ("signs",)

    def __init__(self) -> None:
        super().__init__()
        self.signs: Tensor | None = None  # (B, L, hidden)
        self._watched: tuple[Tensor, Packed] | None = None

    def sign_for(self, batch: Packed) -> Tensor | None:
        """Signs for this batch's tokens, (T, hidden), 0 beyond stored slots; None before a backward."""
        if self.signs is None:
            return None
        rows, width, _ = self.signs.shape
        if batch.bias is not None and batch.batch == rows and batch.width <= width:
            return self.signs[:, : batch.width].flatten(0, 1)
        inside = (batch.row < rows) & (batch.slot < width)  # (T,)
        picked = self.signs[batch.row.clamp(max=rows - 1), batch.slot.clamp(max=width - 1)]  # (T, hidden)
        return picked * inside.unsqueeze(1)

    def watch(self, words: Tensor, batch: Packed) -> None:
        """Remember the looked-up embeddings (T, hidden) whose gradient the coming backward fills."""
        words.retain_grad()
        self._watched = (words, batch)

    def keep(self) -> None:
        """Store the signs of the gradient that the backward left, and forget the batch."""
        assert self._watched is not None and self._watched[0].grad is not None, "a backward pass has been"
        (words, batch), self._watched = self._watched, None
        signs = words.grad.sign()  # type: ignore[union-attr]  # (T, hidden)
        if batch.bias is None:
            grid = words.new_zeros(batch.batch * batch.width, words.shape[1])
            grid[batch.row * batch.width + batch.slot] = signs
            signs = grid
        signs = signs.view(batch.batch, batch.width, -1)
        held = self.signs
        if batch.bias is None or held is None or len(held) != len(signs) or held.shape[1] < batch.width:
            self.signs = signs
            return
        held[:, : batch.width] = signs  # in the memory of earlier ones, where a CUDA graph finds them
        held[:, batch.width :] = 0.0


@torch.no_grad()
def changed_share(words: Tensor, epsilon: float, sign: Tensor, batch: Packed) -> float:
    """Share of a batch's word embeddings (T, hidden) that epsilon * sign changes, without padding (D19)."""
    changed = words + epsilon * sign != words  # (T, hidden)
    return float(changed[batch.mask[batch.row, batch.slot]].float().mean())


@torch.no_grad()
def view_differences(encoder: Encoder, fgsm: FGSM, sign: Tensor | None, batch: Packed) -> dict[str, float]:
    """How far apart FGSM puts the inputs of the two branches for these sentences; no entry that is not
    finite.

    view_cosine: mean cosine of the [CLS] of the online and of the target view's input, perturbed as the run
    perturbs them by `sign` (T, hidden). view_cosine_plain: the same without FGSM; 1 up to rounding.
    view_input_difference: mean over tokens of |online - target| / |target|, of the word embeddings that enter
    the encoder. Both inputs go through the online encoder, since the target branch has other weights, without
    augmentation. Views of `fgsm.views=both_same` are perturbed alike, so they do not differ.
    """

    def cls(words: Tensor) -> np.ndarray:
        """[CLS] of word embeddings (T, hidden), (B, hidden)."""
        return encoder.stack(encoder.embeddings.finish(words, batch.slot), batch).float().cpu().numpy()

    words = encoder.embeddings.lookup(batch)  # (T, hidden)
    online = words if sign is None else words + fgsm.epsilon * sign  # no gradient before the first step
    target = words if fgsm.views == "online_only" else online
    real = batch.mask[batch.row, batch.slot]  # (T,)
    differences = {
        "view_cosine": float(cosines(cls(online), cls(target)).mean(dtype=np.float64)),
        "view_cosine_plain": float(cosines(cls(words), cls(words)).mean(dtype=np.float64)),
        "view_input_difference": float(((online - target).norm(dim=1) / target.norm(dim=1))[real].mean()),
    }
    return {name: value for name, value in differences.items() if np.isfinite(value)}
