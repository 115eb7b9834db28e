"""Training text and token tables: readers, digests, the cache and its damage."""

import hashlib
import random

import pytest
from transformers import AutoTokenizer

from core.data.encoders import DEMO_ENCODER
from core.data.text import measure, read_csv_quoted, read_lines, sentences, training_text
from core.engine.tokens import cached_table, tokenise
from core.spec.errors import UserError
from core.spec.run import Data


def test_lines_keep_quotes_and_a_quoted_reader_swallows_lines_after_an_opening_quote(tmp_path):
    assert read_lines('one\n\n"two\n  three"  \n') == ["one", '"two', 'three"']
    assert read_csv_quoted('one\n"two\nthree" four\nfive\n\nsix') == ["one", "two three four", "five", "six"]
    path, cache = tmp_path / "text.txt", tmp_path / "digests.json"
    path.write_text('one\n"two\nthree" four\nfive\n')
    for content in ("", "{", "[3]", None):  # the cache is missing, damaged, foreign, and at last used
        if content is not None:
            cache.write_text(content)
        digest, lines, quoted = measure(path, cache)
        assert (digest, lines, quoted) == (hashlib.sha256(path.read_bytes()).hexdigest(), 4, 3)
    for reader, rows in (("lines", lines), ("csv_quoted", quoted)):
        assert len(training_text(Data(digest=digest, rows=rows, reader=reader), str(path))) == rows


def test_wrong_digest_missing_file_and_bad_encoding_are_named(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"fine\nnot \xff utf\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for name, planned, sentence in (
        ("text.txt", digest, "line 2 is not UTF-8"), ("none.txt", "0", "cannot be read"),
        ("text.txt", "0", "not the one that this run was planned with"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=sentence):
            training_text(Data(digest=planned, rows=2), str(tmp_path / name))
    content = "\ufeffone\ntwo\n\ufeffthree\n".encode()  # byte-order marks, of files that were put together
    assert all(sentences(content, reader, "text") == ["one", "two", "three"] for reader in ("lines", "csv_quoted"))
    with pytest.raises(UserError, match="line 1 is not UTF-8"):
        sentences("one\ntwo\n".encode("utf-16-le")[2:], "lines", "text")


class Tokenizer:
    calls = 0
    is_fast = False

    def __call__(self, texts, truncation, max_length):
        self.calls += 1
        return {"input_ids": [list(range(min(len(text), max_length))) for text in texts]}


def test_compiled_tokenizer_gives_what_the_whole_one_gives():
    tokenizer = AutoTokenizer.from_pretrained(DEMO_ENCODER)
    texts = ["", "a", "the " * 40, "The tired nurse hid the thermometer, quietly.", "It was the xylophonist who slept."]
    wanted = tokenizer(texts, truncation=True, max_length=12)["input_ids"]
    table = tokenise(tokenizer, texts, 12)
    assert tokenizer.is_fast and [table[i].tolist() for i in range(len(table))] == wanted
    assert len(tokenizer(texts[2])["input_ids"]) > 12  # the tokenizer itself goes on uncut


def test_table_is_built_once_and_rebuilt_when_damaged(tmp_path):
    tokenizer = Tokenizer()

    def build():
        return tokenise(tokenizer, ["abc", "ab", "abcdefgh"], 5)

    for _ in range(3):
        cached_table(tmp_path, ["key", 1], build)
    assert tokenizer.calls == 1
    path, draw = next(tmp_path.glob("tokens/*.npz")), random.Random(0)
    content = path.read_bytes()
    for _ in range(300):
        broken = bytearray(content)
        broken[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(broken)
        table = cached_table(tmp_path, ["key", 1], build)
        assert [table[i].tolist() for i in range(len(table))] == [[0, 1, 2], [0, 1], [0, 1, 2, 3, 4]]
    assert 100 < tokenizer.calls <= 301
