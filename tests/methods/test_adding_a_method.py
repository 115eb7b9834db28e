"""Adding a method is adding a folder: what its settings may state, and what its code's digest
covers."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from places import ROOT

from core.config import methods
from core.config.identity import run_id
from core.config.method_code import code_digest, without_comments
from core.config.methods import base
from core.config.vary import parsed, vary
from core.errors import UserError
from core.study.catalogue import catalogue

EXAMPLES = ROOT / "examples" / "methods"


def test_a_derived_method_has_its_base_s_profiles_and_rules_and_its_own_fields(added):
    added(EXAMPLES / "barlow"), added(EXAMPLES / "dcl")
    assert {"barlow", "dcl", "esimcse", "mocose", "simcse"} <= set(methods.names())
    paper = base("barlow", "paper")
    released = base("barlow", "released")
    assert (paper.data.drop_last, released.data.drop_last) == (True, False)
    assert parsed(paper, "barlow.redundancy", "2") == 2.0
    runs = (paper, released, base("dcl", "paper"), base("simcse", "paper"))
    assert len({run_id(run) for run in runs}) == 4
    for run, changes in (
        (paper, {"eval.vector": "pooler"}),
        (paper, {"queue.size": 3}),
        (base("simcse", "paper"), {"barlow.redundancy": 0.1}),
        (paper, {"loss.temperature": 0.1}),  # stated as unread
    ):
        with pytest.raises(UserError, match=next(iter(changes))):
            vary(run, changes)
    assert vary(base("dcl", "paper"), {"loss.temperature": 0.1}).loss.temperature == 0.1


FRAME = """from dataclasses import dataclass
from core.config.methods import Derived
from core.config.section import Section, frozen


@{made}
class {section}(Section):
    {field}


{name} = Derived({stated})
"""
OWN = {
    "made": "frozen",
    "section": "Own",
    "field": "x: float = 1.0",
    "name": "METHOD",
    "stated": "'simcse', title='T', section=Own",
}
WRONG = {  # what is changed in the settings of a method, by a part of the sentence
    "T changes train.steps": {"stated": "'simcse', title='T', changes={'train.steps': 3}"},
    "T changes data.digest": {"stated": "'simcse', title='T', changes={'data.digest': ''}"},
    "mean train.batch_size": {"stated": "'simcse', title='T', changes={'train.batchsize': 2}"},
    "did you mean simcse": {"stated": "'simsce', title='T'"},
    "AttributeError": {"stated": "'simcse', title='T', section=3"},
    "another columns": {"section": "Columns", "stated": "'simcse', title='T', section=Columns"},
    "TypeError: 'int' object": {"field": "check: int = 1"},
    "missing": {"field": "x: int"},
    "own.x is .*, but it must be list": {"field": "x: list[float] = ()"},
    "ValueError: odd": {"field": "def check(self): raise ValueError('odd')"},
    "SystemExit: 3": {"field": "raise SystemExit(3)"},
    "It is no Python": {"field": "def ("},
    "TypeError": {"made": "dict"},
    "TypeError: unhashable": {"made": "dataclass"},
    "It states no METHOD": {"name": "METHODS"},
}


@pytest.mark.parametrize("words", WRONG)
def test_settings_that_no_run_could_honour_are_one_sentence_with_their_line(added, words):
    text = FRAME.format(**OWN | WRONG[words])
    folder = added.write("wrong", text, (EXAMPLES / "dcl" / "model.py").read_text())
    with pytest.raises(UserError, match=f"core/methods/wrong/settings.py, line [0-9]+: .*{words}"):
        methods.method("wrong")
    (folder / "settings.py").unlink()
    with pytest.raises(UserError, match="wrong/settings.py, line 1: There is no such file"):
        methods.method("wrong")


def test_methods_that_derive_from_each_other_are_one_sentence(added):
    model = (EXAMPLES / "dcl" / "model.py").read_text()
    for name, other in (("one", "other"), ("other", "one")):
        text = (
            f"from core.config.methods import Derived\n\nMETHOD = Derived('{other}', title='T')\n"
        )
        added.write(name, text, model)
    with pytest.raises(UserError, match="one derives from itself"):
        methods.method("one")


def test_threads_that_need_a_method_at_once_all_get_it(added):
    model = (EXAMPLES / "dcl" / "model.py").read_text()
    for name, other, first in (("one", "other", ""), ("other", "simcse", "time.sleep(0.2)")):
        text = f"""import time
from core.config.methods import Derived
{first}
METHOD = Derived('{other}', title='T')
"""
        added.write(name, text, model)
    with ThreadPoolExecutor(2) as threads:
        made = [*threads.map(methods.method, ["one", "one"])]
    assert [method.name for method in made] == ["one", "one"]


# what interpreters differ in: an f-string is one token or many, a tree has other fields
COMMENTED = r"""#!/usr/bin/env python
import torch  # of tensors


def said(x, y):  # "quoted"
    '''A # in a docstring.

    # no comment
    '''
    a = f"{x!r:#>4} # {y['#']}" + 'it\'s # one' + r"\#" "#"   # it's "another"
    # whole lines

    return a, "é"
"""
UNCOMMENTED = r"""
import torch
def said(x, y):
    '''A # in a docstring.

    # no comment
    '''
    a = f"{x!r:#>4} # {y['#']}" + 'it\'s # one' + r"\#" "#"
    return a, "é"
"""


def test_the_digest_is_of_the_text_without_its_comments_under_every_python(added):
    assert without_comments(COMMENTED) == UNCOMMENTED == without_comments(UNCOMMENTED)
    added.write("plain", UNCOMMENTED, COMMENTED)
    first = code_digest("plain")
    assert first == "2bc47206a88b4f71"
    added.write("other", COMMENTED, UNCOMMENTED)
    assert code_digest("other") == first


@pytest.mark.parametrize(
    ("base", "imports"),
    [
        ("barlow", "import torch"),
        ("simcse", "from core.methods.barlow.model import Model"),
        ("simcse", "from core.methods import contrastive, barlow"),
        ("simcse", "from core.methods import (\n    contrastive,\n    barlow,\n)"),
        ("simcse", "from ..barlow.model import Model"),
    ],
)
def test_the_digest_of_a_method_s_code_covers_what_it_takes_over(added, base, imports):
    added(EXAMPLES / "barlow")
    heir = added(EXAMPLES / "dcl", "heir", settings=('"simcse"', f'"{base}"'))
    (heir / "model.py").write_text(f"{imports}\n")
    shipped = [code_digest(name) for name in ("simcse", "esimcse", "mocose")]
    before = code_digest("heir")
    for stem, change in (("model", ("1e-5", "1e-6")), ("settings", ("0.0051", "0.005"))):
        file = heir.parent / "barlow" / f"{stem}.py"
        file.write_text(file.read_text().replace(*change))
        assert before != (before := code_digest("heir"))
    (heir / "words.txt").write_text("which the model may read\n")
    assert before != code_digest("heir")
    assert shipped == [code_digest(name) for name in ("simcse", "esimcse", "mocose")]


def test_the_example_of_a_study_makes_its_runs(added):
    added(EXAMPLES / "dcl")
    found = catalogue(ROOT / "examples" / "studies")
    (study,) = found.groups["dcl"]
    found.check(study)
    methods_of_cells = {study.paper_config(cell, "paper").method for cell in study.cells}
    assert not found.faults and methods_of_cells == {"dcl", "simcse"}


def test_a_folder_whose_name_begins_with_a_dot_is_no_method(added):
    """Editors leave copies of files in such folders."""
    added(EXAMPLES / "dcl", ".copies")
    assert ".copies" not in methods.names()
