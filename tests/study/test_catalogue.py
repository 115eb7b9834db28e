"""Finding studies: adding one is writing a file, and what is wrong with it is refused with its line
before anything is trained."""

import re
from pathlib import Path

import pytest
from places import ROOT, SHIPPED

import run_study
import studies
from core.errors import UserError
from core.study.catalogue import catalogue

PAPER = """
from core.study.study import Paper

PAPER = Paper(key="sketched", name="Sketched", title="My paper", authors="Me 2026")
"""
PAGES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
(STUDY,) = re.findall(r"^```python\n(.*?^STUDY = .*?)^```", PAGES, re.MULTILINE | re.DOTALL)
HEAD = "STUDY = study("
WRONG = (  # what is put in the place of what, the line that is named, and what is wrong there
    ("rows=Axis", "rows=class", "rows=Axis", "no Python"),
    ("caption", 'name="../../sketched", caption', HEAD, "cannot be called"),
    ("caption", 'name="runs", caption', HEAD, "cannot be called"),
    ("caption", 'name="mocose-table7_short", caption', HEAD, "cannot be called"),
    ("caption", 'name="mocose-table7-differences", caption', HEAD, "cannot be called"),
    ("FigureSpec(", 'FigureSpec(kind="pie", ', "figure=", "kind is 'pie'"),
    ('Row({"loss.temperature": float(rate)}', 'Row({}, {"tidy": {}}', HEAD, "no profile tidy"),
    ('("128", "0.05")', '("1024", "0.05")', HEAD, "which is no cell"),
    (HEAD, "TABLE = study(", '"""', "states no STUDY"),
    ("(74.2,", '("74.2",', HEAD, "published is '74.2'"),
    ("import Claim, best", "import Claim, bests", "from core.study.claim", "cannot import name"),
)
COPIED = '{"train.batch_size": 64}, method="simcsf", copied=True'
UNMADE = (  # what only making the runs shows
    ("train.batch_size", "train.batch", "64/0.01 of sketched-table1 makes no run under paper: "),
    ("int(size)", "int(size) - 64", "train.batch_size is 0"),
    ('Row({"loss', 'Row(quantity="pearson", changes={"loss', "quantity is pearson"),
    ('method="simcse"', 'method="simcsf"', "no method simcsf; did you mean simcse"),
    ('{"train.batch_size": int(size)}', COPIED, "no method simcsf; did you mean simcse"),
    (
        '": int(size)}',
        '": int(size)}, task="STS17"',
        "no score at any scale; correct its task STS17",
    ),
)


def written(folder: Path, text: str = STUDY, name: str = "table1.py") -> Path:
    """A paper's folder with this study in it."""
    place = folder / "sketched"
    place.mkdir(exist_ok=True)
    (place / "__init__.py").write_text(PAPER)
    (place / name).write_text(text)
    return place / name


def test_a_paper_is_a_folder_and_a_study_one_file_in_it(tmp_path):
    written(tmp_path)
    copies = tmp_path / ".ipynb_checkpoints"  # where editors leave copies of files
    copies.mkdir()
    (copies / "table3-checkpoint.py").write_text("STUDY = None\n")
    found = catalogue(Path(studies.__file__).parent, tmp_path)
    assert not found.faults
    assert found.studies[:-1] == studies.STUDIES and found.studies[-1].name == "sketched-table1"
    assert found.find("sketched-table1").heading == "Sketched Table 1"
    assert found.groups["sketched"] == (found.find("sketched-table1"),)
    # the first paper's, and the others by their full names
    assert found.find("table1").name == "mocose-table1"


def test_the_study_of_contributing_is_whole(tmp_path):
    written(tmp_path)
    made = catalogue(tmp_path)
    assert not made.faults
    (study,) = made.studies
    made.check(study)
    assert [cell.published for cell in study.cells] == [74.2, 76.3, None, 74.0, 76.1, 75.9]
    assert study.cells[4].changes == {"train.batch_size": 128, "loss.temperature": 0.05}


def test_every_shipped_file_is_found_sound_and_belongs_to_its_folder():
    assert not studies.CATALOGUE.faults
    for study in studies.STUDIES:
        studies.CATALOGUE.check(study)
    folders = [name for name in studies.CATALOGUE.groups if name in SHIPPED]
    assert folders == list(SHIPPED)  # in the papers' order


