"""Text and pairs of one's own: what is read and what is refused, files of public bug reports among
them."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from core.config.scale import MINI
from core.data import own_data
from core.data.own_data import data_file, named_pairs, own_sets, read_pairs
from core.data.sources import NOT_FETCHED
from core.data.text import sentences, text_bytes
from core.errors import UserError
from core.runner import cli, inputs


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_pairs_are_read_as_they_stand_and_a_line_that_is_no_pair_is_named(tmp_path):
    path = tmp_path / "a.tsv"
    text = "\ufefffirst\tsecond\tscore\r\n  a  b \tc\t0.9\r\n\nd\te\t-3\n"
    assert read_pairs(written(path, text)) == [("a b", "c", 0.9), ("d", "e", -3.0)]
    for content, sentence in (
        ("a\tb\n", "line 1: expected two sentences and a score"),
        ("a\tb\t1\t2\n", "expected two sentences and a score"),
        ("a\tb\t1\nc\td\thigh\n", "line 2: expected a score, but found 'high'"),
        ("a\tb\t1\nc\t \t2\n", "line 2: expected a sentence of 1 to 10000 characters"),
        ("a\tb\t1\nc\td\t1_0\n", "line 2: expected a score"),
        ("a\tb\tnan\nc\td\t1\n", "line 1: expected a score, but found 'nan'"),
        ("a\tb\t1\nc\td\t1\n", "2 pairs of one score or one cosine"),
        ("", "has 0 pairs"),
        ("a\ta\t1\nb\tb\t2\n", "2 pairs of one score or one cosine"),
        ("a\tb\t1\nb\ta\t2\n", "2 pairs of one score or one cosine"),
        ("a\tb\t1\nc\0\td\t2\n", "a.tsv, line 2"),
    ):
        with pytest.raises(UserError, match=re.escape(sentence)):
            read_pairs(written(path, content))


def test_a_set_is_named_or_called_like_its_file_and_names_twice_are_refused():
    hub = "hf:mteb/sts12-sts@" + "0" * 40 + "#test"
    for text, pair in (
        ("x/news.tsv", ("news", "x/news.tsv")),
        ("dev=x/news.tsv", ("dev", "x/news.tsv")),
        ("My set=a=b.tsv", ("My set", "a=b.tsv")),
        (hub, ("sts12-sts", hub)),
        ("x/news.csv?columns=a,b,c", ("news", "x/news.csv?columns=a,b,c")),
        ("me@lab/data#1/a.tsv", ("a", "me@lab/data#1/a.tsv")),
    ):
        assert named_pairs(text) == pair
    taken = ("avg=a.tsv", "STS-B=a.tsv", "b/STS-B.tsv", "Dev=a", "mr=a", "a/b=c.tsv", "x=")
    for words in (
        "table3 --pairs a.tsv --pairs b/a.tsv",
        "table3 --pairs a.tsv --pairs b/A.tsv",
        "--all --pairs a.tsv",
        "table3 --until-settled --budget 1h --text a",
        *(f"table3 --pairs {name}" for name in taken),
    ):
        with pytest.raises(UserError):
            cli.parse(words.split())


def pairs_of(place: Path | str, cache: Path) -> list:
    return read_pairs(data_file(str(place), "pairs", cache))


def text_of(place: Path | str, cache: Path) -> str:
    return data_file(str(place), "text", cache).read_text()


def test_tables_of_this_machine_are_read_as_they_stand(tmp_path, capsys):
    csv = written(tmp_path / "test.csv", 'sentence1,sentence2,score\na b,c,1.5\n"d\te",f,4\n')
    assert pairs_of(csv, tmp_path) == [("a b", "c", 1.5), ("d e", "f", 4.0)]
    written(csv, 'sentence1,sentence2,score\na b,c,1.5\n"d\te",g,4\n')
    assert pairs_of(csv, tmp_path)[1] == ("d e", "g", 4.0)  # what changed is read anew
    written(csv, "A,B,relatedness\nNA,b,1\nc,d,2\n")
    named = f"{csv}?columns=A,B,relatedness"
    assert pairs_of(named, tmp_path) == [("NA", "b", 1.0), ("c", "d", 2.0)]
    written(csv, "Sentence 1, Sentence2 ,SCORE\na,b,1\nc,d,2\n")
    assert pairs_of(csv, tmp_path) == [("a", "b", 1.0), ("c", "d", 2.0)]
    tsv = written(tmp_path / "b.tsv", 'sentence1\tsentence2\tscore\n"open\tb\t1\nc"\td\t2\n')
    assert [a for a, _, _ in pairs_of(tsv, tmp_path)] == ['"open', 'c"']
    quoted = written(tmp_path / "c.tsv", '"he ""said"" so"\tb\t1\nc\td\t2\n')
    assert len(own_sets([("c", quoted)])["c"]) == len(read_pairs(quoted)) == 2
    assert "1 fields as a spreadsheet quotes them" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "columns", "content", "text"),
    [
        ("a.json", "", '[{"text": "one \\"quoted"}, {"text": "two"}]', 'one "quoted\ntwo\n'),
        ("lines.json", "", '{"text": "one"}\n\n{"text": "two"}\n', "one\ntwo\n"),
        ("a.csv", "", 'text\n"A ""yes"", and on."\nRow 2\n', 'A "yes", and on.\nRow 2\n'),
        ("a.csv", "?columns=line", "line\nA sentence.\n", "A sentence.\n"),
    ],
)
def test_a_text_is_read_from_each_kind_of_file(tmp_path, name, columns, content, text):
    path = written(tmp_path / name, content)
    assert text_of(f"{path}{columns}", tmp_path) == text


HEAD = "sentence1,sentence2,score\n"
NO_TABLE = (  # a file of pairs, what it holds, and the row that a sentence names
    ("a.jsonl", '{"sentence1": "a", "sentence2": null, "score": 1}', "row 1"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b", "score": true}', "row 1"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b\\u0000", "score": 1}', "row 1"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b\\ud800", "score": 1}', "row 1"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b", "score": 1}\n3\n', "row 2"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b", "score": 1}\n{\n', "line 2"),
    ("a.jsonl", "", "a.jsonl"),
    ("a.json", '["a"]', "a.json"),
    ("a.csv", f"{HEAD}NA,null,1\n,b,2\n", "row 2"),
    ("a.csv", f"{HEAD}a,b\0,1\n", "a.csv, line 2"),
    ("a.csv", "sentence1,sentence2,score,score\na,b,1,4\n", "a.csv"),
    ("a.csv", "A,B,score\na,b,1\n", "sentence1, sentence2"),
    ("a.csv", f"{HEAD}\udce9,b,1\n", "a.csv, line 2"),
    ("a.parquet", "PAR1", "a.parquet"),
    # pandas-dev/pandas#9295, #15203 and #33037: the first field becomes an index, and others move
    ("a.csv", f"{HEAD}a,b,1\na,1,2,4\n", "Expected 3 fields in line 3"),
    ("a.csv", f"{HEAD}a,1,2,4\na,b,1\n", "Expected 3 fields in line 2"),
    ("a.csv", f"{HEAD}a,b,1\na,b\n", "row 2"),
    # files under another name than theirs
    ("a.tsv", gzip.compress(b"a\tb\t1\nc\td\t2\n", mtime=0), "a.tsv"),
    ("a.xlsx", "PK\x03\x04\0\0", "a.xlsx"),
    ("a.tsv", "<!DOCTYPE html>\n", "a web page"),
)


@pytest.mark.parametrize("name, content, named", NO_TABLE)
def test_what_is_no_pair_is_named_and_becomes_no_word(tmp_path, name, content, named):
    as_bytes = content.encode(errors="surrogateescape") if isinstance(content, str) else content
    (tmp_path / name).write_bytes(as_bytes)
    with pytest.raises(UserError, match=re.escape(named)):
        pairs_of(tmp_path / name, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("hf/*"))


NO_TEXT = (  # a file, what it holds, and the words of a sentence
    ("a.ndjson", b'{"text": ["a", "b"]}\n', "a.ndjson"),
    ("a.jsonl", b'{"text": 1.5}\n{"text": NaN}\n', "a.jsonl"),  # airbytehq/airbyte#1246
    ("a.csv", b"text\nAt last, peace\nAt first, war\n", "a.csv"),
    # its first sentence would be lost as the name of a column
    ("a.CSV.gz", gzip.compress(b"A first line.\nA second one.\n", mtime=0), "A first line"),
    # princeton-nlp/SimCSE#160 and #139, sentence-transformers#240: tables as a training text
    ("a.csv", b"sent0,sent1,hard_neg\na,b,c\n", "a.csv"),
    ("a.tsv", b"a\tb\t4.5\nc\td\t1\n", "a.tsv"),
    ("a.txt", b'{"text": "one"}\n{"text": "two"}\n', "a.txt"),
)


@pytest.mark.parametrize("name, content, named", NO_TEXT)
def test_what_is_no_training_text_is_refused_by_its_own_name(tmp_path, name, content, named):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=re.escape(named)):
        path = data_file(str(tmp_path / name), "text", tmp_path / "cache")
        sentences(text_bytes(path), "lines", str(path))


@pytest.mark.parametrize(
    "place",
    [
        *("hf:mteb/sts12-sts#test", "hf:mteb/sts12-sts@main#test", "missing.json", "a.csv#train"),
        *("a.csv?column=a", "a.csv?columns=a,b", "a.csv?columns=a,,b", "a.csv?columns=a,a,b"),
        "a.csv?columns=sentence1,sentence2,score&config=de",
    ],
)
def test_a_place_is_a_file_or_a_data_set_at_one_commit(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.csv", f"{HEAD}a,b,1\nc,d,2\n")
    with pytest.raises(UserError):
        data_file(place, "pairs", tmp_path / "cache")


def test_a_data_set_on_the_hub_is_read_once_at_its_commit(tmp_path, monkeypatch):
    asked = []

    def load(path, name, *, split, revision):
        asked.append((path, split, revision, name))
        return datasets.Dataset.from_dict({"text": ["one  two", "three"], "id": [1, 2]})

    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr(own_data, "check_hub", lambda: None)
    monkeypatch.chdir(tmp_path)
    commit = "a" * 40
    place = f"hf:some/texts@{commit}#train"
    with pytest.raises(UserError, match="only a command that trains fetches it"):
        data_file(place, "text", tmp_path, fetch=False)
    for fetch in (True, False):
        assert data_file(place, "text", tmp_path, fetch=fetch).read_text() == "one two\nthree\n"
    assert asked == [("some/texts", "train", commit, None)]
    written(data_file(place, "text", tmp_path), "one two\n")
    assert text_of(place, tmp_path) == "one two\nthree\n" and len(asked) == 2
    data_file(f"{place}?config=en", "text", tmp_path)
    assert asked[-1] == ("some/texts", "train", commit, "en")
    (tmp_path / "some" / "texts").mkdir(parents=True)
    assert data_file(place, "text", tmp_path).is_file()
    with pytest.raises(UserError, match="some/texts is a folder here, too"):
        data_file(place.replace("train", "test"), "text", tmp_path)


# Files that public bug reports describe, each with its report.

ROWS = [("a man runs", "a man walks", 4.5), ("a dog", "a cat", 1.0), ("a river", "a lake", 2.5)]
TSV = "".join(f"{a}\t{b}\t{score}\n" for a, b, score in ROWS).encode()
CSV = b"sentence1,sentence2,score\n" + TSV.replace(b"\t", b",")
RECORDS = [dict(zip(("sentence1", "sentence2", "score"), row, strict=True)) for row in ROWS]
JSONL = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()


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
        ("packed.JSONL.gz", gzip.compress(JSONL, mtime=0)),
        ("no[pattern]*.csv", CSV),
        ("lines.ndjson", JSONL),
        # apache/spark#1855: strings of other writers of parquet are binary, of a dictionary or long
        ("binary.parquet", parquet(lambda column: column.cast("binary"))),
        ("dictionary.parquet", parquet(lambda column: column.dictionary_encode())),
        ("large.parquet", parquet(lambda column: column.cast("large_string"))),
    ):
        (tmp_path / name).write_bytes(content)
        assert pairs_of(tmp_path / name, tmp_path / "cache") == ROWS


def test_fields_of_a_table_are_read_as_they_are_written(tmp_path):
    """huggingface/datasets#7635 and apache/arrow#46013: types come from the first rows, here of
    10,000. sdv-dev/SDV#2780: zeros at the front go. huggingface/datasets#4467: words that mean no
    value."""
    middle = [(f"a {i}", "null", float(i % 5)) for i in range(10_000)]
    rows = [("007", "1.50", 1.0), *middle, ("a", "NA", 4.5)]
    lines = [
        f"{i if i < 10_000 else 'x'},{a},{b},{score:g}\n" for i, (a, b, score) in enumerate(rows)
    ]
    late = written(tmp_path / "late.csv", "id,sentence1,sentence2,score\n" + "".join(lines))
    assert pairs_of(late, tmp_path / "cache") == rows


def test_a_name_that_begins_with_a_tilde_is_a_file(tmp_path, monkeypatch):
    """ansible/ansible-navigator#2152: a tilde that is no user's home."""
    monkeypatch.chdir(tmp_path)
    Path("~nobody-here.tsv").write_bytes(TSV)
    assert data_file("~nobody-here.tsv", "pairs", tmp_path / "cache").is_file()
    with pytest.raises(UserError):
        data_file("~nobody/x.tsv", "pairs", tmp_path / "cache")


