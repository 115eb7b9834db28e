"""Verdicts on scores of one's own: against scipy on random tables, and bad tables refused."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import run_study
from core.api import judge
from core.errors import UserError
from core.report.score_table import parsed_table
from core.report.statistics import ALPHA, LOOKS, SHARES

LONG = "row,seed,score\na,0,1\na,1,2\nb,0,3\nb,1,5\n"


def first_verdict(difference, claims, p_values):
    """The first check at which scipy's p of one of the outcomes is small enough."""
    for n in LOOKS:
        if n > len(difference):
            return "undecided"
        for outcome, p in p_values(difference[:n]).items():
            if p <= ALPHA * SHARES[n] / claims:
                return outcome
    return "undecided"


def test_verdicts_and_intervals_are_those_of_scipy_on_random_tables():
    random = np.random.default_rng(7)

    def one_sided(values, above=0.0):
        return {
            "supported": stats.ttest_1samp(values, above, alternative="greater").pvalue,
            "contradicted": stats.ttest_1samp(values, above, alternative="less").pvalue,
        }

    def two_tests(values):  # equivalence within 1 from both sides
        inside = max(one_sided(values, -1.0)["supported"], one_sided(values, 1.0)["contradicted"])
        outside = min(one_sided(values, -1.0)["contradicted"], one_sided(values, 1.0)["supported"])
        return {"supported": inside, "contradicted": 2 * outside}

    outcomes = set()
    for _ in range(60):
        seeds = int(random.integers(3, 20))
        scatter = random.choice([0.2, 1.0])
        a, b = scatter * random.normal(size=(2, seeds)) + random.normal(size=seeds)
        a += random.choice([0.0, 1.5, -3.0])
        judged = judge({"b": b, "a": a}, "a > b", "a = b within 1")
        paired = stats.ttest_rel(a, b).confidence_interval()
        row = judged.sheet.cells.set_index("row").loc["a"]
        assert np.allclose(
            row[["paired_ci95_low", "paired_ci95_high"]].astype(float), paired, atol=1e-4
        )
        verdicts = list(judged.sheet.claims["verdict"])
        assert verdicts[0] == first_verdict(a - b, 2, one_sided)
        assert verdicts[1] == first_verdict(a - b, 2, two_tests)
        outcomes |= {(place, verdict) for place, verdict in enumerate(verdicts)}
    assert len(outcomes) == 6  # each verdict of each claim


def test_a_row_is_best_if_it_beats_each_other_row():
    shift = np.array([0.0, 0.1, -0.1, 0.05, 0.02])
    rows = {"a": 5 + shift, "b": 3 - shift, "c": 1 + 0 * shift}
    texts = ("a best", "b best", "c lowest", "a lowest", "c < a", "a > c by 3", "a > b by 3")
    verdicts = judge(rows, *texts).sheet.claims["verdict"]
    yes, no = "supported", "contradicted"
    assert list(verdicts) == [yes, no, yes, no, yes, yes, no]


def test_the_chance_of_settling_is_that_of_more_such_seeds():
    """Of tables that continue as they began, about the promised share is settled."""
    random = np.random.default_rng(3)
    start = np.array([1.4, -0.1, 0.9, 1.6, 0.2])
    rows = {"b": 0 * start, "a": start}
    words = judge(rows, "a > b").sheet.claims["reason"][0]
    seeds = int(words.partition(" ")[0])
    chance = int(re.search(r"chance of (\d+)%", words)[1]) / 100
    mean, sd = start.mean(), start.std(ddof=1)
    settled = 0
    for _ in range(200):
        scale = sd * np.sqrt(4 / random.chisquare(4))
        further = random.normal(mean + random.normal() * scale / np.sqrt(5), scale, seeds - 5)
        whole = np.concatenate([start, further])
        claims = judge({"b": 0 * whole, "a": whole}, "a > b").sheet.claims
        settled += claims["verdict"][0] != "undecided"
    assert chance >= 0.8 and abs(settled / 200 - chance) < 0.1


