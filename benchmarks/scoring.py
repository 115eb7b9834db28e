"""Scoring all test sets: ours, the plain loop, and the floor of encoding each distinct sentence once."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

import numpy as np
import torch

from benchmarks import floor, plain
from benchmarks.setting import Setting
from benchmarks.step import shape_of
from benchmarks.timing import Row, now
from core.data.sts import StsSet
from core.engine.evaluation.evaluation import average, evaluate
from core.engine.evaluation.scorer import TOKENS_PER_BATCH, token_batches
from core.methods.mocose.model import MoCoSE

SAME = 0.01  # points by which the two loops' averages may differ: rounding moves ranks of near-equal cosines


def rows(setting: Setting, rounds: int, pairs: int | None) -> Iterator[Row]:
    """Ours and plain on the scale's test sets, or on the first `pairs` of each subset; both must give the same average."""
    config = setting.mocose()
    encoder, tokenizer = setting.encoder(config)
    scorer = setting.scorer(config, encoder, tokenizer)
    model = MoCoSE(config, encoder, setting.device).eval()
    bert = plain.load(setting).eval().to(setting.device)
    sets = {name: first(scorer.sets[name], pairs) for name in scorer.tests}
    torch.set_num_threads(setting.threads)
    seconds: dict[str, list[float]] = {"ours": [], "plain": []}
    for _ in range(rounds):
        began = now(setting.device)
        found = evaluate(sets, lambda sentences: scorer.vectors(model, sentences))
        between = now(setting.device)
        theirs = plain.evaluate(bert, tokenizer, sets, setting.device)
        seconds["ours"].append(between - began)
        seconds["plain"].append(now(setting.device) - between)
    ours, other = average(found, scorer.tests), float(np.mean(list(theirs.values())))
    if abs(ours - other) > SAME:
        raise AssertionError(f"{setting.name}: ours scores {ours}, the plain loop {other}; their times do not compare")
    ours_s, plain_s = (statistics.median(seconds[name]) for name in ("ours", "plain"))
    least = _floor(setting, scorer, sets)
    yield Row("evaluation", setting.name, f"ours, {len(sets)} sets", ours_s, "s")
    yield Row("evaluation", setting.name, f"plain, {len(sets)} sets", plain_s, "s")
    yield Row("evaluation", setting.name, "plain / ours", plain_s / ours_s, "x", ">= 4" if setting.scale != "demo" else "")
    yield Row("floor", setting.name, "floor of an evaluation", least, "s")
    yield Row("evaluation", setting.name, "ours / floor", ours_s / least, "x")


def first(pairs: StsSet, count: int | None) -> StsSet:
    """A set's first `count` pairs of each subset."""
    if count is None:
        return pairs
    seen: dict[str, int] = {}
    kept = []
    for i, subset in enumerate(pairs.subset):
        seen[subset] = seen.get(subset, 0) + 1
        if seen[subset] <= count:
            kept.append(i)
    labels, a, b = (tuple(side[i] for i in kept) for side in (pairs.subset, pairs.a, pairs.b))
    return StsSet(pairs.name, labels, a, b, pairs.gold[kept])


def _floor(setting: Setting, scorer, sets: Mapping[str, StsSet]) -> float:
    """Seconds of the products for each distinct sentence once."""
    sentences = dict.fromkeys(text for pairs in sets.values() for side in (pairs.a, pairs.b) for text in side)
    places = np.array([scorer.index[text] for text in sentences])
    lengths = np.sort(scorer.table.offsets[places + 1] - scorer.table.offsets[places])
    batches = token_batches(lengths, TOKENS_PER_BATCH[setting.device.type])
    products = floor.forward_products(shape_of(setting), [lengths[batch] for batch in batches])
    rate = floor.rates(products, setting.device, torch.float32)
    return len(batches) * floor.floor_seconds(products, rate, 0, 1.0)
