"""Training text: read as the run says, checked against its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

from core.data.text import MOST_BYTES, sentences
from core.spec.errors import UserError
from core.spec.run import Data
from core.store import files


def training_text(data: Data, corpus_path: str | None) -> list[str]:
    """The sentences of the training text, in file order; generated where there is no file (scales demo and long).

    Raises UserError if the text is missing, is not UTF-8, or is not the one whose digest stands in the configuration.
    """
    if corpus_path is None:
        from core.demo.corpus import training_sentences

        content = "\n".join(training_sentences(data.rows)).encode()
    else:
        try:
            content = files.content(Path(corpus_path), MOST_BYTES)
        except OSError as error:
            raise UserError(f"The training text {corpus_path} cannot be read ({error.strerror}); check --data-dir.") from error
    if hashlib.sha256(content).hexdigest() != data.digest:
        raise UserError(
            f"The training text {corpus_path or 'of the made-up language'} is not the one that this run was planned with; plan it again."
        )
    return sentences(content, data.reader, corpus_path or "of the made-up language")
