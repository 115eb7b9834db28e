"""MoCoSE: an online and a target branch over one embedding layer, a queue of keys, FGSM
(studies/reference/methods.md)."""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.engine.encoder.bert import Embeddings, Encoder
from core.engine.encoder.dropout import dropping
from core.engine.encoder.packing import Packed
from core.engine.streams import torch_stream
from core.methods import contrastive
from core.methods.contrastive import Contrastive, TrainingText, averaged_pairs, update_averages
from core.methods.heads import pooler, predictor, projection
from core.methods.losses import info_nce
from core.methods.mocose.augmentation import cutoff_mask, shuffled_positions, summarised
from core.methods.mocose.fgsm import StaleGradient, changed_share, view_differences
from core.methods.mocose.settings import MoCoSERun, ema_decay, traceable_distance
from core.methods.queue import KeyQueue
from core.spec.result import Row

GENERATORS = ("clustering", "augmenting", "augmenting_tests")


class MoCoSE(Contrastive):
    """The model of one run."""

    def __init__(self, config: MoCoSERun, encoder: Encoder, device: torch.device):
        super().__init__()
        self.config = config
        weights = torch_stream(config.seed.model, "heads")
        self.encoder = encoder
        self.pooler = pooler(encoder, weights)
        self.projection = projection(config.heads, encoder, weights)
        self.predictor = predictor(config.heads, encoder, weights)
        self.target_embeddings = (
            copy.deepcopy(encoder.embeddings) if config.target.embeddings == "ema" else None
        )
        self.target_stack = copy.deepcopy(encoder.stack)
        self.target_pooler = copy.deepcopy(self.pooler)
        self.target_projection = copy.deepcopy(self.projection)
        followed = [(self.target_stack, encoder.stack), (self.target_pooler, self.pooler)]
        if self.target_embeddings is not None:
            followed.append((self.target_embeddings, encoder.embeddings))
        for target, _ in followed:
            target.requires_grad_(False)
        self.target_projection.requires_grad_(not config.target.freeze_projection)  # D7
        followed.append((self.target_projection, self.projection))
        self.to(device)
        self.trained = [p for p in self.parameters() if p.requires_grad]
        self.dropping = dropping(config.seed.data, device, self)
        self.averaged = averaged_pairs([target for target, _ in followed], [online for _, online in followed])
        self.queue = KeyQueue(
            config.queue, config.heads.out_size, torch_stream(config.seed.model, "queue"), device
        )
        self.clustering = torch_stream(config.seed.model, "queue clusters")
        self.augmenting = torch_stream(config.seed.data, "augmentation")
        self.augmenting_tests = torch_stream(config.seed.data, "augmentation of tests")
        self.stale = StaleGradient()
        self.changed_share: float | None = None
        self.capturable = config.queue.negatives != "kmeans"  # whose first centres are drawn on the CPU
        self.scored_by_slot, self.updates = config.fgsm.at_eval, 0

    def form(self) -> Hashable:
        """How full the queue is, the size of the stored gradient, and whether FGSM's share is counted."""
        return (
            self.queue.form(),
            None if self.stale.signs is None else self.stale.signs.shape,
            self.changed_share is None,
        )

    def train(self, mode: bool = True) -> MoCoSE:
        """Training mode, with dropout in the target branch as target.dropout says (D9)."""
        super().train(mode)
        if self.config.target.dropout == "off":
            for module in (
                self.target_embeddings,
                self.target_stack,
                self.target_pooler,
                self.target_projection,
            ):
                if module is not None:
                    module.eval()
        return self

    def loss(self, batch: Packed, rewritten: Packed | None = None) -> Tensor:
        """The loss of one training step against the queue as it was before this batch; then the batch's keys
        are pushed.

        `rewritten` is what the target branch is given where it has a text of its own (Table 5's text-level
        views).
        """
        other = batch if rewritten is None else rewritten
        fgsm = self.config.fgsm
        negatives = summarised(self.config.queue, self.queue.visible(), self.clustering)  # (width, out_size)
        sign, keys = None, None  # (T, hidden), (B, out_size)
        if fgsm.gradient == "current":
            sign, keys = self._current_sign(batch, other, negatives)
        elif fgsm.gradient == "stale_online":
            sign = self.stale.sign_for(batch)
        with self.dropping.again():
            keys = self._keys(other, self._sign_of_target(sign, batch, other)) if keys is None else keys
            loss, words = self._contrast(batch, keys, negatives, sign)
        if sign is not None and self.changed_share is None:  # once is enough, and it makes a GPU wait
            self.changed_share = changed_share(words, fgsm.epsilon, sign, batch)
        if fgsm.gradient == "stale_online":
            words.retain_grad()
            self.stale.watch(words, batch)
        self.queue.push(keys)
        return loss

    @classmethod
    def batches(
        cls, config: MoCoSERun, text: TrainingText, device: torch.device, drawing: random.Random
    ) -> contrastive.Views:
        return Views(config, text, device, drawing)

    def before_step(self) -> None:
        if self.config.ema.when == "before_forward":
            self._average()  # the first call changes nothing: the copies are still equal

    def after_update(self) -> None:
        if self.config.fgsm.gradient == "stale_online":
            self.stale.keep()

    def after_step(self) -> None:
        if self.config.ema.when == "after_optimizer_step":
            if self.updates == 0:
                # the update before the first forward is a no-op; it counts, so both timings agree (D5)
                self.updates = 1
            self._average()

    @property
    def draws_when_scored(self) -> bool:
        return self.config.eval.apply_augmentation and self.config.aug.active()

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, hidden) or (B, out_size), in the model's mode (D10, D20, D21)."""
        words = self.encoder.embeddings.lookup(batch)
        sign = self.stale.sign_for(batch) if self.config.fgsm.at_eval else None
        if sign is not None:  # before the first step there is no gradient to replay
            words = words + self.config.fgsm.epsilon * sign
        if self.draws_when_scored:
            x = self.encoder.embeddings.finish(
                *self._augmented(words, batch, self.augmenting_tests, padded=batch.width)
            )
        else:
            x = self.encoder.embeddings.finish(words, batch.slot)
        cls = self.encoder.stack(x, batch)
        if self.config.eval.vector == "cls_before_pooler":
            return cls
        pooled = self.pooler(cls)
        return pooled if self.config.eval.vector == "pooler" else self.projection(pooled)

    def scored_parts(self) -> nn.ModuleDict:
        return nn.ModuleDict({"encoder": self.encoder, "pooler": self.pooler, "projection": self.projection})

    def new_layers(self) -> list[nn.Module]:
        """The trained layers that start at random; a checkpoint's own pooler does not."""
        pooler = [] if self.encoder.pretrained_pooler[0] is not None else [self.pooler]
        return [*pooler, self.projection, self.predictor, self.target_projection]

    def diagnostics(self, batch: Packed) -> dict[str, float | None]:
        """Numbers about the method that a run keeps: share of word-embedding entries that FGSM changed where
        it first acted (D19), and how far it puts the two views of these sentences apart at the end."""
        if self.config.fgsm.gradient == "none":
            return {}
        was_training = self.training
        self.eval()
        stale = self.config.fgsm.gradient == "stale_online"
        sign = self.stale.sign_for(batch) if stale else self.sign_at(batch)  # (T, hidden)
        differences = view_differences(self.encoder, self.config.fgsm, sign, batch)
        self.train(was_training)
        return {"fgsm_changed_fraction": self.changed_share, **differences}

    def method_rows(self, selected_step: int) -> list[Row]:
        """Maximum traceable distance: nominal, mean over the run, and at the selected step (D3)."""
        size, batch, steps = self.config.queue.size, self.config.train.batch_size, self.config.train.steps

        def at(step: int) -> float:
            return traceable_distance(ema_decay(self.config.ema, step, steps), size, batch)

        values = [value for value in map(at, range(1, steps + 1)) if value != float("inf")]
        return [
            Row(
                "last", "train", "mtd_nominal", steps, traceable_distance(self.config.ema.start, size, batch)
            ),
            Row("last", "train", "mtd_at_start", 1, at(1)),
            Row(
                "last",
                "train",
                "mtd_mean_over_run",
                steps,
                float(np.mean(values)) if values else float("inf"),
            ),
            Row("selected", "train", "mtd_at_selected_checkpoint", selected_step, at(selected_step)),
        ]

    def sign_at(self, batch: Packed) -> Tensor:
        """Sign of the gradient of the loss at these sentences' word embeddings, (T, hidden), in the mode the
        model is in, without augmentation. Nothing is drawn from the run's streams."""
        negatives = summarised(self.config.queue, self.queue.visible(), self.clustering.clone_state())
        words = self.encoder.embeddings.lookup(batch)  # (T, hidden)
        with torch.no_grad():
            keys = self._keyed(self._followed_embeddings().lookup(batch), batch.slot, batch)  # (B, out_size)
        loss = self._compared(words, batch.slot, batch, keys, negatives)
        return torch.autograd.grad(loss, words)[0].sign()

    def _average(self) -> None:
        self.updates += 1
        update_averages(*self.averaged, ema_decay(self.config.ema, self.updates, self.config.train.steps))
        self.weights_moved(self.averaged[0])

    def _sign_of_target(self, sign: Tensor | None, batch: Packed, other: Packed) -> Tensor | None:
        """What the target branch is perturbed with, given the online branch's (T, hidden)."""
        if self.config.fgsm.views == "online_only":
            return None
        return sign if other is batch else self.stale.sign_for(other)  # by slot, whatever stands there

    def _keys(self, other: Packed, sign: Tensor | None) -> Tensor:
        """The target branch's vectors of a batch, (B, out_size)."""
        with torch.set_grad_enabled(not self.config.target.stop_gradient):  # D6
            words = self._followed_embeddings().lookup(other)
            if sign is not None:
                words = words + self.config.fgsm.epsilon * sign
            words, positions = self._augmented(words, other, self.augmenting)
        return self._keyed(words, positions, other)

    def _keyed(self, words: Tensor, positions: Tensor, other: Packed) -> Tensor:
        """Keys (B, out_size) from word embeddings (T, hidden) and positions (T,)."""
        with torch.set_grad_enabled(not self.config.target.stop_gradient):  # D6
            x = self._followed_embeddings().finish(words, positions)
            return self.target_projection(self.target_pooler(self.target_stack(x, other)))

    def _contrast(
        self, batch: Packed, keys: Tensor, negatives: Tensor, sign: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Loss against these keys (B, out_size), and the online view's word embeddings (T, hidden)."""
        words = self.encoder.embeddings.lookup(batch)
        if not words.requires_grad:
            words.requires_grad_()  # where the weights are fixed
        perturbed = words if sign is None else words + self.config.fgsm.epsilon * sign
        return self._compared(
            *self._augmented(perturbed, batch, self.augmenting), batch, keys, negatives
        ), words

    def _compared(
        self, words: Tensor, positions: Tensor, batch: Packed, keys: Tensor, negatives: Tensor
    ) -> Tensor:
        """The loss, from words (T, hidden), positions (T,), keys (B, out_size) and negatives."""
        cls = self.encoder.stack(self.encoder.embeddings.finish(words, positions), batch)
        query = self.predictor(self.projection(self.pooler(cls)))  # (B, out_size)
        loss = self.config.loss
        return info_nce(
            query, keys, negatives, temperature=loss.temperature, in_batch_negatives=loss.in_batch_negatives
        )

    def _followed_embeddings(self) -> Embeddings:
        """The target branch's: its own (D8), or the online branch's."""
        return self.target_embeddings if self.target_embeddings is not None else self.encoder.embeddings

    def _augmented(
        self, words: Tensor, batch: Packed, generator: torch.Generator | None, *, padded: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Words (T, hidden) and positions (T,) with the run's embedding-level augmentations drawn afresh:
        from the generator, or for a padded batch from its device's own, as its dropout."""
        aug, padded = self.config.aug, padded or self._padded_width(batch)
        generator = generator if batch.bias is None else None
        mask = cutoff_mask(aug, batch, padded, self.encoder.hidden, generator)
        words = words if mask is None else words * mask
        return words, shuffled_positions(aug, batch, padded, generator)

    def _padded_width(self, batch: Packed) -> int:
        """Slots of the papers' code: max_length with static padding, else the longest sentence (D33)."""
        return self.config.data.max_length if self.config.data.padding == "static" else batch.width

    @contextlib.contextmanager
    def _fixed(self) -> Iterator[None]:
        """Within this context no weight has a gradient, which `products.linear` would otherwise compute."""
        for weight in self.trained:
            weight.requires_grad_(False)
        try:
            yield
        finally:
            for weight in self.trained:
                weight.requires_grad_(True)

    def _current_sign(self, batch: Packed, other: Packed, negatives: Tensor) -> tuple[Tensor, Tensor | None]:
        """Sign (T, hidden) of the gradient, at the current input, of the very loss that this step has before
        FGSM: same dropout, same augmentations (D18); and the keys (B, out_size) of the step where FGSM leaves
        their view alone, else None.

        It costs a forward pass of the online branch and a backward pass without gradients of weights.
        """
        keys = None if self.config.fgsm.views == "both_same" else self._keys(other, None)
        augmented = self.augmenting.get_state() if self.config.aug.active() else None
        with self._fixed(), self.dropping.ahead():
            loss, words = self._contrast(
                batch, (self._keys(other, None) if keys is None else keys).detach(), negatives, None
            )
            with torch.autocast("cpu", enabled=False):  # as the step's own gradient
                sign = torch.autograd.grad(loss, words)[0].sign()
        if augmented is not None:
            self.augmenting.set_state(augmented)
        return sign, keys

    def get_extra_state(self) -> dict[str, Any]:
        """What the next step depends on beside weights, queue, dropout and the last gradient."""
        drawing = {name: getattr(self, name).get_state() for name in GENERATORS}
        return {**drawing, "updates": self.updates, "changed_share": self.changed_share}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Put back what `get_extra_state` gave. Raises KeyError."""
        for name in GENERATORS:
            getattr(self, name).set_state(state[name].cpu())
        self.updates, self.changed_share = state["updates"], state["changed_share"]


class Views(contrastive.Views):
    """Each batch once, and beside it the target branch's own text if there is one."""

    config: MoCoSERun

    def __init__(self, config: MoCoSERun, text: TrainingText, device: torch.device, drawing: random.Random):
        super().__init__(config, text, device, drawing)
        if config.aug.active() and config.data.padding == "dynamic":
            self.widths = 1  # augmentations depend on the longest sentence of the batch (D22, D24)

    def make(self, indices: Sequence[int]) -> tuple[Packed | Tensor, ...]:
        tables = [self.text.table] if self.text.rewritten is None else [self.text.table, self.text.rewritten]
        return tuple(self.batch([table[i] for i in indices]) for table in tables)


Model = MoCoSE
