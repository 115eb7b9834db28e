"""Adding a method is adding a folder: the examples are copied, trained and compared with their
papers' formulas."""

import numpy as np
import pytest
import small_runs
import torch
from places import ROOT

from core.config import methods
from core.config.identity import canonical_json, from_canonical_json, run_id
from core.config.method_code import code_digest, is_code_of
from core.config.methods import base
from core.config.scale import DEMO, at_scale
from core.config.vary import parsed, vary
from core.data.sources import Execution, demo_sources
from core.errors import UserError
from core.store.store import Store
from core.study.catalogue import catalogue
from core.training import job

EXAMPLES = ROOT / "examples" / "methods"


def dcl(first, second, config):
    """Yeh et al. 2022, equation 6, view by view."""
    views = [*first, *second]
    total = 0.0
    pairs = len(first)
    for i, view in enumerate(views):
        others = [views[j] for j in range(2 * pairs) if j % pairs != i % pairs]
        cosine = [
            float(view @ o / np.linalg.norm(view) / np.linalg.norm(o))
            for o in (views[(i + pairs) % (2 * pairs)], *others)
        ]
        total += -cosine[0] / config.loss.temperature + np.log(
            sum(np.exp(c / config.loss.temperature) for c in cosine[1:])
        )
    return total / len(views)


def barlow(first, second, config):
    """Zbontar et al. 2021, equations 1 and 2, entry by entry."""
    first, second = ((x - x.mean(0)) / (x.std(0) + 1e-5) for x in (first, second))
    loss = 0.0
    width = first.shape[1]
    for i in range(width):
        correlation = (first[:, i : i + 1] * second).sum(0) / len(first)
        for j in range(width):
            loss += (
                (1 - correlation[j]) ** 2
                if i == j
                else config.barlow.redundancy * correlation[j] ** 2
            )
    return loss


NAIVE = {EXAMPLES / "dcl": dcl, EXAMPLES / "barlow": barlow}


@pytest.mark.parametrize("source, naive", NAIVE.items(), ids=[path.name for path in NAIVE])
def test_ten_steps_have_the_losses_of_the_formula_and_are_stored(
    added, monkeypatch, tmp_path, source, naive
):
    added(source)
    assert sum(len(file.read_text().splitlines()) for file in source.glob("*.py")) <= 40
    sources = demo_sources()
    own = at_scale(base("simcse", "paper"), DEMO, demo_sources())
    config = at_scale(base(source.name, "paper"), DEMO, sources)
    assert config.train == own.train  # trained at the same rate as SimCSE
    config = vary(config, {"train.steps": 10, "eval.every": 1, "train.batch_size": 16})
    model = methods.model(source.name).Model
    steps = []
    contrast = model.contrast

    def watched(self, first, second):
        loss = contrast(self, first, second)
        steps.append(
            (
                first.detach().double().numpy(),
                second.detach().double().numpy(),
                float(loss.detach()),
            )
        )
        assert not torch.is_autocast_enabled("cpu") and first.dtype == torch.float32
        return loss

    monkeypatch.setattr(model, "contrast", watched)
    monkeypatch.setattr(job, "load_demo", small_runs.thinned)
    execution = Execution(results_dir=str(tmp_path), cache_dir=small_runs.shared_cache())
    result = small_runs.run(config, execution)
    assert result.status == "ok" and len(steps) == 10
    losses = [row.value for row in result.rows if row.metric == "loss"]
    for (first, second, loss), stored in zip(steps, losses, strict=True):
        assert loss == pytest.approx(stored, rel=1e-6) and loss == pytest.approx(
            naive(first, second, config), rel=2e-5
        )
    store = Store(tmp_path, None)
    store.prepare()
    store.save(config, result)
    assert (
        store.load(run_id(config)).config
        == config
        == from_canonical_json(canonical_json(config))[0]
    )
    stored = store.verified(run_id(config))
    assert stored is not None
    assert stored.provenance["method_code"] == code_digest(source.name)


def test_a_derived_method_has_its_base_s_profiles_and_rules_and_its_own_fields(added):
    added(EXAMPLES / "barlow"), added(EXAMPLES / "dcl")
    assert {"barlow", "dcl", "esimcse", "mocose", "simcse"} <= set(methods.names())
    paper = base("barlow", "paper")
    released = base("barlow", "released")
    assert (paper.data.drop_last, released.data.drop_last) == (True, False)
    assert parsed(paper, "barlow.redundancy", "2") == 2.0
    assert (
        len(
            {
                run_id(run)
                for run in (paper, released, base("dcl", "paper"), base("simcse", "paper"))
            }
        )
        == 4
    )
    for run, changes, sentence in (
        (paper, {"eval.vector": "pooler"}, "takes no eval.vector"),
        (paper, {"queue.size": 3}, "method barlow has no section queue"),
        (
            base("simcse", "paper"),
            {"barlow.redundancy": 0.1},
            "method simcse has no section barlow",
        ),
        (
            paper,
            {"loss.temperature": 0.1},
            r"leave it 0.05, or correct its spelling in contrast \(.*barlow/model.py, line 11\)\.$",
        ),
    ):
        with pytest.raises(UserError, match=sentence):
            vary(run, changes)
    assert vary(base("dcl", "paper"), {"loss.temperature": 0.1}).loss.temperature == 0.1


