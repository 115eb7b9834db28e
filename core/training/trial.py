"""A trial of a method before its first run: a few steps on a few sentences, and a sentence for each
mistake that would give wrong numbers without a word.

    python -m core.training.trial < request    # as core.runner.trials starts it
"""

from __future__ import annotations

import copy
import inspect
import json
import math
import os
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from traceback import extract_tb
from typing import Any

import torch
from torch import Tensor, nn

from core.config import methods
from core.config.identity import from_canonical_json
from core.config.run import Execution, RunConfig
from core.encoder.packing import pack
from core.encoder.streams import seed_libraries
from core.errors import UserError, counted, fault, place, say
from core.methods.contrastive import Contrastive
from core.training.attributes import attributes_of, unregistered
from core.training.rehearsal import STEPS, TRIAL_RATE, Material, Training, WatchedStep
from core.training.step import own_stream
from core.training.trainer import training_batches

SCORED_PARTS = 8  # sentences whose vectors are compared
NEAR = 1e-3  # of a vector's largest number: other batches round otherwise
REPLAY = 1e-2  # of a loss: a replayed step in bf16 rounds otherwise
COPY = "register_buffer and change it in place, such as self.x.copy_(…)"


def trial(config: RunConfig, execution: Execution) -> list[str]:
    """What is wrong with the method of a run, in sentences with file and line. Raises UserError for
    data that is not what the run names, and MemoryError."""
    if not config.trains:
        return []
    material = Material.of(config, execution)
    content = _token_digests(material)
    try:
        with own_stream(material.device):
            sentences = _sentences(material)
        if _token_digests(material) != content:
            where = _place_in_file(methods.model(config.method).Model, r"\s*def (views|batch)\b")
            sentences.append(
                f"{where}: the tokens of the text are not what they were before the steps; write "
                "into a copy, such as tokens.copy()."
            )
        return sentences
    except UserError as error:
        return [str(error)]
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except (Exception, SystemExit) as error:  # whatever a method's code does
        return [_fault(config.method, error)]


def _sentences(material: Material) -> list[str]:
    """The checks, in an order in which a mistake is named before what follows from it."""
    first = Training(material)
    model = first.model
    loose = [
        f"{_attribute(model, name)}: self.{name} holds layers or weights that the model does not "
        "know, so they are not trained; use nn.ModuleList, nn.ModuleDict or nn.Parameter."
        for name in unregistered(model)
    ]
    modes = {name: module.training for name, module in model.named_modules()}
    first.advance(1)
    if not math.isfinite(first.losses[0]):
        return [*loose, _not_finite(model, first.losses[0])]
    left = _modes(model, modes)
    if left:
        return [*loose, *left]
    first.advance(1)
    middle = first.state()
    first.advance(STEPS - 2)
    second = Training(material)
    second.advance(STEPS)
    if first.losses != second.losses:
        where = _place_in_file(
            model, r".*(default_rng|Random\(|urandom|secrets|time\(|Generator\()"
        )
        sentence = (
            f"{where}: two trainings of one seed differ; draw from rng in views, and elsewhere "
            "from torch, numpy or random without a generator of your own, or from torch_stream."
        )
        return [*loose, sentence]
    sentences = [*loose, *_untrained(material, model)]
    sentences += _unread_views(material, model)
    sentences += _resumed(material, first, middle)
    sentences += _scored(material, model, second)
    if material.device.type == "cuda" and model.capturable:
        sentences += replayed(model, lambda captures: losses_of(material, captures))
    return sentences


def _not_finite(model: Contrastive, loss: float) -> str:
    """What to say of the first step's loss that is no finite number."""
    for name, value in model.term_means().items():
        if not math.isfinite(value):
            where = _place_in_file(model, r"\s*def extra\b")
            return f"{where}: the term {name} of the first step is {value}; correct it."
    where = _place_in_file(model, r"\s*def (contrast|loss)\b")
    return f"{where}: the loss of the first step is {loss}; correct it."


def _token_digests(material: Material) -> list[int]:
    """The content of the text's tables, which no step may change."""
    tables = (material.text.table, *material.text.columns)
    return [zlib.crc32(table.ids.data) for table in tables]


