"""Files that public bug reports describe, each with its report: read rightly, or refused with what
to do."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
from dataclasses import replace
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from core.data.own_data import data_file, read_pairs
from core.data.sources import NOT_FETCHED
from core.data.text import sentences, text_bytes
from core.errors import UserError
from core.runner import inputs

ROWS = [("a man runs", "a man walks", 4.5), ("a dog", "a cat", 1.0), ("a river", "a lake", 2.5)]
TSV = "".join(f"{a}\t{b}\t{score}\n" for a, b, score in ROWS).encode()
CSV = b"sentence1,sentence2,score\n" + TSV.replace(b"\t", b",")
RECORDS = [dict(zip(("sentence1", "sentence2", "score"), row, strict=True)) for row in ROWS]
JSONL = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
TEXTS = b"".join(b'{"text": "%b"}\n' % sentence for sentence in (b"one", b"two", b"three"))


def parquet(column) -> bytes:
    table = {name: pyarrow.array([record[name] for record in RECORDS]) for name in RECORDS[0]}
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(
        pyarrow.table(table | {"sentence1": column(table["sentence1"])}), sink
    )
    return sink.getvalue().to_pybytes()


def test_pairs_are_read(tmp_path):
    for name, content in (  # huggingface/datasets#5088 and #2977: packed tables
        ("packed.tsv.gz", gzip.compress(TSV, mtime=0)),
        ("packed.csv.gz", gzip.compress(CSV, mtime=0)),
        ("packed.JSONL.gz", gzip.compress(JSONL, mtime=0)),
        ("capital.CSV", CSV),
        ("lines.ndjson", JSONL),
        # apache/spark#1855: strings of other writers of parquet are binary; dictionaries and large
        # strings
        ("binary.parquet", parquet(lambda column: column.cast("binary"))),
        ("dictionary.parquet", parquet(lambda column: column.dictionary_encode())),
        ("large.parquet", parquet(lambda column: column.cast("large_string"))),
    ):
        (tmp_path / name).write_bytes(content)
        assert read_pairs(data_file(str(tmp_path / name), "pairs", tmp_path / "cache")) == ROWS


def test_fields_of_a_table_are_read_as_they_are_written(tmp_path):
    """huggingface/datasets#7635 and apache/arrow#46013: types come from the first rows, here of
    10,000 and 10 MB. sdv-dev/SDV#2780: zeros at the front go. huggingface/datasets#4467: words that
    mean no value."""
    rows = [
        ("007", "1.50", 1.0),
        *((f"a {i}", "null", float(i % 5)) for i in range(10_000)),
        ("a", "NA", 4.5),
    ]
    csv = "".join(
        f"{i if i < 10_000 else 'x'},{a},{b},{score:g}\n" for i, (a, b, score) in enumerate(rows)
    )
    (tmp_path / "late.csv").write_text(f"id,sentence1,sentence2,score\n{csv}")
    assert read_pairs(data_file(str(tmp_path / "late.csv"), "pairs", tmp_path / "cache")) == rows
    words = "w " * 4500
    late = [{"sentence1": words + str(i), "sentence2": "b", "score": i % 5} for i in range(1200)]
    late.append({"sentence1": "a", "sentence2": "b", "score": 4.5})
    (tmp_path / "late.jsonl").write_text("".join(json.dumps(record) + "\n" for record in late))
    assert (
        read_pairs(data_file(str(tmp_path / "late.jsonl"), "pairs", tmp_path / "cache"))[-1][2]
        == 4.5
    )


def test_a_text_of_a_data_folder_with_an_unusual_name_is_told(tmp_path, capsys):
    """The only text file there may be a licence."""
    for name, told in (
        ("LICENSE.txt", "Training text LICENSE.txt: 9 sentences.\n"),
        ("wiki_sentences.txt", ""),
    ):
        corpus = tmp_path / name
        found = replace(NOT_FETCHED, corpus_name=name, corpus_rows=9, corpus=corpus)
        inputs._announced(found)
        assert capsys.readouterr().out == told


def test_a_name_that_begins_with_a_tilde_is_a_file(tmp_path, monkeypatch):
    """ansible/ansible-navigator#2152: a tilde that is no user's home."""
    monkeypatch.chdir(tmp_path)
    Path("~nobody-here.tsv").write_bytes(TSV)
    assert data_file("~nobody-here.tsv", "pairs", tmp_path / "cache").is_file()
    with pytest.raises(UserError):
        data_file("~nobody/x.tsv", "pairs", tmp_path / "cache")


