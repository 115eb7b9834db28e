"""The files of a report: which there are, when they change, and what a failed write leaves."""

import pytest
from fake_store import FakeStore, edition, filled
from small_study import result, small, stored

import core.report.render as rendering
from core.report.render import render
from core.spec.table import Metric
from studies import find

TABLE3, TABLE7, TABLE11 = find("table3"), find("table7"), find("esimcse-table11")


def draw(studies, store, folder, seeds=3):
    return render(studies, edition(seeds), store, folder / "results", folder / "figures")


def test_render_writes_every_file_and_counts_shared_runs_once(tmp_path):
    store = filled(TABLE3)
    store.runs |= filled(TABLE7, skip={(("quarter", "512"), 0)}).runs
    for run in (run for run in list(store.runs.values())[:4]):
        run.source = "published"
    store.runs.pop(next(cell for cell in result(TABLE3, store).cells if cell.cell.labels == ("0.85",)).runs[0].run_id)  # of both tables
    summary = draw([TABLE3, TABLE7], store, tmp_path)
    assert (summary.missing, summary.published) == (1, 4)
    assert summary.lines[0].startswith("mocose-table3: ")
    ends = {
        "results": (".csv", "_runs.csv", ".md", ".tex"),
        "figures": (".png", ".pdf", "-differences.png", "-differences.pdf"),
    }
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    tables = ("mocose-table3", "mocose-table7")
    assert names == {f"{root}/demo/paper/{t}{end}" for root, found in ends.items() for end in found for t in tables}


def test_render_twice_gives_the_same_bytes_and_touches_nothing(tmp_path):
    store = filled(TABLE11)
    draw([TABLE11], store, tmp_path)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.rglob("*.*")}
    draw([TABLE11], store, tmp_path)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.rglob("*.*")} == before
    draw([TABLE11], store, tmp_path / "again")
    assert {p.name: p.read_bytes() for p in (tmp_path / "again").rglob("*.*")} == {p.name: b for p, (b, _) in before.items()}


def test_a_study_without_runs_is_named_and_leaves_no_file(tmp_path):
    summary = draw([TABLE3], FakeStore(), tmp_path)
    assert summary.missing == 18 and len(summary.lines) == 1
    assert summary.lines[0].startswith("mocose-table3: 0 of 18 runs, 18 missing; nothing to draw yet; No verdict: too short to judge: ")
    assert not list(tmp_path.rglob("*"))


def test_a_study_without_a_number_to_draw_has_a_table_and_no_empty_figure(tmp_path):
    study = small(metric=Metric(task="edits", title="Cosine", quantity="cosine_itself"))  # a diverged run has none, not even a worst
    summary = draw([study], stored(study, a=[(0, "diverged")] * 3, b=[(0, "diverged")] * 3), tmp_path)
    assert len(summary.results) == 1
    assert (tmp_path / "results/demo/paper/mocose-small.md").is_file() and not (tmp_path / "figures").exists()


def test_a_study_with_a_single_row_has_no_figure_and_an_old_one_is_removed(tmp_path):
    study, figures = small(), tmp_path / "figures/demo/paper"
    draw([study], stored(study, a=[50.0, 51.0], b=[52.0, 53.0]), tmp_path)
    assert {path.name for path in figures.iterdir()} == {"mocose-small.png", "mocose-small.pdf"}
    summary = draw([study], stored(study, b=[52.0, 53.0]), tmp_path)
    assert summary.results and not list(figures.iterdir())


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    draw([TABLE11], filled(TABLE11), tmp_path)
    page = tmp_path / "results/demo/paper/esimcse-table11.md"
    old = page.read_bytes()
    monkeypatch.setattr("core.store.files.os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
    with pytest.raises(OSError, match="disk full"):
        draw([TABLE11], filled(TABLE11, level=10.0), tmp_path)
    assert page.read_bytes() == old
    assert not [path for path in tmp_path.rglob(".*")]


def test_several_processes_draw_what_one_draws(tmp_path, monkeypatch):
    drawn = {}
    for name, least in (("one", 9), ("several", 1)):
        monkeypatch.setattr(rendering, "WORTH_PROCESSES", least)
        draw([TABLE3, TABLE11], filled(TABLE3), tmp_path / name)
        drawn[name] = {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.p*")}
    assert drawn["one"] == drawn["several"] and {"mocose-table3.png", "mocose-table3-differences.pdf"} < set(drawn["one"])