def _untrained(material: Material, model: Contrastive) -> list[str]:
    """Whether no step moved the encoder."""
    before = material.encoder.to(material.device).parameters()
    for old, new in zip(before, model.encoder.parameters(), strict=True):
        if not torch.equal(old, new):
            return []
    where = _place_in_file(model, r"\s*def (contrast|loss|pooled|pool)\b")
    sentence = (
        f"{where}: {STEPS} steps move no weight of the encoder; let the loss depend on it, without "
        "detach() or no_grad()."
    )
    return [sentence]


def _modes(model: Contrastive, before: Mapping[str, bool]) -> list[str]:
    """Whether a step left the model, or a part of it, in another mode."""
    for name, module in model.named_modules():
        if before.get(name, module.training) != module.training:
            where = _place_in_file(model, r".*\.(eval|train)\(")
            sentence = (
                f"{where}: a step leaves {name or 'the model'} in another mode, so later steps "
                "have other dropout; put it back as it was."
            )
            return [sentence]
    return []


def _unread_views(material: Material, model: Contrastive) -> list[str]:
    """Views that `contrast` gets and does not read: the loss is the same whatever they are."""
    contrast = getattr(model, "contrast", None)
    if contrast is None or "extra" in vars(type(model)) or material.device.type != "cpu":
        return []
    calls: list[tuple[Tensor, ...]] = []
    state = copy.deepcopy(model.state_dict())

    def recorded(*pooled: Tensor) -> Tensor:
        calls.append(tuple(view.detach() for view in pooled))
        return contrast(*pooled)

    model.contrast = recorded  # type: ignore[assignment]
    batch = next(training_batches(material.config, material.text, material.device))
    with torch.no_grad():
        model.loss(*batch)
    del model.contrast
    noise = torch.Generator().manual_seed(0)
    where = _place_in_file(model, r"\s*def contrast\b")
    sentences = []

    def loss(views: tuple[Tensor, ...]) -> float:
        model.load_state_dict(state)
        seed_libraries(0, "views")
        with torch.no_grad():
            return float(contrast(*views))

    for views in calls[:1]:
        usual = loss(views)
        for number, view in enumerate(views):
            drawn = torch.randn(view.shape, generator=noise).to(view)
            if loss((*views[:number], drawn, *views[number + 1 :])) == usual:
                sentences.append(
                    f"{where}: the loss is the same whatever view {number + 1} of {len(views)} is; "
                    "read it, or make fewer views."
                )
    model.load_state_dict(state)
    return sentences


def _resumed(material: Material, whole: Training, content: dict[str, Any]) -> list[str]:
    """What a run that goes on from a checkpoint would lose, and what a CUDA graph would freeze."""
    model = whole.model
    resumed = Training(material, done=STEPS - 1)
    try:
        resumed.resume(content)
    except Exception as error:  # torch's readers have errors of many kinds
        where = _place_in_file(model, r"\s*def (get|set)_extra_state\b")
        reason = " ".join(str(error).split())[:150]
        return [f"{where}: a checkpoint's state cannot be read back ({reason}); keep tensors."]
    resumed.advance(1)
    left = attributes_of(resumed.model)
    lost = {name for name, value in attributes_of(model).items() if left.get(name) != value}
    sentences = []
    for name in sorted(lost):
        sentences.append(
            f"{_attribute(model, name)}: self.{name} is no part of the state, so a resumed run "
            f"loses it; use {COPY}."
        )
    if not lost and resumed.losses != whole.losses[-1:]:
        where = _place_in_file(model, r"\s*def (loss|contrast|views|batch)\b")
        sentences.append(
            f"{where}: a resumed run has other losses than an undisturbed one; keep in buffers "
            "what one step leaves for the next."
        )
    if model.capturable and isinstance(whole.step, WatchedStep):
        for name in sorted(whole.step.frozen - lost):
            sentences.append(
                f"{_attribute(model, name)}: self.{name} changes in a step, and a GPU's replayed "
                f"steps would freeze it; use {COPY}, or set capturable = False."
            )
    return sentences


