"""Whole trainings a second time: padded, in float64, every operation written out, from
studies/reference and the papers' equations.

Nothing of the trainer is used. Weights are a dictionary by the names that the model under test
gives them; dropout masks come from outside, as they were drawn, and are spread over the padding
here.
"""

import math

import tiny
import torch


class Drops:
    """The dropout masks of one step, in the order in which a branch uses them; ones wherever
    nothing was drawn."""

    def __init__(self, masks):
        self.masks = list(masks)

    def rows(self, real, first_only=False):
        """(B, L, H) for a mask over real tokens (T, H), or over first tokens (B, H)."""
        if not self.masks:
            return torch.ones((), dtype=torch.float64)
        found = self.masks.pop(0)
        whole = torch.ones(*real.shape, found.shape[-1], dtype=torch.float64)
        if first_only:
            whole[:, 0] = found
        else:
            whole[real] = found
        return whole

    def attention(self, real, heads):
        """(B, heads, L, L) for a mask (B * heads, queries, longest)."""
        if not self.masks:
            return torch.ones((), dtype=torch.float64)
        found = self.masks.pop(0)
        batch, width = real.shape
        whole = torch.ones(batch, heads, width, width, dtype=torch.float64)
        whole[:, :, : found.shape[1], : found.shape[2]] = found.view(batch, heads, *found.shape[1:])
        return whole

    def plain(self):
        return self.masks.pop(0) if self.masks else torch.ones((), dtype=torch.float64)


def linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def norm(w, name, x, eps=1e-12):
    centred = x - x.mean(-1, keepdim=True)
    unit = centred / (centred.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return unit * w[f"{name}.weight"] + w[f"{name}.bias"]


def embed(w, name, words, real, drops):
    """(B, L, H) from words (B, L, H)."""
    positions = w[f"{name}.position.weight"][: words.shape[1]]
    return norm(
        w, f"{name}.norm", words + positions + w[f"{name}.token_type.weight"][0]
    ) * drops.rows(real)


def stack(w, name, x, real, drops, heads=2, layers=2):
    """[CLS] of the last layer, (B, H), from (B, L, H)."""
    batch, width, hidden = x.shape
    for n in range(layers):
        last = n == layers - 1
        at = f"{name}.layers.{n}"
        q, k, v = (
            linear(w, f"{at}.{part}", x).view(batch, width, heads, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(2, 3) / math.sqrt(hidden // heads)
        scores = scores.masked_fill(~real[:, None, None, :], float("-inf"))
        weights = scores.exp() / scores.exp().sum(-1, keepdim=True) * drops.attention(real, heads)
        context = (weights @ v).transpose(1, 2).reshape(batch, width, hidden)
        out = linear(w, f"{at}.attention_out", context) * drops.rows(real, last)
        x = norm(w, f"{at}.attention_norm", x + out)
        inner = linear(w, f"{at}.up", x)
        inner = 0.5 * inner * (1.0 + torch.erf(inner / math.sqrt(2.0)))
        x = norm(w, f"{at}.norm", x + linear(w, f"{at}.down", inner) * drops.rows(real, last))
    return x[:, 0]


def contrast(query, keys, negatives, in_batch, temperature=0.05):
    """Mean over rows of -log softmax of the right key among the others (MoCoSE eq. 3; in_batch as
    released)."""
    losses = []
    for i in range(len(query)):
        others = [*keys, *negatives] if in_batch else [keys[i], *negatives]
        logits = torch.stack(
            [(query[i] @ k) / (query[i].norm() * k.norm()) / temperature for k in others]
        )
        losses.append(torch.logsumexp(logits, 0) - logits[i if in_batch else 0])
    return torch.stack(losses).mean()


class Optimiser:
    """Clipping by the whole norm, linear decay, AdamW in either form; vectors (biases, LayerNorm)
    are not decayed."""

    def __init__(self, w, trained, train, new):
        self.w = w
        self.trained = trained
        self.train = train
        self.new = new
        self.m = {name: torch.zeros_like(w[name]) for name in trained}
        self.v = {name: torch.zeros_like(w[name]) for name in trained}
        self.t = 0

    def step(self, loss):
        gradients = torch.autograd.grad(
            loss, [self.w[name] for name in self.trained], retain_graph=True
        )
        whole = math.sqrt(sum(float(g.pow(2).sum()) for g in gradients))
        clip = min(1.0, self.train.clip_norm / (whole + 1e-6))
        rate = self.train.learning_rate * (1 - self.t / self.train.steps)
        t = self.t = self.t + 1
        b1 = self.train.beta1
        b2 = self.train.beta2
        eps = self.train.epsilon
        for name, g in zip(self.trained, gradients, strict=True):
            p = self.w[name].detach()
            g = clip * g
            lr = rate * (self.train.new_layer_factor if name.startswith(self.new) else 1.0)
            wd = self.train.weight_decay if p.ndim > 1 else 0.0
            m = self.m[name] = b1 * self.m[name] + (1 - b1) * g
            v = self.v[name] = b2 * self.v[name] + (1 - b2) * g * g
            if self.train.adamw == "transformers":
                p = p - lr * math.sqrt(1 - b2**t) / (1 - b1**t) * m / (v.sqrt() + eps)
                p = p - lr * wd * p
            else:
                p = p - lr * wd * p
                p = p - lr * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + eps)
            self.w[name] = p.requires_grad_()


def average(w, pairs, decay):
    """target <- decay * target + (1 - decay) * source, by the prefixes of their names."""
    for target, source in pairs:
        for name in [name for name in w if name.startswith(target)]:
            followed = w[source + name.removeprefix(target)].detach()
            value = decay * w[name].detach() + (1 - decay) * followed
            w[name] = value.requires_grad_(w[name].requires_grad)


class SecondMoCoSE:
    def __init__(self, config, weights, trained, entries):
        # entries (width, out), newest first
        self.config = config
        self.w = weights
        self.entries = entries
        self.optimiser = Optimiser(
            weights, trained, config.train, ("projection", "predictor", "target_projection")
        )
        self.pairs = [
            ("target_stack.", "encoder.stack."),
            ("target_pooler.", "pooler."),
            ("target_projection.", "projection."),
        ]
        self.followed = "encoder.embeddings"
        if config.target.embeddings == "ema":
            self.pairs.append(("target_embeddings.", "encoder.embeddings."))
            self.followed = "target_embeddings"
        self.counter = config.queue.init_size
        self.updates = 0
        self.stale = None

    def visible(self):
        q = self.config.queue
        if q.init == "released_2022" and self.counter + q.init_size < q.size:
            return self.entries[: self.counter + q.init_size]
        return self.entries

    def move(self):
        self.updates += 1
        e = self.config.ema
        decay = e.start
        if e.schedule != "constant":
            done = self.updates / (e.total_updates or self.config.train.steps)
            if e.schedule == "cosine_to_end":  # where a rising decay stays at its end
                done = min(1.0, done)
            decay = e.end - (e.end - e.start) * (math.cos(math.pi * done) + 1) / 2
        average(self.w, self.pairs, decay)

    def projected(self, name, x, drops):
        """One layer; a plain one as the paper has it, or with the code's normalisation and
        dropout."""
        x = linear(self.w, f"{name}.0", x)
        if self.config.heads.projection_tail == "linear":
            return x
        return norm(self.w, f"{name}.1", x) * drops.plain()

    def keys(self, ids, real, drops, change):
        w = self.w
        words = w[f"{self.followed}.word.weight"][ids] + change
        cls = stack(w, "target_stack", embed(w, self.followed, words, real, drops), real, drops)
        found = self.projected("target_projection", linear(w, "target_pooler", cls), drops)
        return found.detach() if self.config.target.stop_gradient else found

    def queries(self, words, real, drops):
        w = self.w
        cls = stack(
            w, "encoder.stack", embed(w, "encoder.embeddings", words, real, drops), real, drops
        )
        x = self.projected("projection", linear(w, "pooler", cls), drops)
        x = norm(w, "predictor.1", linear(w, "predictor.0", x)) * drops.plain()
        return torch.tanh(linear(w, "predictor.3", x))

    def step(self, arrays, masks):
        ids, mask = tiny.padded(arrays, self.config.data.max_length)
        real = mask.bool()
        fgsm = self.config.fgsm
        q = self.config.queue
        if self.config.ema.when == "before_forward":
            self.move()
        half = len(masks) // 2  # the target branch's first: one less, for it has no predictor
        of_keys = masks[:half]
        of_queries = masks[half:]
        negatives = self.visible()
        in_batch = self.config.loss.in_batch_negatives
        words = self.w["encoder.embeddings.word.weight"][ids]

        def loss_with(words, change):
            keys = self.keys(ids, real, Drops(of_keys), change)
            return contrast(
                self.queries(words, real, Drops(of_queries)), keys, negatives, in_batch
            ), keys

        change = torch.zeros((), dtype=torch.float64)
        if fgsm.gradient == "current":
            change = (
                fgsm.epsilon * torch.autograd.grad(loss_with(words, change)[0], words)[0].sign()
            )
        elif self.stale is not None:
            change = fgsm.epsilon * self.stale.sign()
        loss, keys = loss_with(
            words + change, change if fgsm.views == "both_same" else 0.0 * change
        )
        self.stale = torch.autograd.grad(loss, words, retain_graph=True)[0]
        pushed = keys.detach()
        self.entries = pushed if self.counter == 0 else torch.cat([pushed, self.entries])
        self.counter += len(pushed)
        if q.init == "paper_grow" or self.counter > q.size:
            self.entries = self.entries[: q.size]
        self.optimiser.step(loss)
        if self.config.ema.when == "after_optimizer_step":
            self.updates = max(1, self.updates)
            self.move()
        return loss.item()


class SecondESimCSE:
    def __init__(self, config, weights, trained):
        # entries (width, hidden), oldest first
        self.config = config
        self.w = weights
        self.entries = None
        self.optimiser = Optimiser(weights, trained, config.train, ("head",))
        self.pairs = [("momentum_encoder.", "encoder.")] + (
            [("momentum_head.", "head.")] if config.momentum.head == "ema" else []
        )

    def vectors(self, encoder, head, arrays, masks):
        ids, mask = tiny.padded(arrays, max(map(len, arrays)) + 2)
        real = mask.bool()
        drops = Drops(masks)
        words = self.w[f"{encoder}.embeddings.word.weight"][ids]
        x = embed(self.w, f"{encoder}.embeddings", words, real, drops)
        return torch.tanh(linear(self.w, head, stack(self.w, f"{encoder}.stack", x, real, drops)))

    def push(self, kept, masks):
        average(self.w, self.pairs, self.config.momentum.lambda_)
        head = "momentum_head.linear" if self.config.momentum.head == "ema" else "head.linear"
        found = self.vectors("momentum_encoder", head, kept, masks).detach()
        whole = found if self.entries is None else torch.cat([self.entries, found])
        self.entries = whole[-self.config.queue.size :]

    def step(self, first, second, kept, masks):
        count = len(first)
        found = self.vectors("encoder", "head.linear", first + second, masks[:7])
        negatives = [] if self.entries is None else self.entries
        loss = contrast(found[:count], found[count:], negatives, True)
        if self.config.momentum.when == "after_forward":
            self.push(kept, masks[7:])
        self.optimiser.step(loss)
        if self.config.momentum.when != "after_forward":
            self.push(kept, masks[7:])
        return loss.item()
