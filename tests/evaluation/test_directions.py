"""Mean cosine, spread, effective rank, singular values: hand-computed cases and naive second formulations."""

import math

import numpy as np
import pytest

from core.engine.evaluation.metrics import (
    direction_rows,
    effective_rank,
    mean_cosine,
    mean_cosine_rows,
    singular_values,
    spectrum_rows,
)  # fmt: skip
from core.spec.result import Row

draw = np.random.default_rng(0)
SOME = (draw.standard_normal((50, 7)) * np.arange(1, 8) + 2).astype(np.float32)


def test_mean_cosine_of_three_vectors_and_of_many_by_pairs():
    three = np.array([[2.0, 0.0], [0.0, 5.0], [3.0, 3.0]])  # cosines 0, 1 / sqrt 2, 1 / sqrt 2
    assert mean_cosine(three) == pytest.approx(math.sqrt(2) / 3)
    pairs = [
        u @ v / np.linalg.norm(u) / np.linalg.norm(v)
        for i, u in enumerate(SOME.astype(float)) for j, v in enumerate(SOME.astype(float)) if i < j
    ]  # fmt: skip
    assert mean_cosine(SOME) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_mean_cosine_at_its_ends():
    assert mean_cosine(np.full((9, 4), 3.0, dtype=np.float32)) == pytest.approx(1.0, abs=1e-12)
    assert mean_cosine(np.array([[1.0, 0.0], [-2.0, 0.0]])) == pytest.approx(-1.0)
    assert mean_cosine(np.eye(5)) == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(mean_cosine(np.ones((1, 4))))


def test_effective_rank_of_known_spectra():
    opposite = np.concatenate([np.eye(6), -np.eye(6)])  # centred already, six equal singular values
    assert effective_rank(opposite) == pytest.approx(6.0)
    assert effective_rank(3.0 * np.eye(6)) == pytest.approx(5.0)  # centring takes one direction
    line = np.array([[1.0, 0.0], [-1.0, 0.0], [4.0, 0.0]])
    assert effective_rank(line) == pytest.approx(1.0)
    uneven = np.array([[1.0, 0], [-1, 0]] * 3 + [[0, 1.0], [0, -1]])  # p = 3/4, 1/4
    assert effective_rank(uneven) == pytest.approx(math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)))


def test_effective_rank_is_that_of_the_singular_values():
    unit = SOME.astype(float) / np.linalg.norm(SOME.astype(float), axis=1, keepdims=True)
    squares = np.linalg.svd(unit - unit.mean(0), compute_uv=False) ** 2
    p = squares / squares.sum()
    assert effective_rank(SOME) == pytest.approx(math.exp(-(p * np.log(p)).sum()))


def test_singular_values_are_those_of_the_whole_matrix():
    assert singular_values(SOME) == pytest.approx(np.linalg.svd(SOME.astype(float), compute_uv=False))
    rows = spectrum_rows(np.diag([1.0, 3.0, 2.0]), "untrained", 0)
    assert rows == [Row("untrained", "dev", f"singular_value_{i}", 0, pytest.approx(v)) for i, v in enumerate((3.0, 2.0, 1.0))]


@pytest.mark.parametrize("broken", [np.nan, np.inf, 0.0])
def test_no_rows_where_a_vector_has_no_direction(broken):
    vectors = SOME.copy()
    vectors[3] = broken
    assert direction_rows(vectors, "last", 5) == mean_cosine_rows(vectors, "curve", 5) == [] and math.isnan(effective_rank(vectors))
    assert [row[:4] for row in direction_rows(SOME, "last", 5)] == [("last", "dev", m, 5) for m in ("mean_cosine", "effective_rank")]
