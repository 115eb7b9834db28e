"""What docs/findings.md and README say of the made-up language, by profile and of longer runs, is what the published runs say."""

import re

import pandas as pd
from published_runs import published_runs
from said import FINDINGS, PUBLISHED, README, agrees, rows, says

from studies.mocose.figure5 import BARE, HEALTHY, KEPT
from studies.own.collapse import SETTINGS

SETTLED = ("supported", "contradicted", "equivalent")
PROFILES = ("paper", "repaired", "released")
CELLS = {"F5.3": "no predictor, decay of 0", "F6.1": "predictor, decay of 0", "F5.4": "standard"}
DEMO = pd.read_csv(PUBLISHED / "claims.csv").query("scale == 'demo'").set_index(["claim", "profile"])


def collapsed(claim, profile):
    """The share of runs that collapse, in %, and their number; F5.4 asks for the others."""
    row = DEMO.loc[(claim, profile)]
    share = 0.5 + float(row["effect_now"]) * (-1 if claim == "F5.4" else 1)
    return round(100 * share), int(row["n_now"])


def test_the_shares_of_runs_that_collapse_are_the_published_ones():
    table = rows(FINDINGS, "vectors that collapse")
    assert [name.strip("`") for name in table] == list(PROFILES)
    for profile in PROFILES:
        for entry, claim in zip(table[f"`{profile}`"], CELLS, strict=True):
            share, n, said = re.fullmatch(r"(\d+) % \((\d+)\)(?:, (contradicted|open) ?.*)?", entry).groups()
            assert (int(share), int(n)) == collapsed(claim, profile), (claim, profile)
            assert said is None or DEMO.loc[(claim, profile), "verdict"] == {"open": "undecided"}.get(said, said)
    said = re.search(
        r"in (\d+) of (\d+) and (\d+) of (\d+) runs, and not in .*?, in (\d+) of (\d+) and (\d+) of (\d+) runs", " ".join(README.split())
    )
    counted = [collapsed(claim, profile) for profile in PROFILES[:2] for claim in ("F5.3", "F6.1")]
    assert [(round(100 * int(k) / int(n)), int(n)) for k, n in zip(said.groups()[::2], said.groups()[1::2], strict=True)] == counted


def vectors(folder):
    """Mean cosine and effective rank at the last checkpoint of the runs of `collapse`."""
    runs = published_runs(*folder.parts[-2:], "collapse")
    last = runs[(runs["checkpoint"] == "last") & runs["metric"].isin(["mean_cosine", "effective_rank"])]
    return last.pivot_table(index=["setting", "negatives", "seed"], columns="metric", values="value")


def fell(folder):
    """How many runs of `collapse` have collapsed, of how many, by setting and negatives: as `core.report.quantities` asks it."""
    by = vectors(folder)
    return ((by["mean_cosine"] > 0.95) | (by["effective_rank"] < 2)).groupby(["setting", "negatives"]).agg(["sum", "count"])


def test_the_collapse_by_where_negatives_come_from_is_the_published_one():
    table = rows(FINDINGS, "collapse by D1")
    for profile in PROFILES:
        fallen = fell(PUBLISHED / "demo" / profile)
        cells = [(setting, negatives) for setting in SETTINGS for negatives in ("queue", "queue and batch")]
        assert table[f"`{profile}`"] == ["{} of {}".format(*fallen.loc[cell]) for cell in cells]
    cosines = vectors(PUBLISHED / "demo" / "released")["mean_cosine"].loc["standard", "queue"]
    assert f"with mean cosines of {cosines.min():.2f} to {cosines.max():.2f}." in FINDINGS


def test_claims_that_are_alike_under_all_profiles_and_those_that_are_not_are_counted():
    verdicts = DEMO["verdict"].unstack()[list(PROFILES)]
    alike = set(verdicts.index[verdicts["paper"].isin(SETTLED) & verdicts.eq(verdicts["paper"], axis=0).all(axis=1)])
    differ = {key for key, row in verdicts.iterrows() if len(set(row) & set(SETTLED)) > 1}
    listed = {key for name in rows(FINDINGS, "claim") for key in name.split(", ")}
    assert len(alike) == 17 and alike == listed and "Seventeen come out alike" in FINDINGS and "Seventeen come out alike" in README
    assert differ == {"F5.3", "F6.1"} and list(verdicts.loc["F5.3"][:2]) == list(verdicts.loc["F6.1"][:2]) == ["supported", "contradicted"]


def test_the_spread_of_seeds_is_the_published_one():
    finding = pd.read_csv(PUBLISHED / "noise.csv").query("scale == 'demo' and profile == 'paper'")["finding"].iloc[0]
    n, sd, spread = re.search(r"under (\d+) seeds .* deviation of (\S+); .* differ by (\S+)\.$", finding).groups()
    said = re.search(r"over (\S+) points \((\d+) seeds, standard deviation (\S+)\)", FINDINGS).groups()
    assert said == (f"{float(spread):.1f}", n, f"{float(sd):.1f}")


