"""What is drawn of studies is kept, and drawn anew once anything that it shows is another."""

from dataclasses import replace

import pytest
from fake_store import made_setup
from places import ROOT, python
from small_study import small, stored

from core.config.identity import run_id
from core.config.scale import MINI
from core.report import drawn as drawing
from core.report.drawn import Drawings
from core.runner.best_scale import stored_setup
from core.store.store import Store
from core.study.resolution import resolve
from studies import find


@pytest.fixture
def draw(tmp_path, monkeypatch):
    """Draw a study: whether it was drawn anew, and its table."""
    made = []
    of_study = Drawings._drawn

    def counting(self, result, files):
        made.append(result.study.name)
        return of_study(self, result, files)

    monkeypatch.setattr(Drawings, "_drawn", counting)

    def draw(study, store, setup=None, small=False):
        before = len(made)
        outline = resolve(study, setup or made_setup()).outline
        (drawn,) = Drawings(store, tmp_path / "kept", small).every([(outline, True, True)])
        return len(made) > before, drawn.texts["mocose-small.csv"].decode()

    return draw


def test_a_study_is_drawn_again_only_if_something_that_it_shows_is_another(
    draw, tmp_path, monkeypatch
):
    study = small()
    store = stored(study, a=[50.0, 51.0], b=[52.0, 53.0])
    new, table = draw(study, store)
    assert new and draw(study, store) == (False, table)

    # the numbers of a run, a run that goes, a run that comes
    run = next(iter(store.runs.values()))
    run.rows["value"] += 1
    new, other = draw(study, store)
    assert new and other != table and draw(study, store) == (False, other)
    store.runs.pop(run.run_id)
    assert draw(study, store)[0] and not draw(study, store)[0]
    store.runs[run.run_id] = run
    assert draw(study, store) == (True, other)

    # a seed beyond those of the setup
    more = stored(study, a=[50.0, 51.0, 52.0, 53.0], b=[52.0, 53.0, 54.0, 55.0])
    assert draw(study, more)[0]
    last = resolve(study, made_setup()).cells[0].config(3)
    more.runs.pop(run_id(last))
    assert draw(study, more)[0] and not draw(study, more)[0]

    # the study's own words, the setup, what is written, and the code
    assert draw(replace(study, caption="Another"), more)[0] and draw(study, more)[0]
    assert draw(study, more, made_setup(2))[0] and draw(study, more)[0]
    assert draw(study, more, small=True)[0] and not draw(study, more)[0]
    monkeypatch.setattr(drawing.code, "digest", lambda: "another")
    assert draw(study, more)[0] and not draw(study, more)[0]

    # what is registered, known and published, and a commit that git fetches
    for name in ("REGISTERED", "FIRST_RUNS", "KNOWN_DATA"):
        file = tmp_path / name
        file.write_text(getattr(drawing, name).read_text() + " ")
        monkeypatch.setattr(drawing, name, file)
        assert draw(study, more)[0] and not draw(study, more)[0]
    monkeypatch.setattr(drawing, "date_of", lambda commit: f"{commit} of yesterday")
    assert draw(study, more)[0] and not draw(study, more)[0]


def test_what_is_kept_and_cannot_be_read_is_drawn_again(draw, tmp_path, capsys):
    study = small()
    store = stored(study, a=[50.0, 51.0], b=[52.0, 53.0])
    _, table = draw(study, store)
    (kept,) = (tmp_path / "kept").rglob("*.drawn")
    kept.write_bytes(kept.read_bytes()[:-9])
    assert draw(study, store) == (True, table) and not draw(study, store)[0]
    assert "is not as it was written" in capsys.readouterr().out
    (tmp_path / "file").write_text("")
    outline = resolve(study, made_setup()).outline
    unkept = Drawings(store, tmp_path / "file" / "no").made(outline)
    assert unkept.texts["mocose-small.csv"].decode() == table


def test_several_processes_draw_what_one_process_draws(tmp_path, monkeypatch):
    store = Store("none", ROOT / "results" / "published")
    setup = stored_setup(MINI, store, "paper")
    assert setup is not None
    wanted = [
        (resolve(find(f"esimcse-table{n}"), setup).outline, True, False)
        for n in (1, 2, 4, 5, 6, 7, 10, 11)
    ]
    drawn = {}
    for cores in (1, 2):
        monkeypatch.setattr(drawing.joblib, "cpu_count", lambda cores=cores: cores)
        drawings = Drawings(store, tmp_path / str(cores))
        drawn[cores] = drawings.every(wanted)
        assert None not in [drawings._kept_drawing(*each) for each in wanted]
    for one, other in zip(drawn[1], drawn[2], strict=True):
        assert one.line == other.line and one.sheet.cells.equals(other.sheet.cells)


def test_what_is_kept_has_its_table_and_is_read_without_matplotlib_and_scipy_s_functions(
    draw, tmp_path
):
    study = small()
    draw(study, stored(study, a=[50.0, 51.0], b=[52.0, 53.0]))
    (kept,) = (tmp_path / "kept").rglob("*.drawn")
    code = f"""
import pickle, sys
from core.report import render
_, (*_, drawn) = pickle.load(open({str(kept)!r}, "rb"))
print("table" in vars(drawn.sheet), {{"matplotlib", "scipy.special"}} & {{*sys.modules}})
"""
    done = python("-c", code)
    assert done.stdout.split() == ["True", "set()"], done.stderr
