"""The files of a report: which there are, when they change, and what a failed write leaves."""

from types import SimpleNamespace

import pytest
from fake_store import filled, made_setup
from small_study import printed, result, small, stored

from core.config.scale import MINI
from core.errors import UserError
from core.report import figures, frames
from core.report.drawn import Drawings
from core.report.render import write_study
from core.report.words import title
from core.runner import cli
from core.runner.draw import missing_sentences, published_sentences
from core.runner.inputs import setup_of
from core.runner.orders import TrainOrder
from core.study.check import TAKEN_COLUMNS, check_study
from core.study.resolution import resolve
from core.study.study import Axis, Cell
from studies import find

TABLE3 = find("table3")
TABLE6B = find("table6b")


def draw(studies, store, folder, seeds=3):
    """The lines of a drawing, and its sheets."""
    wanted = [(resolve(study, made_setup(seeds)).outline, True, True) for study in studies]
    lines = []
    sheets = []
    drawings = Drawings(store, folder / ".kept")
    for drawn in drawings.every(wanted):
        lines.append(drawn.line)
        if drawn.sheet is not None:
            place = [folder / root / "demo/paper" for root in ("results", "figures")]
            lines[-1] = write_study(drawn, *place)
            sheets.append(drawn.sheet)
    return lines, sheets


def test_render_writes_every_file_and_counts_shared_runs_once(tmp_path):
    store = filled(TABLE3)
    store.runs |= filled(TABLE6B, skip={(("64",), 0)}).runs
    for run in (run for run in list(store.runs.values())[:4]):
        run.source = "published"
    (both,) = (cell for cell in result(TABLE3, store).cells if cell.cell.labels == ("0.85",))
    store.runs.pop(both.runs[0].run_id)  # a run of both tables
    lines, drawn = draw([TABLE3, TABLE6B], store, tmp_path)
    assert lines[0].startswith("mocose-table3: ") and len(lines) == 2
    (missing,) = missing_sentences(drawn)
    command = "run_study.py mocose-table3 mocose-table6b --scale demo --use-published"
    assert missing == f"1 run is missing; train by `{command}`."
    (published,) = published_sentences(drawn)
    assert published == "4 runs are from the published results, not from this machine."
    tables = (".csv", "_runs.csv", ".md", ".tex")
    figures = (".png", ".pdf", "-differences.png", "-differences.pdf")
    expected = {
        f"{root}/demo/paper/{study}{end}"
        for root, endings in (("results", tables), ("figures", figures))
        for study in ("mocose-table3", "mocose-table6b")
        for end in endings
    }
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.glob("[!.]*/**/*.*")}
    assert files == expected


def test_missing_runs_are_trained_by_the_order_s_words_on_the_data_of_the_stored_ones():
    """What is not here and not on the hub has a name to fill in; what names fewer runs goes."""
    run = SimpleNamespace(run_id="a", status="missing", source="")
    typed = "table3 --cell 0.9 --set loss.temperature=0.1 --seeds 4 --force --jobs 2 --keep-models"

    def hint(line: str) -> str:
        made = made_setup(scale=MINI)
        setup = setup_of(cli.parse(line.split()), made.scale, made.sources)
        study = SimpleNamespace(name="mocose-table3@loss.temperature=0.1")
        (sentence,) = missing_sentences(
            [SimpleNamespace(setup=setup, runs=[run, run], study=study)]
        )
        return sentence

    line = hint(typed)
    command = line.split("`")[1].removeprefix("run_study.py ")
    left = "--seeds 4 --jobs 2 --set loss.temperature=0.1"
    data = f"--data-dir DATA --encoder bert-base=ENCODER {left}"
    assert command == f"mocose-table3 --scale mini {data}"
    assert isinstance(cli.parse(command.split()), TrainOrder)
    assert line.endswith(
        "; DATA holds demo text and SentEval's data; ENCODER holds demo_bert 2x128."
    )
    line = hint(f"{typed} --data-dir x/y")
    assert "--data-dir x/y " in line and "DATA" not in line


