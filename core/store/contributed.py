"""Runs that others made: a folder of packs that is checked as a stranger's, and never trusted.

    <folder>/<scale>/runs.parquet     the layout of published packs

Nothing of such a folder is copied. Each run is read, checked and packed anew, so that no foreign
byte reaches the results. A seal says that a run is as it was packed, and not that it was trained;
only a retraining shows that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from core.config.result import CHECKPOINTS
from core.config.scale import SCALES
from core.errors import UserError, counted, refusing, shown
from core.store import code, files, locks, records
from core.store.published import PACK_NAME, Pack, packed
from core.store.records import MOST_BYTES, StoredRun

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")  # of a contributor
NAME_WORDS = "letters, digits, spaces, dots and hyphens, at most 40"
MOST_TEXT = 300  # letters of a text in a provenance
MOST_ENTRIES = 64  # of a list or a table in a provenance
FOOTER = {"run_id", "config", "status", "provenance", "pairs"}
TEXT_BOUNDS = (
    *("contributor", "commit", "code", "method_code", "corpus", "device", "encoder"),
    *("evaluation", "evaluation_digest", "host", "nlpaug", "processor", "python"),
    *("rewritten_text", "transfer_digest", "keeps_no_model"),
)
NUMBER_BOUNDS = (
    *("corpus_rows", "corpus_rows_csv_quoted", "encoder_hidden", "peak_memory_bytes"),
    *("gpu_runs", "step_seconds", "threads"),
)
NEEDED = (
    *("contributor", "corpus", "corpus_rows", "corpus_rows_csv_quoted", "encoder_hidden"),
    *("encoder_masked_words", "encoders", "evaluation", "evaluation_digest", "transfer_digest"),
)
SCORES = ("spearman_", "accuracy_")  # begin the metrics that are scores x 100
MOST_SCORE = 100.0

RunsByScale = Mapping[str, StoredRun]  # by id


class Contribution(NamedTuple):
    """Checked runs of one contributor, by scale; `name` holds a digest of their numbers."""

    contributor: str
    name: str
    scales: Mapping[str, RunsByScale]

    @property
    def runs(self) -> list[StoredRun]:
        """Every run."""
        return [run for by_id in self.scales.values() for run in by_id.values()]


def export(
    runs: Iterable[StoredRun], folder: Path, contributor: str, commits: Mapping[str, str]
) -> None:
    """Pack runs into a new folder, under the name of their contributor and the commits that have
    their code, by run. Raises UserError for a folder that holds anything."""
    check_contributor(contributor)
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UserError(f"{folder} is there already; give --export a new folder.")
    by_scale: dict[str, dict[str, tuple[pa.Table, dict[str, str]]]] = {}
    for run in runs:
        about = run.provenance | {"contributor": contributor, "commit": commits[run.run_id]}
        footer = run.footer | {"provenance": json.dumps(about, sort_keys=True)}
        by_scale.setdefault(run.config.scale, {})[run.run_id] = (run.table, footer)
    with files.whole(folder, folder=True) as temporary:
        for scale, content in by_scale.items():
            (temporary / scale).mkdir()
            (temporary / scale / PACK_NAME).write_bytes(packed(content))


def check_contributor(contributor: object) -> str:
    """The name of a contributor. Raises UserError for one that tables cannot show."""
    if not isinstance(contributor, str) or not NAME.fullmatch(contributor):
        raise UserError(f"{shown(str(contributor))!r} is no contributor's name; use {NAME_WORDS}.")
    return contributor.strip()


def read(folder: Path, repository: Path) -> Contribution:
    """The runs of a folder, each checked: its seal, its id, its configuration, its commit in a
    repository, its provenance and its numbers. Raises UserError for anything else in the folder."""
    scales: dict[str, dict[str, StoredRun]] = {}
    for scale, path in _pack_files(folder).items():
        pack = Pack(path, "imported")
        scales[scale] = {}
        for run in pack.footers:
            scales[scale][run] = _checked_run(pack, run, scale, repository)
    names = {
        str(run.provenance["contributor"]) for runs in scales.values() for run in runs.values()
    }
    if len(names) != 1:
        raise UserError(f"{folder} has {counted(len(names), 'contributor')}; import one at a time.")
    (contributor,) = names
    digest = hashlib.sha256()
    for scale in sorted(scales):
        for run, stored in sorted(scales[scale].items()):
            digest.update(f"{run} {records.seal(stored.table, stored.footer)}\n".encode())
    name = f"{contributor.replace(' ', '-')}-{digest.hexdigest()[:8]}"
    return Contribution(contributor, name, scales)


def _pack_files(folder: Path) -> dict[str, Path]:
    """The pack of each scale in a folder. Raises UserError for links, and for anything but packs:
    a folder is looked into no deeper."""
    if folder.is_symlink() or not folder.is_dir():
        raise UserError(f"{folder} is no folder; give --import the folder that --export wrote.")
    found: dict[str, Path] = {}
    hint = "get the folder anew"
    with refusing(f"{folder} cannot be read", hint, OSError), os.scandir(folder) as entries:
        for entry in entries:
            path = folder / entry.name / PACK_NAME
            names: list[str] = []
            if entry.is_dir(follow_symlinks=False):
                with os.scandir(entry.path) as below:
                    names = [file.name for file, _ in zip(below, range(2), strict=False)]
            is_pack = names == [PACK_NAME] and path.is_file() and not path.is_symlink()
            if entry.name not in SCALES or not is_pack:
                raise UserError(
                    f"{folder} holds {shown(entry.name)}, which is no folder of a scale with its "
                    f"{PACK_NAME} alone; nothing is imported."
                )
            if path.stat().st_size > MOST_BYTES:
                raise UserError(f"{path} has more than {MOST_BYTES} bytes; nothing is imported.")
            found[entry.name] = path
    if not found:
        raise UserError(f"{folder} holds no runs; give --import the folder that --export wrote.")
    return found


def _checked_run(pack: Pack, run: str, scale: str, repository: Path) -> StoredRun:
    """A run of a foreign pack. Raises UserError of one sentence unless all of it can be believed
    that can be checked without training."""
    where = f"Run {shown(run)} in {pack.path}"
    stored = records.stored_run(*pack.read(run), "imported", where)
    if stored.config.scale != scale:
        raise UserError(f"{where} is of scale {shown(stored.config.scale)}; nothing is imported.")
    problem = _provenance_problem(stored.provenance) or _number_problem(stored.table)
    if set(stored.footer) != FOOTER:
        problem = "a footer with other fields"
    if problem:
        raise UserError(f"{where} has {problem}; nothing is imported.")
    if not code.commit_of(stored.provenance, repository):
        raise UserError(
            f"{where} was made by code that no commit of {repository} has; nothing is imported."
        )
    return stored


def _provenance_problem(about: Mapping[str, object]) -> str:
    """What is wrong with a provenance, which tables show and count with; empty if nothing is."""
    for name in NEEDED:
        if name not in about:
            return f"no {name} in its provenance"
    if not isinstance(about["contributor"], str) or not NAME.fullmatch(about["contributor"]):
        return "a contributor's name that tables cannot show"
    if about.get("own_data"):
        return "a text or pairs of its own"
    for name, value in about.items():
        if not _is_plain(name, value):
            return f"another {shown(name)} in its provenance than runs record"
    return ""


def _is_plain(name: str, value: object) -> bool:
    """Whether a value of a provenance is of the kind that runs record under this name."""
    if value is None:
        return name in ("corpus_rows_csv_quoted", "transfer_digest")
    if name in TEXT_BOUNDS:
        return _is_text(value)
    if name in NUMBER_BOUNDS:
        return _is_number(value)
    if name in ("own_data", "encoder_masked_words", "mps"):
        return isinstance(value, bool)
    if name in ("seconds", "versions") and isinstance(value, dict):
        kind = _is_number if name == "seconds" else _is_text
        return (
            len(value) <= MOST_ENTRIES
            and all(map(_is_text, value))
            and all(map(kind, value.values()))
        )
    if name == "resumed_at_steps" and isinstance(value, list):
        return len(value) <= MOST_ENTRIES and all(map(_is_number, value))
    return name == "encoders" and _are_encoders(value)


def _are_encoders(value: object) -> bool:
    """Whether a value lists encoders: what each stands for, its digest, its width and its name."""
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_ENTRIES:
        return False
    for encoder in value:
        if not isinstance(encoder, list) or len(encoder) != 4:
            return False
        stands_for, digest, hidden, name = encoder
        if not all(map(_is_text, (stands_for, digest, name))) or type(hidden) is not int:
            return False
    return True


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT and value.isprintable()


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and 0 <= float(value) < 1e15  # type: ignore[arg-type]


def _number_problem(table: pa.Table) -> str:
    """What is wrong with the rows of a run; empty if nothing is."""
    places = set()
    columns = [table[name].to_pylist() for name in records.RUN_SCHEMA.names]
    for checkpoint, task, metric, step, value in zip(*columns, strict=True):
        place = (checkpoint, task, metric, step)
        if None in (*place, value) or checkpoint not in CHECKPOINTS:
            return "a row that no run leaves"
        if place in places:
            return f"two numbers for {shown(f'{checkpoint} {task} {metric}')}"
        places.add(place)
        is_score = metric.startswith(SCORES) and "gap" not in metric
        if is_score and abs(value) > MOST_SCORE:
            return f"a score of {value:g}"
    return ""


def keep_pack(contribution: Contribution, imported: Path) -> Path:
    """Pack the runs anew under the contribution's name, whole or not at all; their folder."""
    folder = imported / contribution.name
    with (
        locks.waiting(imported.parent / ".locks" / "imported.lock", f"importing into {imported}"),
        files.whole(folder, folder=True) as temporary,
    ):
        for scale, runs in contribution.scales.items():
            (temporary / scale).mkdir()
            content = {run: (stored.table, stored.footer) for run, stored in runs.items()}
            (temporary / scale / PACK_NAME).write_bytes(packed(content))
    return folder


def withdrawn(imported: Path, name: str) -> Path:
    """Where an imported pack lies once it is withdrawn."""
    return imported.parent / "withdrawn" / name


def withdraw(imported: Path, name: str, reason: str) -> None:
    """Take an imported pack out of every table, and keep it with the reason."""
    place = withdrawn(imported, name)
    with (
        locks.waiting(imported.parent / ".locks" / "imported.lock", f"importing into {imported}"),
        refusing(f"{imported / name} cannot be withdrawn", "move it away yourself", OSError),
    ):
        place.parent.mkdir(parents=True, exist_ok=True)
        if (imported / name).exists() and not place.exists():
            os.replace(imported / name, place)
            files.write_whole(place / "reason.txt", f"{reason}\n".encode())
