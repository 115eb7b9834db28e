"""MoCoSE's step as a paper's release writes it: what the packed engine is measured against.

Static padding, `transformers`' own layers, the target branch inside autograd, EMA tensor by tensor
over state dicts, an optimiser that loops over parameters, a loss read back at every step. With
dropout off its loss is ours (benchmarks/tests/test_benchmarks.py).
"""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoModel, BertModel
from transformers.models.bert.modeling_bert import BertEncoder

from core.config.run import RunConfig
from core.encoder.bert import Encoder
from core.encoder.dropout import Dropout
from core.encoder.streams import torch_stream
from core.encoder.tokens import TokenTable
from core.methods.mocose import heads
from core.methods.mocose.settings import MoCoSERun, ema_decay
from core.training.optimiser import learning_rate
from core.training.trainer import batch_indices


class PlainMoCoSE(nn.Module):
    """Online and target branch of one run, from the same initial weights and the same initial queue
    as ours."""

    def __init__(self, config: MoCoSERun, bert: BertModel, device: torch.device):
        super().__init__()
        self.config = config
        for module in bert.modules():
            if isinstance(module, nn.Dropout):
                module.p = config.encoder.hidden_dropout
        for layer in bert.encoder.layer:
            layer.attention.self.dropout.p = config.encoder.attention_dropout
        sizes = Encoder(bert, hidden_dropout=0.0, attention_dropout=0.0)  # for the heads' widths
        weights = torch_stream(config.seed.model, "heads")
        self.bert = bert
        self.pooler = heads.pooler(sizes, weights)
        self.projection = heads.projection(config.heads, sizes, weights)
        self.predictor = heads.predictor(config.heads, sizes, weights)
        with_torchs_dropout(self.projection, config.heads.dropout)
        with_torchs_dropout(self.predictor, config.heads.dropout)
        self.target_layers = copy.deepcopy(bert.encoder)
        self.target_pooler = copy.deepcopy(self.pooler)
        self.target_projection = copy.deepcopy(self.projection)
        for target in (self.target_layers, self.target_pooler, self.target_projection):
            target.requires_grad_(False)
        bert.pooler = None  # transformers' own pooler is not the method's
        self.to(device)
        random = torch.randn(
            config.queue.init_size,
            config.heads.out_size,
            generator=torch_stream(config.seed.model, "queue"),
        )
        self.queue = F.normalize(random, dim=1).to(device)
        # gradient of the last step's word embeddings, (B, L, hidden)
        self.stale: Tensor | None = None
        self.updates = 1

    def loss(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The loss of one step; ids and mask (B, L) with L the same for every batch."""
        embeddings = self.bert.embeddings
        self.words = embeddings.word_embeddings(ids)  # (B, L, hidden)
        self.words.retain_grad()
        change: Tensor | float = 0.0
        if self.stale is not None:
            change = self.config.fgsm.epsilon * self.stale.sign()
        bias = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
        cls = _layers(self.bert.encoder, embeddings(inputs_embeds=self.words + change), bias)[:, 0]
        query = F.normalize(self.predictor(self.projection(self.pooler(cls))).float(), dim=-1)
        words = embeddings.word_embeddings(ids)
        cls = _layers(self.target_layers, embeddings(inputs_embeds=words + change), bias)[:, 0]
        key = F.normalize(self.target_projection(self.target_pooler(cls)).float(), dim=-1)
        cosines = torch.cat([query @ key.T, query @ self.queue.clone().detach().T], dim=1)
        logits = cosines / self.config.loss.temperature
        self.queue = torch.cat([key.detach(), self.queue])[: self.config.queue.size]
        return F.cross_entropy(logits, torch.arange(len(ids), device=ids.device))

    def after_step(self) -> None:
        """Keep the gradient for the next perturbation; move the target branch, a tensor at a
        time."""
        self.stale = self.words.grad.clone()
        self.updates += 1
        decay = ema_decay(self.config.ema, self.updates, self.config.train.steps)
        pairs = (
            (self.target_layers, self.bert.encoder),
            (self.target_pooler, self.pooler),
            (self.target_projection, self.projection),
        )
        with torch.no_grad():
            for target, online in pairs:
                followed = online.state_dict()
                for name, value in target.state_dict().items():
                    value.copy_(decay * value + (1.0 - decay) * followed[name])


def with_torchs_dropout(layers: nn.Sequential, rate: float) -> None:
    """Put torch's own dropout where a head has ours."""
    for place, layer in enumerate(layers):
        if isinstance(layer, Dropout):
            layers[place] = nn.Dropout(rate)


def load(folder: Path) -> BertModel:
    """transformers' own BertModel from a folder, with the attention that the releases had."""
    return AutoModel.from_pretrained(
        folder,
        local_files_only=True,
        dtype=torch.float32,
        attn_implementation="eager",
        use_safetensors=True,
    )


def optimiser(config: RunConfig, model: nn.Module) -> torch.optim.AdamW:
    """AdamW over what is trained, looping over the parameters in Python."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [], "weight_decay": config.train.weight_decay},
        {"params": [], "weight_decay": 0.0},
    ]
    for name, p in named:
        groups[name.endswith("bias") or "LayerNorm" in name]["params"].append(p)
    return torch.optim.AdamW(
        groups, lr=config.train.learning_rate, eps=config.train.epsilon, foreach=False
    )


def batches(
    config: RunConfig, table: TokenTable, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """Ids and mask of each step, (B, max_length) both: the sentences that ours gets, padded."""
    for indices in batch_indices(config, len(table)):
        yield padded([table[i] for i in indices], config.data.max_length, device)


def padded(sentences: list[np.ndarray], width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids and mask, (B, width) int64 both."""
    ids = torch.zeros(len(sentences), width, dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for row, tokens in enumerate(sentences):
        ids[row, : len(tokens)] = torch.from_numpy(tokens.astype(np.int64))
        mask[row, : len(tokens)] = 1
    return ids.to(device), mask.to(device)


class PlainTraining:
    """A training that can be carried on block by block."""

    def __init__(self, folder: Path, config: Any, table: TokenTable):
        self.config = config
        cpu = torch.device("cpu")
        self.model = PlainMoCoSE(config, load(folder), cpu).train()
        self.optimiser = optimiser(config, self.model)
        self.batches = batches(config, table, cpu)
        self.step = 0

    def block(self, steps: int) -> list[float]:
        """Seconds of each of `steps` steps after one that is not counted."""
        stamps = []
        for _ in range(steps + 1):
            self._one_step()
            stamps.append(time.perf_counter())
        return [after - before for before, after in itertools.pairwise(stamps)]

    def _one_step(self) -> float:
        self.step += 1
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.config.train, 1 + self.step % self.config.train.steps)
        ids, mask = next(self.batches)
        self.optimiser.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.config.train.precision == "bf16"):
            loss = self.model.loss(ids, mask)
        loss.backward()
        trained = [p for p in self.model.parameters() if p.requires_grad]
        nn.utils.clip_grad_norm_(trained, self.config.train.clip_norm, foreach=False)
        self.optimiser.step()
        self.model.after_step()
        return loss.item()


def _layers(encoder: BertEncoder, x: Tensor, bias: Tensor) -> Tensor:
    for layer in encoder.layer:
        out = layer(x, bias)
        x = out[0] if isinstance(out, tuple) else out
    return x