def test_a_comment_neither_reads_a_field_nor_imports_torch(added):
    comment = "class Model"
    added(
        EXAMPLES / "barlow",
        "remarks",
        model=(comment, f"# unlike loss.temperature\n{comment}"),
        settings=(
            'of different dimensions."""',
            'of different dimensions.\n\n    import torch\n    """',
        ),
    )
    with pytest.raises(UserError, match=r"^remarks reads no loss.temperature; leave it 0.05"):
        vary(base("remarks", "paper"), {"loss.temperature": 0.1})


def test_a_value_that_a_method_s_own_check_refuses_is_one_sentence_with_its_line(added):
    check = "= 0.0051\n\n    def check(self):\n        if self.redundancy > 1:\n            raise ValueError('too large')\n"
    added(EXAMPLES / "barlow", "wrong", settings=("= 0.0051\n", check))
    with pytest.raises(
        UserError, match=r"^too large \(.*core/methods/wrong/settings.py, line 18\)\.$"
    ):
        vary(base("wrong", "paper"), {"barlow.redundancy": 2})


WRONG = (  # what is changed in barlow's files, and the sentence of a plan
    (
        {"model": ("def contrast", "def contrasts")},
        "model.py, line 11: contrasts is no hook; did you mean contrast?",
    ),
    (
        {"model": ("def contrast", "def _compared")},
        "model.py, line 6: Model leaves out contrast; write def contrast(",
    ),
    (
        {"model": ("self, first, second", "self, first")},
        "model.py, line 11: write def contrast(self, first, second).",
    ),
    (
        {"model": ("self.config.barlow.redundancy", "1")},
        "settings.py, line 14: model.py does not read redundancy; read it there",
    ),
    (
        {"model": (".barlow.redundancy", ".loss.temperatur")},
        "model.py, line 16: There is no field loss.temperatur; did you mean loss.temperature?",
    ),
    ({"model": ("class Model", "class Twins")}, "model.py, line 1: It states no Model"),
    ({"model": ("def contrast(", "def contrast((")}, "model.py, line 11: It is no Python"),
    (
        {"settings": ('"simcse"', '"simsce"')},
        "settings.py, line 17: There is no method simsce; did you mean simcse?",
    ),
    (
        {"settings": ("METHOD =", "METHODS =")},
        "settings.py, line 17: It states no METHOD; write METHOD = derived(…).",
    ),
    (
        {"settings": ("from typing", "import torch\nfrom typing")},
        "settings.py, line 4: settings are read without torch; move what",
    ),
    (
        {
            "settings": (
                "= 0.0051\n",
                "= 0.0051\n\n    def check(self):\n        raise ValueError('odd')\n",
            )
        },
        "core/methods/wrong/settings.py, line 17: ValueError: odd; mend that line.",
    ),
    (
        {"settings": ("float,", "list[float],")},
        (
            "barlow.redundancy has the type list[float]; give it int, float, str, bool, None, Literal, "
            "tuple"
        ),
    ),
)


@pytest.mark.parametrize("changes, sentence", WRONG, ids=[sentence[:40] for _, sentence in WRONG])
def test_what_is_wrong_with_a_method_s_files_is_one_sentence_of_a_plan(added, changes, sentence):
    folder = added(EXAMPLES / "barlow", "wrong", **changes)
    with pytest.raises(UserError) as refused:
        base("wrong", "paper")
    assert sentence in str(refused.value) and "core/methods/wrong/" in str(refused.value)
    (folder / "model.py").unlink()
    methods._folders.cache_clear()
    with pytest.raises(UserError, match="core/methods/wrong/"):
        methods.method("wrong")


def test_a_field_of_the_same_name_elsewhere_is_not_read_and_a_helper_s_reading_counts(added):
    read = "self.config.barlow.redundancy"
    added(EXAMPLES / "barlow", "elsewhere", model=(read, "first.sum().redundancy"))
    with pytest.raises(UserError, match="model.py does not read redundancy"):
        methods.method("elsewhere")
    folder = added(EXAMPLES / "barlow", "helped", model=(read, "weight(self.config)"))
    (folder / "weights.py").write_text("def weight(run):\n    return run.barlow.redundancy\n")
    assert base("helped", "paper").barlow.redundancy == 0.0051


@pytest.mark.parametrize("settings", [("frozen=True, ", ""), ("@dataclass(", "@dict(")])
def test_a_section_that_is_not_frozen_is_one_sentence(added, settings):
    added(EXAMPLES / "barlow", "thawed", settings=settings)
    with pytest.raises(UserError, match="core/methods/thawed/settings.py, line 1[0-9]: "):
        methods.method("thawed")


