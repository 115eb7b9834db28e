"""Training text, SentEval and encoders from the hub: `huggingface_hub` fetches each file once.

The client keeps files in CACHE/hub by revision. It names each file by the digest that the hub declares: the SHA-256 of a
large file, the git object id of a small file. Every use compares a file with that digest, or with the digest in `pins`.
With HF_ENDPOINT set, the client asks that mirror instead of huggingface.co.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from core.data.digests import file_digest
from core.data.pins import CORPUS_FILE, CORPUS_ROWS, DATA, DEFAULT_ENCODER, ENCODERS, EVALUATION_FILE, TEXT_MODELS, WITHOUT, Repository
from core.data.senteval import senteval_root
from core.data.sources import Places, pairs_alone
from core.spec.errors import UserError
from core.spec.rewriting import OWN_ENCODER
from core.spec.run import RunConfig
from core.store import locks
from core.store.files import whole_folder

HUB_NAMES = {"bert-base": "bert-base-uncased", "bert-large": "bert-large-uncased"}  # the others are called as in the papers


def missing_parts(places: Places) -> list[str]:
    """The parts of a scale that `fetch_parts` would fetch: of text, sets and encoder."""
    missing = {
        "text": places.corpus is None,
        "sets": places.evaluation is None and not pairs_alone(places),
        "encoder": places.encoder is None,
    }
    return [part for part, is_missing in missing.items() if is_missing]


def fetch_parts(places: Places, cache_dir: Path, others: Sequence[str] = ()) -> Places:
    """`places` with what is missing from the hub, and with these other encoders of the papers. Raises UserError."""
    present = {stands_for for stands_for, _, _ in places.others}
    names = {stands_for: HUB_NAMES.get(stands_for, stands_for) for stands_for in others if stands_for not in present}
    fetched = tuple((stands_for, fetch_folder(ENCODERS[name], cache_dir), name) for stands_for, name in names.items())
    places = replace(places, others=(*places.others, *fetched))
    missing = missing_parts(places)
    if "text" in missing:
        text = fetch(DATA, CORPUS_FILE, cache_dir)
        check_rows(text)
        places = replace(places, corpus=text, corpus_name="wiki1m_for_simcse")
    if "sets" in missing:
        places = replace(places, evaluation=unpack(fetch(DATA, EVALUATION_FILE, cache_dir)))
    if "encoder" in missing:
        folder = fetch_folder(ENCODERS[DEFAULT_ENCODER], cache_dir)
        places = replace(places, encoder=folder, encoder_name=DEFAULT_ENCODER)
    return places


def encoder_folder(encoder: Path, cache_dir: Path, *, offline: bool = False) -> Path:
    """`encoder`, or the folder of the pinned encoder of that name if `encoder` is no folder. Raises UserError."""
    if encoder.exists() or encoder.name not in ENCODERS:
        return encoder
    return fetch_folder(ENCODERS[encoder.name], cache_dir, offline=offline)


def fetch_text_models(cache_dir: Path, runs: Iterable[RunConfig]) -> None:
    """Fetch the models that rewrite these runs' texts. Raises UserError."""
    models = {run.rewriting.model or OWN_ENCODER for run in runs if run.rewriting is not None}
    for name in sorted(models - {OWN_ENCODER}):
        for repository in TEXT_MODELS[name]:
            fetch_folder(repository, cache_dir)


def model_folders(name: str, cache_dir: Path) -> list[Path]:
    """The folders of a model that rewrites text, fetched before. Raises UserError if a file is not there."""
    return [fetch_folder(repository, cache_dir, offline=True) for repository in TEXT_MODELS[name]]


def fetch_folder(repository: Repository, cache_dir: Path, *, offline: bool = False) -> Path:
    """The folder with all files of a repository. Raises UserError."""
    return [fetch(repository, name, cache_dir, offline=offline) for name in repository.files][-1].parent


def fetch(repository: Repository, name: str, cache_dir: Path, *, offline: bool = False) -> Path:
    """One file's path below `cache_dir`/hub. A missing or damaged file is downloaded, unless `offline`.

    Raises UserError if the file cannot be fetched or is not what the hub declares. Such a file is not kept.
    """
    from huggingface_hub import hf_hub_download, logging

    def client(*, local: bool = False, anew: bool = False) -> Path:
        return Path(hf_hub_download(
            repository.name, name, repo_type=repository.kind, revision=repository.revision, cache_dir=Path(cache_dir) / "hub",
            endpoint=os.environ.get("HF_ENDPOINT") or None, token=False, local_files_only=local, force_download=anew,
        ))  # fmt: skip

    pinned, kept = repository.files[name], None
    with contextlib.suppress(FileNotFoundError):
        kept = client(local=True)
        if not _mismatch(kept, repository, pinned):
            return kept
    if offline:
        raise UserError(
            f"{cache_dir} does not hold {name} of {repository.name}, and only a command that trains fetches it; "
            "train with a network first, or give a folder of your own."
        )
    logging.set_verbosity_error()  # it warns at each of its attempts
    print(f"Fetching {name} of {repository.name}.", flush=True)
    try:
        path = client(anew=kept is not None)
    except Exception as error:
        reason = (str(error.__cause__ or error).strip().splitlines() or [type(error).__name__])[0].partition(" for url")[0][:200]
        raise UserError(
            f"{name} of {repository.name} cannot be fetched ({reason}); check the network and HF_ENDPOINT, "
            f"or give --data-dir and --encoder ({WITHOUT})."
        ) from error
    if problem := _mismatch(path, repository, pinned):
        path.resolve().unlink()
        path.unlink(missing_ok=True)
        raise UserError(f"{name} of {repository.name} {problem}; try again, and if it stays so do not use it ({WITHOUT}).")
    return path


def check_rows(text: Path) -> None:
    """Raise UserError unless the training text has the published number of lines."""
    with open(text, "rb") as file:
        rows = sum(1 for _ in file)
    if rows not in CORPUS_ROWS:
        raise UserError(f"{text} has {rows} lines, but {CORPUS_ROWS[0]} are published; delete it and fetch it again ({WITHOUT}).")


def unpack(archive: Path) -> Path:
    """The folder of SentEval data, unpacked once beside its archive. No name or link in it may lead outside."""
    target = archive.with_suffix("")
    with locks.waiting(target.with_name(f".{target.name}.lock"), f"unpacking {archive}"):
        if not target.is_dir():
            with whole_folder(target) as part:
                try:
                    with tarfile.open(archive) as tar:
                        tar.extractall(part, filter="data")
                except (tarfile.TarError, EOFError) as error:
                    reason = str(error).splitlines()[0].rstrip(":")
                    raise UserError(f"{archive} cannot be unpacked ({reason}); delete it and fetch it again ({WITHOUT}).") from error
                senteval_root(part)
    return senteval_root(target)


def _mismatch(path: Path, repository: Repository, pinned: str | None) -> str:
    """What is wrong with a file, or "". `path` links to a file that is named by its declared digest."""
    declared = path.resolve().name
    if repository.revision not in (None, path.parent.name):
        return f"is at revision {path.parent.name[:12]} instead of {repository.revision[:12]}"
    if pinned is None and re.fullmatch("[0-9a-f]{40}", declared):
        content = path.read_bytes()
        blob = b"blob %d\0" % len(content) + content
        digest, wanted = hashlib.sha1(blob, usedforsecurity=False).hexdigest(), declared
    else:
        digest, wanted = file_digest(path), pinned or declared
    return "" if digest == wanted else f"has the digest {digest[:12]}… instead of {wanted[:12]}…"
