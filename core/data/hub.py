"""Fetching training text, evaluation sets and encoders from the hub, once; afterwards everything is read offline.

    python -m core.data.hub prefetch --scale mini|paper --cache-dir DIR [--encoder NAME] [--text-models NAME...]

prints, as its last line, JSON with corpus_path, evaluation_path, encoder_path and their names; with --text-models it fetches
just those models, which lie where `model_folders` looks for them. Everything fetched is checked:
against the digest in `hub_pins` where one is known, otherwise against what the hub declares for the file (a large file's ETag
is its SHA-256, a small one's its git object id). What was found goes into DIR/hub/lock.json, and from then on nothing else is
accepted. With HF_ENDPOINT set, that mirror is asked instead of huggingface.co.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
import traceback
import uuid
from collections.abc import Sequence
from pathlib import Path

from core.data.digests import file_digest
from core.data.hub_lock import Lock
from core.data.hub_pins import CORPUS_FILE, CORPUS_ROWS, DATA, DEFAULT_ENCODER, ENCODERS, EVALUATION_FILE, TEXT_MODELS, Repository
from core.data.senteval import senteval_root
from core.spec.errors import UserError
from core.store.files import write_whole

WITHOUT = "--scale demo runs without"
PARTS = ("data", "encoder")
_TIMEOUT = 10.0  # seconds for the hub's first answer about a file


def prefetch(
    cache_dir: Path, encoder: str, data: Repository = DATA, parts: Sequence[str] = PARTS
) -> dict[str, str]:
    """Paths and names of text and evaluation sets (part `data`) and of the encoder, fetched if they are not in `cache_dir`.

    Raises UserError, one sentence, for whatever went wrong; what is not right is not kept.
    """
    if encoder not in ENCODERS:
        raise UserError(f"There is no pinned encoder {encoder!r}; choose {', '.join(ENCODERS)}, or give a folder to --encoder.")
    found = {}
    if "data" in parts:
        text = fetch(data, CORPUS_FILE, cache_dir)
        check_rows(text)
        sets = unpack(fetch(data, EVALUATION_FILE, cache_dir))
        found |= {"corpus_path": str(text), "corpus_name": "wiki1m_for_simcse"}
        found |= {"evaluation_path": str(sets), "evaluation_name": "SentEval"}
    if "encoder" in parts:
        found |= {"encoder_path": str(fetch_encoder(ENCODERS[encoder], cache_dir)), "encoder_name": encoder}
    return found


def model_folders(name: str, cache_dir: Path) -> list[Path]:
    """The folders of a model that rewrites text, fetched before. Raises UserError if one is not there."""
    folders = [Path(cache_dir) / "hub" / repository.name.split("/")[-1] for repository in TEXT_MODELS[name]]
    for folder in folders:
        if not (folder / "config.json").is_file() or not (folder / "model.safetensors").is_file():
            raise UserError(f"{folder} does not hold the model {name}; give the command again with a network, or take --scale demo.")
    return folders


def fetch_encoder(repository: Repository, cache_dir: Path) -> Path:
    """The folder with the encoder's files; a pickle of weights is converted to safetensors beside it."""
    files = {name: fetch(repository, name, cache_dir) for name in repository.files}
    folder = files["config.json"].parent
    if "model.safetensors" not in files and not (folder / "model.safetensors").is_file():
        _convert(files["pytorch_model.bin"], folder / "model.safetensors")
    return folder


def fetch(repository: Repository, name: str, cache_dir: Path) -> Path:
    """One file's path below `cache_dir`/hub, checked; no network is touched if it is there already and right."""
    folder = Path(cache_dir) / "hub" / repository.name.split("/")[-1]
    lock = Lock(Path(cache_dir) / "hub" / "lock.json", repository)
    path, expected = folder / name, repository.files[name] or lock.digest(name)
    if expected is not None and path.is_file() and file_digest(path) == expected:
        return path
    commit, etag = _declared(repository, name, repository.revision or lock.revision)
    _download(repository, name, commit, folder)
    problem = _mismatch(path, expected, etag)
    if problem:
        path.unlink(missing_ok=True)
        shutil.rmtree(folder / ".cache", ignore_errors=True)  # the hub client would believe the file to be there
        raise UserError(f"{name} from {repository.name} {problem}; try again, and if it stays so do not use it ({WITHOUT}).")
    lock.record(commit, name, expected or file_digest(path))
    return path


def check_rows(text: Path) -> None:
    """Raise UserError unless the training text has the published number of lines."""
    with open(text, "rb") as file:
        rows, last = 0, b"\n"
        while chunk := file.read(1 << 22):
            rows, last = rows + chunk.count(b"\n"), chunk
    rows += not last.endswith(b"\n")
    if rows not in CORPUS_ROWS:
        raise UserError(f"{text} has {rows} lines, but {CORPUS_ROWS[0]} are published; delete it and fetch it again ({WITHOUT}).")


def unpack(archive: Path) -> Path:
    """The folder with the archive's SentEval data beside it, unpacked safely (no links or names that lead outside), once."""
    target = archive.with_suffix("")
    if not target.is_dir():
        part = target.with_name(f".{target.name}-{uuid.uuid4().hex}")
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(part, filter="data")
            senteval_root(part)
            os.rename(part, target)  # whole or not at all
        except (tarfile.TarError, OSError, EOFError) as error:
            if not target.is_dir():  # else another process was first
                reason = str(error).splitlines()[0].rstrip(":")
                raise UserError(f"{archive} cannot be unpacked ({reason}); delete it and fetch it again ({WITHOUT}).") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return senteval_root(target)


