"""What docs/findings.md and README say of seeds of the data (D35) is what the published runs say."""

import re

import pandas as pd
from places import ROOT
from said import FINDINGS, PUBLISHED, README, rows, says, scores
from scipy import stats

from studies import find
from studies.own.deviations_esimcse import READINGS

ORDERS = ("42", "43", "44", "45", "46", "47")
VERDICTS = (ROOT / "docs" / "verdicts.md").read_text()


def test_what_the_code_adds_is_what_the_published_runs_say():
    names = ("+word repetition", "+momentum contrast", "ESimCSE")
    for name, entries in rows(FINDINGS, "above SimCSE, by profile").items():
        task = "avg" if name.startswith("tests") else "dev"
        if name.endswith("the paper"):
            study = find("esimcse-table7" if task == "avg" else "esimcse-table6")
            printed = {cell.labels[0]: cell.published for cell in study.cells if cell.labels[1:] in ((), (task,))}
            assert [f"+{printed[one] - printed['unsup-SimCSE']:.2f}" for one in names] == entries
            continue
        found = scores("esimcse-table7", 1.0, task, name.split("`")[1])
        for entry, one in zip(entries, names, strict=True):
            assert says(entry, (found[one] - found["unsup-SimCSE"]).dropna()), (name, one)
    for name, entries in rows(FINDINGS, "ESimCSE under `paper`, changed in").items():
        for entry, task in zip(entries, ("avg", "dev"), strict=True):
            found = scores("deviations-esimcse", 1.0, task)
            assert says(entry, (found[name] - found["paper"]).dropna()), (name, task)


def test_what_each_order_of_the_text_gains_is_what_the_published_runs_say():
    table = rows(FINDINGS, "above SimCSE, by seed of the data")
    assert set(ORDERS) <= set(table)
    columns = [(part, task) for task in ("avg", "dev") for part in ("+momentum contrast", "ESimCSE")]
    for name, entries in table.items():
        for entry, (part, task) in zip(entries, columns, strict=True):
            if name.isdigit():
                found = scores("orders", 1.0, task, "released")
                found = {one: found[f"{name}/{one}"] for one in ("unsup-SimCSE", part)}
            else:
                found = scores("esimcse-table7", 1.0, task)
            gains = (found[part] - found["unsup-SimCSE"]).dropna()
            assert says(entry, gains) if len(gains) else entry == "not run", (name, part, task)


def test_no_order_that_has_run_is_left_out_of_the_text():
    found = scores("orders", 1.0, "avg", "released")
    run = {label.partition("/")[0] for label, values in found.items() if label.endswith("/ESimCSE") and len(values)}
    assert {name for name in rows(FINDINGS, "above SimCSE, by seed of the data") if name.isdigit()} == run


def test_what_is_said_of_the_draws_is_what_the_published_runs_say():
    found = scores("orders", 1.0, "avg", "released")
    gains = {
        part: {order: (found[f"{order}/{part}"] - found[f"{order}/unsup-SimCSE"]).dropna() for order in ORDERS}
        for part in ("ESimCSE", "+momentum contrast")
    }
    both, text = gains["ESimCSE"], " ".join(FINDINGS.split())
    assert f"({min(both['42']):.1f} to {max(both['42']):.1f} on 42, {min(both['43']):.1f} and {max(both['43']):.1f} on 43, " in text
    assert f"{min(both['45']):+.1f} and {max(both['45']):+.1f} on 45)".replace("-", "−") in text
    means = {part: pd.Series({order: values.mean() for order, values in of.items() if len(values)}) for part, of in gains.items()}
    assert sum(means["ESimCSE"] > 2.02 / 2) == 3 and len(means["ESimCSE"]) == 6
    first = {order: values[:2].mean() for order, values in both.items() if order in ORDERS[:4]}
    assert max(first, key=first.__getitem__) == "42"
    over = re.search(r"Over the six, each counted once, ESimCSE gains (\S+ ± \S+?), ", text)[1]
    queue = re.search(r"the queue, over four, gains (\S+ ± \S+?)\. ", text)[1]
    assert says(f"{over} (6)", means["ESimCSE"]) and says(f"{queue} (4)", means["+momentum contrast"])
    assert f"{over} over the six" in " ".join(README.split())
    table = scores("esimcse-table7", 1.0, "avg")
    each = (table["ESimCSE"] - table["unsup-SimCSE"]).dropna()
    assert f"(from {min(each):+.1f} to {max(each):+.1f})".replace("-", "−") in text and len(each) == 18
    others = means["ESimCSE"].drop("42")
    said = re.search(r"in the place of 42 between (\S+) and (\S+), and", " ".join(README.split())).groups()
    assert said == (f"{min(others):.1f}", f"{max(others):.1f}")
    low, high = re.search(r"lies between (\S+) and (\S+) points", VERDICTS).groups()
    assert says(f"{low} (1)", means["ESimCSE"][["45"]]) and says(f"{high} (1)", means["ESimCSE"][["47"]])
    assert (means["ESimCSE"].idxmin(), means["ESimCSE"].idxmax()) == ("45", "47")


