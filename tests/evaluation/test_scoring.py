"""One evaluation: sentences encoded once, scores from the cosines that are kept, NaN and never zero
without one; length bias; edits."""

import math
import random
from collections import Counter

import numpy as np
import pytest
import tiny
import tiny_checkpoint
import torch
from scipy.stats import spearmanr
from transformers import AutoTokenizer

from core.config.quantities import EXCESS
from core.config.result import PairBlock
from core.data.sts import StsSet, load_demo
from core.encoder.packing import pack
from core.encoder.vectors import cosines
from core.evaluation import edits, metrics
from core.evaluation.baselines import Untrained
from core.evaluation.edits import EDITS, SENTENCES, edit_rows, edited_copies, edited_sentences
from core.evaluation.metrics import WORD_GAP, length_rows, like_length_excess
from core.evaluation.scoring import Candidate, Scorer, evaluate, mean_score

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
        vectors = np.stack(
            [np.random.default_rng(sum(map(ord, s)) + len(s)).normal(size=8) for s in sentences]
        )
        for i, sentence in enumerate(sentences):
            if sentence in broken:
                vectors[i] = np.nan
        return vectors.astype(np.float32)

    return encode, asked


@pytest.fixture
def sets():
    return {"A": make("A", {"p": 600, "q": 90}), "B": make("B", {"B": 130})}


def test_scores_and_geometry_come_from_the_kept_vectors(sets):
    encode, asked = encoder()
    first, second = sets.values()
    made = evaluate(sets, encode, [first, second])
    (sentences,) = asked
    assert sorted(sentences) == sorted({text for s in (first, second) for text in (*s.a, *s.b)})
    blocks = [block for block in made.pairs if block.task == "A"]
    assert [(block.subset, len(block.cosine)) for block in blocks] == [("p", 600), ("q", 90)]
    cosine = np.concatenate([block.cosine for block in blocks])
    gold = np.concatenate([block.gold for block in blocks])
    assert cosine.dtype == np.float32 and list(blocks[0].words_a) == [2] * 600
    score = made.scores["A"]["all"]
    assert score == pytest.approx(100 * spearmanr(cosine, gold).statistic)
    assert mean_score(made.scores, ("A", "B")) == pytest.approx(
        (score + made.scores["B"]["all"]) / 2
    )
    assert cosine.tolist() == cosines(encode(list(first.a)), encode(list(first.b))).tolist()
    a = first.a + second.a
    b = first.b + second.b
    x = encode(a)
    y = encode(b)
    near = np.concatenate([first.gold, second.gold]) > 4  # exactly 4 is not positive
    for mode in metrics.MODES:
        alignment = metrics.alignment(x[near], y[near], mode)
        assert made.geometry[f"alignment_{mode}"] == pytest.approx(alignment)
        assert made.geometry[f"alignment_all_{mode}"] == metrics.alignment(x, y, mode)
    assert made.geometry["uniformity_batched64"] == metrics.uniformity(x, "batched64")
    every = encode(list(dict.fromkeys(a + b)))
    assert made.geometry["uniformity_global"] == metrics.uniformity(every, "global")


class Weighed(torch.nn.Linear):
    """A model of one layer, of which everything is scored."""

    def scored_parts(self):
        return self

    def method_rows(self, step):
        return []


class PlainScorer(Scorer):
    """Multiplies each sentence's fixed vector by the model's weights."""

    def vectors(self, model, sentences):
        known, _ = encoder()
        return model(torch.from_numpy(known(sentences))).detach().numpy()


def test_the_selected_rows_are_of_the_selected_weights_over_all_sets_of_the_geometry(sets):
    cpu = torch.device("cpu")
    first, second = sets.values()
    geometry_of = [first, make("C", {"C": 80}), second]
    scorer = PlainScorer({"A": first, "dev": second}, geometry_of, (), lambda _: None, cpu)
    selected, model = Weighed(8, 8), Weighed(8, 8)
    config = tiny.config("simcse", train__steps=4)
    candidate = Candidate(2, 0.0, selected.state_dict())
    before = evaluate(scorer.sets, lambda texts: scorer.vectors(model, texts))
    wanted = evaluate(scorer.sets, lambda texts: scorer.vectors(selected, texts), geometry_of)
    assert before.scores["A"]["all"] != pytest.approx(wanted.scores["A"]["all"])
    final = scorer.final_evaluation(model, config, candidate, None)
    rows = {row[:3]: row[3:] for row in final.rows}
    for name in ("A", "dev"):
        for aggregate, score in wanted.scores[name].items():
            metric = f"spearman_{aggregate}"
            assert rows["selected", name, metric] == (2, pytest.approx(score))
            assert rows["last", name, metric] == (4, pytest.approx(before.scores[name][aggregate]))
    for metric, value in wanted.geometry.items():
        assert rows["selected", "STS-B", metric] == (2, pytest.approx(value))
    for block, other in zip(final.pairs, wanted.pairs, strict=True):
        assert block.cosine == pytest.approx(other.cosine)
    assert torch.equal(model.weight, selected.weight)  # the run's model, which is kept