def _declared(repository: Repository, name: str, wanted: str | None) -> tuple[str, str]:
    """Commit and ETag that the hub declares for a file. Raises UserError if it cannot, or if the commit is not the wanted one."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    revision = wanted or "main"
    url = hf_hub_url(repository.name, name, repo_type=repository.kind, revision=revision, endpoint=_endpoint())
    with _sentences(repository, name, revision):
        declared = get_hf_file_metadata(url, token=False, timeout=_TIMEOUT, endpoint=_endpoint())
    commit = declared.commit_hash
    if not commit or not declared.etag:
        raise UserError(
            f"{_host()} does not answer like a model hub (no commit or ETag for {name}); check HF_ENDPOINT ({WITHOUT})."
        )
    if wanted is not None and commit != wanted:
        raise UserError(
            f"{repository.name} is at revision {commit[:12]} instead of {wanted[:12]}, so its content may have changed; "
            f"use the files you have with --data-dir and --encoder, or another mirror ({WITHOUT})."
        )
    return commit, declared.etag


def _download(repository: Repository, name: str, commit: str, folder: Path) -> None:
    from huggingface_hub import hf_hub_download

    with _sentences(repository, name, commit):
        (folder / name).unlink(missing_ok=True)  # there only if it is not what was accepted
        hf_hub_download(
            repository.name, name, repo_type=repository.kind, revision=commit, local_dir=folder, endpoint=_endpoint(),
            token=False, etag_timeout=_TIMEOUT,
        )  # fmt: skip


def _mismatch(path: Path, expected: str | None, etag: str) -> str | None:
    """What is wrong with a fetched file, or None. `expected` is its SHA-256 if known; the ETag is a SHA-256 or a git object id."""
    digest = file_digest(path)
    if expected is not None:
        return None if digest == expected else f"has SHA-256 {digest[:12]}… instead of {expected[:12]}…"
    if re.fullmatch("[0-9a-f]{64}", etag):
        return None if digest == etag else f"has SHA-256 {digest[:12]}… but the hub declares {etag[:12]}…"
    if re.fullmatch("[0-9a-f]{40}", etag):
        content = path.read_bytes()
        identity = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        return None if identity == etag else f"has git id {identity[:12]}… but the hub declares {etag[:12]}…"
    return "comes without a digest to check it by"


class _sentences:
    """Turns what the hub client raises into one sentence."""

    def __init__(self, repository: Repository, name: str, revision: str):
        self.what = f"{name} from {repository.name} (revision {revision[:12]})"

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        import httpx
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

        if error is None or isinstance(error, (UserError, KeyboardInterrupt)):
            return False
        cause = error.__cause__ if isinstance(error, LocalEntryNotFoundError) and error.__cause__ else error
        status = cause.response.status_code if isinstance(cause, HfHubHTTPError) and cause.response is not None else None
        if status == 429:
            said = f"{_host()} answers that there were too many requests (429); wait some minutes and give the same command again"
        elif status in (401, 403, 404):
            said = f"{_host()} has no {self.what} for us (status {status}); check HF_ENDPOINT, or use --data-dir and --encoder"
        elif status is not None:
            said = f"{_host()} answered {self.what} with status {status}; try again later"
        elif isinstance(cause, (httpx.TransportError, LocalEntryNotFoundError, OfflineModeIsEnabled)):
            said = f"{_host()} cannot be reached for {self.what}; connect, or bring data and encoder with --data-dir and --encoder"
        elif isinstance(cause, OSError) and "Consistency check" in str(cause):
            said = f"{self.what} arrived truncated; give the same command again"
        elif isinstance(cause, OSError):
            said = f"{self.what} could not be saved ({cause.strerror or cause}); make space, or choose another --cache-dir"
        else:
            return False
        raise UserError(f"{said} ({WITHOUT}).") from error


def _convert(pickle: Path, target: Path) -> None:
    """Write the tensors of a PyTorch file as safetensors. `weights_only` loads nothing but tensors, so no code can run."""
    import torch
    from safetensors.torch import save

    try:
        state = torch.load(pickle, map_location="cpu", weights_only=True)
        tensors = {name: value.clone().contiguous() for name, value in state.items() if torch.is_tensor(value)}
    except Exception as error:
        raise UserError(f"The weights {pickle} cannot be read; delete the file and fetch it again ({WITHOUT}).") from error
    write_whole(target, save(tensors, metadata={"format": "pt"}))


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _host() -> str:
    return _endpoint() or "huggingface.co"


def main(argv: Sequence[str]) -> int:
    """Do what the command line asks; 0, or 2 with the sentence on standard error."""
    parser = argparse.ArgumentParser(prog="python -m core.data.hub", description="Fetch data and encoder once, checked.")
    parser.add_argument("command", choices=["prefetch"])
    parser.add_argument("--scale", required=True, choices=sorted(DEFAULT_ENCODER))
    parser.add_argument("--cache-dir", required=True, type=Path)
    parser.add_argument("--encoder", metavar="NAME", help=f"one of {', '.join(ENCODERS)}; the scale's own by default")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what is wanted; all by default")
    parser.add_argument("--text-models", nargs="+", choices=sorted(TEXT_MODELS), help="fetch these, and nothing else")
    options = parser.parse_args(argv)
    try:
        if options.text_models:
            for repository in (repository for name in options.text_models for repository in TEXT_MODELS[name]):
                fetch_encoder(repository, options.cache_dir)
            print(json.dumps({"text_models": options.text_models}))
            return 0
        encoder = options.encoder or DEFAULT_ENCODER[options.scale]
        print(json.dumps(prefetch(options.cache_dir, encoder, parts=options.parts)))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:  # the driver shows the last line
        traceback.print_exc()
        said = (str(error).splitlines() or [""])[0][:200]
        print(f"Fetching failed ({type(error).__name__}: {said}); use --data-dir and --encoder ({WITHOUT}).", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
