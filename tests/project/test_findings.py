"""README and docs/findings.md say what the published results say: counts, and every entry of their tables of numbers."""

import re

import pandas as pd
import pytest
from places import ROOT
from published_runs import published_runs
from said import FINDINGS, PUBLISHED, README, agrees, rows, says, scores
from scipy import stats

from core.spec.scale import DEMO, LONG, MINI
from core.store.store import Store
from studies import find
from studies.own.collapse import SETTINGS

CLAIMS, RELEASED = (
    pd.read_csv(PUBLISHED / "claims.csv").query(f"scale == 'mini' and profile == '{profile}'").set_index("claim")
    for profile in ("paper", "released")
)
EDITIONS = pd.read_csv(PUBLISHED / "editions.csv").set_index(["scale", "profile"])
CUT_AGAIN = ("deviations-esimcse", "D62 cut again at 32")


def test_an_entry_that_differs_is_seen():
    assert agrees("−0.5 ± 0.3 (12)", -0.5459, -0.8875, 12) and agrees("24.0 ± 2.8 (18 seeds)", 23.9712, 21.2132, 18)
    assert not agrees("−0.5 ± 0.4 (12)", -0.5459, -0.8875, 12) and not agrees("−0.5 (11)", -0.5459, -0.8875, 12)
    assert not agrees("+0.5 (12)", -0.5459, -0.8875, 12)


@pytest.mark.parametrize("scale", ["demo", "long", "mini"])
def test_counts_are_those_of_the_page(scale):
    """Each count that README says of profile `paper` is the published one."""
    row = EDITIONS.loc[scale, "paper"]
    said = re.search(
        rf"\(`{scale}`, profile `paper`\): of (\d+) claims (\d+) are supported, (\d+) contradicted, (\d+) equivalent \(within (?:its|their) margins?\), "
        r"(\d+) undecided, (\d+) not run, (\d+) not comparable",
        " ".join(README.split()),
    )
    assert said, f"README says no counts of scale {scale}"
    names = ("claims", "supported", "contradicted", "equivalent", "undecided", "not_run", "not_comparable")
    assert [int(number) for number in said.groups()] == [row[name] for name in names]


def test_the_number_of_runs_is_the_published_one():
    store = Store(PUBLISHED / "none", PUBLISHED)
    for scale in (DEMO, LONG, MINI):
        runs = [store.load(run).config for run in store.runs() if store.scale_of_pack(run) == scale.name]
        own = [run for run in runs if run.train.learning_rate == pytest.approx(scale.rate(run.method))]
        said = re.search(rf"(\d+) runs at scale `{scale.name}`, (\d+) of them at other learning rates", " ".join(FINDINGS.split()))
        assert [int(number) for number in said.groups()] == [len(runs), len(runs) - len(own)]


def test_the_table_by_learning_rate_is_what_the_published_runs_say():
    cells = ("unsup-SimCSE", "+word repetition", "+momentum contrast", "ESimCSE")
    table = rows(FINDINGS, "learning rate")
    for name, factor in (("a third, 1e-4", 1 / 3), ("the scale’s, 3e-4", 1.0), ("three times, 9e-4", 3.0)):
        found = scores("esimcse-table7", factor, "avg")
        for place, cell in enumerate(cells):
            assert says(table[name][place], (found[cell] - (found[cells[0]] if place else 0)).dropna()), (name, cell)


def test_the_table_of_negatives_is_the_published_one():
    cells = [f"{setting}/{negatives}" for setting in SETTINGS for negatives in ("queue", "queue and batch")]
    for name, entries in rows(FINDINGS, "decay of 0").items():
        found = pd.read_csv(PUBLISHED / "demo" / name.strip("`") / "collapse.csv")
        by_label = {"/".join(map(str, row[:2])): row for row in found.itertuples(index=False)}
        for entry, cell in zip(entries, cells, strict=True):
            row = by_label[cell]
            assert agrees(entry, row.mean, row.interval_low, row.n), (name, cell)


@pytest.mark.parametrize(
    "first, study",
    [
        ("dropout", "esimcse-table8"),
        ("queue, in batches", "esimcse-table11"),
        ("lengthening", "esimcse-table10"),
        ("batch", "esimcse-figure2"),
    ],
)
def test_the_tables_of_single_studies_are_the_published_ones(first, study):
    found = pd.read_csv(PUBLISHED / "mini" / "paper" / f"{study}.csv")
    table = rows(FINDINGS, first)
    for entry, row in zip(table["ours"], found.itertuples(), strict=True):
        assert agrees(entry, row.mean, row.interval_low, row.n)
    printed = found["printed"].dropna().tolist()
    assert [float(number) for number in table.get("the paper", [])] == printed