def test_seeds_go_by_their_size():
    scores = parsed_table("row,seed,score\nb,1,5\na,1,2\n\na,0,1\nb,0,3\n", "scores.csv")
    assert {row: list(values) for row, values in scores.items()} == {"a": [1, 2], "b": [3, 5]}


@pytest.mark.parametrize(
    ("text", "problem"),
    (
        ("", "must have the columns"),
        ("row,seed,score\n", "has 0 rows"),
        (LONG + "a,1,7\n", "line 6 gives row 'a' under seed '1' a second score"),
        (LONG + "b,2,7\n", "no score of row 'a' under seed '2'"),
        (LONG.replace("5", "nan"), "line 5 has 'nan' as its score; give"),
        (LONG.replace("5", "1e200"), "give a finite number of at most 1e+12"),
        (LONG.replace("5", "inf"), "'inf'"),
        (LONG.replace("5", ""), "'nothing'"),
        (LONG.replace("5", "high"), "'high'"),
        (LONG.replace("5", "1_0"), "'1_0'"),
        (LONG + "b,2\n", "line 6 has 2 fields; give row, seed and score"),
        ("row,seed,score\na,0,1\nb,0,2\n", "has 1 seeds"),
        ("row,seed,score\na,0,1\na,1,1\n", "has 1 rows"),
        ("row,0,1\na,1,2\nb,1,2\n", "must have the columns"),
        ("row,seed,score,set\na,0,1,x\n", "must have the columns"),
        ("name,0,1\na,1,2\n", "must have the columns"),
        ("row,seed\na,1\n", "must have the columns"),
        ('row,seed,score\n"a,0,1\n', "is no CSV table"),
    ),
)
def test_a_bad_table_gets_a_sentence(text, problem, tmp_path, capsys):
    file = tmp_path / "scores.csv"
    file.write_text(text)
    out = tmp_path / "out"
    words = ["judge", str(file), "--claim", "a > b", "--results-dir", str(out)]
    assert run_study.main(words) == 2 and not out.exists()
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("claim", "problem"),
    (
        ("a > c", "is no claim on these rows"),
        ("Mine best", "The rows are a, b"),
        ("a > a", "is no claim"),
        ("a = b", "is no claim"),
        ("a = b within -1", "is no claim"),
        ("a wins", "is no claim"),
    ),
)
def test_a_claim_that_cannot_be_meant_gets_a_sentence(claim, problem):
    with pytest.raises(UserError, match=problem):
        judge({"a": [1, 2], "b": [3, 5]}, claim)


def test_names_with_signs_and_spaces_are_rows():
    rows = {"K > 5": [1.0, 2.0, 3.0], "K = 5 by hand": [0.0, 0.1, 0.2]}
    (row,) = judge(rows, "K > 5 > K = 5 by hand by 0.5").sheet.comparisons.to_dict("records")
    assert (row["left"], row["right"], row["above"]) == ("K > 5", "K = 5 by hand", 0.5)


def test_the_command_leaves_table_and_figure(tmp_path, capsys):
    random = np.random.default_rng(1)
    seeds = range(5)
    lines = [
        f"{row},{seed},{value:.3f}"
        for row in ("=b", "a")
        for seed, value in zip(seeds, random.normal(70, 1, 5), strict=True)
    ]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(["row,seed,score", *lines]))
    assert (
        run_study.main(["judge", str(file), "--claim", "a > =b", "--results-dir", str(tmp_path)])
        == 0
    )
    assert "a > =b undecided" in capsys.readouterr().out
    names = {path.name for path in tmp_path.iterdir()} - {"scores.csv"}
    endings = (".md", ".csv", "-claims.csv", "-comparisons.csv", ".png", ".pdf")
    assert names == {f"scores-judged{ending}" for ending in endings}
    table = pd.read_csv(tmp_path / "scores-judged.csv")
    assert list(table["row"]) == ["'=b", "a"]  # no formula in a spreadsheet
    assert (tmp_path / "scores-judged.png").read_bytes().startswith(b"\x89PNG")
