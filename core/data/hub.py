"""Training text, SentEval and encoders from the hub: `huggingface_hub` fetches each file once into
CACHE/hub, from HF_ENDPOINT if it is set.

The client names a large file by its SHA-256, and a small file by its SHA-1 in git. Every use
compares a file with the digest in `repositories.json`, which a public source states for that
revision, else with that name. Where the revision is null, the hub's at first use is kept.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from core.config.run import OWN_ENCODER, RunConfig
from core.config.scale import Sources
from core.data.encoders import encoder_in
from core.data.own_data import check_hub, scores_scale_sets
from core.data.sts import senteval_root
from core.data.text import file_digest
from core.errors import UserError, refusing
from core.formatting import say
from core.store import locks
from core.store.cache import cached
from core.store.files import sweep, whole

FETCH_FIRST = "only a command that trains fetches, so train with a network first or give a folder"
WITHOUT = "give --data-dir and --encoder, or take --scale demo, which needs none"
ENCODER_PLACE = re.compile("hf:([^@]+)@([0-9a-f]{40})")
TENSORS = re.compile(r"[^/]*[.](json|safetensors|txt|model)|[0-9]_[^/]*/[^/]*[.](json|safetensors)")
# digits
SHA1 = 40
SHA256 = 64


@dataclass(frozen=True)
class Repository:
    """A repository on the hub: its commit or None, and its files by name, each with its SHA-256 or
    None."""

    name: str
    revision: str | None
    files: dict[str, str | None]
    kind: Literal["model", "dataset"] = "model"


_STATED = json.loads(Path(__file__).with_name("repositories.json").read_text())
# The data, encoders by their names in the papers, and models that rewrite text (Table 5) by the
# names of `text.model`; translation goes through the first and back through the second.
REPOSITORIES = {name: [Repository(**about) for about in stated] for name, stated in _STATED.items()}
(DATA,) = REPOSITORIES["data"]
CORPUS_FILE, EVALUATION_FILE = DATA.files


def missing_parts(places: Sources) -> list[str]:
    """The parts of a scale that `fetch_parts` would fetch: of text, sets and encoder."""
    missing = []
    if places.corpus is None:
        missing.append("text")
    sets = scores_scale_sets([name for name, _ in places.pairs])
    if places.evaluation is None and sets:
        missing.append("sets")
    if places.encoder.folder is None:
        missing.append("encoder")
    return missing


def fetch_parts(places: Sources, cache_dir: Path, others: Sequence[str] = ()) -> Sources:
    """`places` with what is missing, and with these other encoders, from the hub. Raises
    UserError."""
    for name in ("bert-base", *others):
        encoder = places.encoder_for(name)
        if encoder is None or encoder.folder is None:
            (folder,) = model_folders(name, cache_dir, offline=False)
            places = places.with_encoders(encoder_in(name, folder, cache_dir))
    missing = missing_parts(places)
    if "text" in missing:
        places = replace(places, corpus=fetch(DATA, CORPUS_FILE, cache_dir))
    if "sets" in missing:
        places = replace(places, evaluation=unpack(fetch(DATA, EVALUATION_FILE, cache_dir)))
    return places


def fetch_text_models(cache_dir: Path, runs: Iterable[RunConfig]) -> None:
    """Fetch the models that rewrite these runs' texts. Raises UserError."""
    models = {run.rewriting.model or OWN_ENCODER for run in runs if run.rewriting is not None}
    for name in sorted(models - {OWN_ENCODER}):
        model_folders(name, cache_dir, offline=False)


def model_folders(name: str, cache_dir: Path, *, offline: bool = True) -> list[Path]:
    """The folders of an encoder, or of a model that rewrites text. Raises UserError if a file is
    not there and not fetched."""
    repositories = REPOSITORIES[name]
    return [fetch_folder(repository, cache_dir, offline=offline) for repository in repositories]


def fetch_folder(repository: Repository, cache_dir: Path, *, offline: bool = False) -> Path:
    """The folder with all files of a repository. Raises UserError."""
    files = [fetch(repository, name, cache_dir, offline=offline) for name in repository.files]
    return files[-1].parent


