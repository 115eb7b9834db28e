"""Training text: read as the run says, checked against its digest."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

from core.spec.config import Data
from core.spec.errors import UserError


def training_text(data: Data, corpus_path: str | None) -> list[str]:
    """The sentences of the training text, in file order; generated where there is no file (scale demo).

    Raises UserError if the text is missing, is not UTF-8, or is not the one whose digest stands in the configuration.
    """
    if corpus_path is None:
        from core.engine.demo.corpus import training_sentences

        content = "\n".join(training_sentences(data.rows)).encode()
    else:
        try:
            content = Path(corpus_path).read_bytes()
        except OSError as error:
            raise UserError(f"The training text {corpus_path} cannot be read ({error.strerror}); check --data-dir.") from error
    if hashlib.sha256(content).hexdigest() != data.digest:
        raise UserError(
            f"The training text {corpus_path or 'of scale demo'} is not the one that this run was planned with; plan it again."
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{corpus_path}, line {line}: not UTF-8; convert the file.") from error
    sentences = read_lines(text) if data.reader == "lines" else read_csv_quoted(text)
    if not sentences:
        raise UserError(f"The training text {corpus_path} has no sentences; give a file with one sentence a line.")
    return sentences


def read_lines(text: str) -> list[str]:
    """One sentence a line; blank lines are left out (D36)."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def read_csv_quoted(text: str) -> list[str]:
    """As a tab-separated table with quoting, as the released preparation read it: a line that opens with a double quote
    swallows what follows up to the closing one, and blank lines are skipped (D36)."""
    csv.field_size_limit(len(text) + 1)  # an unclosed quote may swallow the rest of the file
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    return [" ".join(row[0].split()) for row in rows if row and row[0].strip()]
