"""Finding studies: adding one is writing a file, and what is wrong with it is refused with its line
before anything is trained."""

import re
from pathlib import Path

import pytest
from made_scales import cell_run
from places import ROOT, SHIPPED

import run_study
import studies
from core.config.identity import run_id
from core.config.methods import PROFILES
from core.config.scale import DEMO
from core.data.sources import demo_sources
from core.errors import UserError
from core.study.catalogue import catalogue

PAPER = """
from core.study.study import Paper

PAPER = Paper(key="sketched", name="Sketched", title="My paper", authors="Me 2026", order=9)
"""
STUDY = '''"""My Table 2."""

from core.study.claim import Claim, greater
from core.study.study import study
from core.study.study import Axis, FigureSpec, Metric, Row

SIZES = (256, 512)

STUDY = study(
    name="sketched-table2",
    paper="sketched",
    title="Table 2",
    caption="Queue sizes",
    method="mocose",
    axes=(Axis(name="size", title="Size", labels=("256", "512")),),
    rows="size",
    columns=None,
    cell=lambda size: Row(
        {"queue.size": int(size)}
    ),
    printed={"256": None, "512": None},
    metric=Metric(task="avg", title="Average"),
    figure=FigureSpec(),
    reference=("512",),
    claims=(
        Claim(key="M2.1", text="More is better.", predicate=greater(("512",), ("256",))),
    ),
)
'''
WRONG = (  # what is put in the place of what, the line that is named, and what is wrong there
    ('rows="size",', "rows=class,", 16, "no Python"),
    ('name="sketched-table2"', 'name="../../sketched"', 9, "cannot be called"),
    ('name="sketched-table2"', 'name="claims"', 9, "cannot be called"),
    ("FigureSpec(", 'FigureSpec(kind="pie", ', 23, "kind is 'pie'"),
    ('title="Average"', 'title="Average", quantity="pearson"', 22, "quantity is pearson"),
    ('{"queue.size": int(size)}', '{}, {"tidy": {}}', 9, "no profile tidy"),
    ('("512",), ("256",)', '("512",), ("1024",)', 9, "which is no cell"),
    ("STUDY = study(", "TABLE = study(", 1, "states no STUDY"),
    ('"256": None', '"256": "70"', 9, "published is '70'"),
    ("import Claim, greater", "import Claim, greatest", 3, "cannot import name 'greatest'"),
)
UNMADE = {  # what only making the runs shows
    '"queue.length": int(size)': "There is no field queue.length",
    '"queue.size": int(size) - 256': "queue.size is 0",
}


def written(folder: Path, text: str = STUDY, name: str = "table2.py") -> Path:
    """A paper's folder with this study in it."""
    place = folder / "sketched"
    place.mkdir(exist_ok=True)
    (place / "__init__.py").write_text(PAPER)
    (place / name).write_text(text)
    return place / name


def test_a_paper_is_a_folder_and_a_study_one_file_in_it(tmp_path):
    written(tmp_path)
    found = catalogue(Path(studies.__file__).parent, tmp_path)
    assert not found.faults
    assert found.studies[:-1] == studies.STUDIES and found.studies[-1].name == "sketched-table2"
    assert found.find("sketched-table2").heading == "Sketched Table 2"
    assert found.groups["sketched"] == (found.find("sketched-table2"),)
    # the first paper's, and the others by their full names
    assert found.find("table2").name == "mocose-table2"
    study = found.find("sketched-table2")
    sources = demo_sources()
    runs = {
        run_id(cell_run(study, cell, profile=p, scale=DEMO, sources=sources, seed=0))
        for cell in study.cells
        for p in PROFILES
    }
    assert len(runs) == 6


def test_the_study_of_contributing_is_whole(tmp_path):
    pages = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", pages, re.MULTILINE | re.DOTALL)
    (example,) = [block for block in blocks if "STUDY = study(" in block]
    written(tmp_path, example, "table1.py")
    made = catalogue(tmp_path)
    assert not made.faults
    (study,) = made.studies
    made.check(study)
    assert (study.name, study.title) == ("sketched-table1", "Table 1")
    assert [cell.published for cell in study.cells] == [74.2, 76.3, None, 74.0, 76.1, 75.9]
    assert study.cells[4].changes == {"train.batch_size": 128, "loss.temperature": 0.05}


def test_every_shipped_file_is_found_sound_and_belongs_to_its_folder():
    assert not studies.CATALOGUE.faults
    for study in studies.STUDIES:
        studies.CATALOGUE.check(study)
    folders = [name for name in studies.CATALOGUE.groups if name in SHIPPED]
    assert folders == list(SHIPPED)  # in the papers' order


