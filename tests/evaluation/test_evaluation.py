"""One evaluation: sentences encoded once, scores from the cosines that are kept, failures flagged and never zero."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.data.sts import StsSet
from core.engine.evaluation import metrics
from core.engine.evaluation.scoring import evaluate

draw = np.random.default_rng(1)


def make(name, subsets):
    """Pairs over few words, so that sentences repeat within and between sets."""
    labels = tuple(label for label, count in subsets.items() for _ in range(count))
    a, b = (tuple(f"w{i} x" for i in draw.integers(0, 40, len(labels))) for _ in "ab")
    return StsSet(name, labels, a, b, draw.integers(0, 11, len(labels)) / 2)


def encoder(broken=()):
    """A fixed random vector for each sentence, and the list of what it was asked."""
    asked = []

    def encode(sentences):
        asked.append(list(sentences))
        vectors = np.stack([np.random.default_rng(sum(map(ord, s)) + len(s)).normal(size=8) for s in sentences])
        for i, sentence in enumerate(sentences):
            if sentence in broken:
                vectors[i] = np.nan
        return vectors.astype(np.float32)

    return encode, asked


@pytest.fixture
def sets():
    return {"A": make("A", {"p": 600, "q": 90}), "B": make("B", {"B": 130})}


def test_every_distinct_sentence_is_encoded_once(sets):
    encode, asked = encoder()
    extra = make("C", {"C": 70})
    evaluate(sets, encode, [extra, sets["B"]])
    wanted = {text for s in (*sets.values(), extra) for text in (*s.a, *s.b)}
    assert len(asked) == 1 and len(asked[0]) == len(wanted) and set(asked[0]) == wanted


def test_scores_come_from_the_kept_cosines(sets):
    encode, _ = encoder()
    found = evaluate(sets, encode)
    blocks = [block for block in found.pairs if block.task == "A"]
    assert [block.subset for block in blocks] == ["p", "q"] and [len(block.cosine) for block in blocks] == [600, 90]
    cosine = np.concatenate([block.cosine for block in blocks])
    gold = np.concatenate([block.gold for block in blocks])
    assert cosine.dtype == np.float32
    assert found.scores["A"].all == pytest.approx(100 * spearmanr(cosine, gold).statistic)
    assert found.scores["A"].status == "ok" and found.scores["A"].pairs == 690
    assert list(blocks[0].words_a) == [2] * 600
    x, y = encode(list(sets["A"].a)), encode(list(sets["A"].b))
    assert cosine.tolist() == metrics.cosines(x, y).tolist()


def test_geometry_is_that_of_the_joined_pairs(sets):
    encode, _ = encoder()
    first, second = sets.values()
    found = evaluate({"A": first}, encode, [first, second]).geometry
    a, b = first.a + second.a, first.b + second.b
    x, y, gold = encode(a), encode(b), np.concatenate([first.gold, second.gold])
    for mode in ("global", "batched64"):
        assert found[f"alignment_{mode}"] == pytest.approx(metrics.alignment(x, y, gold, mode, "gold>4"))
        assert found[f"alignment_all_{mode}"] == metrics.alignment(x, y, gold, mode, "all")
    assert found["uniformity_batched64"] == metrics.uniformity(x, "batched64")
    assert found["uniformity_global"] == metrics.uniformity(encode(list(dict.fromkeys(a + b))), "global")


def test_a_broken_embedding_is_flagged_and_never_zero(sets):
    encode, _ = encoder(broken={sets["B"].a[0]})
    sets["C"] = StsSet("C", ("C",) * 3, ("u", "v", "w"), ("x", "y", "z"), np.array([1.0, 2.0, 4.0]))
    found = evaluate(sets, encode)
    assert found.scores["B"].status == "non_finite" and math.isnan(found.scores["B"].all)
    assert found.scores["C"].status == "ok" and math.isfinite(found.scores["C"].all)
    assert math.isnan(found.average(("B", "C")))
    block = next(block for block in found.pairs if block.task == "B")
    assert np.isnan(block.cosine).any() and not (np.asarray(block.cosine) == 0).any()


def test_a_collapsed_encoder_is_constant(sets):
    found = evaluate(sets, lambda sentences: np.ones((len(sentences), 4), dtype=np.float32))
    assert {score.status for score in found.scores.values()} == {"constant"}
    assert math.isnan(found.scores["A"].all)


def test_a_partial_average_is_no_average(sets):
    encode, _ = encoder()
    found = evaluate(sets, encode)
    assert found.average(("A", "B")) == pytest.approx((found.scores["A"].all + found.scores["B"].all) / 2)
    assert math.isnan(found.average(("A", "B", "C")))
    assert not [row for row in found.rows(("A", "B", "C"), "last", 3) if row.task == "avg"]


def test_rows(sets):
    encode, _ = encoder()
    found = evaluate(sets, encode, [sets["A"]])
    written = {(row.task, row.metric): row for row in found.rows(("A", "B"), "selected", 40, geometry_task="A")}
    assert written["A", "spearman_wmean"].value == found.scores["A"].wmean
    assert written["avg", "spearman_all"].value == found.average(("A", "B"))
    assert written["A", "uniformity_batched64"].value == found.geometry["uniformity_batched64"]
    assert all(row.checkpoint == "selected" and row.step == 40 for row in written.values())
