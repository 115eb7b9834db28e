"""Studies: what does not hang together, which of base, profile and cell wins, and a user's own variants."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
from made_scales import FULL, PAPER_SOURCES, SMALL, SOURCES

from core import methods
from core.methods.mocose.sections import NegativeQueue
from core.methods.mocose.settings import constant, rising, wrapping
from core.spec import run as c
from core.spec.claim import Claim, greater
from core.spec.edition import Edition
from core.spec.errors import StudyError, UserError
from core.spec.profiles import PROFILES, as_coded, base
from core.spec.scale import EncoderSource
from core.spec.study import Study
from core.spec.table import Axis, Cell, FigureSpec, Metric
from core.spec.vary import read, vary
from core.spec.views import TextView

MOCOSE = base("mocose", "paper")
TYPOS, SUBSTITUTED = TextView(kind="typos"), TextView(kind="contextual_substitute", model="roberta-base")


def study(**changes):
    fields = {
        "name": "mocose-x", "paper": "mocose", "title": "Table X", "caption": "x", "method": "mocose",
        "axes": (Axis(name="size", title="Size", labels=("a", "b")),), "rows": None, "columns": "size",
        "cells": (Cell(labels=("a",), changes={"queue.size": 256}, published=1.0, published_runs=(1.0,)),
               Cell(labels=("b",), changes={"queue.size": 512}, published=2.0)),
        "metric": Metric(task="avg", title="Average"), "figure": FigureSpec(kind="grouped", x="size"), "reference": ("a",),
    }  # fmt: skip
    return Study(**{**fields, **changes})


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"cells": (Cell(labels=("a",), changes={}), Cell(labels=("a",), changes={}))}, "mocose-x has two cells a; give each"),
        ({"cells": (Cell(labels=("c",), changes={}),)}, "The cell c does not lie on the axes"),
        ({"cells": (Cell(labels=("a", "b"), changes={}),)}, "The cell a/b does not lie on the axes"),
        ({"cells": (Cell(labels=("a",), encoder="bert-huge"), Cell(labels=("b",)))}, "no encoder bert-huge; choose one of bert-base"),
        ({"reference": ("c",)}, "no cell c for its reference"), ({"rows": "depth"}, "no axis depth; choose one of size"),
        ({"tasks": "tests"}, "no axis named task"),
        ({"claims": (Claim(key="X1", text="", predicate=greater(("a",), ("c",))),)}, "Claim X1 speaks of c, which is no cell"),
        ({"claims": (Claim(key="X1", text="", predicate=greater(("a",), ("b",))),) * 2}, "two claims X1"),
        ({"figure": FigureSpec(kind="line", x="depth")}, "no axis depth"),
        ({"figure": FigureSpec(kind="bars", base=("c",))}, "no cell c that the others could be drawn against"),
        ({"base_changes": None}, "Study's base_changes is None, where"),
        ({"cells": (Cell(labels=("a",), changes=["queue.size"]),)}, "Cell's changes is "),
        ({"cells": (Cell(labels=("a",), published=float("nan")),)}, "a has nan as what is printed"),
        ({"claims": (Claim(key="X1", text="", predicate=greater(("a",), ("b",)), printed="fail"),)}, "X1 is printed as 'fail'; choose one of holds"),
        ({"claims": (Claim(key="X1", text="", predicate=greater(("a",), ("b",)), margin=-1.0),)}, "margin of -1; give one above 0"),
        ({"base_changes": {"train.steps": 10}}, "changes train.steps, which --scale settles"),
        ({"cells": (Cell(labels=("a",), changes={"data.rows": 10}),)}, "changes data.rows, which --data-dir settles"),
        ({"cells": (Cell(labels=("a",), by_profile={"paper": {"seed.model": 10}}),)}, "changes seed.model, which --seeds settles"),
        ({"cells": (Cell(labels=("a",), changes={"train": c.Train(steps=3)}),)}, "changes train, which --scale settles"),
        ({"rows": "size"}, "has size along rows and columns"),
        ({"axes": (Axis(name="size", title="Size", labels=("a", "a", "b")),)}, "has two labels along size called a; give each a name"),
        ({"axes": (Axis(name="size", title="Size", labels=("a", "b")),) * 2}, "has two axes called size; give each a name of its own"),
        (
            {
                "axes": (Axis(name="size", title="Size", labels=("a", "b")), Axis(name="rate", title="Rate", labels=("1", "2"))),
                "cells": tuple(Cell(labels=("a", rate), changes={"train.learning_rate": float(rate)}) for rate in "12"),
            },
            "a/1 and a/2 fall on one place of the table of mocose-x",
        ),
        ({"claims": (Claim(key="X1", text="", predicate=replace(greater(("a",), ("b",)), of="scater")),)}, "X1 compares the 'scater'"),
        ({"claims": (Claim(key="X1", text="", predicate=greater(("a",), ("b",), float("nan"))),)}, "X1 compares with a number that is none"),
    ],
)  # fmt: skip
def test_a_study_that_does_not_hang_together_is_refused(changes, sentence):
    with pytest.raises(StudyError, match=sentence):
        study(**changes)


def test_a_cell_wins_over_the_profile_and_the_profile_over_the_base():
    one = study(base_changes={"queue.init": "paper_grow"}, cells=(Cell(labels=("a",), changes={"ema.when": "after_optimizer_step"}),))
    run = one.paper_config(one.cells[0], "released")
    assert run.queue.init == "paper_grow"  # the study's own statement stands
    assert run.ema.when == "after_optimizer_step"
    assert run.target.stop_gradient is False  # the rest is released
    with pytest.raises(UserError, match="no profile"):
        one.paper_config(one.cells[0], "other")


@pytest.mark.parametrize(
    "changes, kind, detokenize",
    [
        ({"text": TYPOS}, "typos", "wordpiece_join"),  # D26
        ({"text": SUBSTITUTED}, "contextual_insert", "wordpiece_join"),  # D27
        ({"text": SUBSTITUTED, "text.kind": "contextual_substitute"}, "contextual_substitute", "wordpiece_join"),
        ({"text": TYPOS, "text.detokenize": "original_text"}, "typos", "original_text"),
    ],
)
def test_the_profile_reaches_a_section_that_a_cell_brings_in(changes, kind, detokenize):
    one = study(cells=(Cell(labels=("a",), changes=changes),))
    released, paper = (one.paper_config(one.cells[0], profile) for profile in ("released", "paper"))
    assert (released.text.kind, released.text.detokenize) == (kind, detokenize)
    assert released.text.model == paper.text.model and paper.text == vary(MOCOSE, changes).text
    in_base = study(base_changes=changes, cells=(Cell(labels=("a",), changes={}),))
    assert in_base.paper_config(in_base.cells[0], "released").text == released.text


def test_sections_that_the_base_has_keep_the_cell_s_own_values_under_released():
    one = study(cells=(Cell(labels=("a",), changes={"queue": NegativeQueue(size=64, init_size=1)}),))
    assert one.paper_config(one.cells[0], "released").queue.init == "paper_grow"


def test_what_a_cell_says_for_a_profile_holds_under_that_one_alone_and_wins():
    cells = (Cell(labels=("a",), changes={"eval.every": 50}, by_profile=as_coded({"eval.every": 175})), Cell(labels=("b",)))
    one = study(base_changes=rising(0.75, 0.95), by_profile={"repaired": wrapping(0.75)}, cells=cells)
    runs = {profile: one.paper_config(one.cells[0], profile) for profile in PROFILES}
    assert [runs[profile].eval.every for profile in PROFILES] == [50, 175, 175]
    assert [runs[profile].ema.schedule for profile in PROFILES] == ["cosine_to_end", "released_cosine", "cosine_to_end"]
    assert [runs[profile].ema.end for profile in PROFILES] == [0.95, 1.0, 0.95]
    with pytest.raises(StudyError, match="no profile tidy"):
        study(by_profile={"tidy": {}})


def test_a_decay_without_a_schedule_takes_the_profile_s_and_a_named_schedule_stays():
    cells = (Cell(labels=("a",), changes={"ema.start": 0.5}), Cell(labels=("b",), changes=constant(0.5)))
    one = study(cells=cells)
    found = [[one.paper_config(cell, profile).ema.schedule for profile in PROFILES] for cell in one.cells]
    assert found == [["constant", "released_cosine", "released_cosine"], ["constant"] * 3]
    assert {one.paper_config(cell, profile).ema.start for cell in one.cells for profile in PROFILES} == {0.5}


def test_the_seed_moves_both_streams_but_under_released_the_model_alone():
    one = study()
    seeds = {p: one.config(one.cells[0], profile=p, scale=SMALL, sources=SOURCES, seed=5).seed for p in PROFILES}
    assert seeds == {"paper": c.Seed(model=5, data=5), "repaired": c.Seed(model=5, data=5), "released": c.Seed(model=5, data=42)}


@pytest.mark.parametrize("names", ["base_changes", "cell", "by_profile"])
def test_a_seed_of_the_data_that_a_study_names_holds_wherever_it_names_it(names):
    named = {"seed.data": 7}
    cell = Cell(
        labels=("a",),
        changes=named if names == "cell" else {},
        by_profile=as_coded(named) | {"paper": named} if names == "by_profile" else {},
    )
    one = study(cells=(cell, Cell(labels=("b",))), base_changes=named if names == "base_changes" else {})
    for profile in PROFILES:
        seeds = [one.config(one.cells[0], profile=profile, scale=SMALL, sources=SOURCES, seed=n).seed for n in (0, 5)]
        assert seeds == [c.Seed(model=0, data=7), c.Seed(model=5, data=7)]


@pytest.mark.parametrize(
    "path, value, standard",
    [("train.warmup_fraction", 0.3, 0.1), ("train.precision", "bf16", "fp32"), ("train.new_layer_factor", 1.0, 2.0)],
)
def test_what_the_scale_has_a_value_for_is_the_study_s_where_it_names_it(path, value, standard):
    scale = replace(SMALL, new_layer_rate=6e-4)
    cell = Cell(labels=("a",), changes={path: value})
    one, base_too = study(cells=(cell, Cell(labels=("b",)))), study(base_changes={path: value})
    found = [read(s.config(x, profile="paper", scale=scale, sources=SOURCES, seed=0), path) for s in (one, base_too) for x in s.cells]
    assert found == [value, standard, value, value]


def test_cells_that_the_scale_makes_one_run_of_are_refused_and_cells_that_say_the_same_are_not():
    edition = Edition(profile="paper", scale=SMALL, sources=SOURCES, seeds=1)  # widths shrink by 6
    wide, wider, same = (Cell(labels=(label,), changes={"heads.out_size": size}) for label, size in (("a", 600), ("b", 601), ("b", 600)))
    with pytest.raises(UserError, match="a and b of mocose-x are one run at scale small, though they differ in heads.out_size; give"):
        edition.check(study(cells=(wide, wider)))
    edition.check(study(cells=(wide, same)))
    replace(edition, scale=FULL, sources=PAPER_SOURCES).check(study(cells=(wide, wider)))


def test_cells_with_two_encoders_of_which_one_stands_in_for_both_are_refused():
    both = study(cells=(Cell(labels=("a",)), Cell(labels=("b",), encoder="bert-large")))
    for digest, refused in ((SOURCES.encoder_digest, True), ("another", False)):
        large = EncoderSource(stands_for="bert-large", digest=digest, hidden=SOURCES.encoder_hidden, name="the same folder")
        edition = Edition(profile="paper", scale=SMALL, sources=replace(SOURCES, others=(large,)), seeds=1)
        with pytest.raises(UserError, match=r"differ in the encoder \(bert-base and bert-large\)") if refused else nullcontext():
            edition.check(both)


@pytest.mark.parametrize("special", ["changes", "by_profile"])
def test_a_section_that_a_cell_brings_or_leaves_out_takes_the_place_of_the_base_s_fields_in_it(special):
    small, large = ({"queue": NegativeQueue(size=size, init_size=1)} for size in (64, 128))
    kept = {"changes": lambda one: {"changes": one}, "by_profile": lambda one: {"by_profile": dict.fromkeys(PROFILES, one)}}[special]
    cells = (Cell(labels=("a",), **kept(small)), Cell(labels=("b",), **kept(large)))
    one = study(base_changes={"queue.size": 512, "queue.init_size": 128}, cells=cells)
    assert [one.paper_config(cell, profile).queue.size for cell in one.cells for profile in PROFILES] == [64] * 3 + [128] * 3
    without = study(
        method="esimcse", base_changes={"queue.size": 512}, cells=(Cell(labels=("a",), **kept({"queue": None, "momentum": None})),)
    )
    assert without.paper_config(without.cells[0], "paper").queue is None


@pytest.mark.parametrize("base_too", [False, True])
def test_what_a_cell_names_stays_where_a_profile_brings_its_whole_section(monkeypatch, base_too):
    known = methods.method("mocose")
    monkeypatch.setattr(methods, "method", lambda name: replace(known, released={"queue": NegativeQueue(size=64, init_size=1)}))
    named = {"queue.size": 256}
    one = study(cells=(Cell(labels=("a",), changes={} if base_too else named),), base_changes=named if base_too else {})
    queue = one.paper_config(one.cells[0], "released").queue
    assert (queue.size, queue.init_size) == (256, 1)


def test_a_seed_of_the_data_is_a_profile_s_where_that_has_one_and_nowhere_else(monkeypatch):
    known = methods.method("mocose")
    monkeypatch.setattr(methods, "method", lambda name: replace(known, repaired={"seed.data": 7}, released={"seed.data": 8}))
    of = {p: study().config(study().cells[0], profile=p, scale=SMALL, sources=SOURCES, seed=5).seed.data for p in PROFILES}
    assert of == {"paper": 5, "repaired": 7, "released": 8}
    monkeypatch.setattr(methods, "method", lambda name: replace(known, repaired={}, released={}))
    assert study().config(study().cells[0], profile="released", scale=SMALL, sources=SOURCES, seed=5).seed.data == 5


def sample(one, place=0):
    return one.config(one.cells[place], profile="paper", scale=SMALL, sources=SOURCES, seed=0)


def runs(one):
    return {cell.labels: sample(one, place) for place, cell in enumerate(one.cells)}


def test_a_setting_makes_a_study_of_its_own_name_without_the_papers_numbers():
    one = study()
    own = one.with_settings(("loss.temperature=0.1", "eval.every=70"), runs(one))
    assert own.name == "mocose-x@eval.every=70,loss.temperature=0.1"
    assert [cell.published for cell in own.cells] == [None, None] and own.cells[0].published_runs == ()
    run = own.config(own.cells[1], profile="paper", scale=SMALL, sources=SOURCES, seed=0)
    assert (run.loss.temperature, run.eval.every, run.queue.size) == (0.1, 70, 512)
    assert one.cells[0].published == 1.0


def test_a_setting_changes_the_runs_that_have_its_field_and_names_the_others():
    one = study(cells=(Cell(labels=("a",)), Cell(labels=("b",), method="simcse")), base_changes={})
    own = one.with_settings(("ema.start=0.5", "loss.temperature=0.1"), runs(one))
    changed, beside = (own.config(cell, profile="paper", scale=SMALL, sources=SOURCES, seed=0) for cell in own.cells)
    assert (changed.ema.start, changed.loss.temperature) == (0.5, 0.1)
    assert beside == vary(sample(one, 1), {"loss.temperature": 0.1})
    assert own.footnotes[len(one.footnotes) :] == ("No field ema.start, and so unchanged: b.",)


def test_a_setting_leaves_the_runs_as_they_are_that_leave_its_section_out():
    one = study(method="esimcse", cells=(Cell(labels=("a",)), Cell(labels=("b",), changes={"dup": None})))
    own = one.with_settings(("dup.rate=0.2",), runs(one))
    changed, beside = (own.config(cell, profile="paper", scale=SMALL, sources=SOURCES, seed=0) for cell in own.cells)
    assert changed.dup.rate == 0.2 and beside == sample(one, 1) and beside.dup is None
    assert own.footnotes == ("No field dup.rate, and so unchanged: b.",)


def test_a_section_that_a_cell_leaves_out_is_what_the_study_varies():
    one = study(method="esimcse", cells=(Cell(labels=("a",)), Cell(labels=("b",), changes={"dup": None})), base_changes={})
    with pytest.raises(UserError, match="dup is what mocose-x varies"):
        one.with_settings(("dup=none",), runs(one))


def test_what_stays_is_named_by_the_axis_that_tells_it_else_by_its_cells():
    axes = (Axis(name="size", title="Size", labels=("a", "b")), Axis(name="kind", title="Kind", labels=("x", "y")))

    def named(*bare):
        cells = [Cell(labels=(a, x), method="simcse" if (a, x) in bare else None) for a in "ab" for x in "xy"]
        one = study(axes=axes, rows="size", columns="kind", cells=tuple(cells), base_changes={}, reference=("a", "x"))
        return one.with_settings(("ema.start=0.5",), runs(one)).footnotes[-1]

    assert named(("a", "x"), ("a", "y")).endswith("unchanged: a.") and named(("a", "y"), ("b", "y")).endswith("unchanged: y.")
    assert named(("a", "y")).endswith("unchanged: a/y.")


def test_a_field_that_no_run_has_is_refused_by_the_run_that_has_its_section():
    one = study(cells=(Cell(labels=("a",), method="simcse"), Cell(labels=("b",))), base_changes={})
    with pytest.raises(UserError, match=r"did you mean queue.size\?"):
        one.with_settings(("queue.siz=5",), runs(one))
    with pytest.raises(UserError, match="method simcse has no section dup"):
        one.with_settings(("dup.rate=0.3",), runs(one))


def test_of_many_unchanged_rows_the_first_are_named():
    labels = tuple("abcdefg")
    one = study(
        axes=(Axis(name="size", title="Size", labels=labels),),
        cells=(Cell(labels=("a",)), *(Cell(labels=(label,), method="simcse") for label in labels[1:])),
        base_changes={},
    )
    assert one.with_settings(("ema.start=0.5",), runs(one)).footnotes[-1] == "No field ema.start, and so unchanged: b, c, d, e, 2 more."


def test_a_setting_of_what_the_study_varies_is_refused():
    one = study()
    with pytest.raises(UserError, match="is what mocose-x varies"):
        one.with_settings(("queue.size=128",), runs(one))


def test_a_setting_inside_a_section_that_a_cell_replaces_is_refused():
    whole = study(cells=(Cell(labels=("a",), changes={"queue": NegativeQueue(size=256)}),))
    with pytest.raises(UserError, match="queue.init is what mocose-x varies"):
        whole.with_settings(("queue.init=released_2022",), runs(whole))


@pytest.mark.parametrize("text", ["seed.model=3", "scale=paper", "data.digest=x", "data.rows=5", "encoder.digest=x", "method=simcse"])
def test_what_other_options_settle_cannot_be_set(text):
    one = study()
    with pytest.raises(UserError, match="cannot be set"):
        one.with_settings((text,), runs(one))


def test_a_setting_that_contradicts_the_run_is_refused_before_anything_is_planned():
    one = study()
    with pytest.raises(UserError, match="loss.temperature is -1.0"):
        one.with_settings(("loss.temperature=-1",), runs(one))


def test_a_study_read_at_the_last_checkpoint_has_the_same_runs_and_none_of_the_papers_numbers():
    single = Metric(task="A", title="A")
    one = study(cells=(
        Cell(labels=("a",), changes={"queue.size": 256}, published=1.0), Cell(labels=("b",), changes={"queue.size": 512}, metric=single),
    ))  # fmt: skip
    last = one.at_last()
    assert (last.name, last.title, last.claims) == ("mocose-x@last", "Table X at the last checkpoint", ())
    assert [(last.metric_of(cell).task, last.metric_of(cell).checkpoint, cell.published) for cell in last.cells] == [
        ("avg", "last", None),
        ("A", "last", None),
    ]
    assert [sample(last, place) for place in (0, 1)] == [sample(one, place) for place in (0, 1)]
    other = Cell(labels=("b",), changes={}, metric=Metric(task="avg", title="Average", quantity="spearman_mean"))
    some = study(cells=(one.cells[0], other)).at_last()
    assert [cell.labels for cell in some.cells] == [("a",)] and some.axes[0].labels == ("a",) and some.reference == ("a",)
    assert study(cells=(one.cells[0], other), reference=("b",)).at_last().reference is None
    with pytest.raises(UserError, match="mocose-x shows other numbers than scores"):
        study(metric=Metric(task="dev", title="Spread", quantity="spread")).at_last()
