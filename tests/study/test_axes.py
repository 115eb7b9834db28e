"""Labels carry what they change, and cells follow; each mistake in it is one sentence."""

import pytest

from core.config.result import Metric
from core.errors import UserError
from core.study.catalogue import catalogue
from core.study.study import Axis, Cell, FigureSpec, Row, Study
from core.study.study import study as make

SIZES = Axis("size", "Size", {size: Row({"queue.size": int(size)}) for size in ("256", "512")})
TASKS = Axis("task", "Task", {"STS12": Row(task="STS12"), "avg": Row(title="Avg.")})
PAPER = """from core.study.study import Paper

PAPER = Paper(key="p", name="P", title="T", authors="A", order=9)
"""


def study(**changes):
    fields = {"caption": "Small", "method": "mocose", "rows": SIZES, "figure": FigureSpec()}
    return make(**{**fields, **changes})


def test_cells_are_the_combinations_of_labels_with_their_changes():
    short = study(
        columns=TASKS,
        without=(("256", "avg"),),
        printed={"256": (1.0, None), "512": {"STS12": 2.0, "avg": 3.0}},
        printed_runs={"512": ((), (2.9, 3.1))},
        reference=("512", "avg"),
    )
    average = Metric(task="avg", title="Average of the STS test sets")
    changes = {"queue.size": 512}
    long = Study(
        caption="Small",
        method="mocose",
        figure=FigureSpec(),
        rows="size",
        columns="task",
        axes=(
            Axis(name="size", title="Size", labels=("256", "512")),
            Axis(name="task", title="Task", labels=("STS12", "avg")),
        ),
        cells=(
            Cell(labels=("256", "STS12"), changes={"queue.size": 256}, published=1.0, task="STS12"),
            Cell(labels=("512", "STS12"), changes=changes, published=2.0, task="STS12"),
            Cell(
                labels=("512", "avg"),
                changes=changes,
                published=3.0,
                published_runs=(2.9, 3.1),
                title="Avg.",
            ),
        ),
        metric=average,
        reference=("512", "avg"),
    )
    assert short == long
    assert study(reference="512").reference == ("512",)


@pytest.mark.parametrize(
    "changes, sentence",
    [
        (
            {"printed": {"256": 1.0, "521": 2.0}},
            "printed is {'256': 1.0, '521': 2.0} along size; give",
        ),
        (
            {"printed": {"256": 1.0}},
            "printed is {'256': 1.0} along size; give a number or None for each",
        ),
        ({"printed": {"256": 1.0, "512": "2"}}, "Cell's published is '2', but it must be a finite"),
        (
            {"columns": TASKS, "printed": {"256": (1.0,), "512": None}},
            "printed is (1.0,) along task; give a number or None for each of its labels: STS12, avg.",
        ),
        (
            {"columns": TASKS, "printed": {"256": 1.0, "512": None}},
            "printed is 1.0 along task; give a number or None for each",
        ),
        ({"printed_runs": {"1": (1.0,)}}, "printed_runs is {'1': (1.0,)} along size"),
        (
            {"columns": Axis("more", "More", {"a": Row({"queue": None})})},
            "more and another axis both change queue",
        ),
        (
            {"rows": TASKS, "columns": Axis("set", "Set", {"a": Row(task="dev")})},
            "set and another axis both change task",
        ),
        (
            {
                "columns": TASKS,
                "without": (("256", "avg"),),
                "printed": {"256": (1.0, 2.0), "512": None},
            },
            "A number is printed for 256/avg, which is no cell; leave it out.",
        ),
    ],
)
def test_a_mistake_in_a_short_study_is_one_sentence(changes, sentence):
    with pytest.raises(UserError) as refused:
        study(**changes)
    assert str(refused.value).startswith(sentence)


def test_a_file_gives_what_a_study_leaves_out(tmp_path):
    folder = tmp_path / "sketched"
    folder.mkdir()
    (folder / "__init__.py").write_text(PAPER)
    text = (
        "from core.study.study import Axis, Row, study\n\n"
        'STUDY = study(caption="Small", method="mocose", figure=None,\n'
        '    rows=Axis("size", "Size", {"1": Row({"queue.size": 1}), "2": Row()}),\n'
        '    printed={"1": 1.0, "3": 2.0})\n'
    )
    file = folder / "table3.py"
    file.write_text(text)
    assert catalogue(tmp_path).faults[file].startswith(f"{file}, line 3: printed is {{'1'")
    file.write_text(text.replace('"3"', '"2"'))
    (made,) = catalogue(tmp_path).studies
    assert (made.name, made.paper, made.title) == ("sketched-table3", "p", "Table 3")