def test_a_broken_embedding_gives_nan_and_never_zero(sets):
    encode, _ = encoder(broken={sets["B"].a[0]})
    sets["C"] = StsSet("C", ("C",) * 3, ("u", "v", "w"), ("x", "y", "z"), np.array([1.0, 2.0, 4.0]))
    made = evaluate(sets, encode)
    assert math.isnan(made.scores["B"]["all"]) and math.isnan(mean_score(made.scores, ("B", "C")))
    assert math.isfinite(made.scores["C"]["all"])
    (block,) = (block for block in made.pairs if block.task == "B")
    assert np.isnan(block.cosine).any() and not (np.asarray(block.cosine) == 0).any()
    collapsed = evaluate(sets, lambda sentences: np.ones((len(sentences), 4), dtype=np.float32))
    assert all(math.isnan(value) for score in collapsed.scores.values() for value in score.values())


def gapped(task, subset, count, gaps):
    words = draw.integers(1, 20, count)
    gold = draw.integers(0, 11, count) / 2
    others = (words + np.resize(gaps, count)).tolist()
    return PairBlock(
        task, subset, gold, draw.normal(size=count).astype(np.float32), words.tolist(), others
    )


def test_each_group_s_spearman_is_that_of_a_plain_loop():
    blocks = [
        gapped("A", "p", 60, [0, 3, 4, 9]),
        gapped("B", "B", 41, [4, 3]),
        gapped("A", "q", 35, [-3, -4, 1]),
    ]
    rows = length_rows(blocks, "selected", "B", 7)
    groups = ("spearman_gap_le3", "spearman_gap_gt3", EXCESS)
    expected = [("selected", task, metric, 7) for task in ("A", "dev") for metric in groups]
    assert [row[:4] for row in rows] == expected
    for row in (row for row in rows if row.metric != EXCESS):
        gold = []
        cosine = []
        for block in blocks:
            if block.task != {"A": "A", "dev": "B"}[row.task]:
                continue
            for pair in zip(block.gold, block.cosine, block.words_a, block.words_b, strict=True):
                longer = abs(pair[2] - pair[3]) > 3
                if longer == row.metric.endswith("gt3"):
                    gold.append(pair[0])
                    cosine.append(pair[1])
        assert len(gold) >= 10
        assert row.value == pytest.approx(100 * spearmanr(cosine, gold).statistic)


@pytest.mark.parametrize("gaps", [[0, 3, 4, 9], [5, 2]])
def test_the_excess_is_what_is_left_once_the_gold_score_is_taken_out_of_both(gaps):
    """The coefficient by its second formulation (Frisch and Waugh): the residual of the cosine on
    that of the group."""
    block = gapped("A", "p", 60, gaps)

    def residual(y):
        return y - np.polyval(np.polyfit(block.gold, y, 1), block.gold)

    like = np.abs(np.subtract(block.words_a, block.words_b)) <= WORD_GAP
    cosine = residual(block.cosine)
    by = residual(like.astype(float))
    excess = like_length_excess(block.gold, block.cosine, like)
    assert excess == pytest.approx(cosine @ by / (by @ by) / block.cosine.std())