def test_what_is_wrong_with_a_study_is_one_sentence_with_its_line(tmp_path):
    for old, new, place, sentence in WRONG:
        assert old in STUDY
        line = STUDY[: STUDY.index(place)].count("\n") + 1
        file = written(tmp_path, STUDY.replace(old, new, 1))
        made = catalogue(tmp_path)
        assert made.studies == () and len(made.faults) == 1, new
        message = made.faults[file]
        assert message.startswith(f"{file}, line {line}: ") and sentence in message
        for name in ("sketched-table1", "table1"):
            with pytest.raises(UserError) as refused:
                made.find(name)
            assert str(refused.value) == message


def test_a_cell_that_makes_no_run_or_has_no_score_is_refused_with_its_line(tmp_path):
    text = STUDY[: STUDY.index("    reference=")] + ")\n"
    line = text[: text.index(HEAD)].count("\n") + 1
    for old, new, sentence in UNMADE:
        file = written(tmp_path, text.replace(old, new, 1))
        made = catalogue(tmp_path)
        with pytest.raises(UserError) as refused:
            made.check(made.find("sketched-table1"))
        message = str(refused.value)
        assert message.startswith(f"{file}, line {line}: ") and sentence in message, new


def test_a_name_and_a_claim_s_key_are_one_study_s(tmp_path):
    written(tmp_path)
    written(tmp_path, name="table3.py")
    found = catalogue(tmp_path)  # the earlier one keeps it
    assert [study.name for study in found.studies] == ["sketched-table1"]
    (fault,) = found.faults.values()
    assert fault.endswith(": The key M1.1 is that of sketched/table1.py, too; give each its own.")
    (tmp_path / "sketched" / "table3.py").unlink()
    written(tmp_path, STUDY.replace("caption", 'name="sketched", caption', 1))
    assert "The name sketched is that of" in str(catalogue(tmp_path).faults)


@pytest.mark.parametrize(
    "text",
    ["PAPER = 1\n", "PAPER = (\n", PAPER.replace('"sketched"', '"mocose"'), None],
    ids=("no paper", "no Python", "another's key", "no file"),
)
def test_a_paper_that_is_wrong_takes_its_studies_along_and_no_others(tmp_path, text):
    file = written(tmp_path).parent / "__init__.py"
    file.unlink()
    if text is not None:
        file.write_text(text)
    shipped = Path(studies.__file__).parent / "mocose"
    other = tmp_path / "zz"  # `catalogue` goes through folders in order of their names
    other.mkdir()
    (other / "mocose").symlink_to(shipped)
    made = catalogue(tmp_path, other)
    assert len(made.studies) == len(studies.CATALOGUE.groups["mocose"]) and [*made.faults] == [file]
    with pytest.raises(UserError, match="sketched"):
        made.find("sketched-table1")


def test_a_broken_study_stops_commands_on_itself_and_on_all_and_no_others(tmp_path, capsys):
    """Over the shipped studies and one of ours; nothing is trained."""

    def command(*words: str) -> tuple[int, str, str]:
        found = catalogue(Path(studies.__file__).parent, tmp_path)
        around = run_study.Surroundings(
            catalogue=found, job="none", warm=(), home=tmp_path / "home", own=tmp_path / "home"
        )
        status = run_study.main([*words, "--scale", "demo", "--device", "cpu"], around)
        assert not (tmp_path / "home" / "results").exists()
        return status, *capsys.readouterr()

    file = written(tmp_path, STUDY.replace("rows=Axis", "rows=class"))
    line = STUDY[: STUDY.index("rows=Axis")].count("\n") + 1
    sentence = f"{file}, line {line}: It is no Python (invalid syntax); mend that line.\n"
    status, out, wrong = command("--list")
    assert (status, wrong) == (2, sentence)
    assert "mocose-table3" in out and "sketched-table1" not in out
    assert command("sketched", "--plan") == (2, "", sentence)
    status, out, wrong = command("mocose-table3", "--plan")
    assert (status, wrong) == (0, "") and "18 runs: none done" in out
    paper = file.parent / "__init__.py"
    paper.write_text("PAPER = class\n")
    status, out, wrong = command("sketched-table1", "--plan")
    assert (status, out) == (2, "") and wrong.startswith(f"{paper}, line 1: It is no Python")
