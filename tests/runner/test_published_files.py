"""Publishing: what it takes away, and what it refuses."""

from desk import Desk

from core.runner.draw import ENDINGS

CELLS = ("--cell", "a", "--cell", "b")
KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:run", "REAL_REPORT": "yes"}


def test_files_of_a_study_that_nothing_published_begins_go_and_others_stay(desk: Desk):
    """Runs leave the packs when a profile or a study changes; their tables say what no run says any more."""
    home = desk.folder / "home"
    table, figure = (home / root / "mini" / "paper" for root in ("results/published", "figures/published"))
    for folder in (table, figure):
        folder.mkdir(parents=True)
    gone = [(figure if end in (".png", ".pdf") else table) / f"mocose-two{end}" for end in ENDINGS]
    (table.parent / "released").mkdir()  # a profile of which nothing is published any more
    gone.append(table.parent / "released" / "mocose-two.csv")
    stay = [table / "mocose-table4.csv", table / "own.md"]
    for path in (*gone, *stay):
        path.write_text("x")
    assert desk.do("mocose-one", "--publish", "--jobs", "3", *CELLS, **KNOWN).returncode == 0
    assert not any(path.exists() for path in gone) and all(path.exists() for path in stay)
    assert (table / "mocose-one.csv").exists()
    pack = desk.results / "published" / "mini" / "runs.parquet"
    before = pack.read_bytes(), (table / "mocose-one.csv").read_bytes()
    (desk.folder / "encoder" / "vocab.txt").write_text("another\n")  # another encoder
    other = ("--results-dir", str(desk.folder / "other"))
    refused = desk.do("mocose-one", "--publish", "--jobs", "3", *CELLS, *other, **KNOWN)
    assert refused.returncode == 2 and "are on other data than yours (encoder=encoder~" in refused.stderr
    assert before == (pack.read_bytes(), (table / "mocose-one.csv").read_bytes())


def test_where_nothing_published_is_begun_everything_stays(desk: Desk):
    """A damaged pack is as though it were empty."""
    home = desk.folder / "home"
    pack = home / "results/published/demo/runs.parquet"
    table = home / "results/published/demo/paper/esimcse-table11.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text("x")
    pack.write_bytes(b"no pack")
    done = desk.do("--all", "--regenerate-figures", "--publish", "--scale", "demo")
    assert done.returncode == 0 and "is damaged" in done.stdout and "Removed" not in done.stdout, done.stdout
    assert table.read_text() == "x"


def test_stored_runs_that_no_study_has_are_counted_and_kept(desk: Desk):
    cell, known = ("mocose-one", "--cell", "a", "--seeds", "1"), KNOWN | {"REAL_REPORT": ""}
    for changes in ((), ("--set", "train.weight_decay=0.25")):
        assert desk.do(*cell, *changes, **known).returncode == 0
    drawn = desk.do("--all", "--regenerate-figures", **known)
    assert "1 stored run is of no study as it stands now" in drawn.stdout, drawn.stdout + drawn.stderr
    assert len(list((desk.results / "runs").glob("*.parquet"))) == 2
