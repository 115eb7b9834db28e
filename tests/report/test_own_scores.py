"""Verdicts on scores of one's own: against scipy on random tables, and bad tables refused."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import run_study
from core.api import judge
from core.errors import UserError
from core.report.score_table import read_scores
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
    for _ in range(25):
        seeds = int(random.integers(3, 20))
        scatter = random.choice([0.2, 1.0])
        a, b = scatter * random.normal(size=(2, seeds)) + random.normal(size=seeds)
        a += random.choice([0.0, 1.5, -3.0])
        judged = judge(frame(b=b, a=a), "a > b", "a = b within 1")
        paired = stats.ttest_rel(a, b).confidence_interval()
        row = judged.sheet.cells.set_index("row").loc["a"]
        bounds = row[["paired_ci95_low", "paired_ci95_high"]].astype(float)
        assert np.allclose(bounds, paired, atol=1e-4)
        verdicts = list(judged.sheet.claims["verdict"])
        assert verdicts[0] == first_verdict(a - b, 2, one_sided)
        assert verdicts[1] == first_verdict(a - b, 2, two_tests)
        outcomes |= {(place, verdict) for place, verdict in enumerate(verdicts)}
    assert len(outcomes) == 6  # each verdict of each claim


def test_a_row_is_best_if_it_beats_each_other_row():
    shift = np.array([0.0, 0.1, -0.1, 0.05, 0.02])
    rows = {"a": 5 + shift, "b": 3 - shift, "c": 1 + shift[::-1]}
    texts = ("a best", "b best", "c lowest", "a lowest", "c < a", "a > c by 3", "a > b by 3")
    verdicts = judge(frame(**rows), *texts).sheet.claims["verdict"]
    yes, no = "supported", "contradicted"
    assert list(verdicts) == [yes, no, yes, no, yes, yes, no]


def frame(**rows):
    """Scores by row, in the order of the seeds, in the one layout."""
    lines = [
        (row, seed, score) for row, scores in rows.items() for seed, score in enumerate(scores)
    ]
    return pd.DataFrame(lines, columns=["row", "seed", "score"])


def read(text, folder):
    """The scores of a CSV text in a file."""
    file = folder / "scores.csv"
    file.write_bytes(text.encode())
    return read_scores(file)


def test_an_undecided_claim_says_how_many_seeds_are_likely_to_settle_it():
    """Against draws of one pair at a time, judged by scipy."""
    stored = np.array([1.4, 0.0, 1.1, 1.9, 0.6])
    random = np.random.default_rng(1)
    settled = dict.fromkeys(LOOKS[2:], 0)
    for _ in range(400):
        sd = stored.std(ddof=1) * np.sqrt(4 / random.chisquare(4))
        mean = random.normal(stored.mean(), sd / np.sqrt(5))
        values = np.concatenate([stored, random.normal(mean, sd, LOOKS[-1] - 5)])
        done = False
        for n in settled:
            p = stats.ttest_1samp(values[:n], 0).pvalue / 2
            done |= p <= ALPHA * SHARES[n]
            settled[n] += done
    likely = next(n for n, count in settled.items() if count >= 320)
    base = np.arange(5.0)
    judged = judge(frame(b=base, a=base + stored), "a > b")
    assert judged.sheet.claims["reason"][0] == f"{likely} seeds are likely to settle it"
    judged = judge(frame(b=base, a=base + stored - 0.9), "a > b")
    assert judged.sheet.claims["reason"][0] == "more seeds may not settle it"


def test_files_and_frames_are_read_alike_with_seeds_by_number_then_by_name(tmp_path):
    text = "seed,row,score\nx,b,5\nx,a,2\n\n10,a,4\n10,b,6\n7,a,1\n7,b,3\n"
    for scores in (read(text, tmp_path), read_scores(pd.read_csv(tmp_path / "scores.csv"))):
        rows = {row: list(values) for row, values in scores.rows.items()}
        assert rows == {"b": [3, 6, 5], "a": [1, 4, 2]}
        assert scores.words == "Read as: 2 rows, 3 seeds, 6 scores"
    named = frame(a=[4, 1, 2], b=[6, 3, 5])  # those that are added come last
    named["seed"] = named["seed"].map(("run10", "run1", "run2").__getitem__)
    assert list(read_scores(named).rows["a"]) == [1, 2, 4]


def test_an_export_in_the_order_of_its_scores_has_no_further_wrong_verdicts(tmp_path):
    """Two equal methods: a verdict on the lines as they stand would be for the first."""
    shift = np.random.default_rng(3).normal(size=(2, 12))
    table = frame(a=shift[0], b=shift[1])
    by_score = table.iloc[np.argsort(-table["score"], kind="stable")]
    verdicts = [judge(scores, "a > b").sheet.claims for scores in (table, by_score)]
    assert verdicts[0].equals(verdicts[1])
    numbered = frame(a=sorted(shift[0].round()), b=shift[1])  # with ties
    assert "a only rises or falls" in str(judge(numbered)) and "rises" not in str(judge(table))


PERCENTS = {
    "SimCSE": [[76.1, 71.0], [75.9, 70.6], [76.4, 71.2], [76.0, 70.9]],
    "Mine": [[77.1, 72.1], [77.0, 71.8], [77.3, 72.0], [76.9, 72.4]],
}


@pytest.mark.parametrize(
    ("of", "named"),
    (
        (np.s_[0], "row SimCSE and seed"),
        (np.s_[:, 1:3], "row SimCSE, Mine and seed 1, 2"),
        (np.s_[:, :, 1], "set SICK-R are fractions"),
        (np.s_[1, 2, 0], "row Mine and seed 2 and set STS-B"),
    ),
)
def test_fractions_beside_percents_are_refused_wherever_they_stand(of, named):
    values = np.array([*PERCENTS.values()])  # (rows, seeds, sets)
    values[of] /= 100
    lines = []
    for (row, seed, place), score in np.ndenumerate(values):
        lines.append((("SimCSE", "Mine")[row], seed, ("STS-B", "SICK-R")[place], score))
    with pytest.raises(UserError, match=named):
        read_scores(pd.DataFrame(lines, columns=["row", "seed", "set", "score"]))


def test_a_set_in_fractions_is_refused_however_it_scatters():
    scores = frame(a=[0.3, 0.55], b=[0.28, 0.5]).assign(set="CoLA")
    percents = scores.assign(set="SST-2", score=[90.1, 92.0, 89.5, 91.7])
    with pytest.raises(UserError, match="set CoLA are fractions"):
        read_scores(pd.concat([scores, percents]))
    chance = scores.assign(score=[0.3, 55.0, 0.28, 50.0])
    assert read_scores(pd.concat([chance, percents])).rows


@pytest.mark.parametrize(
    "row",
    ([0.4, -1.2, 2.1, 0.9], [0.0] * 4, [0.3, 0.8, 0.5, 0.2], [31.2] * 4, [1.1, 76.0, 76.4, 7]),
)
def test_rows_at_chance_collapsed_or_untrained_are_no_other_unit(row):
    read_scores(frame(SimCSE=[76.1, 75.9, 76.4, 76.0], other=row))
    words = read_scores(frame(a=[0.76, 0.75], b=[0.77, 0.79])).words
    assert words.endswith("all from 0 to 1, and so are margins")


@pytest.mark.parametrize("column", ["row", "seed", "score"])
@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_frame_with_a_missing_value_is_refused(column, missing):
    table = frame(a=[1, 2], b=[3, 4]).astype(object)
    table.loc[2, column] = missing
    for scores in (table, table.convert_dtypes()):
        with pytest.raises(UserError, match="row 3"):
            read_scores(scores)


def test_the_mean_over_several_sets_is_judged(tmp_path):
    lines = ["row,seed,set,score"]
    values = np.random.default_rng(5).normal(70, 1, (2, 5, 7))
    for (row, seed, of), value in np.ndenumerate(values):
        lines.append(f"{'ab'[row]},{seed},STS{of},{float(value)!r}")
    scores = read("\n".join(lines), tmp_path)
    assert scores.words == "Read as: 2 rows, 5 seeds, 7 sets of which the mean counts, 70 scores"
    assert np.allclose([scores.rows["a"], scores.rows["b"]], values.mean(-1))


@pytest.mark.parametrize(
    ("scores", "named"), [([76.1] * 5, "Mine"), ([76.1, 75.9, 76.4, 75.2, 76.8], "The difference")]
)
@pytest.mark.parametrize("claim", ["Mine > SimCSE", "Mine = SimCSE within 0.5"])
def test_what_has_no_scatter_has_no_verdict_and_is_named(scores, named, claim):
    """Scores that were copied from another row, with or without a shift, settle nothing."""
    judged = judge(frame(SimCSE=scores, Mine=np.add(scores, 0.3)), claim)
    row = judged.sheet.claims.iloc[0]
    assert row["verdict"] == "no verdict" and f"{named} has no scatter" in row["reason"]
    assert f"{named} has no scatter" in str(judged)


def test_losses_are_shown_by_the_size_of_their_difference():
    a = 0.00031 + 1e-6 * np.arange(5)
    b = 0.00024 + 1.3e-6 * np.arange(5)
    judged = judge(frame(a=a, b=b), "a > b")
    assert "+0.000069" in str(judged) and "points" not in str(judged)
    paired = stats.ttest_rel(a, b).confidence_interval()
    bounds = judged.sheet.comparisons[["ci95_low", "ci95_high"]].to_numpy()[0]
    assert bounds == pytest.approx(tuple(paired))


def test_names_are_compared_in_one_line_and_in_composed_letters(tmp_path):
    long = "".join(
        f'"a\nb",{seed},{76 + seed % 3}\nCafe\u0301,{seed},{77 + seed % 2}\n' for seed in range(3)
    )
    scores = read(f"row,seed,score\n{long}", tmp_path)
    assert list(scores.rows) == ["a b", "Caf\u00e9"]
    judged = judge(tmp_path / "scores.csv", "Caf\u00e9 > a\nb", reference="a  b")
    assert judged.sheet.claims["claim"][0] == "Caf\u00e9 > a b"


@pytest.mark.parametrize(
    "text",
    (
        "",
        LONG + "a,1,7\n",
        LONG + "a,+01,7\nb,+01,8\n",  # the seed 1 twice
        LONG + "b,2,7\n",
        *(LONG.replace("5", score) for score in ("nan", "1e400", "high", "1_0")),
        LONG + "b,2\n",
        "row,seed,score\na,0,1e308\na,1,2e300\nb,0,1e308\nb,1,1e300\n",  # with infinite squares
        "row,seed,score\na,0,1\nb,0,2\n",
        "seed,SimCSE,Mine\n1,76.1,77.1\n2,75.9,76.9\n",
        'row,seed,score\n"a,0,1\n',
        "sep=;\nrow;seed;score\na;0;76,1\n",
        "row,seed,score\na,0,0.7612\na,1,0.7588\nb,0,77.01\nb,1,77.33\n",  # two units
        "row,seed,set,score\na,0,x,1\na,1,x,1\nb,0,x,1\nb,1,y,1\n",
        *(
            "row,seed,set,score\n"
            + "".join(
                f"{row},{seed},{name},7{seed}\n" for row in "ab" for seed in "01" for name in names
            )
            for names in (("STS12", "sts12"), ("STS12", "avg"), ("STS12", "dev"))
        ),
    ),
)
def test_a_bad_table_gets_a_sentence(text, tmp_path, capsys):
    file = tmp_path / "scores.csv"
    file.write_text(text)
    out = tmp_path / "out"
    words = ["judge", str(file), "--claim", "a > b", "--results-dir", str(out)]
    assert run_study.main(words) == 2 and not out.exists()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_folder_that_cannot_be_meant_is_refused_before_the_verdict(tmp_path, capsys):
    file = tmp_path / "scores.csv"
    file.write_text(LONG + "b,2,7\na,2,8\n")
    assert run_study.main(["judge", str(file), "--results-dir", str(file)]) == 2
    assert not capsys.readouterr().out


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
        judge(frame(a=[1, 2], b=[3, 5]), claim)


def test_names_with_signs_and_spaces_are_rows_unless_a_claim_can_be_read_in_two_ways():
    rows = {"K > 5": [1.0, 2.0, 3.0], "K = 5 by hand": [0.0, 0.1, 0.2]}
    judged = judge(frame(**rows), "K > 5 > K = 5 by hand by 0.5")
    (row,) = judged.sheet.comparisons.to_dict("records")
    assert (row["left"], row["right"], row["above"]) == ("K > 5", "K = 5 by hand", 0.5)
    rows = {"a": [1.0, 2.0], "b": [3.0, 5.0], "b by 0.5": [1.0, 4.0]}
    with pytest.raises(UserError, match="several ways"):
        judge(frame(**rows), "a > b by 0.5")


def test_the_command_leaves_table_and_figure(tmp_path, capsys):
    random = np.random.default_rng(1)
    lines = [f"{row},{seed},{70 + random.normal():.3f}" for row in ("=b", "a") for seed in range(5)]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(["row,seed,score", *lines]))
    words = ["judge", str(file), "--claim", "a > =b", "--results-dir", str(tmp_path)]
    for _ in range(2):  # the second time over its own files
        assert run_study.main(words) == 0
    said = capsys.readouterr().out
    assert "a > =b undecided" in said and "\n\n\n" not in said
    labels = re.findall("label{(.*)}", (tmp_path / "scores-judged.tex").read_text())
    assert labels == ["tab:scores-csv"]  # each file has its own
    names = {path.name for path in tmp_path.iterdir()} - {"scores.csv"}
    endings = (".md", ".tex", ".csv", "-claims.csv", "-comparisons.csv", ".png", ".pdf")
    assert names == {f"scores-judged{ending}" for ending in endings}
    table = pd.read_csv(tmp_path / "scores-judged.csv")
    assert list(table["row"]) == ["'=b", "a"]  # no formula in a spreadsheet
    assert (tmp_path / "scores-judged.png").read_bytes().startswith(b"\x89PNG")
    other = tmp_path / "other" / "scores.csv"
    other.parent.mkdir()
    other.write_text(file.read_text())
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert run_study.main(["judge", str(other), *words[2:]]) == 2  # of another input
    (other.parent / "scores-judged.pdf").write_text("a user's own")
    assert run_study.main(["judge", str(other), "--results-dir", str(other.parent)]) == 2
    assert capsys.readouterr().err.count("is not of") == 2
    assert before == {path: path.read_bytes() for path in before}
    assert len([*other.parent.iterdir()]) == 2
