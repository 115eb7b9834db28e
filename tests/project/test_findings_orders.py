"""What docs/findings.md and README say of seeds of the data (D35) is what the published runs say."""

import re

import pandas as pd
import pytest
from places import ROOT
from published_runs import published_runs
from said import FINDINGS, PUBLISHED, README, rows, says, scores
from scipy import stats

from core.store.store import Store
from studies import find
from studies.own.deviations_esimcse import READINGS

PARTS = ("+word repetition", "+momentum contrast", "ESimCSE")
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


BY_DRAW = {"released": "above SimCSE, by seed of the data", "paper": "above SimCSE, by seed of the data, `paper`"}


@pytest.mark.parametrize("profile", BY_DRAW)
def test_what_each_order_of_the_text_gains_is_what_the_published_runs_say(profile):
    table = rows(FINDINGS, BY_DRAW[profile])
    assert {name for name in table if name.isdigit()} == set(ORDERS)
    columns = [(part, task) for task in ("avg", "dev") for part in PARTS]
    for name, entries in table.items():
        for entry, (part, task) in zip(entries, columns, strict=True):
            if name.isdigit():
                found = scores("orders", 1.0, task, profile)
                found = {one: found[f"{name}/{one}"] for one in ("unsup-SimCSE", part)}
            else:
                found = scores("esimcse-table7", 1.0, task)
            assert says(entry, (found[part] - found["unsup-SimCSE"]).dropna()), (name, part, task)


@pytest.mark.parametrize("profile", BY_DRAW)
def test_no_order_that_has_run_is_left_out_of_the_text(profile):
    found = scores("orders", 1.0, "avg", profile)
    run = {label.partition("/")[0] for label, values in found.items() if label.endswith("/ESimCSE") and values.count()}
    assert run == set(ORDERS)


def gains_by_draw(task: str, profile: str = "released") -> dict[str, dict[str, pd.Series]]:
    """Points above SimCSE by part, draw and seed of new weights."""
    found = scores("orders", 1.0, task, profile)
    return {part: {order: (found[f"{order}/{part}"] - found[f"{order}/unsup-SimCSE"]).dropna() for order in ORDERS} for part in PARTS}


def alike(draws) -> float:
    """The p of a one-way analysis of variance over draws, three seeds of each."""
    return stats.f_oneway(*(values.dropna().iloc[:3] for values in draws)).pvalue


def signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def test_what_is_said_of_the_draws_is_what_the_published_runs_say():
    text, readme, gains = " ".join(FINDINGS.split()), " ".join(README.split()), {task: gains_by_draw(task) for task in ("avg", "dev")}
    means = {task: {part: pd.Series({k: v.mean() for k, v in of.items()}) for part, of in found.items()} for task, found in gains.items()}
    repetition, queue, both = (means["avg"][part] for part in PARTS)
    over = re.search(r"Over the six, each counted once, ESimCSE gains (\S+ ± \S+?), ", text)[1]
    alone = re.search(
        r"Repetition alone gains (\S+ ± \S+) over the six, on each of them; the queue alone (\S+ ± \S+), from ", text
    ).groups()
    for entry, values in zip((over, *alone), (both, repetition, queue), strict=True):
        assert says(f"{entry} (6)", values)
    half = stats.t.isf(0.025, 5) * both.std() / 6**0.5
    assert both.mean() - half < 2.02 / 2 < both.mean() + half < 2.02 and min(repetition) > 0
    assert f"from {signed(min(queue))} on 43 to {signed(max(queue))} on 42." in text and (queue.idxmin(), queue.idxmax()) == ("43", "42")
    assert (both.idxmax(), both.idxmin()) == ("42", "45")
    assert list(means["dev"]["ESimCSE"].nlargest(2).index) == ["46", "42"]
    low = both["45"], means["dev"]["ESimCSE"]["45"]
    assert f"on 45 it gains {low[0]:.1f} on the tests and {signed(low[1])} on the development set" in text
    assert f"{over} over the six" in readme
    others = both.drop("42")
    assert f"in the place of 42 between {min(others):.1f} and {max(others):.1f} (3 seeds each), and" in readme
    assert f"gain on English lies between {min(both):.1f} and {max(both):.1f} points" in VERDICTS
    assert f"six such seeds give gains between {min(both):.1f} and {max(both):.1f}, " in text
    table = scores("esimcse-table7", 1.0, "avg")
    each = (table["ESimCSE"] - table["unsup-SimCSE"]).dropna()
    assert f"(from {signed(min(each))} to {signed(max(each))})" in text and len(each) == 18
    assert all(
        len(values) == (8 if order == "42" else 3) for found in gains.values() for of in found.values() for order, values in of.items()
    )


