"""Text files: a training text, by line or as the released preparation read it, and numbered lines of other
data."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from core.spec.errors import UserError
from core.spec.run import Data

Row = TypeVar("Row")
Example = TypeVar("Example")
DEMO_FOLDER = Path(__file__).resolve().parents[1] / "demo"
LONGEST = 100_000  # characters; no sentence has so many
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
    content = text_bytes(path)
    if hashlib.sha256(content).hexdigest() != data.digest:
        hint = "plan it again"
        raise UserError(f"The training text {path} is not the one that this run was planned with; {hint}.")
    return sentences(content, data.reader, str(path))


def text_bytes(path: Path, option: str = "--data-dir or --text") -> bytes:
    """The content of a text file, unpacked if its name ends in .gz. Raises UserError, also for no text;
    `option` named the file."""
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is no whole gzip file"
        raise UserError(f"{path} cannot be read ({why}); correct the file or {option}.") from error
    for start, kind in FOREIGN.items():
        if content.startswith(start):
            raise UserError(f"{path} is {kind}.")
    return content


def decoded(content: bytes, name: str, mend: str, encoding: str = "utf-8") -> str:
    """The text of a file, without byte-order marks, also those within, of files that were put together.

    Raises UserError with the line of what is in another encoding; a NUL is, which UTF-16 has in every letter.
    """
    try:
        text, wrong = content.decode(encoding), content.find(b"\0")
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong >= 0:
        line = content.count(b"\n", 0, wrong) + 1
        raise UserError(f"{name}, line {line} is not {encoding.upper()}; {mend}.")
    return text.replace("\ufeff", "")


def sentences(content: bytes, reader: str, name: str) -> list[str]:
    """The sentences of a text file's content under data.reader (D36).

    Raises UserError if it is not UTF-8, is a table, has a line too long for a sentence, or has no sentence.
    """
    text = decoded(content, name, "convert the file")
    rows = read_lines(text) if reader == "lines" else read_csv_quoted(text)
    problem, longest = _table(text) or ("" if rows else "has no sentences"), max(map(len, rows), default=0)
    if reader == "lines" and longest > LONGEST:
        problem = f"has a line of {longest} characters"
    if problem:
        hint = "give one sentence a line, or a .jsonl or .parquet file"
        raise UserError(f"The training text {name} {problem}; {hint}.")
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


def numbered_lines(
    path: Path, encoding: str = "utf-8", option: str = "--data-dir", mend: str = f"{AGAIN}, unconverted"
) -> list[tuple[int, str]]:
    """Numbered lines of a text file, counted from 1, without their ends. Only a newline ends a line, whatever
    Unicode says.

    Raises UserError for what cannot be read; `option` named the file, and `mend` says what to do about
    another encoding.
    """
    lines = decoded(text_bytes(path, option), str(path), mend, encoding).split("\n")
    if not lines[-1]:
        lines.pop()
    return [(number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1)]


def parsed(
    where: str, rows: Iterable[tuple[int, Row]], read: Callable[[Row], Example], mend: str
) -> Iterator[Example]:
    """What `read` makes of each of these numbered rows or lines; `where` names them up to their number.

    A ValueError says what was expected. Raises UserError with that and the number; `mend` says what to do.
    """
    for number, row in rows:
        try:
            yield read(row)
        except ValueError as error:
            raise UserError(f"{where} {number}: {error}; {mend}.") from error
