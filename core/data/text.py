"""Text files: a training text, by line or as the released preparation read it, numbered lines of
other data, and SHA-256 digests."""

import csv
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from core.config.run import Data
from core.errors import UserError, refusing
from core.store.cache import cached
from core.store.files import regular

Numbered = TypeVar("Numbered")
Example = TypeVar("Example")
DEMO_FOLDER = Path(__file__).resolve().parents[1] / "assets" / "demo"
# the ending of a text with tabs between its columns, which the cache holds
COLUMNS_ENDING = ".columns"
READERS_VERSION = 2  # of what counts are kept of: raised when a reader finds other sentences
LONGEST_LINE = 100_000  # characters of a line; no text has so long a sentence
LONGEST_SENTENCE = 10_000  # characters of a sentence in a pair or a task
TABS = 100  # lines that are looked at for the columns of a table
# Columns of known training sets, which open a table and no text.
HEADERS = set(
    "text sentence sent sent0 sent1 sent2 hard_neg sentence1 sentence2 score label".split()
)
# How files begin that stand for another file.
FOREIGN = {
    b"version https://git-lfs": "a pointer of git-lfs; fetch it with git lfs pull",
    b"<!DOCTYPE html": "a web page; download the file itself",
}


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, 64 hex digits. Raises UserError if the file cannot be read."""
    hint = "check --data-dir and --encoder"
    with refusing(f"{path} cannot be read", hint, OSError), open(regular(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def named_digest(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 over the lines `name sha256` of these files, in order of name."""
    return text_digest(sorted(f"{name} {file_digest(path)}\n" for name, path in files))


def text_digest(parts: Iterable[str]) -> str:
    """SHA-256 of these texts one behind the other, in UTF-8."""
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def measure(path: Path, cache: Path) -> tuple[str, int, int, int]:
    """SHA-256 of a training text, its numbers of sentences, by line and as the released reader
    finds them (D36), and its number of columns. The folder `cache` keeps the numbers: a million
    lines take 2 s. Raises UserError."""
    content = text_bytes(path)
    digest = hashlib.sha256(content).hexdigest()
    columns = 1
    if path.suffix == COLUMNS_ENDING:
        columns = content.partition(b"\n")[0].count(b"\t") + 1

    def count() -> list[int]:
        if columns > 1:
            return [len(columned_lines(content, str(path)))] * 2
        return [len(sentences(content, reader, str(path))) for reader in ("lines", "csv_quoted")]

    key = [READERS_VERSION, path.suffix == COLUMNS_ENDING, digest]
    lines, quoted = cached(cache / "counts", key, count)
    return digest, lines, quoted, columns


def columned_lines(content: bytes, name: str) -> list[list[str]]:
    """The lines of a text with columns, as the cache holds it. Raises UserError for another
    file."""
    lines = [line.split("\t") for line in decoded(content, name).removesuffix("\n").split("\n")]
    if len({*map(len, lines)}) > 1:
        raise UserError(
            f"{name} has lines of different columns; give .csv or .jsonl with ?columns=."
        )
    return lines


def training_text(data: Data, corpus: Path | None, column: int = 0) -> list[str]:
    """The sentences of the training text, in file order, of one of its columns; None is the demo's
    own text (scale demo). Raises UserError if the text is missing, is not UTF-8, or has another
    digest than the configuration."""
    path = Path(corpus or DEMO_FOLDER / "sentences.txt.gz")
    content = text_bytes(path)
    if hashlib.sha256(content).hexdigest() != data.digest:
        raise UserError(
            f"The training text {path} is not the one that this run was planned with; plan it "
            "again."
        )
    if data.columns > 1:
        return [line[column] for line in columned_lines(content, str(path))]
    return sentences(content, data.reader, str(path))


def text_bytes(path: Path) -> bytes:
    """The content of a text file, unpacked if its name ends in .gz. Raises UserError, also for no
    text."""
    kinds = OSError, EOFError, zlib.error
    with refusing(f"{path} cannot be read", "correct the file, or name another", *kinds):
        content = regular(path).read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    for start, kind in FOREIGN.items():
        if content.startswith(start):
            raise UserError(f"{path} is {kind}.")
    return content


