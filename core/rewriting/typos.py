"""Misspelt words, by nlpaug's SpellingAug: the augmenter of MoCoSE's Table 5 itself, made
repeatable.

Checked with nlpaug 1.1.11 (the authors name 1.1.10) under numpy 2.4 and Python 3.11: it works,
needs no network (its list of misspellings comes with the package) and takes two seconds for 16,000
sentences. It draws from Python's global generator, and keeps each word's misspellings in the order
of a set, which changes from process to process; both are mended here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from core.errors import UserError


def misspelt(texts: Sequence[str], rate: float, seed: int) -> list[str]:
    """The texts with `rate` of their words (1 to 10 of them) misspelt, as far as the list has them;
    the same for the same seed."""
    try:
        from nlpaug.augmenter.word import SpellingAug  # takes seconds to import
    except ImportError as error:
        raise UserError(
            "Typos need nlpaug; pip install -r requirements-rewriting.txt brings it."
        ) from error
    augmenter = SpellingAug(aug_p=rate)
    for word, slips in augmenter.model.dict.items():
        augmenter.model.dict[word] = sorted(slips)
    before = random.getstate()
    random.seed(seed)
    try:
        return [augmenter.substitute(text.strip()) for text in texts]
    finally:
        random.setstate(before)