NO_SENTENCES = (
    ("text", "a.ndjson", b'{"text": ["a", "b"]}\n'),
    ("text", "a.jsonl", b'{"text": 1.5}\n{"text": NaN}\n'),  # airbytehq/airbyte#1246
    # pandas-dev/pandas#9295, #15203 and #33037: the first field becomes an index, and others move
    ("pairs", "a.csv", b"sentence1,sentence2,score\na,1,2,4\nb,2,3,5\n"),
    ("text", "a.csv", b"text\nAt last, peace\nAt first, war\n"),
    # princeton-nlp/SimCSE#160 and #139, sentence-transformers#240: tables as a training text
    ("text", "a.csv", b"sent0,sent1,hard_neg\na,b,c\n"),
    ("text", "a.tsv", TSV),
    ("text", "a.txt", TEXTS),
    # files under another name than theirs
    ("pairs", "a.tsv", gzip.compress(TSV, mtime=0)),
    ("pairs", "a.bz2", bz2.compress(TSV)),
    ("pairs", "a.xz", lzma.compress(TSV)),
    ("pairs", "a.xlsx", b"PK\x03\x04\0\0"),
    ("pairs", "a.tsv", b"<!DOCTYPE html>\n"),
    ("pairs", "a.tsv", b"version https://git-lfs.github.com/spec/v1\n"),
)


@pytest.mark.parametrize("kind, name, content", NO_SENTENCES)
def test_what_holds_no_sentences_is_refused_by_its_own_name(tmp_path, kind, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=re.escape(name)):
        path = data_file(str(tmp_path / name), kind, tmp_path / "cache")
        read_pairs(path) if kind == "pairs" else sentences(text_bytes(path), "lines", str(path))


def test_carriage_returns_end_lines_alone_and_beside_newlines(tmp_path):
    """mholt/PapaParse#43 and bio-guoda/preston#276: one sentence of them all."""
    mixed = b"one\rtwo\r\nthree\n\rfour\r"
    for reader in ("lines", "csv_quoted"):
        assert sentences(mixed, reader, "a.txt") == ["one", "two", "three", "four"]
    (tmp_path / "a.tsv").write_bytes(TSV.replace(b"\n", b"\r"))
    assert read_pairs(tmp_path / "a.tsv") == ROWS


def test_what_looks_like_a_table_and_is_none_is_read():
    # look like tables
    for line in ("[a] line", '{"a"} is a set', "text", "label, score and text", "a\tb"):
        assert sentences(f"{line}\nand another\n".encode(), "lines", "a.txt") == [
            line,
            "and another",
        ]


def test_pairs_that_choose_and_test_are_told(tmp_path, capsys):
    """embeddings-benchmark/mteb#1036 and #4901: pairs of one split that are in another, in either
    order."""
    (tmp_path / "dev.tsv").write_text("a man runs\ta man walks\t0.9\na dog\ta cat\t0.2\n")
    (tmp_path / "test.tsv").write_text("a man walks\ta man runs\t4\na bird\ta fish\t0\n")
    pairs = tuple((name, tmp_path / f"{name}.tsv") for name in ("dev", "test"))
    inputs._announced(replace(NOT_FETCHED, pairs=pairs))
    dev, test = capsys.readouterr().out.splitlines()
    assert dev.endswith("dev.tsv.") and test.endswith("1 of them in the development set, too.")