UNUSABLE = {
    "title='T', changes={'train.steps': 3}": "T changes train.steps, which --scale settles",
    "title='T', changes={'data.digest': ''}": "T changes data.digest, which --data-dir settles",
    "title='T', section=3": "AttributeError",
    "title='T', section=Columns": "Columns cannot be a section, since runs have another columns",
    "title='T', section=Rewriting": "runs have another rewriting",
    "title='T', section=Own": "TypeError: 'int' object is not callable",
    "title='T', section=Bare": "TypeError: Bare.__init__() missing",
}


@pytest.mark.parametrize("stated", UNUSABLE)
def test_what_no_run_could_honour_is_refused_in_settings(added, stated):
    sections = {"Columns": "x: int = 1", "Rewriting": "x: int = 1", "Own": "check: int = 1"}
    text = "from dataclasses import dataclass\nfrom core.config.methods import derived\n"
    text += "from core.config.section import Section\n"
    for name, field in {**sections, "Bare": "x: int"}.items():
        text += "\n@dataclass(frozen=True, slots=True, kw_only=True)\n"
        text += f"class {name}(Section):\n    {field}\n"
    text += f"\nMETHOD = derived('simcse', {stated})\n"
    added.write("unusable", text, (EXAMPLES / "dcl" / "model.py").read_text())
    with pytest.raises(UserError, match="unusable/settings.py, line [0-9]+: ") as refused:
        methods.method("unusable")
    assert UNUSABLE[stated] in str(refused.value)


def test_methods_that_derive_from_each_other_are_one_sentence(added):
    model = (EXAMPLES / "dcl" / "model.py").read_text()
    for name, base_name in (("one", "other"), ("other", "one")):
        text = f"from core.config.methods import derived\n\nMETHOD = derived('{base_name}', title='T')\n"
        added.write(name, text, model)
    with pytest.raises(UserError, match="line 3: one derives from itself .one from other from one"):
        methods.method("one")


@pytest.mark.parametrize("content", [b"def (\n", b"# \xe9\n"], ids=["no Python", "Latin-1"])
@pytest.mark.parametrize("file", ["settings", "model", "helper"])
def test_a_file_that_cannot_be_read_is_one_sentence(added, file, content):
    folder = added(EXAMPLES / "barlow", "broken")
    path = folder / f"{file}.py"
    start = path.read_bytes() if path.exists() else b""
    path.write_bytes(start + content)
    line = (start + content).count(b"\n")
    with pytest.raises(UserError, match=f"broken/{file}.py, line {line}: It is (no Python|not U)"):
        methods.method("broken")


def test_settings_that_end_the_process_are_one_sentence(added):
    added(EXAMPLES / "dcl", "ends", settings=("METHOD =", "raise SystemExit(3)\nMETHOD ="))
    with pytest.raises(UserError, match="core/methods/ends/settings.py, line 6: SystemExit: 3"):
        methods.method("ends")


def test_the_digest_of_a_method_s_code_covers_what_it_takes_over(added):
    added(EXAMPLES / "barlow")
    heir = added(EXAMPLES / "dcl", "heir", settings=('"simcse"', '"barlow"'))
    (heir / "model.py").write_text("from core.methods.barlow.model import Model\n")
    before = code_digest("heir")
    others = [code_digest(name) for name in ("simcse", "esimcse", "mocose")]
    assert is_code_of(before, "heir") and is_code_of(before.partition("+")[0], "heir")
    for stem, change in (("model", ("1e-5", "1e-6")), ("settings", ("0.0051", "0.005"))):
        file = heir.parent / "barlow" / f"{stem}.py"
        file.write_text(file.read_text().replace(*change))
        after = code_digest("heir")
        assert not is_code_of(before, "heir")
        before = after
    assert others == [code_digest(name) for name in ("simcse", "esimcse", "mocose")]


@pytest.mark.parametrize("mean, what", [("", "32 numbers"), (".mean() and None", "NoneType")])
def test_a_loss_that_is_not_one_number_is_refused_at_the_first_step(
    added, monkeypatch, tmp_path, mean, what
):
    added(EXAMPLES / "dcl", "whole", model=("positive).mean()", f"positive){mean}"))
    config = vary(
        at_scale(base("whole", "paper"), DEMO, demo_sources()),
        {"train.steps": 1, "train.batch_size": 16},
    )
    monkeypatch.setattr(job, "load_demo", small_runs.thinned)
    execution = Execution(results_dir=str(tmp_path), cache_dir=small_runs.shared_cache())
    with pytest.raises(
        UserError,
        match=f"core/methods/whole/model.py, line 14: contrast returned {what}; return one number, "
        "such as",
    ):
        small_runs.run(config, execution)


def test_the_example_of_a_study_makes_its_runs_and_leaves_a_fault_to_the_method_s_file(added):
    folder = added(EXAMPLES / "dcl")
    found = catalogue(ROOT / "examples" / "studies")
    (study,) = found.groups["dcl"]
    found.check(study)
    assert not found.faults and {
        study.paper_config(cell, "paper").method for cell in study.cells
    } == {"dcl", "simcse"}
    (folder / "model.py").write_text("class Model:\n    def contrasts(self): ...\n")
    methods._check_files.cache_clear()
    with pytest.raises(
        UserError, match="^[^ ]*core/methods/dcl/model.py, line 2: contrasts is no hook"
    ):
        found.check(study)
