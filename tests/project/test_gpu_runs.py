"""benchmarks/README.md says of runs that were repeated on a GPU what `measured/gpu_runs.csv` and the published runs say."""

import pandas as pd
from places import ROOT
from said import PUBLISHED, rows

from core.store.store import Store

TEXT = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
MEASURED = ROOT / "benchmarks" / "measured"
PLACE = ["checkpoint", "task", "step"]


def apart(run: str, there: pd.DataFrame) -> pd.Series:
    """Points by which the run on a GPU lies above the published one, by checkpoint, task and step."""
    here = Store(PUBLISHED / "none", PUBLISHED).load_published(run).rows
    here = here[here["metric"] == "spearman_all"].set_index(PLACE)["value"]
    return (there.set_index(PLACE)["spearman"] - here).dropna()


def test_the_table_of_runs_on_both_devices_is_the_measured_one():
    found = pd.read_csv(MEASURED / "gpu_runs.csv")
    table = rows(TEXT, "run")
    assert len(table) == found["run_id"].nunique()
    for run, there in found.groupby("run_id", sort=False):
        row, seed = there["row"].iloc[0], there["seed"].iloc[0]
        average, of_sets, of_checks = table[f"{row.replace('+', '+ ').replace('momentum contrast', 'momentum queue')}, seed {seed}"]
        differences = apart(run, there)
        chosen = differences.xs("selected").droplevel("step")  # at the very step, or there would be nothing left
        assert len(differences) == len(there) == 30 and len(chosen) == 9
        assert average == f"{chosen['avg']:+.2f}".replace("-", "−")
        sets = chosen.drop(["avg", "dev"]).abs().max()
        assert (of_sets, of_checks) == (f"{sets:.2f}", f"{differences.xs('curve').abs().max():.2f}")


def test_the_table_of_a_step_on_a_gpu_is_the_measured_one():
    found = pd.read_csv(MEASURED / "gpu_step.csv", dtype=str)
    lines = TEXT[TEXT.index("**On a GPU, today's step**") :].splitlines()
    told = [[cell.strip() for cell in line.split("|")[2:-1]] for line in lines if line.startswith("| ")][1:5]
    for place, encoder in enumerate(("12x768", "2x384")):
        rows_ = found[found["encoder"] == encoder]
        times = [f"{float(ms):.1f}" for ms in rows_["ms"]]
        kernels = [f"{int(count):,}" for count in rows_["kernels"]]
        assert told[2 * place : 2 * place + 2] == [times, kernels]
        rates_ = pd.read_csv(ROOT / "core" / "runner" / "rates.csv")
        planned = rates_[(rates_["encoder"] == encoder) & rates_["passes"].notna()]["seconds"]
        measured = rows_[rows_["profile"] != "released"]["ms"].astype(float) / 1000
        assert list(planned) == [float(f"{value:.5f}") for value in measured]


def test_what_is_said_of_a_row_whose_test_sentences_are_shuffled_is_measured():
    """The same two runs, in a GPU's batches and in a CPU's."""
    found = pd.read_csv(MEASURED / "gpu_batches.csv").query("row == 'Position shuffle'").set_index("seed")
    chosen, last, chosen_here, last_here = (
        [f"{found.loc[seed, name]:.1f}" for seed in (3, 4)] for name in ("chosen", "last", "chosen_on_a_cpu", "last_on_a_cpu")
    )
    text = " ".join(TEXT.split())
    assert f"scored {' and '.join(chosen)} at their chosen checkpoint on the GPU, and {' and '.join(chosen_here)} when" in text
    assert f"at their last step {' and '.join(last)}, and {' and '.join(last_here)} (" in text
    findings = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    apart = (found["chosen_on_a_cpu"] - found["chosen"]).mean()
    assert f"the same two runs scored {apart:.1f} points lower at the checkpoint that they chose" in findings
