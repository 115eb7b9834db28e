"""What is shipped is what runs name: the demo's files have the digests of `core.data.sources`, and both encoders load offline."""

import hashlib

import pytest
import torch
from transformers import AutoTokenizer, BertForMaskedLM

from core.data import sources
from core.data.encoders import DEMO_ENCODER, MINI_ENCODER, has_masked_words
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
        with pytest.raises(UserError, match="Para.tsv.gz cannot be read .*(end-of-stream|[Nn]ot a gzipped|rror)"):
            load_demo()
    with pytest.raises(UserError, match="sentences.txt.gz cannot be read"):
        training_text(Data(digest=sources.DEMO_CORPUS_DIGEST, rows=sources.DEMO_CORPUS_ROWS), None)


BOTH = pytest.mark.parametrize("folder", [DEMO_ENCODER, MINI_ENCODER], ids=["demo", "mini"])


def tokenizer_of(folder):
    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


@BOTH
def test_weights_are_the_ones_of_the_readme(folder):
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert digest in (folder / "README.md").read_text() and has_masked_words(folder)
    assert sum(file.stat().st_size for file in folder.iterdir()) < (25_000_000 if folder == MINI_ENCODER else 6_000_000)


@pytest.mark.parametrize("folder, texts, words", [
    (MINI_ENCODER, ["He was born in the [MASK] of New York."], {"city", "state", "town", "county"}),
    (DEMO_ENCODER, ["The farmer praised the nurse.", "The nurse was praised by the [MASK]."], {"farmer", "grower"}),
])  # fmt: skip
def test_transformers_fills_a_gap_with_a_word_that_fits(folder, texts, words):
    tokenizer, encoded = tokenizer_of(folder), tokenizer_of(folder)(*texts, return_tensors="pt")
    model, report = BertForMaskedLM.from_pretrained(folder, local_files_only=True, output_loading_info=True)
    assert not report["missing_keys"] and not report["mismatched_keys"]
    with torch.no_grad():
        logits = model.eval()(**encoded).logits[0]
    guess = logits[encoded["input_ids"][0] == tokenizer.mask_token_id].topk(5).indices[0]
    assert words & set(tokenizer.convert_ids_to_tokens(guess.tolist()))