def test_the_loss_by_dropout_at_other_rates_is_what_the_published_runs_say():
    for entry, factor in zip(rows(FINDINGS, "0.15 against 0.1")["ours"], (1 / 3, 1.0, 3.0), strict=True):
        found = scores("esimcse-table8", factor, "dev")
        assert says(entry, (found["0.15"] - found["0.1"]).dropna()), factor


def test_the_curves_by_lengthening_are_those_of_the_published_runs():
    store = Store(ROOT / "none", PUBLISHED)
    stored = published_runs("mini", "paper", "esimcse-table10")
    names = ("none", "stop-words", "[MASK]", "word repetition", "sub-word repetition")
    for step, entries in rows(FINDINGS, "step").items():
        for entry, name in zip(entries, names, strict=True):
            ids = stored[stored["lengthening"] == name]["run_id"].unique()
            curves = pd.concat([store.load_published(run).rows for run in ids])
            at = curves[
                (curves["checkpoint"] == "curve") & (curves["metric"] == "spearman_all") & (curves["step"] == int(step.replace(",", "")))
            ]
            assert agrees(entry, at["value"].mean(), at["value"].mean(), len(at)), (step, name)


def test_lengthening_at_other_rates_is_what_the_published_runs_say():
    for place, factor in enumerate((1 / 3, 1.0, 3.0)):
        for name, entries in rows(FINDINGS, "above SimCSE (none), by rate").items():
            found = scores("esimcse-table10", factor, "avg" if name.startswith("tests") else "dev")
            assert says(entries[place], (found[name.removeprefix("tests, ")] - found["none"]).dropna()), (name, factor)


OF_README = (  # the row that it is subtracted from, or none: then the row is a level
    ("**SimCSE**, seven STS test sets", "esimcse-table7", "avg", "unsup-SimCSE", ""),
    ("+ repetition of sub-words", "esimcse-table7", "avg", "+word repetition", "unsup-SimCSE"),
    ("+ momentum queue", "esimcse-table7", "avg", "+momentum contrast", "unsup-SimCSE"),
    ("+ both, which is ESimCSE", "esimcse-table7", "avg", "ESimCSE", "unsup-SimCSE"),
    ("**SimCSE**, development set", "esimcse-table10", "dev", "none", ""),
    ("ESimCSE, whole words repeated", "esimcse-table10", "dev", "word repetition", "none"),
    ("ESimCSE, [MASK] inserted", "esimcse-table10", "dev", "[MASK]", "none"),
    ("ESimCSE, stop-words inserted", "esimcse-table10", "dev", "stop-words", "none"),
    ("**ESimCSE**, development set, dropout 0.1", "esimcse-table8", "dev", "0.1", ""),
    ("dropout 0.15", "esimcse-table8", "dev", "0.15", "0.1"),
    ("dropout 0.2", "esimcse-table8", "dev", "0.2", "0.1"),
)


@pytest.mark.parametrize("name, study, task, row, base", OF_README, ids=[row[0] for row in OF_README])
def test_the_table_of_the_readme_is_what_papers_runs_and_verdicts_say(name, study, task, row, base):
    paper, ours, verdict = rows(README, "English, in points")[name]
    printed = {cell.labels[0]: cell.published for cell in find(study).cells if cell.labels[1:] in ((), (task,))}
    assert float(paper.replace("−", "-")) == pytest.approx(printed[row] - (printed[base] if base else 0))
    found = scores(study, 1.0, task)
    assert says(ours, (found[row] - (found[base] if base else 0)).dropna())
    if base:
        key, outcome = re.fullmatch(r"(E\d+\.\d(?: \(BERT-base\))?)(?: .|,) (\w+)", verdict).groups()
        assert CLAIMS.loc[key, "verdict"] == {"open": "undecided"}.get(outcome, outcome)
    assert len(rows(README, "English, in points")) == len(OF_README)


