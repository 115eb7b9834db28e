"""A small WordPiece vocabulary, learned from counted words; the same counts always give the same
list."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from tools.pretraining import SPECIALS

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
MARKS = ".,;:!?'\"()-"


def word_counts(sentences: Iterable[str]) -> Counter:
    """Return how often each lower-cased word occurs."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(re.findall("[a-z]+", sentence.lower()))
    return counts


def word_pieces(counts: Counter, whole: int, size: int) -> list[str]:
    """A vocabulary of `size` pieces: specials, characters, the `whole` most frequent words, and
    pieces for the rest.

    The pieces come from byte-pair encoding over the remaining, rarer words: again and again the
    pair of neighbours with the highest count (ties: the alphabetically first) is joined. So
    frequent words are one piece and rare ones stay split. Pieces that continue a word begin with
    `##`, as BERT's do.

    Raises ValueError where `size` leaves no room for the characters and the whole words.
    """
    characters = LETTERS + DIGITS
    vocabulary = [*SPECIALS, *MARKS, *characters, *("##" + c for c in characters)]
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    vocabulary.extend(word for word in ranked[:whole] if len(word) > 1)
    if size < len(vocabulary):
        raise ValueError(
            f"a vocabulary of {size} has no room for its {len(vocabulary)} words and characters; "
            "ask for more."
        )
    pieces_so_far = set(vocabulary)
    split = {}
    for word in ranked[whole:]:
        split[word] = [word[0], *("##" + c for c in word[1:])]
    while len(vocabulary) < size:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, pieces in split.items():
            for pair in pairwise(pieces):
                pairs[pair] += counts[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        joined = best[0] + best[1][2:]
        if joined not in pieces_so_far:
            pieces_so_far.add(joined)
            vocabulary.append(joined)
        split = {word: _join(pieces, best, joined) for word, pieces in split.items()}
    return vocabulary


def _join(pieces: list[str], pair: tuple[str, str], joined: str) -> list[str]:
    """The pieces with every occurrence of `pair`, from the left, replaced by `joined`."""
    result = []
    i = 0
    while i < len(pieces):
        if i + 1 < len(pieces) and (pieces[i], pieces[i + 1]) == pair:
            result.append(joined)
            i += 2
        else:
            result.append(pieces[i])
            i += 1
    return result
