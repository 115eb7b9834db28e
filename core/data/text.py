"""Text files: a training text, by line or as the released preparation read it, and numbered lines of other
data."""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import re
import zlib
from pathlib import Path

from core.spec.errors import UserError
from core.spec.run import Data
from core.store import files

DEMO_FOLDER = Path(__file__).resolve().parents[1] / "demo"
MOST_BYTES = 8 << 30  # of a text, which is read whole
LONGEST = 100_000  # characters; no sentence has so many
MOST_LINES_BYTES = 1 << 30  # of a set, which has a few million
AGAIN = "fetch SentEval's data again"
TABS = 100  # lines that are looked at for the columns of a table
# Columns of known training sets, which open a table and no text.
HEADERS = set("text sentence sent sent0 sent1 sent2 hard_neg sentence1 sentence2 score label".split())
# How files begin that hold no lines of text.
FOREIGN = {
    b"\x1f\x8b": "packed by gzip; give it a name that ends in .gz",
    b"BZh91AY": "packed by bzip2; unpack it",
    b"PK\x03\x04": "a zip archive or a spreadsheet; save its lines as text",
    b"PAR1": "parquet; give it a name that ends in .parquet",
    b"version https://git-lfs": "a pointer of git-lfs; fetch it with git lfs pull",
    b"<!DOCTYPE html": "a web page; download the file itself",
}


def training_text(data: Data, corpus_path: str | None) -> list[str]:
    """The sentences of the training text, in file order; None is the demo's own text (scale demo).

    Raises UserError if the text is missing, is not UTF-8, or has another digest than the configuration.
    """
    path = Path(corpus_path) if corpus_path is not None else DEMO_FOLDER / "sentences.txt.gz"
    try:
        content = text_bytes(path)
    except OSError as error:
        hint = "check --data-dir"
        raise UserError(f"The training text {path} cannot be read ({error.strerror}); {hint}.") from error
    if hashlib.sha256(content).hexdigest() != data.digest:
        hint = "plan it again"
        raise UserError(f"The training text {path} is not the one that this run was planned with; {hint}.")
    return sentences(content, data.reader, str(path))


def text_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a text file, unpacked if its name ends in .gz. Raises OSError, also for no text."""
    content = files.content(path, most)
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise OSError(errno.EINVAL, "it is no whole gzip file", str(path)) from error
    for start, kind in FOREIGN.items():
        if content.startswith(start):
            raise OSError(errno.EINVAL, f"it is {kind}", str(path))
    return content


def sentences(content: bytes, reader: str, name: str) -> list[str]:
    """The sentences of a text file's content under data.reader (D36), without byte-order marks.

    Raises UserError if it is not UTF-8, holds a NUL (which no sentence has, and UTF-16 has in every
    letter), is a table, or has no sentence.
    """
    try:
        text = content.decode().replace("\ufeff", "")  # also those within, of files that were put together
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{name}, line {line}: not UTF-8; convert the file.") from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        hint = "convert the file"
        raise UserError(f"{name}, line {line} holds a NUL, as other encodings than UTF-8 do; {hint}.")
    if reader == "lines" and len(text) > LONGEST:
        for number, row in enumerate(text.split("\n"), start=1):
            if len(row) > LONGEST:
                hint = "give a file with one sentence a line"
                raise UserError(f"{name}, line {number} has {len(row)} characters; {hint}.")
    if table := _table(text):
        hint = "give one sentence a line, or a .jsonl or .parquet file"
        raise UserError(f"The training text {name} {table}, so it is a table; {hint}.")
    rows = read_lines(text) if reader == "lines" else read_csv_quoted(text)
    if not rows:
        raise UserError(f"The training text {name} has no sentences; give a file with one sentence a line.")
    return rows


def _table(text: str) -> str:
    """What makes a text a table and no list of sentences, in words; "" if nothing does."""
    lines = [line for line in text[: TABS * LONGEST].split("\n", TABS)[:TABS] if line.strip()]
    words = [word.strip(' "\r').lower() for word in re.split("[,;\t]", lines[0])] if lines else []
    if words and lines[0].startswith(("{", "[")) and lines[0].rstrip().endswith(("}", "},", "[", "{")):
        return "begins as JSON does"
    if len(words) > 1 and HEADERS.issuperset(words):
        return f"begins with the columns {', '.join(words)}"
    return "has tabs in every line" if len(lines) > 1 and all("\t" in line.strip() for line in lines) else ""


def read_lines(text: str) -> list[str]:
    """One sentence a line; blank lines are left out (D36, D85)."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def read_csv_quoted(text: str) -> list[str]:
    """As a tab-separated table with quoting, as the released preparation read it: a line that opens with a
    double quote swallows what follows up to the closing one, and blank lines are skipped (D36, D87)."""
    before = csv.field_size_limit(len(text) + 1)  # an unclosed quote may swallow the rest of the file
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
        return [" ".join(row[0].split()) for row in rows if row and row[0].strip()]
    finally:
        csv.field_size_limit(before)  # it holds for the whole process: libraries read tables, too


def measure(content: bytes, name: str) -> tuple[str, dict[str, int]]:
    """SHA-256 of a text and its number of sentences under each reader."""
    counts = {reader: len(sentences(content, reader, name)) for reader in ("lines", "csv_quoted")}
    return hashlib.sha256(content).hexdigest(), counts


def numbered_lines(
    path: Path, encoding: str = "utf-8", option: str = "--data-dir", mend: str = f"{AGAIN}, unconverted"
) -> list[tuple[int, str]]:
    """Numbered lines of a text file, counted from 1, without their ends. Only a newline ends a line, whatever
    Unicode says.

    Raises UserError for what cannot be read; `option` named the file, and `mend` says what to do about
    another encoding.
    """
    try:
        content = text_bytes(path, MOST_LINES_BYTES)
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; {AGAIN} or correct {option}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); correct {option}.") from error
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {number} is not {encoding.upper()}; {mend}.") from error
    lines = text.replace("\ufeff", "").split("\n")  # a byte-order mark is no part of a sentence
    if not lines[-1]:
        lines.pop()
    return [(number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1)]