def _scored(material: Material, model: Contrastive, later: Training) -> list[str]:
    """What is wrong with the vectors that are scored. `later` has trained as many steps."""
    if model.draws_when_scored or model.scored_by_slot:
        return []
    where = _place_in_file(model, r"\s*def (sentence_vectors|pool)\b")
    texts = [material.text.table[i] for i in range(min(SCORED_PARTS, len(material.text.table)))]
    batch = pack(texts, material.device)
    before = attributes_of(model)
    model.eval()
    with torch.inference_mode():
        vectors = model.sentence_vectors(batch)
        again = model.sentence_vectors(batch)
        halves = [model.sentence_vectors(pack(part, material.device)) for part in _halves(texts)]
    if len(vectors) != len(texts):
        rows = counted(len(vectors), "row")
        return [
            f"{where}: sentence_vectors gave {rows} for {len(texts)} sentences; give a row each."
        ]
    if not torch.isfinite(vectors).all():
        return [f"{where}: sentence_vectors has numbers that are not finite; correct them."]
    sentences = []
    if not torch.equal(vectors, again):
        sentences.append(
            f"{where}: sentence_vectors gives other vectors each time; draw nothing there, or set "
            "draws_when_scored = True."
        )
    elif not torch.allclose(vectors, torch.cat(halves), atol=NEAR * float(vectors.abs().max())):
        sentences.append(
            f"{where}: a sentence's vector depends on the other sentences of its batch; make each "
            "of its own sentence alone."
        )
    changed = {name for name, value in attributes_of(model).items() if before[name] != value}
    for name in sorted(changed):
        sentences.append(
            f"{_attribute(model, name)}: scoring changes self.{name}, so checks disturb the "
            "training; change it in steps alone."
        )
    saved = copy.deepcopy(model.scored_parts().state_dict())
    later.advance(2)
    later.model.scored_parts().load_state_dict(saved)
    later.model.eval()
    with torch.inference_mode():
        selected = later.model.sentence_vectors(batch)
    if not sentences and not torch.equal(selected, vectors):
        sentences.append(
            f"{where}: sentence_vectors reads more than scored_parts holds, so a selected "
            "checkpoint would be scored with later weights; add what it reads to scored_parts."
        )
    return sentences


def _halves(texts: list) -> tuple[list, list]:
    half = len(texts) // 2 or 1
    return texts[:half], texts[half:] or texts[:0]


def losses_of(material: Material, captures: bool) -> list[float]:
    """Losses of steps of one batch on a GPU: as usual, or the second captured and replayed."""
    training = Training(material, captures=captures)
    batch = next(training.batches)
    return [float(training.step(batch, TRIAL_RATE)) for _ in range(STEPS + 1)]


def replayed(model: nn.Module, losses: Callable[[bool], list[float]]) -> list[str]:
    """Whether steps that a GPU replays have other losses than usual ones. `losses` gives those of a
    training with or without replays."""
    usual = losses(False)
    where = _place_in_file(model, r"\s*def (contrast|loss)\b")
    try:
        captured = losses(True)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:150]
        return [f"{where}: a GPU cannot capture a step ({reason}); set capturable = False."]
    for step, (a, b) in enumerate(zip(usual, captured, strict=True), start=1):
        if not math.isclose(a, b, rel_tol=REPLAY):
            sentence = (
                f"{where}: step {step} has the loss {b:.6g} where a GPU replays it, and {a:.6g} "
                "as usual; set capturable = False."
            )
            return [sentence]
    return []


def _place_in_file(model: nn.Module | type, pattern: str) -> str:
    """The first line of the method's classes that a pattern matches, else that of its Model."""
    files = []
    model_class = model if isinstance(model, type) else type(model)
    for kind in model_class.__mro__:
        if kind.__module__.startswith(methods.PACKAGE):
            files.append(Path(inspect.getfile(kind)))
    for file in files:
        where = place(file, pattern)
        if not where.endswith(", line 1"):
            return where
    return place(files[0], f"class {model_class.__name__}")


def _attribute(model: nn.Module, name: str) -> str:
    """Where an attribute is set, by its path in the model."""
    last = name.rpartition(".")[2]
    return _place_in_file(model, rf".*(self\.{last}\b.*=|register_buffer\(.{last}\b)")


def _fault(name: str, error: BaseException) -> str:
    """An error of a method's code in a sentence, with the innermost line of the method's files."""
    folder = methods.folder(name)
    for frame in reversed(extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(folder):
            return fault(Path(frame.filename), error)
    return fault(folder / "model.py", error, "class Model")


def main() -> None:
    """Try the runs of a request; a line of JSON for each, its sentences."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever a method prints
    request = json.load(sys.stdin)
    execution = Execution(**request["execution"])
    for text in request["configs"]:
        config, _ = from_canonical_json(text)
        try:
            sentences = trial(config, execution)
        except UserError as error:
            say(str(error), out=sys.stderr)
            sys.exit(2)
        os.write(out, json.dumps(sentences).encode() + b"\n")


if __name__ == "__main__":
    main()