def test_what_is_wrong_with_a_study_is_one_sentence_with_its_line(tmp_path):
    for old, new, line, sentence in WRONG:
        assert old in STUDY
        file = written(tmp_path, STUDY.replace(old, new, 1))
        made = catalogue(tmp_path)
        assert made.studies == () and len(made.faults) == 1, new
        message = made.faults[file]
        assert message.startswith(f"{file}, line {line}: ") and sentence in message
        for name in ("sketched-table2", "table2"):
            with pytest.raises(UserError) as refused:
                made.find(name)
            assert str(refused.value) == message


def test_a_cell_that_makes_no_run_is_refused_with_its_line(tmp_path):
    for new, sentence in UNMADE.items():
        file = written(tmp_path, STUDY.replace('"queue.size": int(size)', new, 1))
        made = catalogue(tmp_path)
        with pytest.raises(UserError) as refused:
            made.check(made.find("sketched-table2"))
        start = f"{file}, line 9: 256 of sketched-table2 makes no run under paper: {sentence}"
        assert str(refused.value).startswith(start)


def test_a_method_or_task_that_is_not_there_is_refused(tmp_path):
    copied = '{}, method="mococo", copied=True'
    text = STUDY[: STUDY.index("    reference=")] + ")\n"
    for old, new, sentence in (
        ('method="mocose"', 'method="mococo"', "no method mococo; did you mean mocose"),
        ('{"queue.size": int(size)}', copied, "no method mococo; did you mean mocose"),
        ('task="avg"', 'task="STS17"', "no score at any scale; correct its task STS17"),
    ):
        written(tmp_path, text.replace(old, new))
        made = catalogue(tmp_path)
        with pytest.raises(UserError, match=sentence):
            made.check(made.find("sketched-table2"))


def test_a_name_and_a_claim_s_key_are_one_study_s(tmp_path):
    (
        written(tmp_path),
        written(tmp_path, STUDY.replace("sketched-table2", "sketched-table3"), "table3.py"),
    )
    found = catalogue(tmp_path)  # the earlier one keeps it
    assert [study.name for study in found.studies] == ["sketched-table2"]
    (fault,) = found.faults.values()
    assert fault.endswith(": The key M2.1 is that of sketched/table2.py, too; give each its own.")
    (tmp_path / "sketched" / "table3.py").unlink()
    written(tmp_path, STUDY.replace("-table2", ""))
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
    (tmp_path / "mocose").symlink_to(shipped)
    made = catalogue(tmp_path)
    assert len(made.studies) == len(studies.CATALOGUE.groups["mocose"]) and len(made.faults) == 1
    with pytest.raises(UserError, match="sketched"):
        made.find("sketched-table2")


@pytest.fixture
def command(tmp_path, capsys):
    """The command line over the shipped studies and those of a test, which trains nothing: exit
    status, output and errors."""

    def do(*words: str) -> tuple[int, str, str]:
        found = catalogue(Path(studies.__file__).parent, tmp_path)
        around = run_study.Surroundings(
            catalogue=found, job="none", warm=(), home=tmp_path / "home", own=tmp_path / "home"
        )
        status = run_study.main([*words, "--scale", "demo", "--device", "cpu"], around)
        assert not (tmp_path / "home" / "results").exists()
        return status, *capsys.readouterr()

    return do


def test_a_broken_study_stops_commands_on_itself_and_on_all_and_no_others(tmp_path, command):
    file = written(tmp_path, STUDY.replace('rows="size",', "rows=class,"))
    sentence = f"{file}, line 16: It is no Python (invalid syntax); mend that line.\n"
    status, out, wrong = command("--list")
    assert (status, wrong) == (2, sentence)
    assert "mocose-table3" in out and "sketched-table2" not in out
    assert command("sketched", "--plan") == (2, "", sentence)
    status, out, wrong = command("mocose-table3", "--plan")
    assert (status, wrong) == (0, "") and "18 runs: none done" in out
    paper = file.parent / "__init__.py"
    paper.write_text("PAPER = class\n")
    status, out, wrong = command("sketched-table1", "--plan")
    assert (status, out) == (2, "") and wrong.startswith(f"{paper}, line 1: It is no Python")


def test_a_folder_whose_name_begins_with_a_dot_is_no_paper(tmp_path):
    """Editors leave copies of files in such folders."""
    copies = tmp_path / ".ipynb_checkpoints"
    copies.mkdir()
    (copies / "table3-checkpoint.py").write_text("STUDY = None\n")
    found = catalogue(tmp_path)
    assert not found.studies and not found.faults
