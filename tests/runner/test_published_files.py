"""Publishing: what it takes away."""

from desk import Desk
from fake_store import FakeStore, edition
from small_study import small

import studies
from core.report.render import render
from core.runner.cli import parse
from core.runner.publishing import ENDINGS, Publishing
from core.spec.claim import Claim, greater

STUDY = small(
    claims=(
        Claim(
            key="K1", text="b is better than a.", predicate=greater(("b",), ("a",)), decided_by="b against a"
        ),
    )
)


def test_files_of_a_study_that_nothing_published_begins_go_and_others_stay(desk: Desk):
    """Runs leave the packs when a profile or a study changes; the tables that were drawn from them say what no run says any more."""
    home = desk.folder / "home"
    table, figure = (home / root / "mini" / "paper" for root in ("results/published", "figures/published"))
    for folder in (table, figure):
        folder.mkdir(parents=True)
    gone = [
        (figure if ending in (".png", ".pdf") else table) / f"mocose-table3{ending}" for ending in ENDINGS
    ]
    stay = [table / "mocose-table4.csv", table / "claims.csv", table / "own.md"]
    for path in (*gone, *stay):
        path.write_text("x")
    publishing = Publishing(
        parse(["--all", "--regenerate-figures", "--publish"]),
        desk.store,
        home,
        [studies.find("mocose-table3"), studies.find("mocose-table4")],
    )
    assert sorted(publishing.removed("mini", "paper", ["mocose-table3"])) == sorted(gone)
    assert not any(path.exists() for path in gone) and all(path.exists() for path in stay)
    assert publishing.removed("mini", "paper", ["mocose-table3"]) == []


def test_where_nothing_published_is_begun_everything_stays(desk: Desk):
    """A damaged pack is as though it were empty."""
    home = desk.folder / "home"
    pack, table = (
        home / "results/published/demo/runs.parquet",
        home / "results/published/demo/paper/esimcse-table11.csv",
    )
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text("x")
    pack.write_bytes(b"no pack")
    done = desk.do("--all", "--regenerate-figures", "--publish", "--scale", "demo")
    assert done.returncode == 0 and "is damaged" in done.stdout and "Removed" not in done.stdout, done.stdout
    assert "--publish draws everything that is published, so --scale is passed over." in done.stdout
    assert table.read_text() == "x"


def test_the_files_of_a_study_are_those_that_are_drawn(tmp_path):
    """A kind of file that is drawn and not named among the endings would stay behind."""
    store = FakeStore()
    for cell in STUDY.cells:
        store.add(edition(3).config(STUDY, cell, 0), 50.0)
    render([STUDY], edition(3), store, tmp_path, tmp_path)
    assert {path.name.removeprefix(STUDY.name) for path in (tmp_path / "demo" / "paper").iterdir()} == set(
        ENDINGS
    )
