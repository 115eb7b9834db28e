"""What a plan says of what training would refuse, and what is refused wherever a command trains or only
looks."""

import sys

import pytest
from places import ROOT

import core.methods
import run_study


@pytest.mark.parametrize(
    "words, sentence",
    [
        (
            ("--set", "train.precision=tf32"),
            "Training here would be refused: train.precision=tf32 needs a GPU",
        ),
        (
            ("--set", "train.precision=fp16"),
            "Training here would be refused: train.precision=fp16 can no longer be trained; use --set",
        ),
        (
            ("--set", "data.max_length=4000"),
            "Training here would be refused: data.max_length is 4000 but the encoder has only",
        ),
        ((), ""),
    ],
)
def test_a_plan_says_what_training_would_refuse(capsys, words, sentence):
    assert run_study.main(["table3", "--plan", "--scale", "demo", "--device", "cpu", *words]) == 0
    out = capsys.readouterr().out
    assert (sentence in out) if sentence else ("would be refused" not in out)
    assert "18 distinct runs" in out


def test_a_study_without_a_cell_that_can_be_run_says_why(capsys):
    assert run_study.main(["mocose-table2", "--plan", "--scale", "demo", "--device", "cpu"]) == 0
    assert "No cell of" not in capsys.readouterr().out  # its own encoder's cells can
    assert (
        run_study.main(["mocose-kmeans", "esimcse-table3", "--plan", "--scale", "demo", "--device", "cpu"])
        == 0
    )
    out = capsys.readouterr().out
    assert out.count("No cell of") == out.count("0 distinct runs"), out


def test_a_method_that_is_half_written_is_a_sentence(capsys, monkeypatch, tmp_path):
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "settings.py").write_text("x = (\n")
    monkeypatch.setattr(core.methods, "__path__", [*core.methods.__path__, str(tmp_path)])
    assert run_study.main(["--fields"]) == 2
    said = capsys.readouterr().err
    assert (
        said.startswith("Method unfinished has settings that cannot be used (SyntaxError: ")
        and said.count("\n") == 1
    )
    assert "mend core/methods/unfinished/settings.py" in said
    assert run_study.main(["--list"]) == 2 and capsys.readouterr().err == said
    plan = ["mocose-table3", "--plan", "--scale", "demo", "--device", "cpu"]  # is another method's
    assert run_study.main(plan) == 0 and run_study.main([*plan, "--set", "dup.rate=0.3"]) == 2
    assert "unfinished" not in capsys.readouterr().err


SETTINGS = """
from dataclasses import dataclass, fields

from core.methods.simcse.settings import METHOD as SIMCSE
from core.spec.methods import Method
from core.spec.run import RunConfig


@dataclass(frozen=True)
class Extra:
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class OwnRun(RunConfig):
    extra: Extra


OWN = OwnRun(**{{one.name: getattr(SIMCSE.paper, one.name) for one in fields(RunConfig)}}, extra=Extra())

METHOD = {method}
"""


@pytest.mark.parametrize(
    "method, sentence",
    [
        ('{"paper": 1}', "METHOD must be a Method, not dict"),
        (
            "Method(title='X', paper=SIMCSE.paper, repaired={}, released=None)",
            "released must be a mapping of paths to values, not NoneType",
        ),
        (
            "Method(title='X', paper=SIMCSE, repaired={}, released={})",
            "paper must be a RunConfig, not Method",
        ),
        (
            "Method(title='X', paper=SIMCSE.paper, repaired={}, released={'trian.steps': 1})",
            "released changes trian.steps, but its runs have no section trian",
        ),
        (
            "Method(title='X', paper=SIMCSE.paper, repaired={'train.warmup_fraction': 0.1}, released={})",
            "repaired changes train.warmup_fraction, which the scale or an option settles",
        ),
        (
            "Method(title='X', paper=OWN, repaired={}, released={})",
            "the section extra must be a Section, a frozen dataclass, which Extra is not",
        ),
        ("SIMCSE", "the method of its runs is 'simcse', and the folder is 'wrong'"),
    ],
)
def test_a_method_with_a_wrong_type_is_a_sentence(capsys, monkeypatch, tmp_path, method, sentence):
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "settings.py").write_text(SETTINGS.format(method=method))
    monkeypatch.setattr(core.methods, "__path__", [*core.methods.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "core.methods.wrong.settings", raising=False)
    assert run_study.main(["--fields"]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1 and "mend core/methods/wrong/settings.py" in said


@pytest.mark.parametrize("below", ["", "x", "../published"])
def test_what_is_published_takes_no_runs_of_one_s_own(capsys, below):
    folder = ROOT / "results" / "published" / below
    assert (
        run_study.main(
            ["table3", "--plan", "--scale", "demo", "--device", "cpu", "--results-dir", str(folder)]
        )
        == 2
    )
    said = capsys.readouterr().err
    assert (
        said.count("\n") == 1
        and "holds what the project publishes" in said
        and "give another --results-dir" in said
    )
