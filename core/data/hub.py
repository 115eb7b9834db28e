"""Fetching training text, evaluation sets and encoders from the hub, once; afterwards everything is read offline.

    python -m core.data.hub prefetch --scale mini|paper --cache-dir DIR [--encoder NAME] [--text-models NAME...]

prints, as its last line, JSON with corpus_path, evaluation_path, encoder_path and their names; with --text-models it fetches
just those models, which lie where `model_folders` looks for them. The hub's own client keeps them in DIR/hub, where the revision
that was first accepted is written down and each file bears the digest that the hub declares for it (a large file's SHA-256, a
small one's git object id). Everything is checked: against the digest in `pins` where one is known, otherwise against that name,
when it comes and whenever it is asked for again. Another revision is not accepted later. With HF_ENDPOINT set, that mirror is
asked instead of huggingface.co.
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
from core.data.pins import CORPUS_FILE, CORPUS_ROWS, DATA, DEFAULT_ENCODER, ENCODERS, EVALUATION_FILE, TEXT_MODELS, WITHOUT, Repository
from core.data.senteval import senteval_root
from core.spec.errors import UserError
from core.store.files import write_whole

PARTS = ("data", "encoder")


def prefetch(cache_dir: Path, encoder: str, data: Repository = DATA, parts: Sequence[str] = PARTS) -> dict[str, str]:
    """Paths and names of text and evaluation sets (part `data`) and of the encoder, fetched if they are not in `cache_dir`.

    Raises UserError, one sentence, for whatever went wrong; what is not right is not kept.
    """
    if encoder not in ENCODERS:
        raise UserError(f"There is no pinned encoder {encoder!r}; choose {', '.join(ENCODERS)}, or give a folder to --encoder.")
    found: dict[str, str] = {}
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
    folders = []
    for repository in TEXT_MODELS[name]:
        folder = kept(repository, cache_dir)
        if folder is None or not (folder / "config.json").is_file() or not (folder / "model.safetensors").is_file():
            raise UserError(f"{cache_dir} does not hold the model {name}; give the command again with a network, or take --scale demo.")
        folders.append(folder)
    return folders


def fetch_encoder(repository: Repository, cache_dir: Path) -> Path:
    """The folder with the encoder's files; a pickle of weights is converted to safetensors beside it."""
    files = {name: fetch(repository, name, cache_dir) for name in repository.files}
    folder = files["config.json"].parent
    if "model.safetensors" not in files and not (folder / "model.safetensors").is_file():
        _convert(files["pytorch_model.bin"], folder / "model.safetensors")
    return folder


def kept(repository: Repository, cache_dir: Path) -> Path | None:
    """The folder of a repository's files, of the pinned revision or the one that was first accepted; None before the first.

    Raises UserError if that cannot be read."""
    place = Path(cache_dir) / "hub" / f"{repository.kind}s--{repository.name.replace('/', '--')}"  # as the client documents it
    accepted = place / "refs" / "main"
    if repository.revision is None and not accepted.is_file():
        return None
    revision = repository.revision or accepted.read_bytes()[:99].decode(errors="replace")
    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise UserError(f"{accepted} names no revision; delete the folder {place} to fetch all again.")
    return place / "snapshots" / revision


def fetch(repository: Repository, name: str, cache_dir: Path) -> Path:
    """One file's path below `cache_dir`/hub, checked; no network is touched if it is there already and right."""
    folder, pinned, accepted = kept(repository, cache_dir), repository.files[name], None
    if folder is not None:
        path = folder / name
        if path.is_file() and _mismatch(path, pinned) is None:
            return path
        accepted = os.path.basename(os.readlink(path)) if path.is_symlink() else None
    path = _download(repository, name, cache_dir, folder.name if folder is not None else None, accepted)
    problem = _mismatch(path, pinned)
    if problem:
        path.resolve().unlink()
        path.unlink(missing_ok=True)
        raise UserError(f"{name} from {repository.name} {problem}; try again, and if it stays so do not use it ({WITHOUT}).")
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


def _download(repository: Repository, name: str, cache_dir: Path, wanted: str | None, accepted: str | None) -> Path:
    """The file as the hub's client brings it, of the wanted commit and under the accepted name if there are such. Raises UserError."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    from core.data.traffic import TIMEOUT, bounded, endpoint, host

    revision = wanted or "main"
    what = f"{name} from {repository.name} (revision {revision[:12]})"
    url = hf_hub_url(repository.name, name, repo_type=repository.kind, revision=revision, endpoint=endpoint())
    with bounded(what):
        declared = get_hf_file_metadata(url, token=False, timeout=TIMEOUT, endpoint=endpoint())
    if not declared.commit_hash or not declared.etag:
        raise UserError(f"{host()} does not answer like a model hub (no commit or ETag for {name}); check HF_ENDPOINT ({WITHOUT}).")
    if wanted is not None and declared.commit_hash != wanted:
        raise UserError(
            f"{repository.name} is at revision {declared.commit_hash[:12]} instead of {wanted[:12]}, so its content may have changed; "
            f"use the files you have with --data-dir and --encoder, or another mirror ({WITHOUT})."
        )
    if accepted is not None and declared.etag != accepted:
        raise UserError(
            f"{name} from {repository.name} is declared as {declared.etag[:12]}… instead of {accepted[:12]}…, as it was at first; "
            f"use the files you have with --data-dir and --encoder, or another mirror ({WITHOUT})."
        )
    with bounded(what, declared.size):
        return Path(hf_hub_download(
            repository.name, name, repo_type=repository.kind, revision=revision, cache_dir=Path(cache_dir) / "hub",
            endpoint=endpoint(), token=False, etag_timeout=TIMEOUT, force_download=True,
        ))  # fmt: skip


def _mismatch(path: Path, pinned: str | None) -> str | None:
    """What is wrong with a file, or None. `pinned` is its SHA-256 if known. The hub's client names the file, to which `path` is a
    link, by the digest that the hub declared."""
    name = path.resolve().name
    if pinned is not None:
        digest = file_digest(path)
        return None if digest == pinned else f"has SHA-256 {digest[:12]}… instead of {pinned[:12]}…"
    if re.fullmatch("[0-9a-f]{64}", name):
        digest = file_digest(path)
        return None if digest == name else f"has SHA-256 {digest[:12]}… but the hub declares {name[:12]}…"
    if re.fullmatch("[0-9a-f]{40}", name):
        content = path.read_bytes()
        identity = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        return None if identity == name else f"has git id {identity[:12]}… but the hub declares {name[:12]}…"
    return "comes without a digest to check it by"


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
