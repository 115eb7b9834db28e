"""Training text and token tables: readers, digests, the cache and its damage; what is shipped has
the digests that runs name."""

import dataclasses
import hashlib

import pytest
from transformers import AutoTokenizer

from core.config.methods import base
from core.config.run import Data
from core.config.scale import DEMO
from core.data import sources
from core.data.encoders import DEMO_ENCODER
from core.data.own_data import data_file
from core.data.sts import load_demo, sets_digest
from core.data.text import (
    DEMO_FOLDER,
    measure,
    read_csv_quoted,
    read_lines,
    sentences,
    training_text,
)
from core.data.transfer import load_probes, probes_digest
from core.encoder.tokens import cached_table, tokenise
from core.errors import UserError


def test_lines_keep_quotes_and_a_quoted_reader_swallows_lines_after_an_opening_quote(tmp_path):
    assert read_lines('one\n\n"two\n  three"  \n') == ["one", '"two', 'three"']
    rows = read_csv_quoted('one\n"two\nthree" four\nfive\n\nsix')
    assert rows == ["one", "two three four", "five", "six"]
    path = tmp_path / "text.txt"
    cache = tmp_path / "cache"
    path.write_text('one\n"two\nthree" four\nfive\n')
    for _ in range(2):  # counted, and kept
        digest, lines, quoted, _ = measure(path, cache)
        assert (digest, lines, quoted) == (hashlib.sha256(path.read_bytes()).hexdigest(), 4, 3)
        assert len(list(cache.glob("counts/*.json"))) == 1
    for reader, rows in (("lines", lines), ("csv_quoted", quoted)):
        assert len(training_text(Data(digest=digest, rows=rows, reader=reader), str(path))) == rows


def test_wrong_digest_missing_file_and_bad_encoding_are_named(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"fine\nnot \xff utf\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for name, planned, sentence in (
        ("text.txt", digest, "line 2"),
        ("none.txt", "0", "cannot be read"),
        ("text.txt", "0", "not the one that this run was planned with"),
    ):
        with pytest.raises(UserError, match=sentence):
            training_text(Data(digest=planned, rows=2), str(tmp_path / name))
    # byte-order marks, of files that were put together
    content = "\ufeffone\ntwo\n\ufeffthree\n".encode()
    assert all(
        sentences(content, reader, "text") == ["one", "two", "three"]
        for reader in ("lines", "csv_quoted")
    )
    with pytest.raises(UserError, match="line 1"):
        sentences("one\ntwo\n".encode("utf-16-le")[2:], "lines", "text")


class Tokenizer:
    calls = 0
    is_fast = False

    def __call__(self, texts, truncation, max_length):
        self.calls += 1
        return {"input_ids": [list(range(min(len(text), max_length))) for text in texts]}


def test_compiled_tokenizer_gives_what_the_whole_one_gives():
    tokenizer = AutoTokenizer.from_pretrained(DEMO_ENCODER)
    texts = ["", "a", "the " * 40, "The tired nurse, quietly.", "It was the xylophonist."]
    wanted = tokenizer(texts, truncation=True, max_length=12)["input_ids"]
    table = tokenise(tokenizer, texts, 12)
    assert tokenizer.is_fast and [table[i].tolist() for i in range(len(table))] == wanted
    assert len(tokenizer(texts[2])["input_ids"]) > 12  # the tokenizer itself goes on uncut


def test_table_is_built_once(tmp_path):
    """What may be wrong with a kept file is in tests/store/test_cache.py."""
    tokenizer = Tokenizer()

    def table():
        texts = ["abc", "ab", "abcdefgh"]
        made = cached_table(tmp_path, ["key", 1], lambda: tokenise(tokenizer, texts, 5))
        return [made[i].tolist() for i in range(len(made))]

    for _ in range(3):
        assert table() == [[0, 1, 2], [0, 1], [0, 1, 2, 3, 4]]
    assert tokenizer.calls == 1


def test_the_graded_pairs_and_the_labelled_sentences_are_the_pinned_ones():
    sets = load_demo()
    assert sets_digest(sets) == sources.DEMO_EVALUATION_DIGEST
    assert list(sets) == [*DEMO.tests, DEMO.dev]
    assert probes_digest(sets_digest(sets), load_probes()) == sources.DEMO_TRANSFER_DIGEST


def test_a_shipped_file_that_is_damaged_or_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("core.data.text.DEMO_FOLDER", tmp_path)
    monkeypatch.setattr("core.data.sts.DEMO_FOLDER", tmp_path)
    whole = (DEMO_FOLDER / "Para.tsv.gz").read_bytes()
    for content in (whole[: len(whole) // 2], b"no gzip", whole[:200] + b"x" + whole[201:]):
        (tmp_path / "Para.tsv.gz").write_bytes(content)
        with pytest.raises(
            UserError, match="Para.tsv.gz cannot be read .*(end-of-stream|[Nn]ot a gzipped|rror)"
        ):
            load_demo()
    with pytest.raises(UserError, match="sentences.txt.gz cannot be read"):
        training_text(Data(digest=sources.DEMO_CORPUS_DIGEST, rows=sources.DEMO_CORPUS_ROWS), None)


def test_a_text_with_columns_has_a_text_a_column(tmp_path):
    path = tmp_path / "text.csv"
    path.write_text('sent0,sent1,hard_neg\na dog runs,"he said, ""no""",a cat\ntwo,three,four\n')
    made = data_file(f"{path}?columns=sent1,hard_neg", "text", tmp_path)
    digest, count, _, columns = measure(made, tmp_path)
    assert (count, columns) == (2, 2)
    data = dataclasses.replace(base("simcse", "paper").data, digest=digest, columns=2)
    expected = [['he said, "no"', "three"], ["a cat", "four"]]
    assert [training_text(data, str(made), column) for column in (0, 1)] == expected
    with pytest.raises(UserError, match="no hardneg; name the columns"):
        data_file(f"{path}?columns=sent1,hardneg", "text", tmp_path)
    path.write_text("a,b\none,two\nthree,\n")
    with pytest.raises(UserError, match="row 2: expected a sentence in b"):
        data_file(f"{path}?columns=a,b", "text", tmp_path)


@pytest.mark.parametrize("line", ["A sentence alone.", "1.\t2.\t3.\t4."])
def test_a_text_with_columns_has_all_of_them_in_each_line(line, tmp_path):
    path = tmp_path / "triples.columns"
    path.write_text("One.\tTwo.\tThree.\n" * 2)
    assert measure(path, tmp_path)[1::2] == (2, 3)
    path.write_text(f"One.\tTwo.\tThree.\n{line}")
    with pytest.raises(UserError, match="triples.columns"):
        measure(path, tmp_path)
