"""Files that public bug reports describe, each with its report: read rightly, or refused with what
to do."""

from __future__ import annotations

import bz2
import gzip
import json
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
        ("half.jsonl#train[:3]", JSONL + JSONL),
        # apache/spark#1855: strings of other writers of parquet are binary; dictionaries and large
        # strings
        ("binary.parquet", parquet(lambda column: column.cast("binary"))),
        ("dictionary.parquet", parquet(lambda column: column.dictionary_encode())),
        ("large.parquet", parquet(lambda column: column.cast("large_string"))),
    ):
        (tmp_path / name.partition("#")[0]).write_bytes(content)
        place = f"hf:{tmp_path / name}" if "#" in name else str(tmp_path / name)
        assert read_pairs(data_file(place, "pairs", tmp_path / "cache")) == ROWS, name


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


def test_the_second_of_two_columns_of_one_name_can_be_named(tmp_path):
    """pandas-dev/pandas#19383: the second is renamed, and the first is read in silence."""
    (tmp_path / "a.csv").write_bytes(b"sentence1,sentence2,score,score\na,b,1,4\nc,d,2,3\n")
    place = f"hf:{tmp_path}/a.csv#train?columns=sentence1,sentence2"
    second = read_pairs(data_file(f"{place},score.1", "pairs", tmp_path / "cache"))
    assert [score for *_, score in second] == [4, 3]
    with pytest.raises(UserError, match="two columns score"):
        data_file(str(tmp_path / "a.csv"), "pairs", tmp_path / "cache")


def test_options_that_are_empty_twice_or_without_effect_are_refused(tmp_path):
    """lexiforest/curl_cffi#411: an empty option, such as an unset variable of the shell, is passed
    over."""
    (tmp_path / "a.csv").write_bytes(CSV)
    columns = "columns=sentence1,sentence2,score"
    for options, sentence in (
        ("config=", "names no file or data set"),
        ("columns=", "names no file or data set"),
        (f"{columns}&config=", "names no file or data set"),
        (f"{columns}&{columns}", "names no file or data set"),
        ("config=de", "one file, which has no configuration"),
    ):
        with pytest.raises(UserError, match=sentence):
            data_file(f"hf:{tmp_path}/a.csv#train?{options}", "pairs", tmp_path / "cache")


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
    for place in (
        "~nobody-here.tsv",
        "hf:~nobody-here.tsv#train?columns=a man runs,a man walks,4.5",
    ):
        assert data_file(place, "pairs", tmp_path / "cache").is_file()
    with pytest.raises(UserError, match="names no file"):
        data_file("~nobody/x.tsv", "pairs", tmp_path / "cache")


def test_what_holds_no_sentences_is_refused_with_what_to_do(tmp_path):
    for kind, name, content, sentence in (
        # huggingface/datasets#2799 and #7664: the library infers dates, which are not what was
        # written
        (
            "text",
            "a.jsonl",
            b'{"text": "2020-01-02"}\n',
            "row 1: expected a text .* found datetime",
        ),
        ("text", "a.ndjson", b'{"text": ["a", "b"]}\n', "row 1: expected a text .* found ."),
        # sentence-transformers#1509
        ("pairs", "a.csv", CSV + b"a,b,1,2\n", "Expected 3 fields in line 5"),
        ("pairs", "a.jsonl", b"", "no rows"),
        # pandas-dev/pandas#9295, #15203 and #33037: the first field becomes an index, and the
        # others move
        (
            "pairs",
            "a.csv",
            b"sentence1,sentence2,score\na,1,2,4\nb,2,3,5\n",
            "more fields than its first",
        ),
        (
            "text",
            "hf:a.csv#train",
            b"text\nAt last, peace\nAt first, war\n",
            "more fields than its first",
        ),
        # airbytehq/airbyte#1246
        ("text", "a.jsonl", b'{"text": 1.5}\n{"text": NaN}\n', "row 2: .* found nan"),
        # mholt/PapaParse#43 and bio-guoda/preston#276: one sentence of them all
        ("text", "a.txt", b"one sentence\rand another\r", "carriage returns"),
        ("pairs", "a.tsv", TSV.replace(b"\n", b"\r"), "carriage returns"),
        # princeton-nlp/SimCSE#160 and #139, sentence-transformers#240: tables as a training text
        (
            "text",
            "a.csv",
            b"sent0,sent1,hard_neg\na,b,c\n",
            "has the columns sent0, sent1, hard_neg, and no text",
        ),
        ("text", "a.tsv", TSV, "has tabs in every line"),
        ("text", "a.txt", TEXTS, "begins as JSON does"),
        # files under another name than theirs
        (
            "pairs",
            "a.tsv",
            gzip.compress(TSV, mtime=0),
            "packed by gzip; give it a name that ends in .gz",
        ),
        ("pairs", "a.bz2", bz2.compress(TSV), "packed by bzip2; unpack it"),
        (
            "pairs",
            "a.xlsx",
            b"PK\x03\x04\0\0",
            "a zip archive or a spreadsheet; save its lines as text",
        ),
        ("pairs", "a.tsv", b"<!DOCTYPE html>\n", "a web page; download the file itself"),
        (
            "pairs",
            "a.tsv",
            b"version https://git-lfs.github.com/spec/v1\n",
            "a pointer of git-lfs; fetch it",
        ),
    ):
        remote, name, split = re.fullmatch("(hf:)?([^#]*)(#.*)?", name).groups(default="")
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=sentence):
            path = data_file(f"{remote}{tmp_path / name}{split}", kind, tmp_path / "cache")
            read_pairs(path) if kind == "pairs" else sentences(text_bytes(path), "lines", str(path))
    # look like tables
    for line in ("[a] line", '{"a"} is a set', "text", "label, score and text", "a\tb"):
        assert sentences(f"{line}\nand another\n".encode(), "lines", "a.txt") == [
            line,
            "and another",
        ]


def test_pairs_that_choose_and_test_and_pairs_without_alignment_are_told(tmp_path, capsys):
    """embeddings-benchmark/mteb#1036 and #4901: pairs of one split that are in another, in either
    order."""
    (tmp_path / "dev.tsv").write_text("a man runs\ta man walks\t0.9\na dog\ta cat\t0.2\n")
    (tmp_path / "test.tsv").write_text("a man walks\ta man runs\t4\na bird\ta fish\t0\n")
    pairs = tuple((name, tmp_path / f"{name}.tsv") for name in ("dev", "test"))
    inputs._announced(replace(NOT_FETCHED, pairs=pairs))
    none, dev, test = capsys.readouterr().out.splitlines()
    assert "has a score above 4 of 5, so runs have no alignment" in none
    assert dev.endswith("dev.tsv.") and test.endswith("1 of them in the development set, too.")