def test_there_is_no_number_without_both_groups_and_something_to_compare():
    gold = np.arange(20) / 4
    cosine = draw.normal(size=20)
    gaps = np.array([0, 9] * 10)
    few_like = np.where(np.arange(20) == 0, 9, gaps)
    few_others = np.where(np.arange(20) == 1, 0, gaps)
    not_finite = np.where(np.arange(20) == 3, np.nan, cosine)

    def metrics_of(gold, cosine, gaps):
        block = PairBlock("A", "A", gold, cosine, [20] * len(gaps), (20 + gaps).tolist())
        return [row.metric.rpartition("_")[2] for row in length_rows([block], "selected", "D", 1)]

    assert metrics_of(gold, cosine, gaps) == ["le3", "gt3", "excess"]
    assert metrics_of(gold, cosine, few_like) == ["gt3"]
    assert metrics_of(gold, cosine, few_others) == ["le3"]
    assert metrics_of(np.full(20, 2.0), cosine, gaps) == []
    assert metrics_of(gold, np.full(20, 0.3), gaps) == []
    assert "excess" not in metrics_of(gold, not_finite, gaps)


def pairs(a, b):
    return StsSet(name="D", subset=("D",) * len(a), a=tuple(a), b=tuple(b), gold=np.zeros(len(a)))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return AutoTokenizer.from_pretrained(tiny_checkpoint.bert(tmp_path_factory.mktemp("tokenizer")))


def test_sentences_are_the_first_distinct_long_ones():
    six = "a b c d e f"
    other = "g h i j k l"
    assert edited_sentences(pairs([six, "a b c d e", other], ["short", six, six])) == [six, other]
    chosen = edited_sentences(load_demo()["DEV"])
    assert len(chosen) == len(set(chosen)) == SENTENCES
    assert min(len(text.split()) for text in chosen) >= 6


@pytest.mark.parametrize("seed", range(4))
def test_each_edit_is_one_edit(seed):
    stream = random.Random(seed)
    words = "a b c d e f".split()
    longer = edits.insertion(words, ["x", "y"], stream)
    assert [w for w in longer if w in words] == words and sum(w in "xy" for w in longer) == 1
    shorter = edits.with_copies(words, 0, stream)
    assert len(shorter) == 5 and shorter == [w for w in words if w in shorter]
    twice = edits.with_copies(words, 2, stream)
    assert sorted(Counter(twice).values()) == [1, 1, 1, 1, 1, 2]
    assert sorted(set(twice), key=twice.index) == words
    assert twice == sorted(twice)  # the copy stands beside its word


def test_means_are_those_of_single_sentences(tokenizer):
    draw = random.Random(1)
    texts = [
        " ".join(f"w{draw.randrange(40)}" for _ in range(draw.randint(6, 9))) for _ in range(60)
    ]
    dev = pairs(texts[:30], texts[30:])
    chosen = edited_sentences(dev)
    count = len(chosen)
    copies, again = (edited_copies(chosen, tokenizer, 40) for _ in range(2))
    assert np.array_equal(copies.ids, again.ids)
    model = Untrained(tiny.encoder(tiny.bert(), dropout=0.5)).train()
    cpu = torch.device("cpu")
    rows = edit_rows(model, dev, tokenizer, cpu, 3)
    assert [row[:4] for row in rows] == [("selected", "edits", f"cosine_{e}", 3) for e in EDITS]
    lengths = np.diff(copies.offsets).reshape(-1, count)
    assert ((lengths[1:] - lengths[0]) == np.array([[0, 1, -1, 1, 1]]).T).all()
    for i in range(count):  # the first and last token stay where they are
        plain = copies[i].tolist()
        doubled = [[*plain[: at + 1], *plain[at:]] for at in range(1, len(plain) - 1)]
        assert copies[5 * count + i].tolist() in doubled
    model.eval()
    with torch.no_grad():
        vectors = [model.sentence_vectors(pack([copies[i]]))[0] for i in range(len(copies))]
    for kind, row in enumerate(rows, start=1):
        edited = vectors[kind * count : (kind + 1) * count]
        cosine = torch.cosine_similarity(torch.stack(vectors[:count]), torch.stack(edited))
        assert row.value == pytest.approx(float(cosine.mean()), abs=1e-5)
    assert rows[0].value == pytest.approx(1.0, abs=1e-6)
    assert all(row.value < 0.9999 for row in rows[1:])
    assert edit_rows(model, pairs(texts[:1], ["short"]), tokenizer, cpu, 3) == []
    long = [" ".join(["w1"] * 60), " ".join(["w2"] * 60)]
    assert np.diff(edited_copies(long, tokenizer, 20).offsets).max() == 20  # they fit the encoder
