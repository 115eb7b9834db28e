"""A training that is killed goes on where its checkpoint left it, to the last bit; a checkpoint is
believed only if it is whole."""

from __future__ import annotations

import copy
import itertools
import math
import random
import shutil

import numpy as np
import pytest
import tiny
import torch
from torch.utils._pytree import tree_leaves

from core.config import methods
from core.config.identity import run_id
from core.config.result import Measurement
from core.encoder.any import AnyEncoder
from core.encoder.tokens import TokenTable
from core.errors import UserError
from core.methods.contrastive import TrainingText
from core.store.store import Store
from core.training import checkpoint
from core.training.checkpoint import CheckpointFile
from core.training.execution import Execution
from core.training.provenance import CODE, provenance_after
from core.training.run import Run
from core.training.trainer import train, training_batches

CPU = torch.device("cpu")
AUGMENTED = {"train__precision": "bf16", "eval__apply_augmentation": True} | tiny.SHUFFLED
VARIANTS = [
    ("mocose", "repaired", {}, AnyEncoder),
    ("mocose", "released", AUGMENTED, tiny.encoder),
    ("esimcse", "repaired", {}, tiny.encoder),
    ("esimcse", "released", {"train__precision": "fp32"}, tiny.encoder),
    ("simcse", "repaired", {}, AnyEncoder),
]
SENTENCES = tiny.sentences(30)
TABLE = TokenTable(
    np.concatenate(SENTENCES), np.cumsum([0] + [len(tokens) for tokens in SENTENCES])
)


class Interrupted(Exception):
    pass


def configured(method, profile, changes):
    dropout = {"encoder__hidden_dropout": 0.1, "encoder__attention_dropout": 0.1}
    return tiny.config(
        method, profile, **(dropout | {"eval__every": 4, "train__steps": 14} | changes)
    )


def broken_off(batches, after):
    """The batches up to the one after which the training is to die."""
    for step, batch in enumerate(batches, start=1):
        yield batch
        if step == after:
            raise Interrupted


def fresh(config, make=tiny.encoder):
    return methods.model(config.method).Model(config, make(tiny.bert(), 0.1, 0.1), CPU)


def attempt(config, folder, steps=None, every=None, notes=None, minutes=1.0, make=tiny.encoder):
    """One attempt, with a checkpoint after every so many steps (None: none at all), that dies after
    `steps` more steps if given.

    What it leaves: rows, training, model and keeper; None if it died.
    """
    model = fresh(config, make)
    keeper = None
    rows = []
    done = 0
    if every is not None:
        execution = Execution(
            results_dir=str(folder), cache_dir=str(folder), checkpoint_minutes=minutes
        )
        told = notes if notes is not None else []
        run = Run(config, execution, lambda message: told.append(message["note"]))
        keeper = CheckpointFile(run, model)
        rows = keeper.rows
        done = keeper.step
        due = itertools.cycle([False] * (every - 1) + [True])
        if minutes is not None:
            keeper.due = lambda: next(due)
    if not done:
        rows.append(Measurement("curve", "dev", "made_up", 0, float("nan")))
    batches = training_batches(config, TrainingText(TABLE), CPU, done=done)
    probe = next(training_batches(config, TrainingText(TABLE), CPU))[0]

    def check(step):
        # as scoring does; with augmented evaluation this draws from a stream of its own
        model.eval()
        with torch.inference_mode():
            score = float(model.sentence_vectors(probe).float().std()) * 1e3 % 7.0
        rows.append(Measurement("curve", "dev", "made_up", step, score))
        return score

    try:
        training = train(
            config, model, broken_off(batches, steps), check, lambda message: None, keeper
        )
    except Interrupted:
        return None
    return rows, training, model, keeper


def alike(mine, its):
    """Whether two state dicts hold the same names and bits."""
    assert mine.keys() == its.keys()
    pairs = zip(tree_leaves(dict(mine)), tree_leaves(dict(its)), strict=True)
    return all(a is b or torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in pairs)


def same(ours, theirs):
    """Rows, losses, selection and every tensor of two attempts that ran to their end agree to the
    last bit."""
    (rows, training, model, _), (other_rows, other, other_model, _) = ours, theirs
    assert rows[1:] == other_rows[1:] and math.isnan(rows[0].value) and rows[0].step == 0
    assert training.losses == other.losses and training.selected[:2] == other.selected[:2]
    assert alike(model.state_dict(), other_model.state_dict())
    assert alike(training.selected.state, other.selected.state)


@pytest.mark.parametrize("method, profile, changes, make", VARIANTS)
def test_an_interrupted_training_equals_an_undisturbed_one(
    method, profile, changes, make, tmp_path
):
    config = configured(method, profile, changes)
    undisturbed = attempt(config, tmp_path, make=make)
    assert [step for step, _ in undisturbed[1].losses] == [4, 8, 12, 14]
    draw = random.Random(f"{method}/{profile}")
    path = Store(tmp_path, None).path("checkpoints", run_id(config))
    begun = []
    while (resumed := attempt(config, tmp_path, draw.randint(3, 6), 3, make=make)) is None:
        begun.append(checkpoint.read_checkpoint(path)["step"])
    assert len(begun) >= 2 and resumed[3].resumed_at == begun
    same(resumed, undisturbed)


