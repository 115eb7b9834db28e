"""A trial of a method before its first run: short runs on a few sentences that are to agree, and a
sentence for the first mistake that would give wrong numbers without a word."""

from __future__ import annotations

import contextlib
import copy
import difflib
import inspect
import io
import math
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from traceback import extract_tb
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from core.config import methods
from core.config.methods import own_sections
from core.config.run import Execution, RunConfig
from core.config.vary import vary
from core.encoder.bert import Encoder
from core.encoder.packing import Packed, pack, padded, token_matrix
from core.encoder.streams import seed_libraries
from core.encoder.tokens import TokenTable
from core.errors import UserError, fault, place, say
from core.methods.contrastive import Contrastive, Terms, TrainingText
from core.methods.simcse.model import Views
from core.training.job import load_encoder, new_model, training_text_of
from core.training.optimiser import adamw
from core.training.run import Run
from core.training.step import Step, own_stream, step_for
from core.training.trainer import training_batches

STEPS = 3
SENTENCES = 16  # of a step
SCORED = 8  # sentences whose vectors are compared
RATE = 1e-4  # of the steps: enough to move every weight, and too little to diverge
NEAR = 1e-3  # of a vector's largest number: other batches round otherwise
SAME = 1e-4  # of a loss: less is no difference
REPLAY = 1e-2  # of a loss: a replayed step in bf16 rounds otherwise
LINES = {  # that a method's files should not have
    r"manual_seed|random\.seed|default_rng\(\d|RandomState\(\d": "sets a seed of its own, which all "
    "seeds of a run share; leave it out, or use torch_stream",
    r"core\.data\.(sts|transfer|own_data)|core\.evaluation": "reads what runs are scored with; train "
    "on the text alone",
    r"os\.environ|getenv": "reads a variable that the run's name does not hold; make it a field of "
    "a section",
}


class Check(NamedTuple):
    """Whether something is wrong, the hooks of which the first one that the method states is named,
    and what to say."""

    wrong: object
    hooks: str
    words: str


class Material(NamedTuple):
    """What a trial is made of: a run of few sentences a step, its encoder and text."""

    config: RunConfig
    encoder: Encoder
    text: TrainingText
    device: torch.device

    @classmethod
    def of(cls, config: RunConfig, execution: Execution) -> Material:
        """Load what a run needs. Raises UserError for data that is not what the run names."""
        run = Run(config, execution)
        torch.set_num_threads(execution.threads)
        encoder, tokenizer = load_encoder(run)
        text = training_text_of(run, tokenizer)
        columns = list(text.columns)
        for number in range(len(columns) + 1, config.columns):  # made up of other sentences
            columns.append(moved(text.table, number))
        steps = max(config.train.steps, 2 * STEPS)
        size = min(config.train.batch_size, SENTENCES)
        with contextlib.suppress(UserError):  # its method may need larger batches
            config = vary(config, {"train.batch_size": size})
        config = vary(config, {"train.steps": steps})
        return cls(config, encoder, text._replace(columns=tuple(columns)), run.device)

    def batches(self, done: int = 0, steps: int = STEPS) -> Iterator[tuple]:
        """The arguments of `loss` for the steps after the first `done`, up to `steps`."""
        made = training_batches(self.config, self.text, self.device, done)
        return islice(made, steps - done)

    def model(self, seed: int = 0) -> Contrastive:
        """A new model, under a further seed of new weights."""
        config = vary(self.config, {"seed.model": self.config.seed.model + seed})
        return new_model(config, copy.deepcopy(self.encoder), self.device).train()

    def tokens(self) -> list[int]:
        """A checksum of the token ids of the text and of each of its columns."""
        return [zlib.crc32(table.ids.data) for table in (self.text.table, *self.text.columns)]


def moved(table: TokenTable, by: int) -> TokenTable:
    """The same sentences, each so many places earlier; the first ones come last."""
    by %= len(table)
    lengths = np.roll(np.diff(table.offsets), -by)
    ids = np.roll(table.ids, -int(table.offsets[by]))
    return TokenTable(ids, np.concatenate([[0], np.cumsum(lengths)]))