def decoded(content: bytes, name: str, encoding: str = "utf-8") -> str:
    """The text of a file with Unix line ends, without byte-order marks, also those within, of files
    that were put together. Raises UserError with the line that is no text in this encoding. A zero
    byte is none: UTF-16 has one in every letter."""
    try:
        text = content.decode(encoding)
        wrong = content.find(b"\0")
    except UnicodeDecodeError as error:
        text = ""
        wrong = error.start
    if wrong >= 0:
        line = content.count(b"\n", 0, wrong) + 1
        raise UserError(
            f"{name}, line {line} is no text in {encoding.upper()}; unpack the file if it is "
            "packed, or save it in that encoding."
        )
    return text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")


def sentences(content: bytes, reader: str, name: str) -> list[str]:
    """The sentences of a text file's content under data.reader (D36).

    Raises UserError if it is not UTF-8, is a table by its first lines, has a line too long for a
    sentence, or has no sentence.
    """
    text = decoded(content, name)
    rows = read_lines(text) if reader == "lines" else read_csv_quoted(text)
    head = read_lines("\n".join(text[: TABS * LONGEST_LINE].split("\n", TABS)[:TABS])) or [""]
    words = [word.strip(' "').lower() for word in re.split("[,;\t]", head[0])]
    longest = max(map(len, rows), default=0)
    problem = ""
    if not rows:
        problem = "has no sentences"
    elif head[0].startswith(("{", "[")) and head[0].endswith(("}", "},", "[", "{")):
        problem = "begins as JSON does"
    elif len(words) > 1 and HEADERS.issuperset(words):
        problem = f"begins with the columns {', '.join(words)}"
    elif len(head) > 1 and all("\t" in line for line in head):
        problem = "has tabs in every line"
    elif longest > LONGEST_LINE and reader == "lines":
        problem = f"has a line of {longest} characters"
    if problem:
        raise UserError(
            f"The training text {name} {problem}; give one sentence a line, or a .jsonl or "
            ".parquet file."
        )
    return rows


def read_lines(text: str) -> list[str]:
    """One sentence a line; blank lines are left out (D36, D85)."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def read_csv_quoted(text: str) -> list[str]:
    """As a tab-separated table with quoting, as the released preparation read it: a line that opens
    with a double quote swallows what follows up to the closing one, and blank lines are skipped
    (D36, D87)."""
    # an unclosed quote may swallow the rest of the file
    before = csv.field_size_limit(len(text) + 1)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
        return [" ".join(row[0].split()) for row in rows if row and row[0].strip()]
    finally:
        csv.field_size_limit(before)  # it holds for the whole process: libraries read tables, too


def numbered_lines(path: Path, encoding: str = "utf-8") -> list[tuple[int, str]]:
    """The lines of a text file with their numbers from 1, without their ends: newlines and carriage
    returns alone, whatever Unicode says. Raises UserError for a file that cannot be read."""
    lines = decoded(text_bytes(path), str(path), encoding).removesuffix("\n").split("\n")
    return list(enumerate(lines, start=1))


def parsed_rows(
    where: str, rows: Iterable[tuple[int, Numbered]], read: Callable[[Numbered], Example]
) -> Iterator[Example]:
    """What `read` makes of each of these numbered rows or lines; `where` names them up to their
    number.

    Raises UserError with place and number where `read` raises ValueError, which says what was
    expected.
    """
    for number, row in rows:
        try:
            yield read(row)
        except ValueError as error:
            raise UserError(
                f"{where} {number}: {error}; mend that line, or fetch the file again."
            ) from error


def expect(holds: object, expected: str, value: object) -> None:
    """Raise ValueError that says what was expected and what was found, unless it holds."""
    if not holds:
        text = value[:60] if isinstance(value, str) else repr(value)
        raise ValueError(f"expected {expected}, but found {text}")


def sentence(text: str) -> str:
    """A sentence with white space runs made single blanks. Raises ValueError if there is none."""
    words = " ".join(text.split())  # as SentEval does; it matters to byte-level tokenizers
    expect(
        0 < len(words) <= LONGEST_SENTENCE,
        f"a sentence of 1 to {LONGEST_SENTENCE} characters",
        words,
    )
    return words