def test_a_full_disk_costs_the_checkpoint_alone(calm, tmp_path, monkeypatch):
    config = configured("mocose", "repaired", {})
    notes = []
    save = torch.save
    with open("/dev/full", "wb", buffering=0) as disk:
        monkeypatch.setattr(torch, "save", lambda content, file: save(content, disk))
        same(attempt(config, tmp_path, every=6, notes=notes), calm)
    assert len(notes) == 2 and "step 6" in notes[0] and "disk is full" in notes[0]
    assert not list((tmp_path / "checkpoints").iterdir())


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """A run in one go."""
    return attempt(configured("mocose", "repaired", {}), tmp_path_factory.mktemp("calm"))


@pytest.fixture(scope="module")
def sixth(tmp_path_factory):
    """The checkpoint after step 6 of the same run, which died after step 7."""
    folder = tmp_path_factory.mktemp("sixth")
    config = configured("mocose", "repaired", {})
    assert attempt(config, folder, steps=7, every=3) is None
    return Store(folder, None).path("checkpoints", run_id(config))


WORDS = "encoder.embeddings.word.weight"
QUEUE = "queue._extra_state"


def rewritten(change):
    """A harm that changes the content of a checkpoint and seals it again."""

    def harm(path):
        content = copy.deepcopy(checkpoint.read_checkpoint(path))  # which lies in the file
        change(content)
        checkpoint.write_checkpoint(path, content)

    return harm


def flipped(path):
    """One bit of a weight."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def without_seal(path):
    torch.save(copy.deepcopy(checkpoint.read_checkpoint(path)), path)


HARMS = {
    "of another run": rewritten(lambda content: content.update(run_id="0" * 16)),
    "of other code": rewritten(lambda content: content.update({"code of the method": "0" * 16})),
    "of another transformers": rewritten(
        lambda content: content["libraries"].__setitem__(1, "1.0")
    ),
    "no step": rewritten(lambda content: content.pop("step")),
    "a weight less": rewritten(lambda content: content["model"].pop(WORDS)),
    "another shape": rewritten(lambda content: content["model"].update({WORDS: torch.zeros(2)})),
    "another queue": rewritten(lambda content: content["model"].update({QUEUE: {"x": WORDS}})),
    "without a seal": without_seal,
    "a flipped bit": flipped,
    "empty": lambda path: path.write_bytes(b""),
}
SEALED = list(HARMS)[:7]


def copied(folder, sixth):
    """The path of a copy of the checkpoint after step 6, where a run in this folder reads it."""
    path = folder / sixth.parent.name / sixth.name
    shutil.copytree(sixth.parent, path.parent)
    return path


@pytest.mark.parametrize("harm", HARMS)
def test_a_checkpoint_that_does_not_fit_is_set_aside(harm, sixth, tmp_path, monkeypatch):
    config = configured("mocose", "repaired", {})
    path = copied(tmp_path, sixth)
    HARMS[harm](path)
    if harm not in SEALED:
        monkeypatch.setattr(torch, "load", None)  # it crashed on some files
    notes = []
    execution = Execution(results_dir=str(tmp_path), cache_dir=str(tmp_path))
    model = fresh(config)
    run = Run(config, execution, lambda message: notes.append(message["note"]))
    file = CheckpointFile(run, model)
    assert (file.step, file.rows, file.resumed_at, file.codes) == (0, [], [], {CODE})
    assert alike(model.state_dict(), fresh(config).state_dict())
    (note,) = notes
    assert str(path) in note and "from nothing" in note and "\n" not in note
    assert harm in SEALED or "does not match its seal" in note
    assert len(list((tmp_path / "damaged").iterdir())) == 1 and not path.exists()


def test_a_sealed_checkpoint_whose_optimiser_does_not_fit_fails_once(sixth, tmp_path):
    config = configured("mocose", "repaired", {})
    path = copied(tmp_path, sixth)
    rewritten(lambda content: content.update(optimiser=None))(path)
    with pytest.raises(UserError, match="of no use: .*give the same command again"):
        attempt(config, tmp_path, every=50)
    assert not path.exists()


def test_a_run_that_other_code_began_says_so(sixth, tmp_path):
    config = configured("mocose", "repaired", {})
    path = copied(tmp_path, sixth)
    assert checkpoint.read_checkpoint(path)["codes"] == [CODE]
    rewritten(lambda content: content.update(codes=["0" * 16]))(path)
    run = Run(config, Execution(results_dir=str(tmp_path), cache_dir=str(tmp_path)))
    codes = CheckpointFile(run, fresh(config)).codes
    assert codes == {CODE, "0" * 16}
    recorded = [provenance_after(run, each)["code"] for each in ({CODE}, codes)]
    assert recorded == [CODE, "changed during the run"]


def test_an_earlier_checkpoint_is_used_without_the_option(calm, sixth, tmp_path):
    """A command that writes no checkpoints goes on from one that an earlier command left."""
    config = configured("mocose", "repaired", {})
    copied(tmp_path, sixth)
    resumed = attempt(config, tmp_path, minutes=None, every=1000)
    assert resumed[3].resumed_at == [6] and not resumed[3].due()
    same(resumed, calm)