def test_the_queue_of_table_7_in_longer_runs_is_the_published_one():
    folder = PUBLISHED / "long" / "paper"
    runs = published_runs(*folder.parts[-2:], "mocose-table7", dtype={"queue_size": str})
    runs = runs[(runs["checkpoint"] == "selected") & (runs["task"] == "avg") & (runs["metric"] == "spearman_all")]
    printed = pd.read_csv(folder / "mocose-table7.csv", dtype={"queue_size": str}).groupby("queue_size")["printed"].mean()
    table = rows(FINDINGS, "queue")
    for ours, paper, queue in zip(table["ours"], table["the paper"], ("128", "256", "512", "1024", "4096"), strict=True):
        cells = runs[runs["queue_size"] == queue].pivot(index="seed", columns="initial_fill", values="value")
        assert cells.shape[1] == 4 and says(ours, cells.dropna().mean(axis=1)), queue
        assert abs(float(paper) - printed[queue]) < 0.00501, queue


def test_the_decays_of_table_3_in_longer_runs_are_the_published_ones():
    found = pd.read_csv(PUBLISHED / "long" / "paper" / "mocose-table3.csv", index_col=0)
    table = rows(FINDINGS, "constant decay")
    for ours, paper, row in zip(table["ours"], table["the paper"], found.itertuples(), strict=True):
        assert agrees(ours, row.mean, row.interval_low, row.n) and paper == f"{row.printed:.2f}", row.Index
    means, printed = found["mean"].drop(0.5), found["printed"].drop(0.5)
    assert means.max() - means.min() < 3 and printed.max() - printed.min() < 1.5
    assert means.idxmax() != 0.85 == printed.idxmax() and abs(means[0.99] - means[0.85]) < 0.2
    verdicts = pd.read_csv(PUBLISHED / "long" / "paper" / "claims.csv").set_index("claim")["verdict"]
    assert set(verdicts[["T3.1", "T3.2", "T3.3"]]) == {"undecided"}


def test_the_verdicts_in_longer_runs_are_those_listed_and_what_token_dropout_costs_is_published():
    folder = PUBLISHED / "long" / "paper"
    claims = pd.read_csv(folder / "claims.csv").set_index("claim")
    settled = set(claims.index[claims["verdict"].isin(SETTLED)])
    assert set(rows(FINDINGS, "claim, in longer runs")) == settled and len(settled) == 14 and "Fourteen claims have a verdict" in FINDINGS
    row, table = claims.loc["T5.2"], pd.read_csv(folder / "mocose-table5.csv", index_col=0)
    said = re.search(r"scores (\S+) lower \((\d+) seeds; tested from (\S+) higher to (\S+) lower\), printed (\S+) lower", FINDINGS).groups()
    less = table.loc["Token dropout 0.1", "difference"], table.loc["Token dropout 0.1", "printed"] - table.loc["Dropout only", "printed"]
    # the claim asks for less than a point above
    assert said == (f"{-less[0]:.1f}", str(row["n"]), f"{1 - row['low']:.1f}", f"{row['high'] - 1:.1f}", f"{-less[1]:.1f}")


def test_what_is_said_of_collapse_in_longer_runs_is_published():
    folder = PUBLISHED / "long" / "paper"
    fallen, last = fell(folder), pd.read_csv(folder / "collapse.csv").set_index(["setting", "negatives"]).loc[(BARE, "queue and batch")]
    alone = [fallen.loc[setting, "queue"].tolist() for setting in (BARE, KEPT, HEALTHY)]
    assert alone == [[17, 18], [12, 12], [0, 12]]
    for said in ("they do in 17 of 18 runs |", "they do in none of 12 runs |", "they do in all of 12 runs |"):
        assert said in FINDINGS
    assert [fallen.loc[setting, "queue and batch"].tolist() for setting in (BARE, KEPT)] == [[0, 3], [2, 3]]
    end = re.search(r"they collapse in none of the runs without the predictor, which end at (\S+ ± \S+), and in two with it", FINDINGS)[1]
    assert agrees(f"{end} (3)", last["mean"], last["interval_low"], last["n"])
    figure = pd.read_csv(folder / "mocose-figure5.csv").set_index(["setting", "measure"])["mean"]
    late = re.search(r"over the last third it moves by (\S+) points, and without the predictor by (\S+) \(12 seeds\)", FINDINGS).groups()
    assert late == tuple(f"{figure[setting, 'late range']:.1f}" for setting in (KEPT, BARE))
    assert f"contradicted, it ends at {figure[BARE, 'last']:.1f}, above the five points that we allow (18 seeds)" in FINDINGS
    runs = published_runs(*folder.parts[-2:], "mocose-figure5", dtype=str)
    curves = pd.read_csv(PUBLISHED / "curves.csv").set_index("run_id")["development_score"]
    ends = [curves.loc[name].iloc[-1] for name in runs.loc[runs["setting"] == KEPT, "run_id"].unique()]
    assert len(ends) == 12 and max(ends) < 42.35
    assert f"every run ends below the start, at {min(ends):.0f} to {max(ends):.0f}." in FINDINGS


def test_how_many_runs_come_back_from_their_lowest_in_longer_runs_is_what_the_curves_say():
    runs = published_runs("long", "paper", "mocose-figure5", dtype=str)
    names = runs.loc[runs["setting"] == "no predictor, η = 0", "run_id"].unique()
    curves = pd.read_csv(PUBLISHED / "curves.csv").set_index("run_id")
    trained = [curves.loc[name].query("step > 0")["development_score"] for name in names]
    back = [score.iloc[-1] - score.min() for score in trained]
    assert len(back) == 18 and all(score.iloc[0] == score.max() for score in trained)
    far = [points for points in back if points > 10]
    assert len(far) == 10 and (round(min(far)), round(max(far))) == (11, 22)
    assert "in ten of the eighteen comes back by 11 to 22 points from its lowest" in FINDINGS
