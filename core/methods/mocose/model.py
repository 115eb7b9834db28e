"""MoCoSE: an online and a target branch over one embedding layer, a queue of keys, FGSM
(studies/reference/methods.md)."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Hashable

import numpy as np
import torch
from torch import Generator, Tensor, nn

from core.engine.encoder.bert import Encoder
from core.engine.encoder.dropout import dropping
from core.engine.encoder.packing import Packed
from core.engine.streams import torch_stream
from core.methods.contrastive import Batcher, Contrastive, Kept, Maker, TrainingText, followed
from core.methods.heads import pooler, predictor, projection
from core.methods.losses import info_nce
from core.methods.mocose.augmentation import cutoff_mask, shuffled_positions, summarised
from core.methods.mocose.fgsm import StaleGradient, changed_share, view_differences
from core.methods.mocose.settings import MoCoSERun, ema_decay, traceable_distance
from core.methods.queue import KeyQueue
from core.spec.result import Row


class MoCoSE(Contrastive, Kept):
    """The model of one run."""

    kept = ("clustering", "augmenting", "augmenting_tests", "updates", "changed_share")

    def __init__(self, config: MoCoSERun, encoder: Encoder, device: torch.device):
        super().__init__()
        self.config = config
        weights = torch_stream(config.seed.model, "heads")
        self.encoder = encoder
        self.pooler = pooler(encoder, weights)
        self.projection = projection(config.heads, encoder, weights)
        self.predictor = predictor(config.heads, encoder, weights)
        own = config.target.embeddings == "ema"  # else the online branch's (D8)
        self.target_embeddings = copy.deepcopy(encoder.embeddings) if own else None
        self.target_stack = copy.deepcopy(encoder.stack)
        self.target_pooler = copy.deepcopy(self.pooler)
        self.target_projection = copy.deepcopy(self.projection)
        pairs = [
            (self.target_stack, encoder.stack),
            (self.target_pooler, self.pooler),
            (self.target_embeddings, encoder.embeddings),
            (self.target_projection, self.projection),
        ]
        for target, _ in pairs:
            if target is not None:
                target.requires_grad_(False)
        self.target_projection.requires_grad_(not config.target.freeze_projection)  # D7
        self.to(device)
        self.averaged = followed(pairs)
        self.trained = [p for p in self.parameters() if p.requires_grad]
        self.dropping = dropping(config.seed.data, device, self)
        random_keys = torch_stream(config.seed.model, "queue")
        self.queue = KeyQueue(config.queue, config.heads.out_size, random_keys, device)
        self.clustering = torch_stream(config.seed.model, "queue clusters")
        self.augmenting = torch_stream(config.seed.data, "augmentation")
        self.augmenting_tests = torch_stream(config.seed.data, "augmentation of tests")
        self.stale = StaleGradient()
        self.changed_share: float | None = None
        self.capturable = config.queue.negatives != "kmeans"  # whose first centres are drawn on the CPU
        self.scored_by_slot, self.updates = config.fgsm.at_eval, 0
        self.draws_when_scored = config.eval.apply_augmentation and config.aug.active()

    def form(self) -> Hashable:
        """How full the queue is, the size of the stored gradient, and whether FGSM's share is counted."""
        signs = self.stale.signs
        return self.queue.form(), None if signs is None else signs.shape, self.changed_share is None

    def train(self, mode: bool = True) -> MoCoSE:
        """Training mode, with dropout in the target branch as target.dropout says (D9)."""
        super().train(mode)
        for name, module in self.named_children():
            if name.startswith("target_") and self.config.target.dropout == "off":
                module.eval()
        return self

    @classmethod
    def batches(cls, config: MoCoSERun, text: TrainingText, batch: Batcher, rng: random.Random) -> Maker:
        """Each batch once, and beside it the target branch's own text if there is one. Augmentations depend
        on the longest sentence where padding is dynamic (D22, D24)."""
        tables = [table for table in (text.table, text.rewritten) if table is not None]
        exact = config.aug.active() and config.data.padding == "dynamic"
        return lambda indices: tuple(batch([table[i] for i in indices], exact) for table in tables)

    def before_step(self) -> None:
        if self.config.ema.when == "before_forward":
            self._average()  # the first call changes nothing: the copies are still equal

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
            if fgsm.views == "online_only":  # FGSM leaves the keys alone
                keys = self._keys(other, None, self.augmenting)
            sign = self._sign_ahead(batch, other, keys, negatives)
        elif fgsm.gradient == "stale_online":
            sign = self.stale.sign_for(batch)
        with self.dropping.again():
            if keys is None:
                of_target = None if fgsm.views == "online_only" else sign
                if of_target is not None and other is not batch:
                    of_target = self.stale.sign_for(other)  # by slot, whatever stands there
                keys = self._keys(other, of_target, self.augmenting)
            loss, words = self._contrast(batch, keys, negatives, sign, self.augmenting)
        if sign is not None and self.changed_share is None:  # once is enough, and it makes a GPU wait
            self.changed_share = changed_share(words, fgsm.epsilon, sign, batch)
        if fgsm.gradient == "stale_online":
            self.stale.watch(words, batch)
        self.queue.push(keys)
        return loss

    def after_update(self) -> None:
        if self.config.fgsm.gradient == "stale_online":
            self.stale.keep()

    def after_step(self) -> None:
        if self.config.ema.when == "after_optimizer_step":
            # the update before the first forward is a no-op; it counts, so both timings agree (D5)
            self.updates = max(1, self.updates)
            self._average()

    def _average(self) -> None:
        self.updates += 1
        self.average(ema_decay(self.config.ema, self.updates, self.config.train.steps))

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, hidden) or (B, out_size), in the model's mode (D10, D20, D21)."""
        # before the first step there is no gradient to replay
        sign = self.stale.sign_for(batch) if self.config.fgsm.at_eval else None
        words = self._perturbed(self.encoder.embeddings.lookup(batch), sign)
        drawing = self.augmenting_tests if self.draws_when_scored else None
        x = self.encoder.embeddings.finish(*self._augmented(words, batch, drawing, batch.width))
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
        ema, steps, queue = self.config.ema, self.config.train.steps, self.config.queue.size
        decays = [ema.start, *(ema_decay(ema, step, steps) for step in range(1, steps + 1))]
        distances = [traceable_distance(decay, queue, self.config.train.batch_size) for decay in decays]
        finite = [distance for distance in distances[1:] if distance != math.inf]
        return [
            Row("last", "train", "mtd_nominal", steps, distances[0]),
            Row("last", "train", "mtd_at_start", 1, distances[1]),
            Row("last", "train", "mtd_mean_over_run", steps, float(np.mean(finite)) if finite else math.inf),
            Row("selected", "train", "mtd_at_selected_checkpoint", selected_step, distances[selected_step]),
        ]

    def sign_at(self, batch: Packed) -> Tensor:
        """Sign of the gradient of the loss at these sentences' word embeddings, (T, hidden), in the mode the
        model is in, without augmentation. Nothing is drawn from the run's streams."""
        negatives = summarised(self.config.queue, self.queue.visible(), self.clustering.clone_state())
        return self._sign(batch, self._keys(batch, None, None), negatives, None)

    def _sign_ahead(self, batch: Packed, other: Packed, keys: Tensor | None, negatives: Tensor) -> Tensor:
        """Sign (T, hidden) of the gradient, at the current input, of the very loss that this step has before
        FGSM: same dropout, same augmentations (D18).

        It costs a forward pass of the online branch and a backward pass without gradients of weights, which
        `products.linear` would otherwise compute.
        """
        drawing = self.augmenting.clone_state()
        for weight in self.trained:
            weight.requires_grad_(False)
        with self.dropping.ahead():
            keys = self._keys(other, None, drawing) if keys is None else keys
            sign = self._sign(batch, keys, negatives, drawing)
        for weight in self.trained:
            weight.requires_grad_(True)
        return sign

    def _sign(self, batch: Packed, keys: Tensor, negatives: Tensor, drawing: Generator | None) -> Tensor:
        loss, words = self._contrast(batch, keys.detach(), negatives, None, drawing)
        with torch.autocast("cpu", enabled=False):  # as the step's own gradient
            return torch.autograd.grad(loss, words)[0].sign()

    def _keys(self, batch: Packed, sign: Tensor | None, drawing: Generator | None) -> Tensor:
        """The target branch's vectors of a batch, (B, out_size), perturbed by `sign` (T, hidden)."""
        embeddings = self.target_embeddings or self.encoder.embeddings  # D8
        with torch.set_grad_enabled(not self.config.target.stop_gradient):  # D6
            words = self._perturbed(embeddings.lookup(batch), sign)
            x = embeddings.finish(*self._augmented(words, batch, drawing))
            return self.target_projection(self.target_pooler(self.target_stack(x, batch)))

    def _contrast(
        self, batch: Packed, keys: Tensor, negatives: Tensor, sign: Tensor | None, drawing: Generator | None
    ) -> tuple[Tensor, Tensor]:
        """Loss against these keys (B, out_size), and the online view's word embeddings (T, hidden)."""
        words = self.encoder.embeddings.lookup(batch)
        if not words.requires_grad:
            words.requires_grad_()  # where the weights are fixed
        x = self.encoder.embeddings.finish(*self._augmented(self._perturbed(words, sign), batch, drawing))
        query = self.predictor(self.projection(self.pooler(self.encoder.stack(x, batch))))  # (B, out_size)
        loss = self.config.loss
        return info_nce(
            query, keys, negatives, temperature=loss.temperature, in_batch_negatives=loss.in_batch_negatives
        ), words

    def _perturbed(self, words: Tensor, sign: Tensor | None) -> Tensor:
        return words if sign is None else words + self.config.fgsm.epsilon * sign

    def _augmented(
        self, words: Tensor, batch: Packed, drawing: Generator | None, padded: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Words (T, hidden) and positions (T,) with the run's embedding-level augmentations drawn afresh:
        from `drawing`, or for a padded batch from its device's own, as its dropout; without it none.

        `padded` are the slots of the papers' code: by default max_length with static padding, else the
        longest sentence (D33).
        """
        if drawing is None:
            return words, batch.slot
        if padded is None:
            padded = self.config.data.max_length if self.config.data.padding == "static" else batch.width
        generator = drawing if batch.bias is None else None
        mask = cutoff_mask(self.config.aug, batch, padded, self.encoder.hidden, generator)
        words = words if mask is None else words * mask
        return words, shuffled_positions(self.config.aug, batch, padded, generator)


Model = MoCoSE
