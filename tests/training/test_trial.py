"""A trial of a method: it names each silent mistake with its line, and says nothing of sound
methods."""

import os
import shutil
import sys

import pytest
import torch
from extras import gpu
from places import ROOT, python
from wrong_methods import HEAD, LOSS, SOUND, WRONG, WRONG_ON_A_GPU

import core.methods
from core.config import methods
from core.config.methods import base
from core.config.scale import DEMO, at_scale
from core.data.encoders import DEMO_ENCODER
from core.data.sources import demo_sources
from core.training.execution import Execution
from tools.trial import short_run
from tools.trial.check import trained_weights, trial

EXAMPLES = sorted(path.name for path in (ROOT / "examples/methods").iterdir())
SETTINGS = "from core.config.methods import Derived\n\nMETHOD = Derived('simcse', title='A trial', unread=('loss.temperature',))\n"


KEPT = {}


def once(load, part):
    """The same loader, which loads once for each value of this part of a configuration."""

    def loaded(run, *rest):
        key = (part, getattr(run.config, part))
        if key not in KEPT:
            KEPT[key] = load(run, *rest)
        return KEPT[key]

    return loaded


@pytest.fixture
def sentences(monkeypatch, tmp_path_factory):
    """A function from a method's name, and the body of its Model, to what a trial says of it."""
    cache = tmp_path_factory.getbasetemp() / "trials"
    cache.mkdir(exist_ok=True)
    place = tmp_path_factory.mktemp("methods")
    monkeypatch.setattr(core.methods, "__path__", [*core.methods.__path__, str(place)])
    monkeypatch.setattr(short_run, "load_encoder", once(short_run.load_encoder, "encoder"))
    monkeypatch.setattr(short_run, "training_text_of", once(short_run.training_text_of, "columns"))

    def said(name, body=None, device="cpu"):
        if name in EXAMPLES:
            shutil.copytree(ROOT / "examples" / "methods" / name, place / name)
            (place / name / "teacher").symlink_to(DEMO_ENCODER)  # which one of them has
        if body is not None:
            (place / name).mkdir()
            (place / name / "settings.py").write_text(SETTINGS)
            (place / name / "model.py").write_text(HEAD + body)
        methods._folders.cache_clear()
        config = at_scale(base(name, "paper"), DEMO, demo_sources())
        execution = Execution(results_dir=str(cache), cache_dir=str(cache), device=device)
        return trial(config, execution)

    yield said
    methods._folders.cache_clear()


@pytest.mark.parametrize("name", WRONG)
def test_a_silent_mistake_is_one_sentence_with_its_line(sentences, name):
    words, body = WRONG[name]
    (sentence,) = sentences(name.lower(), body)
    file, _, rest = sentence.partition(", line ")
    line = int(rest.partition(":")[0])
    written = (HEAD + body).splitlines()[line - 1]
    print(sentence, "|", written)
    assert words in sentence and file.endswith(f"{name.lower()}{os.sep}model.py")
    assert line >= len(HEAD.splitlines()), written


def test_a_temperature_that_is_neither_read_nor_stated_unread_is_found(sentences, monkeypatch):
    monkeypatch.setattr(
        sys.modules[__name__], "SETTINGS", SETTINGS.replace("unread=", "columns=1) #")
    )
    (sentence,) = sentences("warm", LOSS)
    assert 'unread=("loss.temperature",)' in sentence


@gpu  # where steps are replayed
@pytest.mark.parametrize("name", WRONG_ON_A_GPU)
def test_a_mistake_of_replayed_steps_is_found_on_a_gpu(sentences, name):
    words, body = WRONG_ON_A_GPU[name]
    (sentence,) = sentences(name.lower(), body, "cuda")
    assert words in sentence


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_method_of_ones_own_passes_without_a_word(sentences, name):
    assert sentences(name.lower(), SOUND[name][1]) == []


@pytest.mark.parametrize(
    "name", ["simcse", "esimcse", "mocose", "supervised", "untrained", *EXAMPLES]
)
def test_shipped_methods_and_examples_pass_without_a_word(sentences, name):
    assert sentences(name) == []


def test_the_command_refuses_in_one_sentence():
    done = python("-m", "tools.trial", "simcsf")
    assert done.returncode == 2
    assert done.stderr == "There is no study 'simcsf'; did you mean simcse?\n"


def test_what_is_trained_is_listed():
    parts = {name: torch.nn.Linear(1000, 489) for name in ("encoder", "slow", "frozen")}
    parts["frozen"].requires_grad_(False)
    assert trained_weights(torch.nn.ModuleDict(parts)) == "encoder 0.49 M, slow 0.49 M"
