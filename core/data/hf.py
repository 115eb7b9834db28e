"""Text and pairs through the `datasets` library, where it is installed: written once into the cache, then read as any file.

    hf:NAME@REVISION#SPLIT   a data set on the hub at one commit
    hf:FOLDER#SPLIT          a folder on this machine, or a file that the library knows by its ending

The library is loaded in a process of its own (`core.data.hf_rows`), so that nothing else needs it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

from core.spec.errors import UserError
from core.store.files import write_whole

PROJECT = Path(__file__).resolve().parents[2]
_HUB = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*(/[\w.-]+)?)@(?P<revision>[0-9a-f]{40})#(?P<split>\w+)", re.ASCII)
_LOCAL = re.compile(r"(?P<name>[./~].*)#(?P<split>\w+)", re.ASCII | re.DOTALL)


def written(place: str, kind: str, cache: Path) -> Path:
    """The file with the rows of this place: lines of text, or sentence, sentence and score. `kind` is text or pairs.

    What was fetched at a commit is not fetched again. Raises UserError.
    """
    name, revision, split = _parts(place, kind)
    key = hashlib.sha256(f"{kind}\n{name}\n{revision}\n{split}".encode()).hexdigest()[:16]
    stem = "".join(c if c.isalnum() else "-" for c in f"{Path(name).name}-{split}")[:60]
    target = cache / "hf" / f"{stem}.{key}.{'txt' if kind == 'text' else 'tsv'}"
    if revision and target.is_file():
        return target
    if importlib.util.find_spec("datasets") is None:
        raise UserError(f"{place[:120]!r} needs the datasets library; pip install datasets, or give a file instead.")
    print(f"Reading {name}, split {split}, with the datasets library.", flush=True)
    command = [sys.executable, "-m", "core.data.hf_rows", kind, name, revision or "-", split]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, check=False, text=True, encoding="utf-8")
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise UserError(said[-1] if said else f"{place[:120]!r} could not be read; give a file instead.")
    write_whole(target, done.stdout.encode())
    return target


def _parts(place: str, kind: str) -> tuple[str, str | None, str]:
    """Name (or absolute path), revision and split."""
    text = place.removeprefix("hf:")
    if found := _LOCAL.fullmatch(text):
        path = Path(found["name"]).expanduser().absolute()
        if not path.exists():
            raise UserError(f"{path} is not there; give a folder or file of this machine, or hf:NAME@REVISION#SPLIT.")
        return str(path), None, found["split"]
    if found := _HUB.fullmatch(text):
        return found["name"], found["revision"], found["split"]
    raise UserError(
        f"--{kind} {place[:120]!r} is no data set at a commit; write hf:NAME@REVISION#SPLIT with the commit's 40 digits, "
        "such as hf:mteb/stsbenchmark-sts@<commit>#test, or hf:./FOLDER#SPLIT."
    )
