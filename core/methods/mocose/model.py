"""MoCoSE: an online and a target branch over one embedding layer, a queue of keys, FGSM
(studies/reference/methods.md)."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Sequence
from random import Random

import numpy as np
import torch
from torch import Generator, Tensor, nn

from core.config.result import Measurement
from core.encoder.bert import Embeddings, Encoder
from core.encoder.dropout import dropping
from core.encoder.packing import Packed
from core.encoder.streams import torch_stream
from core.encoder.vectors import cosines
from core.errors import UserError
from core.methods.contrastive import Batcher, Batches, Checkpointed, Contrastive, TrainingText
from core.methods.losses import info_nce
from core.methods.mocose.augmentation import cutoff_mask, shuffled_positions
from core.methods.mocose.heads import pooler, predictor, projection
from core.methods.mocose.queue import KeyQueue, summarised
from core.methods.mocose.settings import MoCoSERun, ema_decay, traceable_distance


class StaleGradient(Checkpointed):
    """FGSM as released (D18): signs of the gradient of the previous step's loss with respect to the
    online view's word embeddings, by batch slot and token slot. A padding slot has no gradient, so
    a token that stands where the previous batch had padding is not changed."""

    checkpointed = ("signs",)

    def __init__(self) -> None:
        super().__init__()
        self.signs: Tensor | None = None  # (B, L, hidden)
        self._watched: tuple[Tensor, Packed] | None = None

    def sign_for(self, batch: Packed) -> Tensor | None:
        """Signs for this batch's tokens, (T, hidden), 0 beyond stored slots; None before a
        backward."""
        if self.signs is None:
            return None
        rows, width, _ = self.signs.shape
        if batch.bias is not None and batch.batch == rows and batch.width <= width:
            return self.signs[:, : batch.width].flatten(0, 1)
        inside = (batch.row < rows) & (batch.slot < width)  # (T,)
        # (T, hidden)
        picked = self.signs[batch.row.clamp(max=rows - 1), batch.slot.clamp(max=width - 1)]
        return picked * inside.unsqueeze(1)

    def watch(self, words: Tensor, batch: Packed) -> None:
        """Remember the looked-up embeddings (T, hidden) whose gradient the coming backward
        fills."""
        words.retain_grad()
        self._watched = (words, batch)

    def keep(self) -> None:
        """Store the signs of the gradient that the backward left, and forget the batch."""
        assert self._watched is not None, "a forward pass has been"
        words, batch = self._watched
        self._watched = None
        signs = words.grad.sign()  # type: ignore[union-attr]  # (T, hidden)
        if batch.bias is None:
            grid = words.new_zeros(batch.batch * batch.width, words.shape[1])
            grid[batch.row * batch.width + batch.slot] = signs
            self.signs = grid.view(batch.batch, batch.width, -1)
            return
        signs = signs.view(batch.batch, batch.width, -1)
        held = self.signs
        if held is None or len(held) != len(signs) or held.shape[1] < batch.width:
            self.signs = signs
            return
        # in the memory of earlier ones, where a CUDA graph finds them
        held[:, : batch.width] = signs
        held[:, batch.width :] = 0.0


@torch.no_grad()
def changed_share(words: Tensor, epsilon: float, sign: Tensor, batch: Packed) -> float:
    """Share of a batch's word embeddings (T, hidden) that epsilon * sign changes, without padding
    (D19)."""
    changed = words + epsilon * sign != words  # (T, hidden)
    return float(changed[batch.mask[batch.row, batch.slot]].float().mean())


class MoCoSE(Contrastive, Checkpointed):
    """The model of one run."""

    checkpointed = ("clustering", "augmenting", "augmenting_tests", "updates", "changed_share")

    def __init__(self, config: MoCoSERun, encoder: Encoder, device: torch.device):
        super().__init__()
        if config.aug.position_shuffle != "off" and not encoder.shuffles_positions:
            raise UserError(
                "This encoder's attention computes positions itself; set aug.position_shuffle=off."
            )
        if config.aug.feature_cutoff and encoder.word_width != encoder.hidden:
            raise UserError("This encoder's words are not as wide as it; set aug.feature_cutoff=0.")
        self.config = config
        self.encoder = encoder
        weights = torch_stream(config.seed.model, "heads")
        self.pooler = pooler(encoder, weights)
        self.projection = projection(config.heads, encoder, weights)
        self.predictor = predictor(config.heads, encoder, weights)
        self.target_embeddings: Embeddings | None = None  # the online branch's (D8)
        if config.target.embeddings == "ema":
            self.target_embeddings = copy.deepcopy(encoder.embeddings)
        online = (encoder.stack, self.pooler, self.projection)
        self.target_stack, self.target_pooler, self.target_projection = map(copy.deepcopy, online)
        self.to(device)
        target = (self.target_stack, self.target_pooler, self.target_projection)
        self.follow(
            [*zip(target, online, strict=True), (self.target_embeddings, encoder.embeddings)]
        )
        self.target_projection.requires_grad_(not config.target.freeze_projection)  # D7
        self.trained = [p for p in self.parameters() if p.requires_grad]
        self.dropping = dropping(config.seed.data, device, self)
        first_keys = torch_stream(config.seed.model, "queue")
        self.queue = KeyQueue(config.queue, config.heads.out_size, first_keys, device)
        self.clustering = torch_stream(config.seed.model, "queue clusters")
        self.augmenting = torch_stream(config.seed.data, "augmentation")
        self.augmenting_tests = torch_stream(config.seed.data, "augmentation of tests")
        self.stale = StaleGradient()
        self.changed_share: float | None = None
        # moving before the first forward changes nothing, but counts: so both timings agree (D5)
        self.updates = int(config.ema.when != "before_forward")
        # whose first centres are drawn on the CPU
        self.capturable = config.queue.negatives != "kmeans"
        self.scored_by_slot = config.fgsm.at_eval
        self.draws_when_scored = config.eval.apply_augmentation and config.aug.active()

    def form(self) -> Hashable:
        """How full the queue is, the size of the stored gradient, and whether FGSM's share is
        counted."""
        signs = self.stale.signs
        shape = None if signs is None else signs.shape
        return self.queue.form(), shape, self.changed_share is None

    def train(self, mode: bool = True) -> MoCoSE:
        """Training mode, with dropout in the target branch as target.dropout says (D9)."""
        super().train(mode)
        for name, module in self.named_children():
            if name.startswith("target_") and self.config.target.dropout == "off":
                module.eval()
        return self

    @classmethod
    def batch(
        cls,
        config: MoCoSERun,
        text: TrainingText,
        pack: Batcher,
        rng: Random,
        places: Sequence[int],
    ) -> Batches:
        """Each sentence once, and beside it the target branch's own text if there is one.
        Augmentations depend on the longest sentence where padding is dynamic (D22, D24)."""
        exact = config.aug.active() and config.data.padding == "dynamic"
        batch = pack([text.table[i] for i in places], exact)
        if text.rewritten is None:
            return (batch,)
        return batch, pack([text.rewritten[i] for i in places], exact)

    def before_step(self) -> None:
        if self.config.ema.when == "before_forward":
            self._average()

    def loss(self, batch: Packed, rewritten: Packed | None = None) -> Tensor:
        """The loss of one training step against the queue as it was before this batch, whose keys
        are then pushed. `rewritten` is the target branch's own text where it has one (Table 5)."""
        other = batch if rewritten is None else rewritten
        fgsm = self.config.fgsm
        both = fgsm.views == "both_same"
        # (width, out_size)
        negatives = summarised(self.config.queue, self.queue.visible(), self.clustering)
        # (T, hidden), (B, out_size)
        sign = None
        keys = None
        if fgsm.gradient == "current":
            if not both:  # FGSM leaves the keys alone
                keys = self._keys(other, None, self.augmenting)
            sign = self._sign(batch, keys, negatives, self.augmenting.clone_state())
        elif fgsm.gradient == "stale_online":
            sign = self.stale.sign_for(batch)
        with self.dropping.again():
            if keys is None:
                moves = sign if both else None
                if moves is not None and rewritten is not None:
                    moves = self.stale.sign_for(rewritten)  # by slot, whatever stands there
                keys = self._keys(other, moves, self.augmenting)
            loss, words = self._contrast(batch, keys, negatives, sign, self.augmenting)
        # once is enough, and it makes a GPU wait
        if sign is not None and self.changed_share is None:
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
            self._average()

    def _average(self) -> None:
        self.updates += 1
        self.average(ema_decay(self.config.ema, self.updates, self.config.train.steps))

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, hidden) or (B, out_size) (D10, D20, D21)."""
        sign = None
        if self.config.fgsm.at_eval:
            sign = self.stale.sign_for(batch)  # None before the first step
        drawing = None
        if self.draws_when_scored:
            drawing = self.augmenting_tests
        embeddings = self.encoder.embeddings
        x = self._entering(embeddings, embeddings.lookup(batch), batch, sign, drawing)
        cls = self.encoder.stack(x, batch)
        if self.config.eval.vector == "cls_before_pooler":
            return cls
        pooled = self.pooler(cls)
        if self.config.eval.vector == "pooler":
            return pooled
        return self.projection(pooled)

    def starts_from_cls(self) -> bool:
        return True

    def scored_parts(self) -> nn.ModuleDict:
        return nn.ModuleDict(
            {"encoder": self.encoder, "pooler": self.pooler, "projection": self.projection}
        )

    def new_layers(self) -> list[nn.Module]:
        """The trained layers that start at random; a checkpoint's own pooler does not."""
        heads = [self.projection, self.predictor, self.target_projection]
        if self.encoder.pretrained_pooler[0] is not None:
            return heads
        return [self.pooler, *heads]

    def diagnostics(self, batch: Packed) -> dict[str, float | None]:
        """Numbers about FGSM, as far as they are finite. Both views of these sentences go through
        the online encoder without augmentation, since the target branch has other weights. The
        share of changed entries is that of the first step on which FGSM acted (D19)."""
        fgsm = self.config.fgsm
        embeddings = self.encoder.embeddings
        mode = self.training
        if fgsm.gradient == "none":
            return {}
        self.eval()
        negatives = summarised(
            self.config.queue, self.queue.visible(), self.clustering.clone_state()
        )
        if fgsm.gradient == "current":
            sign: Tensor | None = self._sign(batch, None, negatives, None)
        else:
            sign = self.stale.sign_for(batch)
        with torch.no_grad():
            words = embeddings.lookup(batch)  # (T, hidden)
            online = self._perturbed(words, sign)
            target = words if fgsm.views == "online_only" else online
            first = self._plainly_encoded(online, batch)
            second = self._plainly_encoded(target, batch)
            plain = self._plainly_encoded(words, batch)
            relative = (online - target).norm(dim=1) / target.norm(dim=1)  # (T,)
        self.train(mode)
        differences = {
            "view_cosine": float(cosines(first, second).mean(dtype=np.float64)),
            "view_cosine_plain": float(cosines(plain, plain).mean(dtype=np.float64)),
            "view_input_difference": float(relative[batch.mask[batch.row, batch.slot]].mean()),
        }
        numbers = {"fgsm_changed_fraction": self.changed_share}
        for name, value in differences.items():
            if math.isfinite(value):
                numbers[name] = value
        return numbers

    def _plainly_encoded(self, words: Tensor, batch: Packed) -> np.ndarray:
        """[CLS] of word embeddings (T, hidden) without augmentation, (B, hidden)."""
        x = self.encoder.embeddings.finish(words, batch.slot)
        return self.encoder.stack(x, batch).float().cpu().numpy()

    def method_rows(self, selected_step: int) -> list[Measurement]:
        """Maximum traceable distance: nominal, mean over the run, and at the selected step (D3)."""
        ema = self.config.ema
        steps = self.config.train.steps
        queue = self.config.queue.size
        decays = [ema.start, *(ema_decay(ema, step, steps) for step in range(1, steps + 1))]
        distances = [
            traceable_distance(decay, queue, self.config.train.batch_size) for decay in decays
        ]
        finite = [distance for distance in distances[1:] if distance != math.inf]
        mean = math.inf
        if finite:
            mean = float(np.mean(finite))
        at_selected = distances[selected_step]
        return [
            Measurement("last", "train", "mtd_nominal", steps, distances[0]),
            Measurement("last", "train", "mtd_at_start", 1, distances[1]),
            Measurement("last", "train", "mtd_mean_over_run", steps, mean),
            Measurement(
                "selected", "train", "mtd_at_selected_checkpoint", selected_step, at_selected
            ),
        ]

    def _sign(
        self, batch: Packed, keys: Tensor | None, negatives: Tensor, drawing: Generator | None
    ) -> Tensor:
        """Sign (T, hidden) of the gradient, at a batch's word embeddings, of the very loss that the
        step has before FGSM: same dropout, same augmentations if `drawing` is a copy (D18). Without
        keys the batch's own are made. Weights are fixed, since `products.linear` would compute
        their gradients, too."""
        for weight in self.trained:
            weight.requires_grad_(False)
        with self.dropping.ahead():
            if keys is None:
                keys = self._keys(batch, None, drawing)
            loss, words = self._contrast(batch, keys.detach(), negatives, None, drawing)
            with torch.autocast("cpu", enabled=False):  # as the step's own gradient
                sign = torch.autograd.grad(loss, words)[0].sign()
        for weight in self.trained:
            weight.requires_grad_(True)
        return sign

    def _keys(self, batch: Packed, sign: Tensor | None, drawing: Generator | None) -> Tensor:
        """The target branch's vectors of a batch, (B, out_size), perturbed by `sign` (T,
        hidden)."""
        embeddings = self.target_embeddings
        if embeddings is None:  # D8
            embeddings = self.encoder.embeddings
        with torch.set_grad_enabled(not self.config.target.stop_gradient):  # D6
            x = self._entering(embeddings, embeddings.lookup(batch), batch, sign, drawing)
            return self.target_projection(self.target_pooler(self.target_stack(x, batch)))

    def _contrast(
        self,
        batch: Packed,
        keys: Tensor,
        negatives: Tensor,
        sign: Tensor | None,
        drawing: Generator | None,
    ) -> tuple[Tensor, Tensor]:
        """Loss against these keys (B, out_size), and the online view's word embeddings (T,
        hidden)."""
        words = self.encoder.embeddings.lookup(batch)
        if not words.requires_grad:
            words.requires_grad_()  # where the weights are fixed
        x = self._entering(self.encoder.embeddings, words, batch, sign, drawing)
        # (B, out_size)
        query = self.predictor(self.projection(self.pooler(self.encoder.stack(x, batch))))
        settings = self.config.loss
        loss = info_nce(
            query,
            keys,
            negatives,
            temperature=settings.temperature,
            in_batch_negatives=settings.in_batch_negatives,
        )
        return loss, words

    def _perturbed(self, words: Tensor, sign: Tensor | None) -> Tensor:
        if sign is None:
            return words
        return words + self.config.fgsm.epsilon * sign

    def _entering(
        self,
        embeddings: Embeddings,
        words: Tensor,
        batch: Packed,
        sign: Tensor | None,
        drawing: Generator | None,
    ) -> Tensor:
        """What enters the layers, (T, hidden), of word embeddings (T, hidden): perturbed by `sign`,
        augmented from `drawing`, or for a padded batch from its device's own generator, as its
        dropout. Augmentations see the slots of the papers' code: in training with static padding
        max_length, else the longest sentence (D33)."""
        words = self._perturbed(words, sign)
        positions = batch.slot
        if drawing is not None:
            padded = batch.width
            if self.training and self.config.data.padding == "static":
                padded = self.config.data.max_length
            generator = drawing if batch.bias is None else None
            mask = cutoff_mask(self.config.aug, batch, padded, self.encoder.hidden, generator)
            if mask is not None:
                words = words * mask
            positions = shuffled_positions(self.config.aug, batch, padded, generator)
        return embeddings.finish(words, positions)


Model = MoCoSE
