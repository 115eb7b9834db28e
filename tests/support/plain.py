"""Both methods' training step a second time, in the plainest way: padded batches, transformers' own modules, loops, autograd.

Written from studies/reference and the papers' equations, without anything from core.engine but the configuration. Dropout is off throughout.
"""

import copy
import math

import tiny
import torch


class PlainMoCoSE:
    """One run's state as loose modules; `step` gives the loss and leaves gradients on `online` modules."""

    def __init__(self, config, bert, weights):
        self.config, self.bert = config, bert
        self.pooler = torch.nn.Linear(tiny.HIDDEN, tiny.HIDDEN)
        self.pooler.load_state_dict(bert.pooler.dense.state_dict())
        self.projection = [torch.nn.Linear(tiny.HIDDEN, tiny.HIDDEN), torch.nn.LayerNorm(tiny.HIDDEN, 1e-12)]
        self.predictor = [
            torch.nn.Linear(tiny.HIDDEN, tiny.HIDDEN),
            torch.nn.LayerNorm(tiny.HIDDEN, 1e-12),
            torch.nn.Linear(tiny.HIDDEN, tiny.HIDDEN),
        ]
        for module, state in zip(self.projection + self.predictor, weights, strict=True):
            module.load_state_dict(state)
        self.target_layers = copy.deepcopy(bert.encoder)
        self.target_pooler = copy.deepcopy(self.pooler)
        self.target_projection = copy.deepcopy(self.projection)
        for module in (self.target_layers, self.target_pooler):
            module.requires_grad_(False)
        self.t = 0
        self.stale = None  # (B, L, hidden)
        self.queue = None  # (width, out)

    def eta(self):
        ema = self.config.ema
        return 1 - (1 - ema.start) * (math.cos(math.pi * self.t / ema.total_updates) + 1) / 2

    def step(self, arrays, queue):
        width = self.config.data.max_length
        ids, mask = tiny.padded(arrays, width)
        bias = (1.0 - mask[:, None, None, :].float()) * -1e9
        positions = torch.arange(width)[None, :]
        emb = self.bert.embeddings

        def embed():
            words = emb.word_embeddings(ids)
            words.retain_grad()
            changed = words if self.stale is None else words + self.config.fgsm.epsilon * self.stale.sign()
            return words, emb.LayerNorm(changed + emb.position_embeddings(positions) + emb.token_type_embeddings(torch.zeros_like(ids)))

        def project(x, layers):
            return layers[1](layers[0](x))

        self.words, x = embed()
        self.t += 1
        eta = self.eta()
        with torch.no_grad():
            pairs = [(self.target_layers, self.bert.encoder), (self.target_pooler, self.pooler)]
            pairs += list(zip(self.target_projection, self.projection, strict=True))
            for target, online in pairs:
                for p, q in zip(target.parameters(), online.parameters(), strict=True):
                    p.copy_(eta * p + (1 - eta) * q)
        _, y = embed()
        cls = run_layers(self.bert.encoder, x, bias)[:, 0]
        query = project(self.pooler(cls), self.projection)
        query = self.predictor[1](self.predictor[0](query))
        query = torch.tanh(self.predictor[2](query))
        key = project(self.target_pooler(run_layers(self.target_layers, y, bias)[:, 0]), self.target_projection)
        loss = 0.0
        for i in range(len(arrays)):
            logits = [torch.cosine_similarity(query[i], other, dim=0) / 0.05 for other in [*key, *queue]]
            loss = loss - torch.log_softmax(torch.stack(logits), 0)[i]
        return loss / len(arrays), key

    def after(self):
        self.stale = self.words.grad.clone()


def run_layers(encoder, x, bias):
    for layer in encoder.layer:
        out = layer(x, bias)
        x = out[0] if isinstance(out, tuple) else out
    return x


def plain_esimcse_step(bert, momentum_bert, head, first, second, queue, decay):
    """Loss of one ESimCSE step, studies/reference/methods.md: encode, move the momentum weights, contrast; then what is pushed."""

    def cls(model, arrays):
        ids, mask = tiny.padded(arrays, max(map(len, arrays)))
        return model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]

    z1 = torch.tanh(cls(bert, first) @ head.weight.T + head.bias)
    z2 = torch.tanh(cls(bert, second) @ head.weight.T + head.bias)
    with torch.no_grad():
        for p, q in zip(momentum_bert.parameters(), bert.parameters(), strict=True):
            p.copy_(decay * p + (1 - decay) * q)
    loss = 0.0
    for i in range(len(first)):
        logits = [torch.cosine_similarity(z1[i], other, dim=0) / 0.05 for other in [*z2, *queue]]
        loss = loss - torch.log_softmax(torch.stack(logits), 0)[i]
    with torch.no_grad():
        pushed = torch.tanh(cls(momentum_bert, first) @ head.weight.T + head.bias)
    return loss / len(first), pushed