def test_verdicts_in_the_text_on_english_are_the_published_ones():
    part = FINDINGS[FINDINGS.index("## On English: what ESimCSE") : FINDINGS.index("## Before any training")]
    said = re.findall(r"\((E\S+(?: \(BERT-base\))?), (supported|contradicted|open)(?! with three seeds)", part)
    assert len(said) >= 5
    for key, given in said:  # of the length bias's direction the runs under `released` alone hold the number
        assert (RELEASED if key in ("E1.3", "E1.4") else CLAIMS).loc[key, "verdict"] == {"open": "undecided"}.get(given, given), key
    low, high = re.search(r"\(E1\.1, supported\s+with eight seeds, tested from (\S+) to (\S+);", part).groups()
    row = CLAIMS.loc["E1.1"]
    assert [f"{row[name]:.1f}" for name in ("low", "high")] == [low, high] and row["n"] == 8


def test_the_paired_differences_by_lengthening_are_those_of_the_published_runs():
    def of_row(study, row, task):
        runs = published_runs("mini", "paper", study)
        chosen = runs[
            (runs.iloc[:, 0] == row) & (runs["checkpoint"] == "selected") & (runs["task"] == task) & (runs["metric"] == "spearman_all")
        ]
        return chosen.set_index("seed")["value"]

    beside = {"SimCSE": ("esimcse-table10", "none"), "queue": ("esimcse-table6", "+momentum contrast")}
    for name, entries in rows(FINDINGS, "lengthening, paired").items():
        task = "avg" if name.startswith("tests") else "dev"
        base = of_row(*beside["queue" if "queue" in name else "SimCSE"], task)
        lengthened = [
            *(("esimcse-table10", row) for row in ("stop-words", "[MASK]", "word repetition")),
            CUT_AGAIN,
            ("esimcse-table10", "sub-word repetition"),
        ]
        for entry, row in zip(entries, lengthened, strict=True):
            difference = (of_row(*row, task) - base).dropna()
            half = stats.t.isf(0.025, len(difference) - 1) * difference.std() / len(difference) ** 0.5
            assert agrees(entry, difference.mean(), difference.mean() - half, len(difference)), (name, row)


def test_what_the_cut_costs_sub_words_is_what_the_published_runs_say():
    """README's sentence: paired with the row whose sub-words are not cut again."""
    said = re.search(
        r"sub-words lose (\S+ ± \S+) points on the development set and (\S+ ± \S+) on the tests \((\d) seeds, paired\)",
        " ".join(README.split()),
    )
    for entry, task in zip(said.groups()[:2], ("dev", "avg"), strict=True):
        lost = scores("esimcse-table7", 1.0, task)["ESimCSE"] - scores(CUT_AGAIN[0], 1.0, task)[CUT_AGAIN[1]]
        assert says(f"{entry} ({said[3]})", lost.dropna()), task


def test_what_shuffled_positions_gain_at_demo_is_published():
    said = re.search(
        r"they gain (\S+ ± \S+) points under `paper` \((\d+) seeds\), (\S+ ± \S+) under `repaired` \((\d+)\) and (\S+ ± \S+) under `released` \((\d+)\)",
        FINDINGS,
    )
    for place, profile in enumerate(("paper", "repaired", "released")):
        row = labelled(PUBLISHED / "demo" / profile / "mocose-table5.csv", "Position shuffle")
        assert row["reference"] == "Dropout only"
        entry = f"{said[2 * place + 1]} ({said[2 * place + 2]})"
        found = published_runs("demo", profile, "mocose-table5", dtype={0: str})
        found = found[(found["checkpoint"] == "selected") & (found["task"] == "avg") & (found["metric"] == "spearman_all")]
        by = found.pivot(index="seed", columns=found.columns[0], values="value")
        assert says(entry, (by["Position shuffle"] - by["Dropout only"]).dropna()), profile


def test_what_is_said_of_the_papers_own_numbers_is_what_the_claims_say():
    claims = pd.read_csv(PUBLISHED / "claims.csv").drop_duplicates("claim", keep="last").set_index("claim")  # of scale paper: every claim
    part = FINDINGS[FINDINGS.index("## Before any training") : FINDINGS.index("## Where there is no answer yet")]
    fails = set(claims.index[claims["holds_as_printed"] == "fails"])
    runs = {outcome: set(claims.index[claims["on_the_papers_runs"] == outcome]) for outcome in ("supported", "equivalent", "undecided")}
    assert len(fails) == 6 and all(f"{key}" in part for key in fails)
    assert (
        {"T6a.2", "T7.2", "T7.3 (worse)", "T7.5"} == runs["supported"]
        and {"F3.1", "F3.3"} == runs["equivalent"]
        and len(runs["undecided"]) == 5
        and "T7.1" in runs["undecided"]
    )


