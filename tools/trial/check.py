"""A trial of a method: short runs on a few sentences that are to agree, and a sentence for the
first mistake that would give wrong numbers without a word."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from pathlib import Path
from traceback import extract_tb

import numpy as np
import torch
from torch import nn

from core.config import methods
from core.config.run import RunConfig
from core.errors import UserError, fault, place
from core.methods.contrastive import Contrastive, Terms
from core.methods.simcse.model import Views
from core.training.execution import Execution
from core.training.step import own_stream
from tools.trial.attributes import OF_TORCH, lost
from tools.trial.short_run import NEAR, SCORED, STEPS, Material, ShortRun
from tools.trial.views import Fault, views_faults

REPLAY = 1e-2  # of a loss: a replayed step in bf16 rounds otherwise
Hear = Callable[[str], None]
LINES = {  # that a method's files should not have, since no short run shows what they do
    r"core\.data\.(sts|transfer|own_data)|core\.evaluation(?!\.encoding)": (
        "this reads what runs are scored with; train on the text alone"
    ),
    r"os\.environ|getenv": (
        "this reads a variable that the run's name does not hold; make it a field of a section"
    ),
}


def trial(config: RunConfig, execution: Execution, hear: Hear = lambda words: None) -> list[str]:
    """What is wrong with the method of a run, in a sentence with file and line; `hear` gets what it
    trains. Raises UserError for data that is not what the run names, and MemoryError."""
    if not config.trains:
        return []
    material = Material.of(config, execution)
    try:
        hear(trained_weights(material.model()))
        for sentence in _lines(config.method):
            return [sentence]
        with own_stream(material.run.device):
            for hooks, words in _faults(material):
                return [f"{_place(methods.model(config.method).Model, hooks)}: {words}."]
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except (Exception, SystemExit) as error:  # whatever a method's code does
        return [_fault(config.method, error)]
    return []


def trained_weights(model: nn.Module) -> str:
    """The parts of a model that are trained, with their numbers of weights in millions."""
    sizes: dict[str, int] = {}
    for name, weight in model.named_parameters():
        part = name.partition(".")[0]
        sizes[part] = sizes.get(part, 0) + weight.requires_grad * weight.numel()
    return ", ".join(f"{part} {size / 1e6:.2f} M" for part, size in sizes.items() if size)


def _lines(name: str) -> Iterator[str]:
    """The lines of the method's own files that `LINES` names."""
    for file in sorted(methods.folder(name).glob("[!.]*.py")):
        text = file.read_text(encoding="utf-8")
        for pattern, words in LINES.items():
            line = rf"[^#\n]*({pattern})"
            if re.search(f"^{line}", text, re.MULTILINE):
                yield f"{place(file, line)}: {words}."


def _faults(material: Material) -> Iterator[Fault]:
    """What is wrong, in an order in which a mistake is named before what follows from it."""
    before = material.tokens()
    yield from _statements(material.model())
    whole = material.trained()
    yield from _first_run(whole)
    # a GPU sums in any order
    exact = material.run.device.type == "cpu"
    agree = partial(np.allclose, rtol=0.0 if exact else NEAR, atol=0.0)
    if not agree(material.trained().losses, whole.losses):
        yield (
            "views pooled contrast",
            "two trainings of one seed differ; draw from rng in views, elsewhere from torch_stream",
        )
    if material.tokens() != before:
        yield "views batch", "the tokens were written into; write into a copy"
    encoder = material.encoder.to(material.run.device)
    if all(map(torch.equal, encoder.parameters(), whole.model.encoder.parameters())):
        yield (
            "contrast",
            f"{STEPS} steps move no weight of the encoder; let the loss depend on it",
        )
    if not exact and whole.model.capturable:  # what is replayed is not resumed either
        yield from _replays(material)
    scored = material.trained(scored=True)
    if not agree(scored.losses, whole.losses) or (exact and scored.state != whole.state):
        words = "checks disturb the training; change nothing while scoring"
        yield "sentence_vectors pool", words
    state = material.trained(material.batches(stop=STEPS - 1)).state
    resumed = material.trained(material.batches(STEPS - 1), state=state)
    if not agree(resumed.losses, whole.losses[-1:]):
        words = "a resumed run has other losses; leave each part in its mode, and keep in buffers"
        yield "contrast build", f"{words} what a step leaves for the next"
    for name in lost(whole.model, resumed.model) if exact else ():
        words = f"a resumed run loses self.{name}; keep it in a buffer, or name it in checkpointed"
        yield "after_update after_step contrast build", words
    warmer = {"loss.temperature": 2 * material.run.config.loss.temperature}
    with contextlib.suppress(UserError):  # which a method that states it unread raises
        if material.trained(changes=warmer).losses == whole.losses:
            words = "the losses are the same whatever loss.temperature is; read it, or state in"
            yield "contrast", f'{words} settings.py unread=("loss.temperature",)'
    yield from _seeds(material)
    yield from _vectors(material, whole.model)
    if isinstance(whole.model, Views):
        yield from views_faults(material, whole.model)


