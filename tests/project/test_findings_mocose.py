"""What docs/findings.md and core/mini/README.md say of MoCoSE on English is what the published runs say."""

import re

import pandas as pd
import pytest
from places import ROOT
from published_runs import published_runs
from said import FINDINGS, PUBLISHED, README, rows, says, scores
from scipy import stats

from core.spec.scale import SCALES
from core.store.store import Store
from studies import find
from studies.own.collapse import SETTINGS

TEXT = " ".join(
    FINDINGS[FINDINGS.index("## On English: MoCoSE does not learn enough") : FINDINGS.index("## On a made-up language\n")].split()
)
MINI = " ".join((ROOT / "core" / "mini" / "README.md").read_text().split())
COMPARABILITY = {
    profile: pd.read_csv(PUBLISHED / "mini" / profile / "comparability.csv", index_col="study") for profile in ("repaired", "released")
}


def gain(profile: str, study: str, row: str) -> pd.Series:
    """Points above the untrained [CLS] by seed."""
    runs = published_runs("mini", profile, study, dtype=str)
    stored = Store(ROOT / "none", PUBLISHED).load_published(runs.dropna(subset="value")["run_id"].iloc[0]).rows
    untrained = stored[(stored["checkpoint"] == "untrained") & (stored["metric"] == "spearman_all") & (stored["task"] == "avg")]
    assert len(untrained) == 1
    return scores(study, 1.0, "avg", profile)[row].dropna() - untrained["value"].iloc[0]


def learnt(profile: str, study: str) -> float:
    """The gain that a study's reasons name."""
    return float(re.search(r"is ([+−][0-9.]+) points", COMPARABILITY[profile].loc[study, "reasons"])[1].replace("−", "-"))


def test_the_references_of_tables_5_and_8_and_figure_4_gain_what_is_said():
    profiles = ("repaired", "released")
    fives = [gain(profile, "mocose-table5", "Dropout only") for profile in profiles]
    said = re.search(
        r"gains (\S+ ± \S+) under `repaired` and lies on the other side under `released` with (\S+ ± \S+) \(3 seeds each\)", TEXT
    )
    said_mini = re.search(r"does under `released` with (\S+ ± \S+), not under `repaired` with (\S+ ± \S+) \(3 each\)", MINI)
    for values, entry, in_mini in zip(fives, said.groups(), reversed(said_mini.groups()), strict=True):
        assert says(f"{entry} (3)", values) and says(f"{in_mini} (3)", values)
    eights = [gain(profile, "mocose-table8", "256~768").mean() for profile in profiles]
    fours = [learnt(profile, "mocose-figure4") for profile in profiles]
    assert (
        "gains {1:.1f} and {0:.1f}, and Figure 4's".format(*eights) in TEXT and "does not: {:.2f} and {:.2f}; nor".format(*eights) in MINI
    )
    assert (
        "queue of 2,048, {1:.1f} and {0:.1f} (".format(*fours) in TEXT and "queue of 2,048: {:.2f} and {:.2f} (one".format(*fours) in MINI
    )
    comparable = [
        [found.loc[study, "comparable"] for study in ("mocose-table5", "mocose-table8", "mocose-figure4")]
        for found in COMPARABILITY.values()
    ]
    assert comparable == [["no", "no", "no"], ["yes", "no", "no"]]


def test_what_is_said_of_table_1_and_figure_7_under_released_is_published():
    def below(task: str, profile: str) -> pd.Series:
        found = scores("mocose-table1", 1.0, task, profile)
        return (found["SimCSE-BERT-base"] - found["MoCoSE-BERT-base"]).dropna()

    gained, lacks, least, most, by = re.search(
        r"`released` gains (\S+ ± \S+) and .* lies (\S+ ± \S+) points below SimCSE, .* from (\S+) on SICK-R to (\S+) on STS16\. .*"
        r" \(T1\.3\) is supported, by (\S+) where 1\.0",
        TEXT,
    ).groups()
    gains = gain("released", "mocose-table1", "MoCoSE-BERT-base")
    assert says(f"{gained} (5)", gains) and (gains > 5).sum() == 2
    assert says(f"{lacks} (5)", below("avg", "released"))
    sets = {name: below(name, "released").mean() for name in SCALES["mini"].tests}
    assert (f"{min(sets.values()):.1f}", f"{max(sets.values()):.1f}", f"{sets['STS13']:.1f}") == (least, most, by)
    assert (min(sets, key=sets.get), max(sets, key=sets.get)) == ("SICK-R", "STS16")
    others = re.search(r"under `paper` it is (\S+ ± \S+), under `repaired` (\S+ ± \S+?)\. ", TEXT).groups()
    assert all(says(f"{entry} (5)", below("avg", profile)) for entry, profile in zip(others, ("paper", "repaired"), strict=True))
    told = re.search(r"gains just that, (\S+ ± \S+), .* lies (\S+ ± \S+) below SimCSE .* with (\S+ ± \S+)\.", README).groups()
    assert told == (gained, lacks, others[0])
    claims = pd.read_csv(PUBLISHED / "mini" / "released" / "claims.csv").set_index("claim")["verdict"]
    assert claims[["F7.1", "F7.2", "T1.3"]].tolist() == ["contradicted", "equivalent", "supported"]
    assert set(claims[["T1.1", "T1.2", "T1.6", "T1.8"]]) == {"contradicted"}
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
    assert f"and {near} of the {len(differences)} numbers that its Tables 3 to 9 print" in README
    assert f"Of the {len(differences)} numbers that its Tables 3 to 9 print beside a reference {near} lie as near" in FINDINGS
    assert f"of the {len(differences)} numbers that its Tables 3 to 9 print beside a reference, {near} lie so near to it" in TEXT


