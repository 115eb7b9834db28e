"""What docs/findings.md and core/mini/README.md say of MoCoSE on English is what the published runs say."""

import re

import pandas as pd
import pytest
from places import ROOT
from said import FINDINGS, PUBLISHED, README, says, scores
from scipy import stats

from core.store.store import Store
from studies import find

TEXT = " ".join(
    FINDINGS[FINDINGS.index("## On English: MoCoSE does not learn enough") : FINDINGS.index("## On a made-up language\n")].split()
)
MINI = " ".join((ROOT / "core" / "mini" / "README.md").read_text().split())
COMPARABILITY = {
    profile: pd.read_csv(PUBLISHED / "mini" / profile / "comparability.csv", index_col="study") for profile in ("repaired", "released")
}


def gain(profile: str, study: str, row: str) -> pd.Series:
    """Points above the untrained [CLS] by seed."""
    runs = pd.read_csv(PUBLISHED / "mini" / profile / f"{study}_runs.csv", dtype=str)
    rows = Store(ROOT / "none", PUBLISHED).load_published(runs.dropna(subset="value")["run_id"].iloc[0]).rows
    untrained = rows[(rows["checkpoint"] == "untrained") & (rows["metric"] == "spearman_all") & (rows["task"] == "avg")]
    assert len(untrained) == 1
    return scores(study, 1.0, "avg", profile)[row].dropna() - untrained["value"].iloc[0]


def test_the_references_of_tables_5_and_8_gain_what_is_said():
    said = re.search(r"lies on the other side: (\S+ ± \S+) under `released` \(3 seeds\) and (\S+) under `repaired` \(one\)", TEXT).groups()
    assert says(f"{said[0]} (3)", gain("released", "mocose-table5", "Dropout only"))
    assert float(said[1]) == round(gain("repaired", "mocose-table5", "Dropout only").mean(), 1)
    eights = [gain(profile, "mocose-table8", "256~768").mean() for profile in ("released", "repaired")]
    assert "gains {:.1f} and {:.1f} (one run each)".format(*eights) in TEXT
    fives = [gain(profile, "mocose-table5", "Dropout only").mean() for profile in ("repaired", "released")]
    assert "reaches it: {:.2f} (one seed) and {:.2f} ±".format(*fives) in MINI and "{1:.2f} and {0:.2f} (one each)".format(*eights) in MINI
    for profile, comparable in COMPARABILITY.items():
        assert comparable.loc["mocose-table8", "comparable"] == "no" and comparable.loc["mocose-table5", "comparable"] == "yes", profile


def test_what_is_said_of_table_1_and_figure_7_under_released_is_published():
    found = scores("mocose-table1", 1.0, "avg", "released")
    gained, below = re.search(r"`released` gains (\S+ ± \S+) and .* lies (\S+ ± \S+) points below SimCSE", TEXT).groups()
    assert says(f"{gained} (3)", gain("released", "mocose-table1", "MoCoSE-BERT-base"))
    assert says(f"{below} (3)", (found["SimCSE-BERT-base"] - found["MoCoSE-BERT-base"]).dropna())
    claims = pd.read_csv(PUBLISHED / "mini" / "released" / "claims.csv").set_index("claim")["verdict"]
    assert claims[["T1.1", "F7.1", "F7.2"]].tolist() == ["undecided", "contradicted", "equivalent"]
    spectrum = pd.read_csv(PUBLISHED / "mini" / "released" / "mocose-figure7.csv").set_index(["model", "measure"])["mean"]
    shares = [spectrum[model, "share at 50"] for model in ("MoCoSE", "SimCSE", "MoCoSE", "BERT")]
    assert [f"{share:.3f}" for share in shares] == list(
        re.search(r"share of (\S+) of .* against (\S+)\), and .*: (\S+) against (\S+?), and", TEXT).groups()
    )
    assert all(spectrum[model, "share at 100"] == pytest.approx(0.058, abs=0.0006) for model in ("MoCoSE", "BERT"))


def test_what_is_said_of_one_configuration_under_many_seeds_is_published():
    (values,) = scores("noise", 1.0, "avg", "paper").values()
    gained = gain("paper", "noise", "standard")
    assert says(
        re.search(r"lies (\S+ ± \S+) points above the untrained \[CLS\] under `paper` \(constant; 24 seeds", TEXT)[1] + " (24)", gained
    )
    half = stats.t.isf(0.025, 23) * gained.std() / 24**0.5
    assert len(values) == 24 and f"{gained.mean():.2f} ± {half:.2f} points above the untrained [CLS] on the tests (24 seeds)" in MINI
    said = re.search(r"standard deviation of (\S+) on the tests, and its worst and best run lie (\S+) points apart", TEXT).groups()
    assert (
        said == (f"{values.std():.2f}", f"{values.max() - values.min():.1f}")
        and f"and {values.std():.2f} over 24 with the constant decay" in MINI
    )
    eight = find("noise").cells[0].published_runs
    assert f"lie within {max(eight) - min(eight):.1f}" in TEXT
    spread = pd.Series(eight).std()
    assert (
        f"eight values have a standard deviation of {spread:.2f}, and means of three runs have it where single ones have {spread * 3**0.5:.2f}"
        in TEXT
    )
    apart = stats.norm.isf(0.025) * values.std() * (2 / 3) ** 0.5  # two means of three
    assert f"lie up to {apart:.1f} apart" in TEXT
    differences = []
    for name in ("table3", "table4", "table5", "table6a", "table6b", "table7", "table8", "table9"):
        printed = {cell.labels: cell.published for cell in find(name).cells if cell.published is not None}
        differences += [abs(value - printed[find(name).reference]) for labels, value in printed.items() if labels != find(name).reference]
    near = sum(difference < apart for difference in differences)
    assert f"spread over {values.max() - values.min():.1f} points. Two means of three such runs lie up to {apart:.1f} apart" in README
    assert f"and {near} of the {len(differences)} rows of its Tables 3 to 9" in README
    assert f"Of the {len(differences)} rows that its tables print beside a reference {near} lie as near" in FINDINGS
    assert f"of the {len(differences)} rows that its Tables 3 to 9 print beside their reference, {near} lie so near to it" in TEXT