class Training:
    """A model and the losses of a few steps. `captures`: whether a GPU replays steps; None: as in
    a run."""

    def __init__(self, material: Material, captures: bool | None = None):
        self.material = material
        self.captures = captures
        self.losses: list[float] = []
        self._begin()

    def _begin(self) -> None:
        train = self.material.config.train
        self.model = self.material.model()
        self.optimiser = adamw(train, self.model, self.model.new_layers())
        self.step = step_for(train, self.model, self.optimiser, self.material.device)
        if self.captures is not None:
            self.step = Step(train, self.model, self.optimiser, None, self.captures)

    def advance(self, batches: Iterable[tuple], scored: list[np.ndarray] | None = None) -> Training:
        """Train on these batches; before each, score some sentences."""
        for batch in batches:
            if scored:
                vectors(self.model, scored)
            self.losses.append(float(self.step(batch, RATE)))
        return self

    def resume(self) -> None:
        """Go on as a run that reads its state from a file."""
        file = io.BytesIO()
        torch.save([self.model.state_dict(), self.optimiser.state_dict()], file)
        file.seek(0)
        self._begin()
        for part, state in zip(
            (self.model, self.optimiser), torch.load(file, weights_only=True), strict=True
        ):
            part.load_state_dict(state)


def trial(config: RunConfig, execution: Execution) -> list[str]:
    """What is wrong with the method of a run, in a sentence with file and line. Raises UserError
    for data that is not what the run names, and MemoryError."""
    if not config.trains:
        return []
    material = Material.of(config, execution)
    try:
        kind = methods.model(config.method).Model
        with own_stream(material.device):
            for wrong, hooks, words in chain(_lines(config.method), _checks(material)):
                if wrong:
                    return [f"{_place(kind, hooks)}: {words}."]
    except UserError as error:
        return [str(error)]
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except (Exception, SystemExit) as error:  # whatever a method's code does
        return [_fault(config.method, error)]
    return []


def _lines(name: str) -> Iterator[Check]:
    """Lines of the method's own files that would go unnoticed in a short run."""
    for file in sorted(methods.folder(name).glob("[!.]*.py")):
        for line in file.read_text(encoding="utf-8").splitlines():
            for pattern, words in LINES.items():
                found = re.search(pattern, line.partition("#")[0])
                yield Check(found, f"{file.name}:{line.strip()}", words)


def _checks(material: Material) -> Iterator[Check]:
    """What may be wrong, in an order in which a mistake is named before what follows from it."""
    before = material.tokens()
    whole = Training(material)
    model = whole.model
    if isinstance(model, Views):
        yield from _names(type(model))
    for name, value in vars(model).items():
        layers = isinstance(value, (list, tuple)) and any(isinstance(x, nn.Module) for x in value)
        words = f"self.{name} holds layers that the model does not know, so they are not trained"
        yield Check(layers, "build", f"{words}; use nn.ModuleList")
    whole.advance(material.batches())
    counts = getattr(model, "terms", Terms()).counts.values()
    names = "extra gives other terms in one step than in the next; give each step the same names"
    yield Check(any(count < STEPS for count in counts), "extra", names)
    for name, number in {"contrast": whole.losses[0], **model.term_means()}.items():
        hook = name if name == "contrast" else "extra"
        finite = math.isfinite(number)
        yield Check(not finite, hook, f"{name} is {number} in the first step; correct it")
    yield Check(
        Training(material).advance(material.batches()).losses != whole.losses,
        "views pooled contrast",
        "two trainings of one seed differ; draw from rng in views, and elsewhere from torch, numpy "
        "or random without a generator of your own, or from torch_stream",
    )
    written = "the tokens were written into; write into a copy"
    yield Check(material.tokens() != before, "views batch", written)
    old = material.encoder.to(material.device).parameters()
    yield Check(
        all(map(torch.equal, old, model.encoder.parameters())),
        "contrast",
        f"{STEPS} steps move no weight of the encoder; let the loss depend on it, without detach() "
        "or no_grad()",
    )
    scored = Training(material).advance(material.batches(), _sentences(material))
    disturbed = "checks disturb the training; change nothing while scoring"
    yield Check(scored.losses != whole.losses, "sentence_vectors pool", disturbed)
    resumed = Training(material).advance(material.batches(steps=STEPS - 1))
    resumed.resume()
    yield Check(
        resumed.advance(material.batches(STEPS - 1)).losses != whole.losses,
        "contrast build",
        "a resumed run has other losses than an undisturbed one; keep in buffers (register_buffer) "
        "what one step leaves for the next, and leave each part in its mode",
    )
    yield from _seeded(material)
    yield from _scored(material, model)
    yield from _compared(material)
    yield from _replayed(material, model)


