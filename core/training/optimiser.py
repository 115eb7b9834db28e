"""AdamW over what is trained, in torch's form or in that of transformers 4 (D84)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from core.config.run import Train


def adamw(train: Train, model: nn.Module, new_layers: Iterable[nn.Module]) -> torch.optim.Optimizer:
    """The optimiser of `train.adamw`. On a GPU its rates lie there, so that a CUDA graph can read
    them."""
    groups = parameter_groups(train, model, new_layers)
    device = groups[0]["params"][0].device
    on_gpu = device.type == "cuda"
    settings: dict[str, Any] = {
        "lr": train.learning_rate,
        "betas": (train.beta1, train.beta2),
        "eps": train.epsilon,
        "capturable": on_gpu,
    }
    if on_gpu:
        for group in groups:
            group["lr"] = torch.full((), train.learning_rate, device=device)
    if train.adamw == "transformers":
        return TransformersAdamW(groups, {"weight_decay": 0.0, **settings})
    return torch.optim.AdamW(groups, **settings, fused=True)


def parameter_groups(train: Train, model: nn.Module, new_layers: Iterable[nn.Module]) -> list[dict]:
    """What is trained, by weight decay and by `factor`, which multiplies the rate of every step.

    Biases and LayerNorm weights are not decayed (D31); new layers have train.new_layer_factor,
    others 1.
    """
    norms = parameters_of(m for m in model.modules() if isinstance(m, nn.LayerNorm))
    new = parameters_of(new_layers)
    groups: dict[tuple[float, float], dict[str, Any]] = {}
    for factor in (1.0, train.new_layer_factor):
        for decay in (train.weight_decay, 0.0):
            groups[factor, decay] = {"params": [], "weight_decay": decay, "factor": factor}
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        factor = 1.0
        if p in new:
            factor = train.new_layer_factor
        decay = train.weight_decay
        if p in norms or name.endswith("bias"):
            decay = 0.0
        groups[factor, decay]["params"].append(p)
    return [group for group in groups.values() if group["params"]]


def parameters_of(modules: Iterable[nn.Module]) -> set[nn.Parameter]:
    """The parameters of these modules."""
    parameters: set[nn.Parameter] = set()
    for module in modules:
        parameters.update(module.parameters())
    return parameters


class TransformersAdamW(torch.optim.Optimizer):
    """AdamW as `transformers.AdamW` of release 4 has it, the Trainer's own at the papers' time
    (D84). At step t, for gradient g:

        m = b1 m + (1 - b1) g          v = b2 v + (1 - b2) g^2
        p = p - lr * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + eps)
        p = p - lr * weight_decay * p

    torch adds epsilon after v is corrected, so its epsilon is sqrt(1 - b2^t) times this one (0.03
    at the first step), and decays the weights before the update. With epsilon 0 and no decay both
    are the same.
    """

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One update of every parameter that has a gradient."""
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            gradients = [p.grad for p in parameters]
            if not parameters:
                continue
            first, second = group["betas"]
            rate = group["lr"]
            for p in parameters:
                state = self.state[p]
                if not state:  # zeros; the step lies where it is read
                    device = p.device if group["capturable"] else "cpu"
                    state["step"] = torch.zeros((), device=device)
                    state["exp_avg"] = torch.zeros_like(p)
                    state["exp_avg_sq"] = torch.zeros_like(p)
            states = [self.state[p] for p in parameters]
            means = [s["exp_avg"] for s in states]
            squares = [s["exp_avg_sq"] for s in states]
            torch._foreach_add_([s["step"] for s in states], 1.0)
            torch._foreach_mul_(means, first)
            torch._foreach_add_(means, gradients, alpha=1.0 - first)
            torch._foreach_mul_(squares, second)
            torch._foreach_addcmul_(squares, gradients, gradients, 1.0 - second)
            denominators = torch._foreach_sqrt(squares)
            torch._foreach_add_(denominators, group["eps"])
            if group["capturable"]:
                # (), on the device; 1 - 0.999 has few digits in float32
                t = states[0]["step"].double()
                moved = torch._foreach_div(means, denominators)
                torch._foreach_mul_(moved, -rate * torch.sqrt(1.0 - second**t) / (1.0 - first**t))
                torch._foreach_add_(parameters, moved)
            else:
                steps = [float(s["step"]) for s in states]
                sizes = [-rate * math.sqrt(1.0 - second**t) / (1.0 - first**t) for t in steps]
                torch._foreach_addcdiv_(parameters, means, denominators, sizes)
            if group["weight_decay"]:
                torch._foreach_mul_(parameters, 1.0 - rate * group["weight_decay"])


def learning_rate(train: Train, step: int) -> float:
    """Rate of optimiser step `step` (1 at the first): linear warm-up, then linear decay to 0 after
    the last (D31). Without warm-up the first step has the full rate, as in the released
    trainers."""
    done = step - 1
    warmup = round(train.warmup_fraction * train.steps)
    if done < warmup:
        return train.learning_rate * done / warmup
    return train.learning_rate * max(0.0, (train.steps - done) / (train.steps - warmup))