def test_studies_without_a_verdict_are_named():
    claims = pd.read_csv(PUBLISHED / "claims.csv")
    part = FINDINGS[FINDINGS.index("## Where there is no answer yet") :]
    given = set(claims["study"][claims["verdict"].isin(("supported", "contradicted", "equivalent"))])
    open_ = set(claims["study"][claims["verdict"] == "undecided"]) - given
    asked = {
        "mocose-table3",
        "mocose-table7",
        "mocose-table8",
        "mocose-figure2",
        "mocose-figure3",
        "mocose-figure4",
        "esimcse-table9",
    }
    assert set(claims["study"]) - given - open_ == {"mocose-figure13"} and open_ == asked
    assert "MoCoSE's Tables 3, 7 and 8 and its Figures 2, 3, 4 and 13, and of ESimCSE's Table 9, no claim has a verdict" in part


def test_the_grid_of_scale_long_is_the_measured_one():
    """core/demo/README.md: the highest development score of each trial, and what is said of their ranges."""
    text = (ROOT / "core" / "demo" / "README.md").read_text()
    trials = pd.read_csv(ROOT / "benchmarks" / "measured" / "rates.csv").query("scale == 'long' and step > 0")
    best = trials.groupby(["method", "rate", "new_layer_rate"])["development"].max()
    for name, entries in rows(text, "rate of the encoder, of new layers").items():
        rate, new = (float(part) for part in name.split(", "))
        for method, entry in zip(("simcse", "mocose", "esimcse"), entries, strict=True):
            assert abs(float(entry.strip("*")) - best[method, rate, new]) < 0.0501, (name, method)
    bests = best.groupby(["method", "new_layer_rate"]).max().unstack()
    assert bests.sum().idxmax() == LONG.new_layer_rate
    for method in ("simcse", "mocose", "esimcse"):
        assert best[method].xs(3e-4, level="new_layer_rate").idxmax() == LONG.rate(method)
    usual = best[best.index.get_level_values("rate") <= 1e-3].groupby("method")
    assert (usual.max() - usual.min()).round(1).to_dict() == {"esimcse": 5.4, "mocose": 2.8, "simcse": 1.4}


def test_what_is_said_of_scale_long_is_published():
    """The table of Figures 5 and 6, and the scores in the text, each with its interval."""
    folder = PUBLISHED / "long" / "paper"
    figure = pd.read_csv(folder / "mocose-figure5.csv").set_index(["setting", "measure"])
    cells = {"0, no predictor": "no predictor, η = 0", "0, predictor": "predictor, η = 0", "0.85, predictor (standard)": "standard"}
    table = rows(FINDINGS, "decay")
    assert table.keys() == cells.keys()
    for name, setting in cells.items():
        for entry, score in zip(table[name], ("best later", "last"), strict=False):
            row = figure.loc[(setting, score)]
            assert agrees(entry, row["mean"], row["interval_low"], row["n"]), (name, score)
    part = FINDINGS[FINDINGS.index("**Other rows so far**") : FINDINGS.index("**MoCoSE's Table 3**")]
    said = re.findall(r"\d+\.\d ± \d+\.\d \(\d+\)", part)
    wanted = [
        ("mocose-table1", "MoCoSE-BERT-base/avg"), ("mocose-table1", "SimCSE-BERT-base/avg"), ("mocose-table3", "0.85"), ("mocose-table3", "0.99"),
        ("mocose-table8", "0~512"), ("mocose-table8", "all"), ("mocose-table8", "512~1024"),
        ("esimcse-table7", "ESimCSE/avg"), ("esimcse-table7", "+momentum contrast/avg"), ("esimcse-table7", "+word repetition/avg"),
    ]  # fmt: skip
    for entry, (study, labels) in zip(said, wanted, strict=True):
        row = labelled(folder / f"{study}.csv", labels)
        assert agrees(entry, row["mean"], row["interval_low"], row["n"]), (study, labels)


def labelled(path, labels):
    """The row of a study's CSV file whose first columns hold these labels."""
    found = pd.read_csv(path, dtype={0: str})
    wanted = labels.split("/")
    mask = (found.iloc[:, : len(wanted)].astype(str) == wanted).all(axis=1)
    assert mask.sum() == 1, labels
    return found[mask].iloc[0]
