"""How often the two views of a training pair are of one length, on the text of scale mini: what docs/findings.md says of Table 10."""

import random
import re
from itertools import islice

import numpy as np
import pytest
import real
from places import ROOT
from transformers import AutoTokenizer

from core.data.encoders import MINI_ENCODER
from core.methods.esimcse.repetition import repeat_tokens, repeat_words
from core.methods.esimcse.sections import Repetition

SENTENCES, LONGEST = 8_000, 32


@pytest.fixture(scope="module")
def sentences():
    with open(real.data_dir() / "wiki_sentences.txt", encoding="utf-8") as file:
        return [line.strip() for line in islice(file, SENTENCES)]


def test_whole_words_leave_half_of_the_pairs_of_one_length(sentences):
    tokenizer = AutoTokenizer.from_pretrained(MINI_ENCODER, local_files_only=True)

    def cut(texts):
        return tokenizer(texts, truncation=True, max_length=LONGEST)["input_ids"]

    first = cut(sentences)
    words, subwords = (Repetition(unit=unit, cap=None) for unit in ("word", "subword"))
    drawing = random.Random(0)
    by_words = cut([repeat_words(sentence, words, drawing) for sentence in sentences])
    drawing = random.Random(0)
    by_subwords = [repeat_tokens(np.array(tokens), subwords, LONGEST, drawing) for tokens in first]
    shares = [
        sum(len(tokens) == LONGEST for tokens in first) / SENTENCES,
        *(sum(map(lambda a, b: len(a) == len(b), first, second)) / SENTENCES for second in (by_words, by_subwords)),
    ]
    said = re.search(
        r"8,000 training sentences (\d+) % have 32 tokens or more, so after word repetition (\d+) % of pairs are of one length again, "
        r"after sub-word repetition (\d+) %",
        " ".join((ROOT / "docs" / "findings.md").read_text().split()),
    )
    assert [round(100 * share) for share in shares] == [int(number) for number in said.groups()]