def test_how_far_runs_and_draws_scatter_is_what_the_published_runs_say():
    text, of = " ".join(FINDINGS.split()), {task: gains_by_draw(task)["ESimCSE"] for task in ("avg", "dev")}
    within = (sum(values.iloc[:3].var() for values in of["avg"].values()) / len(ORDERS)) ** 0.5
    means = [values.mean() for values in of["avg"].values()]
    assert f"deviation of {within:.1f} within a draw, and the means of draws lie up to {max(means) - min(means):.1f} points apart" in text
    p, others = ({task: alike(of[task][order] for order in orders) for task in of} for orders in (ORDERS, ORDERS[1:]))
    assert f"a p of {p['avg']:.3f} on the tests and {p['dev']:.4f} on the development set, and without 42" in text
    assert f"came, of {others['avg']:.2f} and {others['dev']:.3f} (one-way" in text
    found, each = scores("orders", 1.0, "avg", "released"), scores("esimcse-table7", 1.0, "avg")
    levels = {name: [found[f"{order}/{name}"] for order in ORDERS] for name in ("unsup-SimCSE", "ESimCSE")}
    said = re.search(
        r"six means lie between (\S+) and (\S+) on the tests, which new weights alone could give \(p (\S+); (\S+) on the development set\), "
        r"and ESimCSE's between (\S+) and (\S+) \(p (\S+)\)",
        text,
    ).groups()
    for entries, values, digits in zip((said[:3], said[4:]), levels.values(), (2, 3), strict=True):
        score = [some.mean() for some in values]
        assert entries == (f"{min(score):.1f}", f"{max(score):.1f}", f"{alike(values):.{digits}f}")
    development = scores("orders", 1.0, "dev", "released")
    assert said[3] == f"{alike(development[f'{order}/unsup-SimCSE'] for order in ORDERS):.2f}"
    over, simcse = each["ESimCSE"].std(), each["unsup-SimCSE"].std()
    assert f"both scatter alike ({over:.2f} and {simcse:.2f} over eighteen draws)" in text
    assert each["ESimCSE"].count() == each["unsup-SimCSE"].count() == 18


def test_what_is_said_of_the_draws_under_paper_is_what_the_published_runs_say():
    text = " ".join(FINDINGS[FINDINGS.index("**With the paper's settings**") : FINDINGS.index("**What this does to verdicts.**")].split())
    here, there = ({task: gains_by_draw(task, profile) for task in ("avg", "dev")} for profile in ("paper", "released"))
    p = {part: [alike(here[task][part].values()) for task in ("avg", "dev")] for part in PARTS}
    assert f"(p {p['ESimCSE'][0]:.2f} on the tests, {p['ESimCSE'][1]:.2f} on the development set)" in text
    assert f"repetition alone ({p[PARTS[0]][0]:.2f} and {p[PARTS[0]][1]:.2f})" in text
    assert f"the queue does ({p[PARTS[1]][0]:.2f} and {p[PARTS[1]][1]:.4f})" in text
    six = {part: pd.Series({order: values.mean() for order, values in here["avg"][part].items()}) for part in PARTS}
    code = {part: pd.Series({order: values.mean() for order, values in there["avg"][part].items()}) for part in PARTS}
    together = {part: stats.pearsonr(six[part], code[part]) for part in PARTS}
    assert f"(correlation {together[PARTS[1]].statistic:.2f}, p {together[PARTS[1]].pvalue:.2f}; " in text
    assert (
        f"repetition {together[PARTS[0]].statistic:.2f}".replace("-", "−") in text and f"both {together['ESimCSE'].statistic:.2f})" in text
    )
    table = {task: scores("esimcse-table7", 1.0, task) for task in ("avg", "dev")}
    alone = {part: (table["avg"][part] - table["avg"]["unsup-SimCSE"]).dropna() for part in PARTS}
    counted = (
        "repetition alone gains (\\S+ ± \\S+) over the six on the tests, where Table 7's eighteen draws, one a run, have (\\S+ ± \\S+); "
        "ESimCSE (\\S+ ± \\S+), where they have (\\S+ ± \\S+); the queue (\\S+ ± \\S+), where twelve have (\\S+ ± [0-9.]+\\d)"
    )
    entries = iter(re.search(counted, text).groups())
    for part in (PARTS[0], PARTS[2], PARTS[1]):
        assert says(f"{next(entries)} (6)", six[part]) and says(f"{next(entries)} ({len(alone[part])})", alone[part]), part
    assert [len(alone[part]) for part in PARTS] == [18, 12, 18]
    apart = []
    for task, found in table.items():
        of_draws = pd.Series([values.mean() for values in here[task][PARTS[0]].values()])
        apart.append(stats.ttest_ind((found[PARTS[0]] - found["unsup-SimCSE"]).dropna(), of_draws, equal_var=False).pvalue)
    assert f"(p {apart[0]:.3f} on the tests, {apart[1]:.3f} on the development set; Welch's test" in text
    first_twelve, later = re.search(r"with twelve \((\S+ ± \S+)\): they have (\S+ ± [0-9.]+\d)", text).groups()
    assert says(f"{first_twelve} (12)", alone[PARTS[0]].iloc[:12]) and says(f"{later} (6)", alone[PARTS[0]].iloc[12:])
    whole = re.search(r"Over all 24 draws repetition gains (\S+ ± \S+) and ESimCSE (\S+ ± [0-9.]+\d)", text).groups()
    for entry, part in zip(whole, (PARTS[0], "ESimCSE"), strict=True):
        assert says(f"{entry} (24)", pd.concat([alone[part], six[part]])), part
    first, second, third = six["ESimCSE"].sort_values(ascending=False).iloc[:3]
    assert set(six["ESimCSE"].nlargest(2).index) == {"42", "44"} and first > second > 2 and third < 1.5
    between = f"between {six['ESimCSE'].min():.1f} and {six['ESimCSE'].max():.1f} with the paper's settings"
    assert between in " ".join(README.split())