def _names(kind: type) -> Iterator[Check]:
    """Functions whose name is nearly a hook's."""
    hooks = [name for name in vars(Views) if not name.startswith("_")]
    for name, value in vars(kind).items():
        near = difflib.get_close_matches(name.strip("_"), hooks, n=1, cutoff=0.7)
        if inspect.isfunction(value) and near and name not in hooks and near[0] not in vars(kind):
            yield Check(True, name, f"{name} is no hook; did you mean {near[0]}?")


def _seeded(material: Material) -> Iterator[Check]:
    """New layers that are the same under two seeds of new weights."""
    pretrained = [*material.encoder.parameters()]
    layers = [material.model(seed).new_layers() for seed in (0, 1)]
    for weight, other in zip(*(nn.ModuleList(new).parameters() for new in layers), strict=True):
        drawn = weight.numel() > 1 and float(weight.detach().float().std()) > 0
        same = drawn and torch.equal(weight, other)
        taken = same and any(torch.equal(weight, known) for known in pretrained)
        words = "a new layer starts the same under every seed; draw it without a seed of your own"
        yield Check(same and not taken, "build", words)


def _sentences(material: Material) -> list[np.ndarray]:
    """The sentences whose vectors are compared."""
    return [material.text.table[i] for i in range(min(SCORED, len(material.text.table)))]


@torch.inference_mode()
def vectors(model: Contrastive, texts: list[np.ndarray], padding: int = 0) -> Tensor:
    """The scored vectors of these sentences; the model is in its mode afterwards."""
    mode = model.training
    device = next(model.parameters()).device
    batch = pack(texts, device)
    if padding:
        batch = padded(token_matrix(texts, max(map(len, texts)) + padding).to(device))
    model.eval()
    scored = model.sentence_vectors(batch)
    model.train(mode)
    return scored


def _scored(material: Material, model: Contrastive) -> Iterator[Check]:
    """What is wrong with the vectors that are scored."""
    if model.draws_when_scored or model.scored_by_slot:
        return
    texts = _sentences(material)
    half = len(texts) // 2 or 1
    scored = vectors(model, texts)
    near = NEAR * float(scored.abs().max())
    halves = torch.cat([vectors(model, part) for part in (texts[:half], texts[half:])])
    selected = material.model()
    selected.scored_parts().load_state_dict(model.scored_parts().state_dict())
    finite = len(scored) == len(texts) and bool(torch.isfinite(scored).all())
    holds = {
        "are not finite, or not one a sentence; correct them": finite,
        "are others each time; draw nothing, or set draws_when_scored = True": torch.equal(
            scored, vectors(model, texts)
        ),
        "depend on the other sentences of the batch; make each of its own sentence": torch.allclose(
            scored, halves, atol=near
        ),
        "depend on padding, which a GPU has; leave out what encoded.packed.mask leaves out": (
            torch.allclose(scored, vectors(model, texts, padding=8), atol=near)
        ),
        "need more than scored_parts holds; add what they read": torch.equal(
            scored, vectors(selected, texts)
        ),
    }
    for words, sound in holds.items():
        yield Check(not sound, "sentence_vectors pool", f"vectors {words}")


