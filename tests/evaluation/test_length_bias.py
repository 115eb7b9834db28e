"""Length bias: the split of the pairs, against a loop of its own, and what is left out."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.engine.evaluation.length_bias import length_gap_rows
from core.spec.result import PairBlock

draw = np.random.default_rng(0)


def block(task, subset, count, gaps):
    words = draw.integers(1, 20, count)
    return PairBlock(
        task,
        subset,
        draw.integers(0, 11, count) / 2,
        draw.normal(size=count).astype(np.float32),
        words.tolist(),
        (words + np.resize(gaps, count)).tolist(),
    )


def test_each_group_s_spearman_is_that_of_a_plain_loop():
    blocks = [block("A", "p", 60, [0, 3, 4, 9]), block("B", "B", 41, [4, 3]), block("A", "q", 35, [-3, -4, 1])]
    rows = length_gap_rows(blocks, "B", 7)
    assert [(row.checkpoint, row.task, row.metric, row.step) for row in rows] == [
        ("selected", task, metric, 7) for task in ("A", "dev") for metric in ("spearman_gap_le3", "spearman_gap_gt3")
    ]
    for row in rows:
        gold, cosine = [], []
        for b in blocks:
            for g, c, wa, wb in zip(b.gold, b.cosine, b.words_a, b.words_b, strict=True):
                longer = max(wa, wb) - min(wa, wb) > 3
                if b.task == {"A": "A", "dev": "B"}[row.task] and longer == row.metric.endswith("gt3"):
                    gold.append(g)
                    cosine.append(c)
        assert 10 <= len(gold) and row.value == pytest.approx(100 * spearmanr(cosine, gold).statistic)


def test_by_hand():
    order = list(range(10))
    near = PairBlock("A", "A", order, order[::-1], [5] * 10, [8] * 10)  # a difference of 3 is still small
    far = PairBlock("A", "A", order, order, [5] * 10, [1] * 10)
    assert [row.value for row in length_gap_rows([near, far], "D", 1)] == [-100.0, 100.0]


@pytest.mark.parametrize("count, constant, rows", [(9, False, 0), (10, False, 1), (10, True, 0)])
def test_a_group_without_a_correlation_has_no_row(count, constant, rows):
    cosine = [0.5] * count if constant else list(range(count))
    assert len(length_gap_rows([PairBlock("A", "A", list(range(count)), cosine, [3] * count, [3] * count)], "D", 1)) == rows