def test_how_far_runs_and_draws_scatter_is_what_the_published_runs_say():
    found, text = scores("orders", 1.0, "avg", "released"), " ".join(FINDINGS.split())
    each = scores("esimcse-table7", 1.0, "avg")
    within, over, simcse = found["42/ESimCSE"].std(), each["ESimCSE"].std(), each["unsup-SimCSE"].std()
    assert found["42/ESimCSE"].count() == 8 and each["ESimCSE"].count() == each["unsup-SimCSE"].count() == 18
    assert f"standard deviation {within:.2f} over eight runs of 42, against {over:.2f} over eighteen draws" in text
    assert f"both scatter alike ({over:.2f} and {simcse:.2f})" in text
    means = {part: [found[f"{order}/{part}"].mean() for order in ORDERS] for part in ("unsup-SimCSE", "ESimCSE")}
    ends = [f"{end(of):.1f}" for of in means.values() for end in (min, max)]
    assert "SimCSE's means lie between {} and {} and ESimCSE's between {} and {}.".format(*ends) in text


def test_what_is_said_of_repetition_rates_is_what_the_published_runs_say():
    printed = {cell.labels[0]: cell.published for cell in find("esimcse-table9").cells}
    table = rows(FINDINGS, "repetition rate")
    assert table["the paper"] == [f"{score:.2f}" for score in printed.values()]
    rates = [label for label in printed if label != "SimCSE"]
    smaller, larger = rates[:4], rates[4:]
    text = FINDINGS[FINDINGS.index("No claim of it has a verdict") : FINDINGS.index("Each rate draws other repetitions")]
    for profile, entry, spread in zip(("paper", "released"), re.findall(r"lie (\S+ ± \S+ \(3\))", text), ("1.4", "3.0"), strict=True):
        found = scores("esimcse-table9", 1.0, "dev", profile)
        for shown, label in zip(table[f"`{profile}`"], printed, strict=True):
            assert says(shown, found[label].dropna()), (profile, label)
        assert says(entry, (sum(found[one] for one in larger) - sum(found[one] for one in smaller)).dropna() / 4), profile
        means = pd.Series({one: found[one].mean() for one in rates})
        assert f"{means.max() - means.min():.1f}" == spread
        top = set(means.nlargest(3).index) == set(pd.Series(printed)[rates].nlargest(3).index)
        assert (means.idxmax() == "0.32", top) == (profile == "released", profile == "released")


def beside_the_rest(profile: str, task: str, place: int) -> tuple[dict[str, pd.Series], dict[str, float]]:
    """Points above ESimCSE of the deviations that the text calls the others, and halves of their intervals; those of its table, in this
    column, are held to it."""
    found = scores("deviations-esimcse", 1.0, task, profile)
    beside = {name: (values - found["paper"]).dropna() for name, values in found.items() if name not in {*READINGS, "paper"}}
    for name, entries in rows(FINDINGS, "ESimCSE, changed in").items():
        assert says(entries[place], beside.pop(name)), (name, profile, task)
    return beside, {name: stats.t.isf(0.025, len(values) - 1) * values.std() / len(values) ** 0.5 for name, values in beside.items()}


def largest(beside: dict[str, pd.Series]) -> float:
    """The largest mean, without its sign."""
    return max(abs(values.mean()) for values in beside.values())


def test_the_deviations_of_esimcse_that_matter_are_the_published_ones():
    text = FINDINGS[FINDINGS.index("The other fourteen lie within") : FINDINGS.index("On the one draw the same three")]
    (tests, halves), (development, _) = (beside_the_rest("paper", task, place) for place, task in enumerate(("avg", "dev")))
    assert all(len(beside) == 14 and all(len(values) == 3 for values in beside.values()) for beside in (tests, development))
    said = re.search(r"within (\S+) of it on the tests and within (\S+) on the development set", text).groups()
    assert (
        said == (f"{largest(tests):.1f}", f"{largest(development):.1f}") and f"up to {max(halves.values()):.1f} points on the tests" in text
    )
    row = pd.read_csv(PUBLISHED / "mini" / "paper" / "deviations-esimcse.csv", index_col=0).loc["D80 weighted mean over subsets"]
    assert f"{row['difference']:.1f} points higher" in text


def test_what_the_deviations_of_esimcse_do_on_one_draw_is_what_the_published_runs_say():
    text = FINDINGS[FINDINGS.index("On the one draw the same three") : FINDINGS.index("## On English: the length bias")]
    found = [beside_the_rest("released", task, place) for place, task in enumerate(("avg", "dev"), start=2)]
    assert not any(beside.pop("D35 one seed of the data").any() for beside, _ in found)
    (tests, _), (development, _) = found
    assert all(len(beside) == 13 and all(len(values) >= 3 for values in beside.values()) for beside in (tests, development))
    said = re.search(r"within (\S+) on the tests and within (\S+) on the development set", text).groups()
    assert said == (f"{largest(tests):.1f}", f"{largest(development):.1f}")
    outside = [{name for name, values in beside.items() if abs(values.mean()) > halves[name]} for beside, halves in found]
    dropout, span, code = "D68 dropout in the momentum encoder", "D61 range of the code", "all that the code does"
    assert outside == [{dropout}, {span, code}]
    told = re.search(r"\(tests, (.+?)\), .* \(development, (.+?)\) and .* \(development, (.+?); tests (.+?)\)\.", text).groups()
    alone = re.search(r"draw of 42 they add (\S+ ± \S+) to ESimCSE's development score \(3 seeds\)", FINDINGS)[1]
    for entry, values in zip(
        (*told, alone), (tests[dropout], development[span], development[code], tests[code], development[code]), strict=True
    ):
        assert says(f"{entry} (3)", values), entry
