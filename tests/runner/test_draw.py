"""Which studies are drawn when all are, what publishing takes away and refuses, and whether a redraw
with nothing new is seen as such."""

import functools

import pytest
from desk import Desk
from fake_store import FakeStore, config_of, made_setup
from places import ROOT, python

import run_study
from core.runner import command, draw
from core.runner.orders import RedrawOrder, Scope
from core.store.store import Store
from core.study.resolution import resolve
from studies import CATALOGUE, STUDIES, find

FIGURE5 = find("figure5")
TABLE3 = find("table3")
NOISE = find("noise")
CELLS = ("--cell", "a", "--cell", "b")
KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:run", "REAL_REPORT": "yes"}


@functools.cache
def all_resolved(seeds):
    """Every study at so many seeds."""
    return [resolve(study, made_setup(seeds)) for study in STUDIES]


def started(*stored, seeds=2):
    """Names of the started studies of all, where these (study, label, seed) are stored."""
    store = FakeStore()
    for study, label, seed in stored:
        store.add(config_of(study, label if isinstance(label, tuple) else (label,), seed), 50.0)
    return [resolved.study.name for resolved in draw.started(all_resolved(seeds), store)]


def test_a_study_is_started_by_a_run_of_its_own_a_whole_seed_or_every_seed_of_a_claim():
    assert started((TABLE3, "0.85", 0)) == []  # the standard setting, which many tables have
    assert started((TABLE3, "0.9", 0)) == ["mocose-table3"]
    whole = [(TABLE3, label, 1) for label in TABLE3.axes[0].labels]
    assert started(*whole) == ["mocose-table3"] and started(*whole, seeds=1) == []
    bare = ("no predictor, η = 0", "last")  # the study of collapse asks for these runs, too
    assert started((FIGURE5, bare, 0)) == []
    assert started(*[(FIGURE5, bare, seed) for seed in (0, 1)]) == ["mocose-figure5"]
    seeds = [(NOISE, NOISE.cells[0].labels[0], seed) for seed in range(NOISE.least_seeds)]
    assert "noise" not in started(*seeds[:-1]) and "noise" in started(*seeds)