def _statements(model: Contrastive) -> Iterator[Fault]:
    """Functions whose name is nearly a hook's, and layers where no model looks for them."""
    kind = type(model)
    hooks = [name for name in vars(Views) if not name.startswith("_")]
    stated = {name: value for name, value in vars(kind).items() if inspect.isfunction(value)}
    known = {*hooks}.union(*(function.__code__.co_names for function in stated.values()))
    for name in stated if isinstance(model, Views) else ():  # and is no helper of another
        near = difflib.get_close_matches(name.strip("_"), hooks, n=1, cutoff=0.7)
        if near and name not in known and near[0] not in vars(kind):
            yield (name, f"{name} is no hook; did you mean {near[0]}?")
    for name, value in vars(model).items():
        parts = value.values() if isinstance(value, dict) else value
        holds = isinstance(value, (list, tuple, dict)) and name not in OF_TORCH
        if holds and any(isinstance(part, nn.Module) for part in parts):
            words = f"self.{name} holds layers that the model does not know, so they are not"
            yield "build", f"{words} trained; use nn.ModuleList or nn.ModuleDict"


def _first_run(whole: ShortRun) -> Iterator[Fault]:
    """What a first run shows by itself."""
    model = whole.model
    if len(whole.losses) < STEPS:
        terms = [name for name, mean in model.term_means().items() if not np.isfinite(mean)]
        hook = "extra" if terms else "contrast"
        what = terms[0] if terms else "the loss or its gradient"
        yield (hook, f"{what} is not finite in step {len(whole.losses) + 1}; correct it")
    if any(steps < STEPS for _, steps in getattr(model, "terms", Terms()).sums.values()):
        words = "extra gives other terms in one step than in the next"
        yield "extra", f"{words}; give each step the same names"


def _seeds(material: Material) -> Iterator[Fault]:
    """New layers that are the same under two seeds of new weights."""
    pretrained = [*material.encoder.parameters()]
    other_seed = {"seed.model": material.run.config.seed.model + 1}
    models = (material.model(), material.model(other_seed))
    layers = [nn.ModuleList(model.new_layers()).parameters() for model in models]
    for weight, other in zip(*layers, strict=True):
        drawn = weight.requires_grad and float(weight.detach().float().std(correction=0)) > 0
        taken = any(torch.equal(weight, known) for known in pretrained)
        if drawn and not taken and torch.equal(weight, other):
            words = "a new layer starts the same under every seed"
            yield "build", f"{words}; draw it without a seed of your own"


def _vectors(material: Material, model: Contrastive) -> Iterator[Fault]:
    """What is wrong with the vectors that are scored."""
    if model.draws_when_scored or model.scored_by_slot:
        return
    scored = material.vectors(model)
    near = NEAR * float(scored.abs().max())
    halves = [material.vectors(model, slice(start, SCORED, 2)) for start in (0, 1)]
    wider = material.vectors(model, padding=8)
    selected = material.model()
    selected.scored_parts().load_state_dict(model.scored_parts().state_dict())
    sound = {
        "are not finite; correct them": bool(torch.isfinite(scored).all()),
        "are others each time; draw nothing, or set draws_when_scored = True": torch.equal(
            scored, material.vectors(model)
        ),
        "depend on the other sentences of the batch; make each of its own sentence": torch.allclose(
            torch.cat([scored[::2], scored[1::2]]), torch.cat(halves), atol=near
        ),
        "depend on padding, which a GPU has; leave out what encoded.packed.mask leaves out": (
            torch.allclose(scored, wider, atol=near)
        ),
        "need more than scored_parts holds; add what they read": torch.equal(
            scored, material.vectors(selected)
        ),
    }
    for words, holds in sound.items():
        if not holds:
            yield "sentence_vectors pool", f"vectors {words}"


def _replays(material: Material) -> Iterator[Fault]:
    """Whether steps that a GPU replays have other losses than usual ones."""
    batch = next(material.batches())
    usual = material.trained(repeat(batch, STEPS + 1), captures=False).losses
    replayed = material.trained(repeat(batch, STEPS + 1)).losses
    if len(usual) != len(replayed) or not np.allclose(usual, replayed, rtol=REPLAY):
        words = "replayed on a GPU, steps have other losses"
        yield "contrast", f"{words}; change tensors in place, or set capturable = False"


def _place(kind: type, hooks: str) -> str:
    """Where the first of these hooks that the method states itself is written."""
    for base in kind.__mro__:
        if base.__module__.startswith(methods.PACKAGE):
            for name in hooks.split():
                if name in vars(base):
                    return place(Path(inspect.getfile(base)), rf"\s*def {name}\b")
    return place(Path(inspect.getfile(kind)), f"class {kind.__name__}")


def _fault(name: str, error: BaseException) -> str:
    """An error of a method's code in a sentence, with the innermost line of the method's files."""
    folder = methods.folder(name)
    files = [Path(frame.filename) for frame in extract_tb(error.__traceback__)]
    own = [file for file in files if file.is_relative_to(folder)] or [folder / "model.py"]
    return fault(own[-1], error, "class Model")
