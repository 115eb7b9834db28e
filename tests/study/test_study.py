"""Studies: what does not hang together, in labels, too, and a user's own variants."""

from dataclasses import replace

import pytest
from made_scales import SMALL, SOURCES, cell_run
from resolved import cell_at
from small_study import printed as study

from core.config import run as c
from core.config.scale import DEMO
from core.config.vary import vary
from core.errors import UserError
from core.study.check import check_study
from core.study.claim import Claim, greater
from core.study.setup import Setup
from core.study.study import Axis, Cell, FigureSpec, Metric, Row
from core.study.study import study as make
from core.study.variants import varied

SETUP = Setup(profile="paper", scale=SMALL, sources=SOURCES, seeds=1)
SIZE = Axis(name="size", title="Size", labels=("a", "b"))
RATE = Axis(name="rate", title="Rate", labels=("1", "2"))
RATES = tuple(
    Cell(labels=("a", rate), changes={"train.learning_rate": float(rate)}) for rate in "12"
)


def cell(**stated):
    return {"cells": (Cell(labels=("a",), **stated),)}


@pytest.mark.parametrize(
    "changes",
    [
        {"reference": ("c",)},
        {"rows": "depth"},
        {"tasks": "tests"},
        {"figure": FigureSpec(x="depth")},
        {"figure": FigureSpec(base=("c",))},
        {"figure": FigureSpec(against={"a": "c"})},
        {"claims": (Claim(key="X1", text="A claim.", predicate=greater("a", "b")),) * 2},
        {"base": {"method": "simcse"}},
        {"base": {"train.steps": 10}},
        cell(changes={"train": c.Train(steps=3)}),
        cell(by_profile={"paper": {"seed.model": 10}}),
        {"axes": (SIZE, SIZE)},
        {"axes": (SIZE, RATE), "cells": RATES},  # two runs at one place of the table
    ],
)
def test_a_study_that_does_not_hang_together_is_refused(changes):
    with pytest.raises(UserError):
        check_study(study(**changes))


def sample(one, place=0):
    return cell_run(one, one.cells[place], profile="paper", scale=SMALL, sources=SOURCES, seed=0)


def test_a_setting_changes_the_runs_that_have_its_field_and_names_the_others():
    one = study(cells=(Cell(labels=("a",)), Cell(labels=("b",), method="simcse")), base={})
    own = varied(one, SETUP, ("ema.start=0.5", "loss.temperature=0.1"))
    assert (sample(own).ema.start, sample(own).loss.temperature) == (0.5, 0.1)
    assert sample(own, 1) == vary(sample(one, 1), {"loss.temperature": 0.1})
    assert own.footnotes[len(one.footnotes) :] == ("No field ema.start, and so unchanged: b.",)


def test_a_cell_whose_number_no_run_leaves_is_unavailable_and_says_why():
    sources = replace(SOURCES, transfer_digest="t")
    setup = Setup(profile="paper", scale=DEMO, sources=sources, seeds=1)
    transfer = Metric(task="avg_transfer", title="Transfer", quantity="accuracy_test")
    for metric, transferred, why in (
        (Metric(task="STS12", title="STS12"), False, "no such score"),
        (transfer, False, "no transfer tasks"),
        (transfer, True, None),
        (replace(transfer, task="MR"), True, "no such score"),
        (Metric(task="Length", title="Length"), False, None),
        # the development set's at demo
        (Metric(task="STS-B", title="Uniformity", quantity="uniformity_global"), False, None),
    ):
        one = study(metric=metric, base={"eval.transfer": transferred})
        reasons = [cell_at(setup, one, cell).unavailable for cell in one.cells]
        assert [reason and reason.kind for reason in reasons] == [why] * 2


SIZES = Axis("size", "Size", {size: Row({"queue.size": int(size)}) for size in ("256", "512")})
TASKS = Axis("task", "Task", {"STS12": Row(task="STS12"), "avg": Row(title="Avg.")})


FIELDS = {"caption": "Small", "method": "mocose", "rows": SIZES, "figure": FigureSpec()}


def test_cells_are_the_combinations_of_labels_with_their_changes():
    short = make(
        **FIELDS,
        columns=TASKS,
        without=(("256", "avg"),),
        printed={"256": (1.0, None), "512": {"STS12": 2.0, "avg": 3.0}},
        printed_runs={"512": ((), (2.9, 3.1))},
        reference=("512", "avg"),
    )
    small, large = ({"queue.size": size} for size in (256, 512))
    runs = {"published": 3.0, "published_runs": (2.9, 3.1)}
    assert short.cells == (
        Cell(labels=("256", "STS12"), changes=small, published=1.0, task="STS12"),
        Cell(labels=("512", "STS12"), changes=large, published=2.0, task="STS12"),
        Cell(labels=("512", "avg"), changes=large, title="Avg.", **runs),
    )
    assert (short.rows, short.columns, short.metric.task) == ("size", "task", "avg")
    assert make(**FIELDS, reference="512").reference == ("512",)


@pytest.mark.parametrize(
    "changes",
    [
        {"printed": {"256": 1.0, "521": 2.0}},
        {"printed": {"256": 1.0}},
        {"printed": {"256": 1.0, "512": "2"}},
        {"columns": TASKS, "printed": {"256": (1.0,), "512": None}},
        {"columns": TASKS, "printed": {"256": 1.0, "512": None}},
        {"printed_runs": {"1": (1.0,)}},
        {"claims": Claim(key="K", text="More.", predicate=greater("512", "256"))},
        {"columns": Axis("more", "More", {"a": Row({"queue": None})})},
        {"rows": TASKS, "columns": Axis("set", "Set", {"a": Row(task="dev")})},
        {"columns": TASKS, "without": (("256", "avg"),), "printed": {"256": (1, 2), "512": None}},
    ],
)
def test_a_mistake_in_what_labels_state_is_refused(changes):
    with pytest.raises(UserError):
        make(**FIELDS | changes)


@pytest.mark.parametrize(
    ("claim", "quantity", "margin"),
    [
        ({"predicate": greater("512", "256")}, None, 1.0),
        ({"predicate": greater("512", "256", by=0.5)}, None, None),
        ({"predicate": greater("512", "256")}, "mean_cosine", None),
        ({"predicate": greater("512", "256"), "margin": 0.02}, "mean_cosine", 0.02),
    ],
)
def test_a_claim_has_a_point_of_margin_if_it_compares_scores_without_a_threshold(
    claim, quantity, margin
):
    sizes = {size: Row({"queue.size": int(size)}, quantity=quantity) for size in ("256", "512")}
    rows = Axis("size", "Size", sizes)
    own = make(**FIELDS | {"rows": rows, "claims": (Claim(key="K", text="More.", **claim),)})
    assert own.claims[0].margin == margin