def test_all_studies_are_checked_once_for_a_state_of_code_and_studies(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    checked = []
    monkeypatch.setattr("core.study.catalogue.check_runs", checked.append)
    for _ in range(2):
        assert command.named_studies(CATALOGUE, Scope(all=True)) == checked == [*STUDIES]
    monkeypatch.setattr(command.code, "digest", lambda: "another")
    command.named_studies(CATALOGUE, Scope(all=True))
    command.named_studies(CATALOGUE, Scope(studies=("table3",)))
    assert checked == [*STUDIES, *STUDIES, TABLE3]


def test_changed_code_draws_no_table(tmp_path, capsys, monkeypatch):
    words = ["show", "table6b", "--scale", "demo", "--results-dir", str(tmp_path)]
    assert run_study.main(words) == 0 and "32" in capsys.readouterr().out
    monkeypatch.setattr(draw.code, "AT_START", {})  # a pull has changed the code since then
    assert run_study.main(words) == 2 and capsys.readouterr().err.count("\n") == 1


def test_files_of_a_study_that_nothing_published_starts_go_and_others_stay(desk: Desk):
    """Runs leave the packs when a profile or a study changes; their tables say what no run says any
    more."""
    home = desk.folder / "home"
    table, figure = (
        home / root / "mini" / "paper" for root in ("results/published", "figures/published")
    )
    for folder in (table, figure, table.parent / "released"):
        folder.mkdir(parents=True)
    gone = [table / f"mocose-two{end}" for end in (".md", "_curves.csv")]
    gone += [figure / f"mocose-two{end}" for end in (".png", "-differences.png")]
    # nothing of this profile is published any more
    gone.append(table.parent / "released" / "mocose-two.csv")
    stay = [table / name for name in ("own.md", "mocose-two-d21.csv", "mocose-two.notes.md")]
    stay.append(figure / "mocose-two_mine.png")
    for path in (*gone, *stay):
        path.write_text("x")
    desk.commit()
    train = ("mocose-one", "--jobs", "3", *CELLS)
    assert desk.do(*train, **KNOWN).returncode == 0
    assert desk.do("publish", "mocose-one", **KNOWN).returncode == 0
    assert not any(path.exists() for path in gone) and all(path.exists() for path in stay)
    assert (table / "mocose-one.csv").exists()
    pack = desk.results / "published" / "mini" / "runs.parquet"
    before = pack.read_bytes(), (table / "mocose-one.csv").read_bytes()
    desk.know_encoder("another\n")  # another encoder
    other = ("--results-dir", str(desk.folder / "other"))
    assert desk.do(*train, *other, **KNOWN).returncode == 0
    refused = desk.do("publish", "mocose-one", *other, **KNOWN)
    assert refused.returncode == 2
    assert "are on other data than yours (encoder=encoder~" in refused.stderr
    assert before == (pack.read_bytes(), (table / "mocose-one.csv").read_bytes())


def test_runs_of_code_that_no_commit_has_are_not_published(desk: Desk):
    train = ("mocose-one", "--jobs", "2", "--seeds", "1", *CELLS)
    assert desk.do(*train, **KNOWN).returncode == 0
    refused = desk.do("publish", "mocose-one", **KNOWN)
    published = desk.results / "published"
    runs = desk.store.runs()
    assert refused.returncode == 2 and len(runs) == 2 and not published.exists()
    assert all(run in refused.stderr for run in runs)
    assert "has the code that made these runs" in refused.stderr
    commit = desk.commit()
    (desk.folder / "home" / "core" / "api.py").write_text("later = True\n")
    desk.git("commit", "-qam", "later")
    refused = desk.do("publish", "mocose-one", **KNOWN)
    assert refused.returncode == 2  # of what was committed later nobody knows that it made them
    assert desk.do(*train, "--force", **KNOWN).returncode == 0
    assert "Published 2 runs" in desk.do("publish", "mocose-one", **KNOWN).stdout
    clone = Store(desk.folder / "none", published)
    assert clone.runs() == runs
    assert {clone.load(run).provenance["commit"] for run in runs} == {commit[:12]}


def test_where_nothing_published_is_started_everything_stays(desk: Desk):
    """A damaged pack is as though it were empty."""
    table = desk.results / "published/demo/paper/esimcse-table11.csv"
    table.parent.mkdir(parents=True)
    table.write_text("x")
    (table.parents[1] / "runs.parquet").write_bytes(b"no pack")
    done = desk.do("publish")
    assert done.returncode == 0 and "is damaged" in done.stdout, done.stdout
    assert table.read_text() == "x"


@pytest.mark.long
def test_a_profile_with_the_runs_of_another_is_drawn_once_and_says_so(tmp_path):
    """ESimCSE's Table 11 has the same runs under both; its Table 1 has rows of MoCoSE's, too."""
    store = Store(tmp_path / "none", ROOT / "results" / "published")
    studies = [find("esimcse-table11"), find("esimcse-table1")]
    stale = tmp_path / "mini" / "repaired" / "esimcse-table11.csv"
    stale.parent.mkdir(parents=True)
    stale.write_text("drawn earlier")
    drawer = draw.StudyDrawer(store, tmp_path, tmp_path / "figures", small=True)
    results = drawer.redraw(studies, RedrawOrder(), "mini")
    assert len(results["mini", "repaired"]) == len(results["mini", "paper"]) == 2
    assert not stale.exists() and (stale.parent / "esimcse-table1.csv").exists()
    claims = (tmp_path / "claims.csv").read_text()
    assert claims.count("mini,repaired,mini encoder,esimcse-table11,") == 2


def test_a_matplotlibrc_that_the_user_names_is_not_read(tmp_path):
    (tmp_path / "matplotlibrc").write_bytes(b"font.family: \xff\xfe\n")
    given = {"PYTHONPATH": str(ROOT), "MPLBACKEND": "none", "MATPLOTLIBRC": str(tmp_path)}
    code = "from core.runner.draw import StudyDrawer as D; D(*'abc').drawings; import matplotlib"
    done = python("-c", code, **given)
    assert done.returncode == 0, done.stderr
