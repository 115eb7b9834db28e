"""A safetensors file that can be believed: tensors and a JSON document under one digest, written whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from core.store.files import temporary_name, whole


class Damaged(Exception):
    """The file's content is not what `write` wrote; the message says why in a few words."""


def write(path: Path, tensors: dict[str, Tensor], document: dict) -> None:
    """Put tensors and document at `path`. Raises UserError if there is no space or no permission; the old file stays then."""
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(document)  # NaN and infinities in Python's own spelling; floats come back to the last bit
    with whole(path) as temporary:
        # The library writes under a name of its own in the same folder, so it gets a folder whose name is swept after a kill.
        folder = temporary.with_name(temporary_name(path.name))
        folder.mkdir()
        try:
            save_file(ready, folder / path.name, metadata={"document": text, "sha256": _digest(ready, text)})
            os.chmod(folder / path.name, path.parent.stat().st_mode & 0o666)  # the library's file is for its owner alone
            os.replace(folder / path.name, temporary)
        except SafetensorError as error:  # it wraps what the system says
            full = "No space left" in str(error)
            raise OSError(errno.ENOSPC if full else None, str(error)) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def read(path: Path) -> tuple[dict[str, Tensor], dict]:
    """Tensors, on the CPU, and document. Raises Damaged if either is not as it was written, FileNotFoundError."""
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            names = file.keys()  # the file itself cannot be gone through
            tensors = {name: file.get_tensor(name) for name in names}
        if _digest(tensors, metadata["document"]) != metadata["sha256"]:
            raise Damaged("its digest does not fit its content")
        return tensors, json.loads(metadata["document"])
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise Damaged(f"it cannot be read ({type(error).__name__}: {error})") from error


def _digest(tensors: dict[str, Tensor], text: str) -> str:
    """SHA-256 over the document and every tensor's name, type, shape and bytes."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"\0{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
