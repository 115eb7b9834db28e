"""A disk that fills while anything is written: one sentence, a status, nothing torn, nothing lost; the same command goes on."""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from desk import Desk
from fake_jobs import made_result
from known_jobs import STUDIES
from places import ROOT
from storm import SMALL

from core.runner.plan import plan
from core.spec.conditions import Edition
from core.spec.scale import MINI

STUDY = "esimcse-table11"
DRAW, REAL = ("--all", "--seeds", "1", "--regenerate-figures"), {"REAL_REPORT": "1", "KNOWN_STUDIES": "1"}
SUPPORT = ROOT / "tests" / "support"


def limited(size: int):
    """What a child calls so that no file of its own may grow beyond `size` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def drawn(desk: Desk) -> dict[str, bytes]:
    """What was drawn, hidden files too."""
    places = (desk.results, desk.folder / "home" / "figures")
    files = [
        path for place in places for path in place.rglob("*") if path.is_file() and ".locks" not in path.parts
    ]
    return {
        str(path.relative_to(desk.folder)): path.read_bytes()
        for path in files
        if path.parent.name not in ("runs", "pairs")
    }


def test_a_disk_that_fills_while_tables_figures_and_page_are_drawn(desk):
    runs = plan(
        STUDIES, Edition(profile="paper", scale=MINI, sources=desk.found().sources, seeds=1), desk.store
    ).runs
    for run in runs:
        made = made_result(run.config)
        desk.store.save(
            run.config, replace(made, provenance={**made.provenance, **desk.found().provenance()})
        )
    whole = desk.do(*DRAW, **REAL)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    expected = drawn(desk)
    page, picture, table = (
        "home/results/index.html",
        "home/figures/mini/paper/mocose-one.png",
        "home/results/mini/paper/mocose-one.csv",
    )
    for size, stopped in (
        (200, table),
        (len(expected[picture]) - 1, picture),
    ):
        for name in (page, picture, table, "home/results/claims.csv"):
            (desk.folder / name).unlink(missing_ok=True)
        process = desk.start(*DRAW, preexec_fn=limited(size), **REAL)
        out, err = process.communicate(timeout=200)
        assert process.returncode == 2 and err.count("\n") == 1, out + err
        assert (
            err
            == f"{desk.folder / stopped} could not be written (File too large); mend that and give the same command again.\n"
        )
        assert all(expected[name] == content for name, content in drawn(desk).items()), "torn, or left over"
    assert desk.do(*DRAW, **REAL).returncode == 0 and drawn(desk) == expected
    assert all(desk.store.verified(run.run_id) for run in runs)


WRITERS = {
    "a pack": ("Store(place, None).publish([RUN], place / 'published')", "runs.parquet"),
}
CODE = """
import resource, sys; sys.path[:0] = sys.argv[2:]
from pathlib import Path
from core.store.store import Store
from core.spec.errors import UserError
from test_hostile_places import RUN
place = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try: {}
except UserError as error: print(error); sys.exit(7)
"""


@pytest.mark.parametrize("what", WRITERS)
def test_a_disk_that_fills_under_a_pack_leaves_the_old_one(tmp_path, what):
    from test_hostile_places import CONFIG, RUN

    from core.store.store import Store

    store = Store(tmp_path, tmp_path / "published")
    store.save(CONFIG, made_result(CONFIG))
    store.publish([RUN], tmp_path / "published")
    call, name = WRITERS[what]
    (before,) = tmp_path.rglob(name)
    if what == "a pack":
        before.write_bytes(b"")  # an interrupted checkout: what is there may not get in the way of the test
        before.unlink()
    content = before.read_bytes() if before.exists() else None
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(call), tmp_path, Path(__file__).parent, SUPPORT, ROOT],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 7 and f"{name} could not be written (File too large)" in done.stdout, (
        done.stdout + done.stderr
    )
    assert done.stdout.count("\n") == 1 and not list(tmp_path.rglob("*.tmp"))
    assert (before.read_bytes() if before.exists() else None) == content


@pytest.mark.timeout(900)
def test_a_disk_that_fills_while_a_model_is_kept_fails_the_run_in_a_sentence(desk):
    """A real training; its model of two megabytes does not fit, its numbers would."""
    command = (STUDY, *SMALL, "--seeds", "1", "--jobs", "1", "--keep-models")
    real = {"FAKE_JOB": "core.engine.job:run", "REFERENCE_CELL": "yes"}
    process = desk.start(*command, scale="demo", preexec_fn=limited(1 << 20), **real)
    out, err = process.communicate(timeout=400)
    (run,) = [path.stem for path in (desk.results / "failures").iterdir()]
    failure = desk.store.failure(run)
    assert process.returncode == 1 and "Traceback" not in out + err, out + err
    assert (
        failure.detail
        == f"{desk.results / 'models' / run} could not be written (File too large); mend that and give the same command again."
    )
    assert (
        not list((desk.results / "models").iterdir())
        and not desk.store.runs()
        and not desk.store.has_model(run)
    )
