"""Misspelt words: those of the list, as many as nlpaug's rule says, from their own seed."""

import itertools
import json
import random
import re

from english import TEXTS
from extras import needs
from places import python

from core.rewriting.typos import misspelt

pytestmark = needs("nlpaug", "requirements-rewriting.txt")


def test_typos_are_the_list_s_and_as_many_as_nlpaug_s_rule_says():
    from nlpaug.augmenter.word import SpellingAug

    listed = SpellingAug().model.dict
    words = (
        "the definition of a friend because their government would receive necessary advice".split()
    )

    def letters(text):  # nlpaug sets blanks around apostrophes and hyphens
        return re.sub("[^a-z]", "", text.lower())

    slips = {word: "|".join({letters(slip) for slip in listed[word]}) for word in words}
    for seed in range(40):
        found = letters(misspelt([" ".join(words)], 0.3, seed)[0])
        # ceil(0.3 * 12) of the words are replaced, each by one of its misspellings
        for kept in itertools.combinations(range(12), 8):
            parts = (w if i in kept else f"({slips[w]})" for i, w in enumerate(words))
            if re.fullmatch("".join(parts), found):
                break
        else:
            raise AssertionError(found)
    long = misspelt([" ".join(["friend"] * 60)], 1.0, 0)[0].split()
    assert long.count("friend") == 50  # ten at most


def test_typos_come_from_their_seed_and_leave_the_global_stream_alone():
    random.seed(5)
    expected = random.random()
    random.seed(5)
    one = misspelt(TEXTS, 0.3, 1)
    assert random.random() == expected
    assert one == misspelt(TEXTS, 0.3, 1) != misspelt(TEXTS, 0.3, 2)
    code = f"import json; from core.rewriting.typos import misspelt; print(json.dumps(misspelt({TEXTS!r}, 0.3, 1)))"
    assert json.loads(python("-c", code, PYTHONHASHSEED="77").stdout) == one
