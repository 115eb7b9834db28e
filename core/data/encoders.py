"""An encoder's folder: what of it decides a number, and what loading it says. Another process loads
it, since planning has no torch."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from core.config.scale import EncoderSource
from core.data.text import DEMO_FOLDER, named_digest
from core.errors import HOME, UserError, refusing
from core.store.cache import cached

DEMO_ENCODER = DEMO_FOLDER / "encoder"
MINI_ENCODER = DEMO_FOLDER.parent / "mini" / "encoder"
# by scale; --encoder takes its place
SHIPPED_ENCODERS = {"demo": DEMO_ENCODER, "mini": MINI_ENCODER}
DEMO_ENCODER_DIGEST = "2e083d3ae562d921d6a3e89b3dc2d988fa50f838ecad5fe2054b6988904364a3"
MINI_ENCODER_DIGEST = "25d54aea40ddce1805cb868d9af1f0edaca8175f92a7f0f5a6b31a8e637f0614"
# Width, name, positions and masked words of those that the project ships, which a test compares.
SHIPPED = {
    DEMO_ENCODER_DIGEST: (128, "demo encoder", 64, True),
    MINI_ENCODER_DIGEST: (384, "mini encoder", 128, True),
}
# Trained on masked words alone, beside the scale's own encoder at every scale with English text.
PLAIN = EncoderSource(
    "plain",
    "bd321cd7457d8f52fdccabef5efcce920d9b4074e4555b06b71ae6eddbef37e4",
    *(256, "plain encoder", 128, True),
    folder=DEMO_FOLDER.parent / "plain" / "encoder",
)
# Everything in an encoder's folder that can move a number; what is not there does not count.
ENCODER_FILES = """
    config.json model.safetensors tokenizer.json tokenizer_config.json special_tokens_map.json
    added_tokens.json vocab.txt vocab.json merges.txt spiece.model spm.model sentencepiece.bpe.model
    """.split()
LOADING = "core.evaluation.encoding"  # the module that loads an encoder as a run does
LOADING_VERSION = 3  # raised when loading learns to see another mistake
COPY = "copy the encoder's own files there again"
CAPITAL = re.compile("^[A-Z]", re.MULTILINE)


def encoder_digest(folder: Path) -> str:
    """SHA-256 over an encoder's weights, configuration and tokenizer files, by name and content."""
    names = [name for name in ENCODER_FILES if (folder / name).is_file()]
    return named_digest((name, folder / name) for name in names)


def encoder_in(stands_for: str, folder: Path, cache: Path) -> EncoderSource:
    """The encoder in a folder. A fetched folder is models--OWNER--NAME/snapshots/COMMIT in the
    cache. Raises UserError for an encoder that no run could train from."""
    configuration(folder)
    digest = encoder_digest(folder)
    if digest in SHIPPED:
        return EncoderSource(stands_for, digest, *SHIPPED[digest], folder=folder)
    place = folder.resolve()
    name = place.name
    if place.parent.name == "snapshots":
        name = place.parents[1].name.rpartition("--")[2]
    about = cached(cache / "encoders", loading_key(folder), lambda: _loaded(folder))
    about["unused"] = tuple(about["unused"])
    return EncoderSource(stands_for, digest, name=name, folder=folder, **about)


def versions() -> list[str]:
    """The versions of the libraries that decide what an encoder computes. Raises UserError if one
    is missing."""
    hint = "pip install -r requirements.txt may mend that"
    with refusing("An encoder cannot be loaded", hint, metadata.PackageNotFoundError):
        return [metadata.version(library) for library in ("torch", "transformers", "tokenizers")]


def loading_key(folder: Path) -> list[object]:
    """What decides what loading an encoder says. Raises UserError."""
    names = sorted(file.name for file in folder.iterdir())  # some stop the loading
    return [LOADING_VERSION, encoder_digest(folder), names, *versions()]


def _loaded(folder: Path) -> dict[str, Any]:
    """What loading an encoder says of it: fields of `EncoderSource`. Raises UserError."""
    done = subprocess.run(
        [sys.executable, "-m", LOADING, str(folder.absolute())],
        cwd=HOME,
        env={**os.environ, "PYTHONPATH": str(HOME), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        last = (done.stderr.splitlines() or [f"exit status {done.returncode}"])[-1]
        raise UserError(f"The encoder in {folder} cannot be loaded ({last[:200]}); {COPY}.")
    about: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "refusal" in about:
        raise UserError(about["refusal"])
    return about


def check_files(folder: Path) -> None:
    """Raises UserError for what transformers would pass over in silence, or without a
    configuration."""
    if "auto_map" in configuration(folder):
        raise UserError(
            f"{folder}/config.json has auto_map, which means model code of its own, which is never "
            "run; give another folder."
        )
    if (folder / "adapter_config.json").is_file():  # it passes an adapter over without peft
        raise UserError(
            f"{folder} has an adapter (adapter_config.json); save it merged into its encoder."
        )
    words = folder / "vocab.txt"
    by_word = words.is_file() and not (folder / "tokenizer.json").is_file()
    stated = "do_lower_case" in json_object(folder / "tokenizer_config.json")
    if by_word and not stated and CAPITAL.search(words.read_text("utf-8", errors="replace")):
        raise UserError(
            f"{words} has words with capitals, and transformers writes all text in small letters; "
            "state do_lower_case in tokenizer_config.json there."
        )


def json_object(path: Path) -> dict[str, Any]:
    """A JSON object; empty if the file is missing. Raises UserError."""
    kinds = OSError, ValueError, TypeError, RecursionError
    if not path.is_file():
        return {}
    with refusing(f"{path} cannot be read", "copy it there again", *kinds):
        return dict(json.loads(path.read_text(encoding="utf-8")))


def configuration(folder: Path) -> dict[str, Any]:
    """The encoder's config.json. Raises UserError if it is missing or unreadable."""
    path = folder / "config.json"
    if not path.is_file():
        raise UserError(
            f"{folder} holds no config.json; give a folder with it, model.safetensors and a "
            "tokenizer, or hf:NAME@REVISION for an encoder on the hub."
        )
    return json_object(path)


def unfollowed(folder: Path, longest: int) -> list[str]:
    """Settings of sentence_bert_config.json, or of the same file for another kind of encoder, that
    change sentences. Only sentence-transformers follows these. Here sentences are cut at `longest`
    tokens."""
    named = []
    for file in sorted(folder.glob("sentence_*_config.json")):
        for name, value in json_object(file).items():
            follows = name == "max_seq_length" and type(value) is int and value >= longest
            if value not in (None, False) and not follows:
                named.append(f"{name} {value!r} of {file.name}")
    return named


def unused(encoder: EncoderSource) -> list[str]:
    """What lies in an encoder's folder and enters no run: other parts of its checkpoint, and files
    on modules."""
    assert encoder.folder is not None, "it was loaded"
    files = ("modules.json", "config_sentence_transformers.json")
    there = [name for name in files if (encoder.folder / name).is_file()]
    return [*encoder.unused, *there, *unfollowed(encoder.folder, encoder.positions)]
