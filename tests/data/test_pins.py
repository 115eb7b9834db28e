"""The shipped demo is the one that runs name: its files have the digests of `core.data.sources`."""

import hashlib

import pytest

from core.data import sources
from core.data.sts import load_demo, sets_digest
from core.data.text import DEMO_FOLDER, text_bytes, training_text
from core.data.transfer import load_probes, probes_digest
from core.spec.errors import UserError
from core.spec.run import Data
from core.spec.scale import DEMO


def test_the_training_text_is_the_pinned_one():
    content = text_bytes(DEMO_FOLDER / "sentences.txt.gz")
    assert hashlib.sha256(content).hexdigest() == sources.DEMO_CORPUS_DIGEST
    sentences = training_text(Data(digest=sources.DEMO_CORPUS_DIGEST, rows=sources.DEMO_CORPUS_ROWS), None)
    assert len(set(sentences)) == len(sentences) == sources.DEMO_CORPUS_ROWS
    assert DEMO.steps * DEMO.batch_size <= sources.DEMO_CORPUS_ROWS


def test_the_graded_pairs_and_the_labelled_sentences_are_the_pinned_ones():
    sets = load_demo()
    assert sets_digest(sets) == sources.DEMO_EVALUATION_DIGEST and list(sets) == [*DEMO.tests, DEMO.dev]
    assert probes_digest(sets_digest(sets), load_probes()) == sources.DEMO_TRANSFER_DIGEST


def test_a_shipped_file_that_is_damaged_or_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("core.data.text.DEMO_FOLDER", tmp_path)
    monkeypatch.setattr("core.data.sts.DEMO_FOLDER", tmp_path)
    whole = (DEMO_FOLDER / "Para.tsv.gz").read_bytes()
    for content in (whole[: len(whole) // 2], b"no gzip", whole[:200] + b"x" + whole[201:]):
        (tmp_path / "Para.tsv.gz").write_bytes(content)
        with pytest.raises(UserError, match="Para.tsv.gz cannot be read .it is no whole gzip file"):
            load_demo()
    with pytest.raises(UserError, match="sentences.txt.gz cannot be read"):
        training_text(Data(digest=sources.DEMO_CORPUS_DIGEST, rows=sources.DEMO_CORPUS_ROWS), None)
