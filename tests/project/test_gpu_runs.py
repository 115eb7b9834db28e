"""benchmarks/README.md says of runs that were repeated on a GPU what `measured/gpu_runs.csv` and the published runs say."""

import re

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
    found = pd.read_csv(MEASURED / "gpu.csv")
    step = found[found["part"] == "step"].set_index(["on", "what"])["value"]
    table, on = rows(TEXT, "milliseconds a step (MoCoSE, batch 64)"), ("demo 2x128", "bert 2x384", "bert 12x768")
    names = {
        "ours, float32": "ours", "ours, bf16": "ours bf16", "ours, float32, CUDA graphs": "ours, CUDA graphs",
        "ours, bf16, CUDA graphs": "ours bf16, CUDA graphs", "plain": "plain", "plain / ours": "plain / ours",
        "plain / ours in bf16, CUDA graphs": "plain / ours bf16, CUDA graphs", "ours / floor": "ours / floor",
        "ours in bf16, CUDA graphs / its own floor": "ours bf16, CUDA graphs / floor",
    }  # fmt: skip
    assert set(table) == set(names)
    for said, what in names.items():
        for entry, place in zip(table[said], on, strict=False):
            digits = len(entry.partition(".")[2])
            assert entry == f"{step[place, what]:.{digits}f}", (said, place)
    gains = [step[place, name] / step[place, f"{name}, CUDA graphs"] for place in on[:2] for name in ("ours", "ours bf16")]
    at_base = step[on[2], "ours bf16"] / step[on[2], "ours bf16, CUDA graphs"]
    assert re.search(rf"{min(gains):.1f} to {max(gains):.1f} times as fast", TEXT) and f"{at_base:.1f} times" in TEXT


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


def test_what_is_said_of_runs_at_once_is_measured():
    found = pd.read_csv(MEASURED / "gpu.csv").set_index(["part", "what"])["value"]
    entries = [
        f"{found[part, what]:.1f}"
        for name in ("unsup-SimCSE", "ESimCSE")
        for part, what in (("parts", name), ("runs", f"a step of {name}, four runs at once"))
    ]
    text = " ".join(TEXT.split())
    assert "A step of SimCSE takes {} ms alone and took {} beside three others, ESimCSE's {} and {}.".format(*entries) in text
    store = Store(PUBLISHED / "none", PUBLISHED)
    runs = [store.load_published(run).provenance for run in store.runs()]
    runs = [run for run in runs if run["device"].startswith("cuda")]
    steps, whole = [1e3 * run["step_seconds"] for run in runs], [sum(run["seconds"].values()) for run in runs]
    assert f"steps of the {len(runs)} published runs (scale mini, profile `released`) took {min(steps):.0f} to {max(steps):.0f} ms" in text
    assert f"and {min(whole):.0f} to {max(whole):.0f} s where ten did" in text
    parts = [found["parts", f"{name} / unsup-SimCSE"] for name in ("+word repetition", "+momentum contrast", "ESimCSE")]
    assert "word repetition {:.2f} times SimCSE's step, the momentum queue {:.2f}, both {:.2f}".format(*parts) in text
    assert f"and {parts[1]:.2f} times on a GPU" in (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