def test_render_twice_gives_the_same_bytes_and_touches_nothing_and_old_figures_go(tmp_path):
    study = small(reference=None)
    figures = tmp_path / "figures/demo/paper"
    store = stored(study, a=[50.0, 51.0], b=[52.0, 53.0])
    files = []
    for _ in range(2):
        draw([study], store, tmp_path)
        files.append(
            {
                path: (path.read_bytes(), path.stat().st_mtime_ns)
                for path in tmp_path.rglob("*.*")
                if path.is_file()
            }
        )
    assert files[0] == files[1]
    assert {path.name for path in figures.iterdir()} == {"mocose-small.png", "mocose-small.pdf"}
    # a single row has no figure
    _, results = draw([study], stored(study, b=[52.0, 53.0]), tmp_path)
    assert results and not list(figures.iterdir())


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    study = small()
    draw([study], stored(study, a=[50.0, 51.0], b=[52.0, 53.0]), tmp_path)
    page = tmp_path / "results/demo/paper/mocose-small.md"
    old = page.read_bytes()
    full = lambda *_: (_ for _ in ()).throw(OSError(28, "disk full"))
    monkeypatch.setattr("core.store.files.os.replace", full)
    with pytest.raises(UserError, match="the disk is full"):
        draw([study], stored(study, a=[10.0, 11.0], b=[12.0, 13.0]), tmp_path)
    assert page.read_bytes() == old
    assert not [path for path in tmp_path.glob("[!.]*/**/.*")]


def test_a_study_whose_figure_fails_has_its_table_and_a_sentence_and_is_not_kept(
    tmp_path, monkeypatch
):
    sound = figures.study_figures

    def failing(study, *words):
        if study.name == "mocose-x":
            raise KeyError("no such label")
        return sound(study, *words)

    monkeypatch.setattr(figures, "study_figures", failing)
    sound_study = small(reference=None)
    store = stored(sound_study, a=[50.0, 51.0], b=[52.0, 53.0])
    lines, drawn = draw([printed(), sound_study], store, tmp_path)
    assert "its figure cannot be drawn (KeyError: 'no such label')" in lines[0]
    assert len(drawn) == 2, lines
    pictures = tmp_path / "figures/demo/paper"
    assert (pictures / "mocose-small.png").is_file() and not (pictures / "mocose-x.png").exists()
    assert (tmp_path / "results/demo/paper/mocose-x.md").is_file()
    monkeypatch.setattr(figures, "study_figures", sound)
    lines, _ = draw([printed(), small()], store, tmp_path)
    assert "cannot be drawn" not in "".join(lines)


def test_a_study_of_which_no_table_can_be_made_is_one_sentence(tmp_path, monkeypatch):
    def texts(sheet, *_):
        raise KeyError(sheet.study.name)

    store = stored(small(), a=[50.0, 51.0], b=[52.0, 53.0])
    monkeypatch.setattr("core.report.drawn.study_texts", texts)
    lines, drawn = draw([small()], store, tmp_path)
    assert "cannot be drawn (KeyError: 'mocose-small')" in lines[0] and not drawn


def test_no_axis_has_the_name_of_a_column():
    judged = result(TABLE6B, filled(TABLE6B))
    for frame in (frames.cell_frame(judged), frames.curve_frame(judged)):
        axes = {axis.name for axis in TABLE6B.axes}
        assert set(frame.columns) - axes - {"task"} <= TAKEN_COLUMNS
    for name in ("metric", "n", "scale", "step", "values"):
        axes = (Axis(name=name, title="Size", labels=("a", "b")),)
        with pytest.raises(UserError, match=f"The axis {name} has the name of a column"):
            check_study(small(axes=axes, columns=name, figure=None))


def test_labels_that_state_another_rate_than_is_trained_are_explained():
    rates = ("1e-5", "3e-5")
    cells = [Cell(labels=(rate,), changes={"train.learning_rate": float(rate)}) for rate in rates]
    axes = (Axis(name="size", title="Rate", labels=rates),)
    study = small(cells=tuple(cells), axes=axes, reference=rates[:1])
    one = result(study, filled(study))
    trained = frames.cell_frame(one)["trained_rate"]
    assert trained.tolist() == pytest.approx([1e-3 / 3, 1e-3], rel=1e-6)
    assert "Scale demo trains the learning rates 1e-5 as 0.000333, 3e-5 as 0.001" in title(one)