def test_carriage_returns_end_lines_alone_and_beside_newlines(tmp_path):
    """mholt/PapaParse#43 and bio-guoda/preston#276: one sentence of them all."""
    mixed = b"one\rtwo\r\nthree\n\rfour\r"
    for reader in ("lines", "csv_quoted"):
        assert sentences(mixed, reader, "a.txt") == ["one", "two", "three", "four"]
    (tmp_path / "a.tsv").write_bytes(TSV.replace(b"\n", b"\r"))
    assert read_pairs(tmp_path / "a.tsv") == ROWS


def test_what_looks_like_a_table_and_is_none_is_read():
    for line in ("[a] line", '{"a"} is a set', "text", "label, score and text", "a\tb"):
        text = f"{line}\nand another\n".encode()
        assert sentences(text, "lines", "a.txt") == [line, "and another"]


def test_pairs_that_choose_and_test_are_told(tmp_path, capsys):
    """embeddings-benchmark/mteb#1036 and #4901: pairs of one split that are in another, in either
    order."""
    (tmp_path / "dev.tsv").write_text("a man runs\ta man walks\t0.9\na dog\ta cat\t0.2\n")
    (tmp_path / "test.tsv").write_text("a man walks\ta man runs\t4\na bird\ta fish\t0\n")
    pairs = tuple((name, tmp_path / f"{name}.tsv") for name in ("dev", "test"))
    inputs.announce(replace(NOT_FETCHED, pairs=pairs), MINI)
    dev, test = capsys.readouterr().out.splitlines()
    assert dev.endswith("dev.tsv.") and test.endswith("1 of them in the development set, too.")
