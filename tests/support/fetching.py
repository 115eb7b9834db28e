"""What is fetched from a made-up hub, and what is kept of it."""

import dataclasses
import hashlib

from core.data import hub
from core.data.pins import CORPUS_FILE, DATA, Repository

TEXT = b"".join(b"sentence %d\n" % i for i in range(1000))
SHA = hashlib.sha256(TEXT).hexdigest()
PLACE = "hub/datasets--princeton-nlp--datasets-for-simcse"


def text(tmp_path, **changes):
    return hub.fetch(dataclasses.replace(DATA, **changes), CORPUS_FILE, tmp_path)


def accepted(tmp_path):
    """The revision that was written down, and what is kept of the made-up data's repository."""
    return (tmp_path / PLACE / "refs" / "main").read_text(), {p.name for p in (tmp_path / PLACE / "blobs").iterdir()}


def damage(path):
    """Other bytes in a kept file."""
    path.resolve().write_bytes(b"damaged")


def nothing_kept(tmp_path):
    """Neither a file by its name nor its bytes, whole or in part."""
    return not [
        path for path in tmp_path.rglob("*") if path.name == CORPUS_FILE or (path.parent.name == "blobs" and path.suffix != ".lock")
    ]


def tiny(weights, digest=None):
    return Repository("tiny/bert", "model", None, {
        "config.json": None, weights: digest, "tokenizer.json": None, "tokenizer_config.json": None,
    })  # fmt: skip
