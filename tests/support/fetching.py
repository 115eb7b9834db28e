"""What is fetched from a made-up hub, and what is kept of it."""

import dataclasses
import hashlib

from core.data import hub
from core.data.hub import CORPUS_FILE, DATA, Repository

TEXT = b"".join(b"sentence %d\n" % i for i in range(1000))
SHA = hashlib.sha256(TEXT).hexdigest()
TINY = Repository(
    "tiny/bert", "model", None, dict.fromkeys(("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"))
)


def text(tmp_path, **changes):
    """The made-up training text's path after fetching."""
    return hub.fetch(dataclasses.replace(DATA, **changes), CORPUS_FILE, tmp_path)


def nothing_kept(tmp_path):
    """Whether no file has the text's name, and no blob is whole."""
    return not [path for path in tmp_path.rglob("*") if path.name in (CORPUS_FILE, SHA)]