def _compared(material: Material) -> Iterator[Check]:
    """What is wrong with the views of a first batch, and with what `contrast` and `extra` make of
    them."""
    model = material.model()
    batch = next(material.batches())[0]
    if not isinstance(model, Views) or not isinstance(batch, Packed):
        return
    config = material.config
    state = copy.deepcopy(model.state_dict())
    views = model.pooled(batch).float().chunk(batch.parts or 2)

    @torch.no_grad()
    def loss(*given: Tensor) -> float:
        seed_libraries(0, "views")
        value = float(model.contrast(*given))
        model.load_state_dict(state)
        return value

    if model.starts_from_cls():
        first = batch.ids[batch.first] == int(material.text.table[0][0])
        words = "a view does not begin with [CLS], whose vector is pooled; keep the first token"
        yield Check(not first.all(), "views", words)
    if config.encoder.hidden_dropout + config.encoder.attention_dropout > 0:
        equal = [torch.allclose(views[0], view, atol=1e-5) for view in views[1:]]
        words = "two views of each sentence are the same vectors; leave dropout on"
        yield Check(any(equal), "pooled build", words)
    own = loss(*views)

    # a setting of the method's own sections may leave a view out
    usual = own_sections(config) == own_sections(methods.method(config.method).paper)
    if usual and type(model).extra is Views.extra:
        noise = torch.Generator().manual_seed(0)
        for place in range(len(views)):
            given = list(views)
            given[place] = torch.randn(views[0].shape, generator=noise).to(views[0])
            words = f"the loss is the same whatever view {place + 1} of {len(views)} is"
            unread = loss(*given) == own
            yield Check(unread, "contrast", f"{words}; read it, or make fewer views")
    if len(views) == 2 and config.columns == 1:
        other = min(loss(views[0], views[1].roll(by, 0)) for by in (1, -1))
        words = f"the loss is {own:.4g} of each sentence's own views, and {other:.4g} of another's"
        near = other <= own + SAME * abs(own)
        yield Check(near, "contrast", f"{words}; look at its sign and its labels")
    model.pooled_views = views
    for name, term in model.extra(batch).items():
        words = f"the term {name} has no gradient, so it trains nothing; leave out detach()"
        yield Check(not term.requires_grad, "extra", words)


def _replayed(material: Material, model: Contrastive) -> Iterator[Check]:
    """Whether steps that a GPU replays have other losses than usual ones."""
    if material.device.type != "cuda" or not model.capturable:
        return
    first = next(material.batches())
    usual = Training(material, False).advance(repeat(first, STEPS + 1)).losses
    replayed = [math.nan]
    try:
        replayed = Training(material, True).advance(repeat(first, STEPS + 1)).losses
    except RuntimeError as error:
        say(" ".join(str(error).split())[:150], out=sys.stderr)
    words = "replayed on a GPU, steps have other losses; change tensors in place, or set capturable"
    yield Check(not np.allclose(usual, replayed, rtol=REPLAY), "contrast", f"{words} = False")


def _place(kind: type, hooks: str) -> str:
    """Where the first of these hooks that the method states itself is written; or FILE:LINE."""
    name, colon, line = hooks.partition(":")
    if colon:
        file = methods.folder(kind.__module__.split(".")[-2]) / name
        return place(file, rf"\s*{re.escape(line)}")
    for base in kind.__mro__:
        if base.__module__.startswith(methods.PACKAGE):
            for name in hooks.split():
                if name in vars(base):
                    return place(Path(inspect.getfile(base)), rf"\s*def {name}\b")
    return place(Path(inspect.getfile(kind)), f"class {kind.__name__}")


def _fault(name: str, error: BaseException) -> str:
    """An error of a method's code in a sentence, with the innermost line of the method's files."""
    folder = methods.folder(name)
    for frame in reversed(extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(folder):
            return fault(Path(frame.filename), error)
    return fault(folder / "model.py", error, "class Model")