def test_what_is_said_of_repetition_rates_is_what_the_published_runs_say():
    printed = {cell.labels[0]: cell.published for cell in find("esimcse-table9").cells}
    table = rows(FINDINGS, "repetition rate")
    assert table["the paper"] == [f"{score:.2f}" for score in printed.values()]
    rates = [label for label in printed if label != "SimCSE"]
    smaller, larger = rates[:4], rates[4:]
    text = FINDINGS[FINDINGS.index("No claim of it has a verdict") : FINDINGS.index("Each rate draws other repetitions")]
    for profile, entry, spread in zip(("paper", "released"), re.findall(r"lie (\S+ ± \S+ \(\d+\))", text), ("1.4", "2.9"), strict=True):
        found = scores("esimcse-table9", 1.0, "dev", profile)
        for shown, label in zip(table[f"`{profile}`"], printed, strict=True):
            assert says(shown, found[label].dropna()), (profile, label)
        assert says(entry, (sum(found[one] for one in larger) - sum(found[one] for one in smaller)).dropna() / 4), profile
        means = pd.Series({one: found[one].mean() for one in rates})
        assert f"{means.max() - means.min():.1f}" == spread
        top = set(means.nlargest(3).index) == set(pd.Series(printed)[rates].nlargest(3).index)
        assert (means.idxmax() == "0.32", top) == (profile == "released", profile == "released")


def test_what_the_other_tables_say_under_released_is_what_the_published_runs_say():
    text = FINDINGS[
        FINDINGS.index("Under `released`, on its one order of the text, [Table 8]") : FINDINGS.index("Table 9 does not look alike")
    ]
    eight, ten = (scores(f"esimcse-table{number}", 1.0, "dev", "released") for number in (8, 10))
    wanted = {
        r"0\.15 and 0\.2 cost (\S+ ± \S+) and": eight["0.1"] - eight["0.15"], r"and (\S+ ± \S+) points, 0\.2 so much": eight["0.1"] - eight["0.2"],
        r"that it lies (\S+ ± \S+) below": eight["SimCSE"] - eight["0.2"], r"whole words lie (\S+ ± \S+) and": ten["none"] - ten["word repetition"],
        r"\[MASK\] (\S+ ± \S+) below": ten["none"] - ten["[MASK]"], r"stop-words (\S+ ± \S+) above": ten["stop-words"] - ten["none"],
    }  # fmt: skip
    for said, differences in wanted.items():
        assert says(f"{re.search(said, text)[1]} (5)", differences.dropna()), said
    for profile, entry in zip(
        ("released", "paper"), re.search(r"lie within (\S+) points, as they lie within (\S+) under", text).groups(), strict=True
    ):
        means = [values.mean() for values in scores("esimcse-table11", 1.0, "dev", profile).values()]
        assert entry == f"{max(means) - min(means):.1f}", profile
    verdicts = pd.read_csv(PUBLISHED / "mini" / "released" / "claims.csv").set_index("claim")["verdict"]
    assert verdicts["E8.1"] == "supported" and set(verdicts[["E8.2", "E8.3", "E8.4"]]) == {"contradicted"}
    assert set(verdicts[["E11.1", "E11.2"]]) == {"equivalent"} and set(verdicts[[f"E10.{n}" for n in range(1, 6)]]) == {"undecided"}
    runs, store = set(), Store(PUBLISHED / "none", PUBLISHED)
    for number in (8, 9, 10, 11):
        table = published_runs("mini", "released", f"esimcse-table{number}", dtype=str)
        runs |= set(table.dropna(subset="value")["run_id"])
    on_gpus = sum(store.load_published(run).provenance["device"].startswith("cuda") for run in runs)
    assert f"Of the {len(runs)} runs of these three tables and Table 9, {on_gpus} were made on a GPU" in text


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
