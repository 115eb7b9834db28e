"""Length bias: the split of the pairs, against a loop of its own, and what is left out."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.engine.evaluation.length_bias import EXCESS, by_set, length_rows, like_length_excess
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
    rows = length_rows(blocks, "B", 7)
    assert [(row.checkpoint, row.task, row.metric, row.step) for row in rows] == [
        ("selected", task, metric, 7) for task in ("A", "dev") for metric in ("spearman_gap_le3", "spearman_gap_gt3", EXCESS)
    ]
    for row in (row for row in rows if row.metric != EXCESS):
        gold, cosine = [], []
        for b in blocks:
            for g, c, wa, wb in zip(b.gold, b.cosine, b.words_a, b.words_b, strict=True):
                longer = max(wa, wb) - min(wa, wb) > 3
                if b.task == {"A": "A", "dev": "B"}[row.task] and longer == row.metric.endswith("gt3"):
                    gold.append(g)
                    cosine.append(c)
        assert 10 <= len(gold) and row.value == pytest.approx(100 * spearmanr(cosine, gold).statistic)


@pytest.mark.parametrize("count, constant, rows", [(9, False, 0), (10, False, 1), (10, True, 0)])
def test_a_group_without_a_correlation_has_no_row(count, constant, rows):
    cosine = [0.5] * count if constant else list(range(count))
    assert len(length_rows([PairBlock("A", "A", list(range(count)), cosine, [3] * count, [3] * count)], "D", 1)) == rows


def pairs_of(gold, cosine, gaps):
    ((_, found),) = by_set([PairBlock("A", "A", np.array(gold), np.array(cosine), [20] * len(gaps), (20 + np.array(gaps)).tolist())])
    return found


def test_the_excess_is_what_like_pairs_have_above_the_line_of_the_gold_score():
    """Cosines on a line of the gold score, those of like length 0.1 above it: 0.1 over their SD, whichever gold scores the groups have."""
    gold = np.r_[np.arange(10), np.arange(4, 18)] / 2
    gaps = np.r_[[0, 1, -3, 3, 2] * 2, [4, -9] * 7]
    cosine = 0.2 + 0.05 * gold + 0.1 * (np.abs(gaps) <= 3)
    assert like_length_excess(pairs_of(gold, cosine, gaps)) == pytest.approx(0.1 / cosine.std())
    assert like_length_excess(pairs_of(gold, -cosine, gaps)) == pytest.approx(-0.1 / cosine.std())
    assert like_length_excess(pairs_of(gold, 7 * cosine - 3, gaps)) == pytest.approx(0.1 / cosine.std())  # no unit of its own


def test_the_excess_is_what_is_left_once_the_gold_score_is_taken_out_of_both():
    """The coefficient by its second formulation (Frisch and Waugh): the residual of the cosine on that of the group."""
    (_, found), (_, other) = by_set([block("A", "p", 60, [0, 3, 4, 9]), block("A", "q", 35, [-3, -4, 1]), block("B", "B", 50, [5, 2])])
    for pairs in (found, other):
        cosine, like = (y - np.polyval(np.polyfit(pairs.gold, y, 1), pairs.gold) for y in (pairs.cosine, pairs.like.astype(float)))
        assert like_length_excess(pairs) == pytest.approx(cosine @ like / (like @ like) / pairs.cosine.std())


@pytest.mark.parametrize("change", ["few like", "few others", "constant gold", "constant cosine", "not finite"])
def test_there_is_no_excess_without_both_groups_and_something_to_compare(change):
    gold, cosine, gaps = np.arange(20) / 4, draw.normal(size=20), np.array([0, 9] * 10)
    assert np.isfinite(like_length_excess(pairs_of(gold, cosine, gaps)))
    gaps[0] = {"few like": 9, "few others": 0}.get(change, gaps[0])
    gaps[1] = {"few others": 0}.get(change, gaps[1])
    gold = np.full(20, 2.0) if change == "constant gold" else gold
    cosine = np.full(20, 0.3) if change == "constant cosine" else cosine
    cosine[3] = np.nan if change == "not finite" else cosine[3]
    assert np.isnan(like_length_excess(pairs_of(gold, cosine, gaps)))
