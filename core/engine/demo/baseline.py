"""What a sentence's words alone can do: every word a fixed random vector, a sentence their mean."""

import re

import numpy as np

from core.engine.demo.pairs import DEV, TESTS, Pair, graded_pairs


def ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1, equal values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Return Spearman's rho, in [-1, 1]: Pearson's correlation of the ranks."""
    return float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def bag_of_words_cosines(pairs: list[Pair], dim: int = 256, seed: int = 0) -> np.ndarray:
    """Return the cosine of every pair: words are Gaussian vectors of `dim` numbers, sentences their means."""
    rng = np.random.default_rng(seed)
    vectors = {}

    def mean(sentence: str) -> np.ndarray:
        words = re.findall("[a-z]+", sentence.lower())
        for word in words:
            if word not in vectors:
                vectors[word] = rng.standard_normal(dim)
        return np.mean([vectors[word] for word in words], axis=0)

    a = np.array([mean(p.a) for p in pairs])  # (pairs, dim)
    b = np.array([mean(p.b) for p in pairs])
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def bag_of_words_scores(dim: int = 256, seed: int = 0) -> dict[str, float]:
    """Return Spearman's rho × 100 of a random bag of words, by set name, DEV included."""
    return {
        name: 100 * spearman(bag_of_words_cosines(pairs, dim, seed), np.array([p.gold for p in pairs]))
        for name in (DEV, *TESTS) for pairs in [graded_pairs(name)]
    }