def test_the_references_that_ran_once_to_be_ruled_out_gain_what_is_said():
    said = re.search(
        r"queue of 4,096, gains (\S+) and that of the K-means slide (\S+); under `released` that of the deviation D21 gains (\S+) \(", TEXT
    )
    places = (("paper", "mocose-figure12"), ("paper", "mocose-kmeans"), ("released", "deviations-d21"))
    for entry, (profile, study) in zip(said.groups(), places, strict=True):
        row = pd.read_csv(PUBLISHED / "mini" / profile / "comparability.csv", index_col="study").loc[study]
        assert row["comparable"] == "no" and "n = 1" in row["reasons"] and entry == f"{row['gain']:.1f}"


def test_what_is_said_of_table_2_under_paper_is_published():
    found = pd.read_csv(PUBLISHED / "mini" / "paper" / "mocose-table2.csv")
    found = found[(found["reported"] == "test") & (found["task"] == "avg")].set_index("model")
    rows_said = ("Avg. BERT embeddings", "BERT-[CLS] embedding", "MoCoSE-BERT-base", "SimCSE-BERT-base")
    said = re.search(
        r"in (\S+) % on the untrained first-last average, in (\S+) % on the untrained \[CLS\], (\S+) % on MoCoSE and (\S+) % on SimCSE",
        TEXT,
    ).groups()
    assert said == tuple(f"{found.loc[name, 'mean']:.1f}" for name in rows_said) and set(found.loc[list(rows_said), "n"]) == {1}
    comparability = pd.read_csv(PUBLISHED / "mini" / "paper" / "comparability.csv", index_col="study")["comparable"]
    assert comparability["mocose-table1"] == comparability["mocose-table2"] == "no"


def test_what_is_said_of_table_5_under_released_is_published():
    found = published_runs("mini", "released", "mocose-table5")
    found = found[(found["task"] == "avg") & (found["metric"] == "spearman_all")]
    by = {names: some.set_index("seed")["value"] for names, some in found.groupby(["augmentation", "checkpoint"])}
    said = rows(FINDINGS, "added to dropout, as the code has it")
    printed = {cell.labels[0]: cell.published for cell in find("mocose-table5").cells if cell.published is not None}
    assert set(said) == {name for name, _ in by} - {"Dropout only"}
    for name, (*ours, paper, steps) in said.items():
        for entry, checkpoint in zip(ours, ("selected", "last"), strict=True):
            assert says(entry, (by[name, checkpoint] - by["Dropout only", checkpoint]).dropna()), (name, checkpoint)
        assert float(paper.replace("−", "-")) == pytest.approx(printed[name] - printed["Dropout only"]), name
        taken = sorted(found[(found["augmentation"] == name) & (found["checkpoint"] == "selected")]["step"].astype(int))
        assert steps == " to ".join(f"{step:,}" for step in sorted({taken[0], taken[-1]})), name
    chosen, last = (
        sorted((some.mean(), name) for (name, where), some in by.items() if where == checkpoint) for checkpoint in ("selected", "last")
    )
    assert {name for _, name in chosen[-2:]} == {name for _, name in last[:2]} == {"Typos", "Synonym replace"}
    claims = pd.read_csv(PUBLISHED / "mini" / "released" / "claims.csv").set_index("claim")["verdict"]
    assert claims["T5.5"] == "contradicted"
    assert set(claims[["T5.1", "T5.2", "T5.3", "T5.4", "T5.6"]]) == {"undecided"}


def test_what_is_said_of_collapse_is_published():
    found = published_runs("mini", "paper", "collapse").query("checkpoint == 'last'")
    by = found.pivot_table(index="seed", columns=["setting", "negatives", "metric"], values="value")
    table = rows(FINDINGS, "at the end, on English")
    alone, above = table["development score, queue alone (eq. 3)"], table["queue and batch (as in the code), above that"]
    scored = found.query("task == 'dev' and metric == 'spearman_all'").pivot_table(
        index="seed", columns=["setting", "negatives"], values="value"
    )
    for setting, first, second in zip(SETTINGS, alone, above, strict=True):
        assert says(first, scored[setting, "queue"].dropna()), setting
        assert says(second, (scored[setting, "queue and batch"] - scored[setting, "queue"]).dropna()), setting
    cosines, ranks = (by.xs(metric, axis=1, level="metric") for metric in ("mean_cosine", "effective_rank"))
    count, bound = re.search(r"In none of the (\d+) runs does the mean cosine of distinct sentences come above (\S+),", TEXT).groups()
    assert cosines.count().sum() == ranks.count().sum() == int(count)
    assert float(bound) - 0.01 < cosines.max().max() <= float(bound) and ranks.min().min() > 2
    gains = [gain("paper", "collapse", f"standard/{negatives}") for negatives in ("queue and batch", "queue")]
    said = "gains {:.2f} points over the untrained [CLS] on the tests ({} seeds), with the queue's alone {:.2f} ({})"
    assert said.format(gains[0].mean(), len(gains[0]), gains[1].mean(), len(gains[1])) in TEXT
