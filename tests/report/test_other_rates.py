"""Verdicts at other learning rates: which runs they are of, and when a verdict is called robust or fragile."""

from pathlib import Path

import numpy as np
import pytest
from fake_store import SOURCES, FakeStore, edition
from small_study import small

from core.report.claims import claim_frame, measured
from core.report.render import gathered, render_index
from core.spec.claim import Claim, Contrast, Term, greater
from core.spec.scale import DEMO, MINI, OTHER_RATES
from core.spec.vary import vary
from studies import find
from studies.esimcse.table6 import STEP

A, B = ("a",), ("b",)
UP, DOWN, SAME = ((50.0, 60.0), (60.0, 50.0), (50.0, 50.1))  # means of a and b
STUDY = small(claims=(Claim(key="K1", text="b is better than a.", predicate=greater(B, A), decided_by="b against a"),))


def judged(**means) -> tuple:
    """The verdict on K1, and its row, after five seeds with these means by rate."""
    store = FakeStore()
    for factor, of in {1.0: means["own"], OTHER_RATES[0]: means.get("third"), OTHER_RATES[1]: means.get("three")}.items():
        for place, (cell, mean) in enumerate(zip(STUDY.cells, of or (), strict=False)):
            for seed in range(5):
                store.add(edition(5).at_rate(factor).config(STUDY, cell, seed), mean + 0.1 * (seed * (2 + place) % 5))
    (section,) = gathered([STUDY], edition(5), store, Path("none"))
    return section.result.verdicts[0], claim_frame([section.result]).iloc[0]


@pytest.mark.parametrize(
    "means, survives",
    [
        ({"own": UP, "third": UP, "three": UP}, "robust"), ({"own": DOWN, "third": DOWN, "three": DOWN}, "robust"),
        ({"own": UP, "third": UP, "three": DOWN}, "fragile"), ({"own": UP, "third": SAME, "three": UP}, "fragile"),
        ({"own": UP, "third": UP}, ""), ({"own": UP, "third": DOWN}, "fragile"), ({"own": UP}, ""),
    ],
)  # fmt: skip
def test_a_verdict_is_robust_if_it_is_the_same_at_every_rate_and_fragile_if_it_is_another_at_one(means, survives):
    verdict, row = judged(**means)
    assert verdict.survives == row["survives"] == survives
    assert verdict.outcome == ("supported" if means["own"] is UP else "contradicted")
    assert len(verdict.at_rates) == (0 if set(means) == {"own"} else 2)


def test_an_effect_below_the_margin_agrees_with_one_that_is_equivalent():
    """Supported and too small to matter at once, of which precedence names one, and at another rate the other."""
    verdict, _ = judged(own=(50.0, 50.5), third=SAME, three=(50.0, 50.5))
    assert (verdict.outcome, verdict.small, [one.outcome for one in verdict.at_rates]) == ("supported", True, ["equivalent", "supported"])
    assert verdict.survives == ""
    verdict, _ = judged(own=(50.0, 50.5), third=(50.5, 50.0), three=(50.0, 50.5))
    assert verdict.small and verdict.at_rates[0].small and verdict.survives == "fragile"  # opposite, however small


def test_what_is_open_is_neither_and_says_what_the_other_rates_say():
    verdict, row = judged(own=SAME, third=UP, three=UP)
    assert verdict.outcome == "equivalent" and verdict.survives == "fragile"
    open_one, row = judged(own=UP, three=DOWN)
    (_, three) = open_one.at_rates
    effect = np.mean(
        [DOWN[1] - DOWN[0] + 0.1 * (3 * seed % 5 - 2 * seed % 5) for seed in range(3)]
    )  # b minus a, the seeds of the first look
    assert three.effect == pytest.approx(effect)
    said = f"contradicted ({effect:+.2f}, n = 3)".replace("-", "−")
    assert row["at_other_rates"] == f"not run at a third of the learning rate, {said} at three times the learning rate"
    assert measured(open_one).endswith(f"; fragile: {row['at_other_rates']}")
    alone, row = judged(own=UP)
    assert row["at_other_rates"] == "" and "rate" not in measured(alone)