def encoder_folder(place: Path, cache_dir: Path, *, offline: bool = False) -> Path:
    """The folder of an encoder; of hf:NAME@REVISION, what transformers and sentence-transformers
    read of it, with weights as tensors alone. Raises UserError."""
    if not str(place).startswith("hf:"):
        return Path(os.path.abspath(place))  # children work elsewhere
    named = ENCODER_PLACE.fullmatch(str(place))
    if named is None:
        raise UserError(
            f"{place} names no encoder; write hf:NAME@REVISION with the commit's 40 digits."
        )
    name, revision = named.groups()

    def listed() -> list[str]:
        if offline:
            raise UserError(f"{place} is not in {cache_dir}; {FETCH_FIRST}.")
        from huggingface_hub import HfApi

        check_hub()
        with refusing(
            f"{place} cannot be fetched", f"check its name and the network, or {WITHOUT}"
        ):
            api = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=False)
            return sorted(filter(TENSORS.fullmatch, api.list_repo_files(name, revision=revision)))

    files = cached(cache_dir / "encoders", ["hub", name, revision], listed)
    # a file in no folder comes last
    files.sort(key=lambda file: "/" not in file)
    return fetch_folder(
        Repository(name, revision, dict.fromkeys(files)), cache_dir, offline=offline
    )


def fetch(repository: Repository, name: str, cache_dir: Path, *, offline: bool = False) -> Path:
    """One file's path below `cache_dir`/hub. A missing or damaged file is downloaded, unless
    `offline`.

    Raises UserError if the file cannot be fetched or has another digest. Such a file is not kept.
    """
    from huggingface_hub import hf_hub_download, logging

    client = partial(
        hf_hub_download,
        repository.name,
        name,
        repo_type=repository.kind,
        revision=repository.revision,
        cache_dir=Path(cache_dir) / "hub",
        endpoint=os.environ.get("HF_ENDPOINT") or None,
        token=False,
    )
    damaged = False

    def other_digest(path: Path) -> str | None:
        """The file's digest if it is not the one that is pinned or, for a large file, named by the
        client."""
        wanted = repository.files[name] or path.resolve().name
        digest = file_digest(path)
        if len(wanted) == SHA1:  # as git counts it
            content = b"blob %d\0" % path.stat().st_size + path.read_bytes()
            digest = hashlib.sha1(content, usedforsecurity=False).hexdigest()
        return None if digest == wanted or len(wanted) not in (SHA1, SHA256) else digest

    with contextlib.suppress(FileNotFoundError):
        path = Path(client(local_files_only=True))
        if other_digest(path) is None:
            return path
        damaged = True

    where = f"{name} of {repository.name}"
    if offline:
        raise UserError(f"{cache_dir} does not hold {where}; {FETCH_FIRST}.")
    check_hub()
    logging.set_verbosity_error()  # it warns at each of its attempts
    say(f"Fetching {where}.")
    with refusing(f"{where} cannot be fetched", f"check the network and HF_ENDPOINT, {WITHOUT}"):
        path = Path(client(force_download=damaged))
    other = other_digest(path)
    if other is not None:
        path.resolve().unlink()
        raise UserError(
            f"{where} has the digest {other[:12]}…, which is not its own; try again, {WITHOUT}."
        )
    return path


def is_unpacked(archive: Path, folder: Path) -> bool:
    """Whether every file of an archive lies in the folder with its content."""
    with contextlib.suppress(tarfile.TarError, EOFError), tarfile.open(archive) as packed:
        for member in packed:
            content = packed.extractfile(member)
            file = folder / member.name
            if content and not (file.is_file() and file.read_bytes() == content.read()):
                return False
        return True
    return False


def unpack(archive: Path) -> Path:
    """The folder of SentEval data, unpacked beside its archive; nothing in it leads outside."""
    target = archive.with_suffix("")
    problem = f"{archive} cannot be unpacked"
    hint = f"delete it and fetch it again, {WITHOUT}"
    kinds = (tarfile.TarError, EOFError, shutil.ReadError)
    with locks.waiting(target.with_name(f".{target.name}.lock"), f"unpacking {archive}"):
        sweep(target)
        unpacked = is_unpacked(archive, target)
        if target.exists() and not unpacked:
            say(f"{target} is not as it was unpacked, so it is unpacked anew.")
        if not unpacked:
            with whole(target, folder=True) as part, refusing(problem, hint, *kinds):
                shutil.unpack_archive(archive, part, filter="data")
                senteval_root(part)
    return senteval_root(target)
