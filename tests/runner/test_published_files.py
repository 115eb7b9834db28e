"""Publishing: what it takes away."""

from desk import Desk

import studies
from core.runner.cli import parse
from core.runner.publishing import ENDINGS, Publishing


def test_files_of_a_study_that_nothing_published_begins_go_and_others_stay(desk: Desk):
    """Runs leave the packs when a profile or a study changes; the tables that were drawn from them say what no run says any more."""
    home = desk.folder / "home"
    table, figure = (home / root / "mini" / "paper" for root in ("results/published", "figures/published"))
    for folder in (table, figure):
        folder.mkdir(parents=True)
    gone = [(figure if ending in (".png", ".pdf") else table) / f"mocose-table3{ending}" for ending in ENDINGS]
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