def test_cards_and_readme_say_so_beside_the_verdict(tmp_path):
    store = FakeStore()
    for factor in (1.0, *OTHER_RATES):
        for place, cell in enumerate(STUDY.cells):
            for seed in range(5):
                store.add(edition(5).at_rate(factor).config(STUDY, cell, seed), 50 + 10 * place + 0.1 * (seed * (2 + place) % 5))
    store.root, store.published = tmp_path, None
    page = {("demo", "paper"): gathered([STUDY], edition(5), store, tmp_path)}
    render_index([STUDY], page, [edition(5)], store, tmp_path, tmp_path / "figures")
    for name in ("index.html", "README.md"):
        assert "✔ supported, robust" in (tmp_path / name).read_text()


def test_runs_at_other_rates_differ_in_the_rate_alone():
    table1 = find("mocose-table1")
    for scale, rates in ((DEMO, {1e-3}), (MINI, {3e-4, 3e-5})):
        own = edition(1, scale=scale, sources=SOURCES)
        for cell, (config,) in own.asked(table1):
            for factor, spoken in zip(
                OTHER_RATES, ({1e-3: 3.33333333e-4, 3e-4: 1e-4, 3e-5: 1e-5}, {1e-3: 3e-3, 3e-4: 9e-4, 3e-5: 9e-5}), strict=True
            ):
                other = own.at_rate(factor).config(table1, cell, 0)
                rate = next(rate for rate in rates if abs(rate - config.train.learning_rate) < 1e-12)
                assert other == vary(config, {"train.learning_rate": spoken[rate]})
    assert own.at_rate(1.0) == own


def test_what_is_begun_is_a_claims_every_cell_and_n_is_the_verdicts_own():
    store = FakeStore()
    for place, cell in enumerate(STUDY.cells):
        for seed in range(5):
            store.add(edition(5).config(STUDY, cell, seed), 50 + 10 * place + 0.1 * (seed * (2 + place) % 5))
    third = edition(5).at_rate(OTHER_RATES[0])
    store.add(third.config(STUDY, STUDY.cells[0], 0), 50.0)  # another study's run, say: b has none
    (section,) = gathered([STUDY], edition(5), store, Path("none"))
    assert section.result.verdicts[0].at_rates == ()
    for place, cell in enumerate(STUDY.cells):
        for seed in range(6):
            store.add(third.config(STUDY, cell, seed), 50 + 10 * place + 0.1 * (seed * (2 + place) % 5))
    (section,) = gathered([STUDY], edition(5), store, Path("none"))
    assert [(one.outcome, one.n) for one in section.result.verdicts[0].at_rates] == [
        ("supported", 3),
        ("not run", 0),
    ]  # settled with three of six


def test_a_claim_on_time_is_not_asked_at_other_rates():
    timed = Contrast((Term(1.0, B), Term(-1.0, A)), metric=STEP)
    study = small(
        claims=(
            *STUDY.claims,
            Claim(key="K2", text="b takes longer than a.", predicate=timed, decided_by="seconds of b against a", margin=0.1),
        )
    )
    store = FakeStore()
    for factor in (1.0, *OTHER_RATES):
        for place, cell in enumerate(study.cells):
            for seed in range(5):
                config = edition(5).at_rate(factor).config(study, cell, seed)
                store.add(
                    config, 50 + 10 * place + 0.1 * (seed * (2 + place) % 5), provenance={"step_seconds": 1 + place + 0.01 * (seed % 3)}
                )
    (section,) = gathered([study], edition(5), store, Path("none"))
    on_score, on_time = section.result.verdicts
    assert (on_score.outcome, on_score.survives) == ("supported", "robust")
    assert (on_time.outcome, on_time.survives, on_time.at_rates) == ("supported", "", ())
