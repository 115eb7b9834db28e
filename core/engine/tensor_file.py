"""A safetensors file that can be believed: one nested document, its tensors beside it, under one digest, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from core.store.files import temporary_name, whole

TENSOR = "tensor"  # an object of this one key stands in the JSON where a tensor was


class Damaged(Exception):
    """A file that is not what `write` left there, or that does not fit its reader; the text says in a few words why."""


def write(path: Path, content: dict) -> None:
    """Put dicts and lists of tensors and of what JSON can hold at `path`. Tuples come back as lists, and keys as text.

    Raises UserError if there is no space or no permission; the old file stays then.
    """
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_taken_out(content, "", tensors))  # NaN and infinities in Python's own spelling; floats come back to the last bit
    with whole(path) as temporary:
        # The library writes under a name of its own in the same folder, so it gets a folder whose name is swept after a kill.
        folder = temporary.with_name(temporary_name(path.name))
        folder.mkdir()
        try:
            with system_errors():
                save_file(tensors, folder / path.name, metadata={"document": text, "sha256": _digest(tensors, text)})
            os.chmod(folder / path.name, path.parent.stat().st_mode & 0o666)  # the library's file is for its owner alone
            os.replace(folder / path.name, temporary)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def system_errors() -> Iterator[None]:
    """Within this context the system's errors on writing come as OSError; the library wraps them in an error of its own."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)|code: (\d+)", str(error))
        code = int(number[1] or number[2]) if number else errno.EIO
        raise OSError(code, os.strerror(code)) from error


def read(path: Path) -> dict:
    """What was written, tensors on the CPU as views of the file. Raises Damaged if it is not as it was, FileNotFoundError."""
    if not os.path.lexists(path):
        raise FileNotFoundError(path)
    if not path.is_file():
        raise Damaged("it is no file")  # reading a pipe or a device might never end
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            names = file.keys()  # the file itself cannot be gone through
            tensors = {name: file.get_tensor(name) for name in names}
        if _digest(tensors, metadata["document"]) != metadata["sha256"]:
            raise Damaged("its digest does not fit its content")
        return _put_in(json.loads(metadata["document"]), tensors)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise Damaged(f"it cannot be read ({type(error).__name__}: {error})") from error


def _taken_out(value: object, place: str, tensors: dict[str, Tensor]) -> object:
    """The value as JSON can hold it; its tensors go into `tensors`, each by its place, which stands where it was."""
    if isinstance(value, Tensor):
        tensors[place] = value.detach().cpu().contiguous()
        return {TENSOR: place}
    if isinstance(value, dict):
        return {str(key): _taken_out(part, f"{place}/{key}", tensors) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_taken_out(part, f"{place}/{i}", tensors) for i, part in enumerate(value)]
    return value


def _put_in(value: Any, tensors: dict[str, Tensor]) -> Any:
    """What `_taken_out` was given."""
    if isinstance(value, dict):
        if value.keys() == {TENSOR}:
            return tensors[value[TENSOR]]
        return {key: _put_in(part, tensors) for key, part in value.items()}
    return [_put_in(part, tensors) for part in value] if isinstance(value, list) else value


def _digest(tensors: dict[str, Tensor], text: str) -> str:
    """SHA-256 over the document and every tensor's name, type, shape and bytes."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"\0{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
