"""For maintainers: pack finished runs into `results/published`, and draw what is published.

python -m tools.publish table7 esimcse-table5 --scale mini    # pack these studies' runs, and draw
python -m tools.publish                                       # draw alone
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import functools
import io
import itertools
import json
import os
import re
import signal
import sys
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path


def stop(*_) -> None:
    """End at once: each file is whole or as it was, and the same command goes on."""
    os.write(2, b"Stopped; the same command goes on.\n")
    os._exit(130)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, stop)  # before the libraries are imported

import pyarrow as pa
import pyarrow.parquet as pq

from core.config.methods import PROFILES
from core.config.scale import SCALES
from core.data.sources import other_data, recorded
from core.errors import HOME, UserError
from core.formatting import are, counted
from core.runner.best_scale import stored_setup
from core.runner.draw import StudyDrawer
from core.runner.orders import RedrawOrder
from core.runner.train import Surroundings
from core.store import code, files, locks
from core.store.published import PACK_NAME, SCHEMA, Pack, PackedRun
from core.store.records import seal
from core.store.store import Store
from core.study.resolution import resolve
from core.study.study import Study
from tools import readme

CLEAN = re.compile(r"[0-9a-f]{12,40}")  # a commit; `+` behind it says that files differed from it


def pack(store: Store, runs: Iterable[str], target: Path, replace: bool = False) -> None:
    """Pack the user's runs, without pairs, into the folder `target`, by scale, each file whole or
    not at all. The same runs make the same bytes.

    A published run stays if the new one has its numbers. Raises UserError if the numbers differ,
    unless `replace`, or if no pack can be written; MissingRun or CorruptRun if a run or a pack
    cannot be read.
    """
    new: dict[str, dict[str, PackedRun]] = {}
    for stored in map(store.load, runs):
        new.setdefault(stored.config.scale, {})[stored.run_id] = stored.table, stored.footer
    with locks.waiting(target.parent / ".locks" / "published.lock", f"publishing in {target}"):
        packs: dict[Path, dict[str, PackedRun]] = {}
        differing: list[str] = []
        for scale, fresh in new.items():
            path = target / scale / PACK_NAME
            files.sweep(path)
            kept: dict[str, PackedRun] = {}
            if path.exists():
                old = Pack(path)
                kept = {run: old.read(run) for run in old.footers}
            shared = fresh.keys() & kept.keys()
            differing += [
                run for run in fresh if run in shared and not _same(fresh[run], kept[run])
            ]
            if replace:
                packs[path] = {**kept, **fresh}
            else:
                packs[path] = {**fresh, **kept}
        if differing and not replace:
            raise UserError(
                f"Published runs have other numbers than yours: {', '.join(differing)}; add "
                "--replace to replace them."
            )
        for path, content in packs.items():
            files.write_changed(path, packed(content))  # git sees no change where there is none
    store.__dict__.pop("packs", None)


def _same(*runs: PackedRun) -> bool:
    """Whether runs have the same status and the same numbers to the last bit."""
    seals = {seal(table, {"status": footer["status"]}) for table, footer in runs}
    return len(seals) == 1


def packed(runs: Mapping[str, PackedRun]) -> bytes:
    """The bytes of a pack."""
    listed = []
    tables = []
    for run, (table, footer) in sorted(runs.items()):
        listed.append([footer, seal(table, footer), table.num_rows])
        named = pa.array([run] * table.num_rows, pa.string())
        tables.append(table.add_column(0, SCHEMA.field("run_id"), named))
    text = json.dumps(listed, sort_keys=True, separators=(",", ":")).encode()
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        SCHEMA,
        compression="zstd",
        compression_level=9,
        write_page_checksum=True,
        store_schema=False,
        use_dictionary=["run_id", "checkpoint", "task", "metric", "step"],
        use_byte_stream_split=["value"],
    ) as writer:
        writer.write_table(pa.concat_tables(tables), row_group_size=1 << 15)
        writer.add_key_value_metadata({"runs": base64.b64encode(zlib.compress(text, 9)).decode()})
    return sink.getvalue()


def publish(home: Path, results: Path, studies: Sequence[Study], scale: str, replace: bool) -> None:
    """Pack all runs that `results` has of these studies. Raises UserError for runs on other data
    than the published runs of the scale, of code that no commit has, or, unless `replace`, with
    other numbers than the published runs."""
    from core.report.results import gather

    # Your own runs, each once
    published = home / "results" / "published"
    store = Store(results, published)
    own: dict[str, None] = {}
    for study, profile in itertools.product(studies, PROFILES):
        setup = stored_setup(SCALES[scale], Store(results, None), profile)
        if setup is not None:
            runs = gather(resolve(study, setup), store).runs
            own |= dict.fromkeys(run.run_id for run in runs if run.source == "own")
    if setup is None or not own:
        raise UserError(f"{results} has no run of these studies at scale {scale}; train one first.")

    # Refuse what may not be published
    packs = recorded(Store(published / "none", published), (scale,))
    if scale in packs:
        data = other_data(setup.sources, packs[scale])
        if data:
            raise UserError(
                f"The published runs of scale {scale} are on other data than yours ({data}), so "
                "nothing is published."
            )
    fresh = [run for run in own if replace or store.scale_of_pack(run) is None]
    committed = functools.cache(is_committed)
    unnamed = []
    for run in fresh:
        if not committed(store.load(run).provenance.get("commit"), home):
            unnamed.append(run)
    if unnamed:
        raise UserError(
            f"No commit of {home} has the code that made these runs: {', '.join(unnamed)}; commit "
            "that code, and train them again."
        )

    pack(store, own, published, replace)
    print(f"Published {counted(len(fresh), 'run')} in {published / scale / 'runs.parquet'}.")
    if len(fresh) < len(own):
        print(f"{are(len(own) - len(fresh), 'run')} published already, with the same numbers.")


def is_committed(commit: object, repository: Path) -> bool:
    """Whether the commit that a run names is HEAD or an ancestor in a repository, and no file
    differed from it."""
    with contextlib.suppress(UserError):
        if CLEAN.fullmatch(str(commit)):
            return code.git(repository, "merge-base", str(commit), "HEAD").startswith(str(commit))
    return False


def check_readme(file: Path, studies: Sequence[Study]) -> None:
    """Raise UserError for a claim in README that no study has."""
    keys = {claim.key for study in studies for claim in study.claims}
    listed = readme.claims_of(file.read_text(encoding="utf-8")) if file.exists() else []
    for key in listed:
        if key not in keys:
            raise UserError(f"{file} lists claim {key}, which no study has; mend README first.")


def redraw_published(home: Path, studies: Sequence[Study], folders: Collection[Path] = ()) -> None:
    """Draw everything that is published and README's findings, and remove the files of studies that
    nothing published starts any more; where nothing of a scale can be read, all files stay.
    `folders` as in `StudyDrawer.redraw`."""
    published = home / "results" / "published"
    figures = home / "figures" / "published"
    lock = home / "results" / ".locks" / "redrawing.lock"
    with locks.waiting(lock, f"drawing {published}"):  # the last command draws all
        store = Store(published / "none", published)
        drawer = StudyDrawer(store, published, figures, small=True)
        drawn = drawer.redraw(studies, RedrawOrder())

    from core.report import render

    file = home / "README.md"
    if file.exists() and all((published / f"{name}.csv").exists() for name in readme.CLAIM_FILES):
        readme.fill(file, published)
    for (scale, profile), sheets in drawn.items():
        if not any(drawn.get((scale, other)) for other in PROFILES):
            continue
        kept = {of_study.study.name for of_study in sheets}
        for name in {study.name for study in studies} - kept:
            render.remove(name, published / scale / profile, figures / scale / profile)


def main(argv: Sequence[str], around: Surroundings) -> int:
    """Publish and draw; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="studies whose runs are packed")
    parser.add_argument("--scale", choices=tuple(SCALES), default="mini")
    parser.add_argument("--results-dir", type=Path, metavar="DIR", help="default: results")
    parser.add_argument(
        "--replace", action="store_true", help="replace published runs with other numbers"
    )
    options = parser.parse_args(argv)
    catalogue = around.catalogue
    try:
        studies = [catalogue.find(name) for name in options.studies]
        check_readme(around.home / "README.md", catalogue.studies)
        if studies:
            results = options.results_dir or around.own / "results"
            publish(around.home, results, studies, options.scale, options.replace)
        redraw_published(around.home, catalogue.studies, catalogue.folders)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    from studies import CATALOGUE

    sys.exit(main(sys.argv[1:], Surroundings(catalogue=CATALOGUE, home=HOME, own=HOME)))
