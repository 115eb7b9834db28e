"""The numbers on which verdicts and notes rest are those that docs/verdicts.md states; the protocol's are the protocol's."""

import re

import pytest
from places import ROOT

from core.engine.evaluation import length_bias, metrics, transfer
from core.methods import heads
from core.report import comparability, sequential, signflip, statistics
from core.spec import run, scale
from core.spec.claim import Claim, greater

WORDS = {"five": 5, "six": 6, "one": 1}
SAID = " ".join((ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8").split())
RULES = {  # what the page says, with the number in brackets, and the constant
    r"for the first time \(at most (\d+) %\)": 100 * comparability.MOST_TURNOVER,
    r"at half of the run \(at most (\d+) %\)": 100 * comparability.MOST_INITIAL,
    r"beats the untrained \[CLS\] by (\d+) points": comparability.LEAST_GAIN,
    r"Below (\w+) seeds a difference may have an interval that assumes equal scatter": statistics.LEAST_SEEDS,
    r"with a (\d+) % t-interval": 100 * statistics.LEVEL,
    r"From (\w+) seeds on a sign-flip test": signflip.LEAST_SEEDS,
    r"an error of (\d+) %, divided by the study's claims": 100 * sequential.ALPHA,
    r"less: (\w+) point, unless the claim has its own": Claim.__dataclass_fields__["margin"].default,
}


@pytest.mark.parametrize("sentence", RULES)
def test_a_rule_has_the_number_that_the_page_states(sentence):
    (number,) = re.findall(sentence, SAID)
    assert float(WORDS.get(number, number)) == pytest.approx(RULES[sentence])


def test_looks_and_what_they_spend_are_those_that_the_page_states():
    (looks,), (shares,) = (
        re.findall(r"looks at its claims with ([\d, and]+) seeds", SAID),
        re.findall(r"The looks spend ([\d, and]+) %", SAID),
    )
    assert tuple(map(int, re.findall(r"\d+", looks))) == sequential.LOOKS
    spent = [sequential.alpha_at(look, 1) / sequential.ALPHA for look in range(len(sequential.LOOKS))]
    assert spent == pytest.approx([int(share) / 100 for share in re.findall(r"\d+", shares)]) and sum(spent) == pytest.approx(1)


def test_a_claim_without_a_margin_of_its_own_has_one_point():
    assert Claim(key="k", text="t", predicate=greater(("a",), ("b",))).margin == 1.0


def test_numbers_of_the_papers_protocols():
    assert run.PAPER_STEPS == 1_000_000 // scale.PAPER_BATCH and scale.PAPER_BATCH == 64 and scale.PAPER_RATE == 3e-5
    assert (metrics.POSITIVE, metrics.BATCH) == (4.0, 64)  # alignment's pairs have a gold above 4; the released batches (D43)
    assert length_bias.GAP == 3  # ESimCSE, Table 1
    assert (transfer.FOLDS, transfer.FOLD_SEED) == (10, 1111)  # SentEval's
    assert heads.INITIAL_SPREAD == comparability.INITIAL_SPREAD == 0.02  # BERT's
