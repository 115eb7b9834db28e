"""Labels carry what they change, and cells follow; each mistake in it is one sentence."""

import pytest

from core.errors import UserError
from core.study.catalogue import catalogue
from core.study.study import Axis, Cell, FigureSpec, Metric, Row, Study
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
    changes = {"queue.size": 512}
    runs = (2.9, 3.1)
    assert short == Study(
        caption="Small",
        method="mocose",
        figure=FigureSpec(),
        rows="size",
        columns="task",
        axes=(Axis("size", "Size", ("256", "512")), Axis("task", "Task", ("STS12", "avg"))),
        cells=(
            Cell(labels=("256", "STS12"), changes={"queue.size": 256}, published=1.0, task="STS12"),
            Cell(labels=("512", "STS12"), changes=changes, published=2.0, task="STS12"),
            Cell(
                labels=("512", "avg"),
                changes=changes,
                published=3.0,
                published_runs=runs,
                title="Avg.",
            ),
        ),
        metric=Metric(task="avg", title="Average of the STS test sets"),
        reference=("512", "avg"),
    )
    assert study(reference="512").reference == ("512",)


def test_texts_are_one_line_each_and_footnotes_a_list():
    made = study(
        caption="Small\n   and wide",
        footnotes="""
        - One
          sentence.
        - Another - with a dash.
    """,
    )
    assert made.caption == "Small and wide"
    assert made.footnotes == ("One sentence.", "Another - with a dash.")
    assert study(footnotes="One alone.").footnotes == ("One alone.",)


@pytest.mark.parametrize(
    "changes",
    [
        {"printed": {"256": 1.0, "521": 2.0}},
        {"printed": {"256": 1.0}},
        {"printed": {"256": 1.0, "512": "2"}},
        {"columns": TASKS, "printed": {"256": (1.0,), "512": None}},
        {"columns": TASKS, "printed": {"256": 1.0, "512": None}},
        {"printed_runs": {"1": (1.0,)}},
        {"columns": Axis("more", "More", {"a": Row({"queue": None})})},
        {"rows": TASKS, "columns": Axis("set", "Set", {"a": Row(task="dev")})},
        {"columns": TASKS, "without": (("256", "avg"),), "printed": {"256": (1, 2), "512": None}},
    ],
)
def test_a_mistake_in_what_labels_state_is_refused(changes):
    with pytest.raises(UserError):
        study(**changes)


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
