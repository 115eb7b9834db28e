"""Studies: what does not hang together, and a user's own variants."""

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
from core.study.study import Axis, Cell, FigureSpec, Metric
from core.study.variants import varied


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"reference": ("c",)}, "reference speaks of c, which is no cell"),
        ({"rows": "depth"}, "no axis depth; choose one of size"),
        ({"tasks": "tests"}, "no axis task"),
        (
            {"claims": (Claim(key="X1", text="", predicate=greater(("a",), ("c",))),)},
            "Claim X1 speaks of c, which is no cell",
        ),
        (
            {"claims": (Claim(key="X1", text="", predicate=greater(("a",), ("b",))),) * 2},
            "two claims called X1",
        ),
        ({"figure": FigureSpec(x="depth")}, "no axis depth"),
        ({"figure": FigureSpec(base=("c",))}, "figure speaks of c, which is no cell"),
        ({"base": None}, "Study's base is None, but it must be Mapping"),
        ({"base": {"method": "simcse"}}, "changes method, which method= settles"),
        ({"base": {"train.steps": 10}}, "changes train.steps, which --scale settles"),
        (
            {"cells": (Cell(labels=("a",), changes={"data.rows": 10}),)},
            "changes data.rows, which --data-dir settles",
        ),
        (
            {"cells": (Cell(labels=("a",), by_profile={"paper": {"seed.model": 10}}),)},
            "changes seed.model, which --seeds settles",
        ),
        (
            {"cells": (Cell(labels=("a",), changes={"train": c.Train(steps=3)}),)},
            "changes train, which --scale settles",
        ),
        (
            {"axes": (Axis(name="size", title="Size", labels=("a", "b")),) * 2},
            "has two axes called size; give each a name of its own",
        ),
        (
            {
                "axes": (
                    Axis(name="size", title="Size", labels=("a", "b")),
                    Axis(name="rate", title="Rate", labels=("1", "2")),
                ),
                "cells": tuple(
                    Cell(labels=("a", rate), changes={"train.learning_rate": float(rate)})
                    for rate in "12"
                ),
            },
            "a/1 and a/2 fall on one place of the table of mocose-x",
        ),
    ],
)
def test_a_study_that_does_not_hang_together_is_refused(changes, sentence):
    with pytest.raises(UserError, match=sentence):
        check_study(study(**changes))


def sample(one, place=0):
    return cell_run(one, one.cells[place], profile="paper", scale=SMALL, sources=SOURCES, seed=0)


SETUP = Setup(profile="paper", scale=SMALL, sources=SOURCES, seeds=1)


def runs(one):
    return {cell.labels: sample(one, place) for place, cell in enumerate(one.cells)}


def test_a_setting_changes_the_runs_that_have_its_field_and_names_the_others():
    one = study(cells=(Cell(labels=("a",)), Cell(labels=("b",), method="simcse")), base={})
    own = varied(one, SETUP, ("ema.start=0.5", "loss.temperature=0.1"))
    changed, beside = (
        cell_run(own, cell, profile="paper", scale=SMALL, sources=SOURCES, seed=0)
        for cell in own.cells
    )
    assert (changed.ema.start, changed.loss.temperature) == (0.5, 0.1)
    assert beside == vary(sample(one, 1), {"loss.temperature": 0.1})
    assert own.footnotes[len(one.footnotes) :] == ("No field ema.start, and so unchanged: b.",)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("queue.siz=5", r"did you mean queue.size\?"),
        ("dup.rate=0.3", "simcse has scale, method, data"),
        ("queue.size=128", "is what mocose-x varies"),
        ("loss.temperature=-1", "loss.temperature is -1.0"),
        *(
            (text, "cannot be set")
            for text in (
                "seed.model=3",
                "scale=paper",
                "data.digest=x",
                "encoder.digest=x",
                "method=simcse",
            )
        ),
    ],
)
def test_a_setting_that_makes_no_variant_is_refused(text, sentence):
    one = study(
        cells=(
            Cell(labels=("a",), method="simcse"),
            Cell(labels=("b",), changes={"queue.size": 512}),
        ),
        base={},
    )
    with pytest.raises(UserError, match=sentence):
        runs(varied(one, SETUP, (text,)))


def test_a_cell_whose_number_no_run_leaves_is_unavailable_and_says_why():
    setup = Setup(
        profile="paper", scale=DEMO, sources=replace(SOURCES, transfer_digest="t"), seeds=1
    )
    transfer = Metric(task="avg_transfer", title="Transfer", quantity="accuracy_test")
    for metric, transferred, why in (
        (Metric(task="STS12", title="STS12"), False, "scale demo has no test set STS12"),
        (transfer, False, "its runs score no transfer tasks (eval.transfer)"),
        (transfer, True, None),
        (replace(transfer, task="MR"), True, "scale demo has no transfer task MR"),
        (Metric(task="Length", title="Length"), False, None),
        # the development set's at demo
        (Metric(task="STS-B", title="Uniformity", quantity="uniformity_global"), False, None),
    ):
        one = study(metric=metric, base={"eval.transfer": transferred})
        reasons = [cell_at(setup, one, cell).unavailable for cell in one.cells]
        assert [reason and reason.words for reason in reasons] == [why] * 2
