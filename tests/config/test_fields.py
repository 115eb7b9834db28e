"""--vary: the axes that it adds and which runs they are. --fields, and plans that fetch nothing."""

import dataclasses
import re

import pytest
from fake_store import made_setup
from resolved import config_at

import run_study
from core.config import methods
from core.config.fields import fields
from core.config.methods import base
from core.config.vary import paths, value_at, vary, written
from core.errors import UserError
from core.methods.mocose.sections import TextView
from core.study import variants
from core.study.resolution import resolve, values
from studies import find

RATES = "train.learning_rate=3e-4,1e-3"


def varied(name, *fields, settings=()):
    return variants.varied(find(name), made_setup(), tuple(settings), fields)


def test_runs_at_the_study_s_own_value_are_those_of_the_study_and_others_differ_in_the_field_alone():
    study = find("mocose-table9")
    at = made_setup()
    own = varied("mocose-table9", RATES)
    for cell in study.cells:
        slow, usual = (one for one in own.cells if one.labels[:1] == cell.labels)
        for seed in range(2):
            before = config_at(at, study, cell, seed)
            slower = config_at(at, own, slow, seed)
            assert config_at(at, own, usual, seed) == before
            assert slower == vary(before, {"train.learning_rate": 3e-4})
        assert (usual.published, slow.published) == (cell.published, None)
    assert own.name == "mocose-table9@by-train.learning_rate=3e-4,1e-3"
    assert own.title == "Table 9 by train.learning_rate"


def test_two_fields_make_a_grid_and_each_place_of_it_is_the_study_again():
    study = find("mocose-table3")
    own = varied("mocose-table3", RATES, "loss.temperature=0.05, 0.1, 0.2")
    assert [axis.labels for axis in own.axes[1:]] == [("3e-4", "1e-3"), ("0.05", "0.1", "0.2")]
    names = [f"{rate}/{heat}" for rate in ("3e-4", "1e-3") for heat in ("0.05", "0.1", "0.2")]
    places = [part.study for part in resolve(own, made_setup()).divided()]
    assert [values(place) for place in places] == names
    for place in places:
        assert place.reference == (*study.reference, *place.cells[0].labels[1:])
        run = config_at(made_setup(), place, place.cells[0], 0)
        here = value_at(run, "train.learning_rate"), value_at(run, "loss.temperature")
        assert here == tuple(map(float, values(place).split("/")))
    assert [part.study for part in resolve(study, made_setup()).divided()] == [study]
    both = varied("mocose-table9", RATES, settings=("train.steps=20",))
    assert both.name == "mocose-table9@train.steps=20@by-train.learning_rate=3e-4,1e-3"
    assert {config_at(made_setup(), both, cell, 0).train.steps for cell in both.cells} == {20}


def test_one_value_is_one_name_and_one_column_however_it_is_written():
    def name(setting):
        return varied("mocose-table3", settings=(setting,)).name

    names = {name(f"loss.temperature={text}") for text in ("0.1", "1e-1", ".10", "+0.100")}
    assert names == {"mocose-table3@loss.temperature=0.1"}
    assert name("queue.slice=384-512,0-128") == name("queue.slice=0-128,384-512")
    # a value of several parts stands in parentheses, and in the table's name, too
    ways = ("(0-64,384-512),0-128", "0-64,(384-512,0-128)")
    first, second = (varied("mocose-table3", f"queue.slice={text}") for text in ways)
    assert first.axes[-1].labels == ("0-64,384-512", "0-128")
    assert first.name == "mocose-table3@by-queue.slice=(0-64,384-512),0-128" != second.name
    own = varied("mocose-table3", "loss.temperature=1e-1,0.1,.2,.10,2E-1")
    assert own.axes[-1].labels == ("0.1", "0.2")
    assert own.name == "mocose-table3@by-loss.temperature=0.1,0.2"
    for number in (0.1, 1e-4, 3e-5, 1e30, 1000.0, 5e-324, 0.1 + 0.2, -2.5):
        assert float(written(number)) == number
    values = (-0.0, 0.85, 3e-5, 1e-3, 64, True, None)
    assert " ".join(map(written, values)) == "0 0.85 3e-5 1e-3 64 true none"


@pytest.mark.parametrize(
    "fields",
    [
        ("ema.start=0.5,0.6",),  # what the study varies
        ("dup.rate=0.1,0.2",),
        ("fgsm.epsilo=1,2",),
        ("loss.temperature=-1",),
        ("train.learning_rate=3e-4,fast",),
        ("queue.size=512,1.5",),
        ("train.learning_rate=3e-4,",),
        ("=1,2",),
        (RATES, RATES),
        ("seed.model=1,2",),
    ],
    ids=" ".join,
)
def test_what_cannot_be_varied_is_one_sentence(fields):
    with pytest.raises(UserError) as refused:
        varied("mocose-table3", *fields)
    assert "\n" not in str(refused.value) and str(refused.value).count(". ") == 0


BASES = [base(method, "paper") for method in methods.names()]


def printed(capsys, *arguments: str) -> str:
    assert run_study.main(list(arguments)) == 0
    return capsys.readouterr().out


def test_every_field_of_every_run_is_listed_and_nothing_else():
    listed = {path for path, _ in fields()}
    runs = {path for run in BASES for path in paths(run) if "." in path}
    text = {f"text.{f.name}" for f in dataclasses.fields(TextView)}
    assert listed == runs | text | {"scale", "method"}


def test_a_section_is_printed_with_type_default_deviation_and_meaning(capsys):
    out = printed(capsys, "--fields", "loss")
    assert "loss.in_batch_negatives" in out and "(D1)" in out and "queue." not in out
    assert re.search(r"Default: true \([^)]*esimcse[^)]*\); false / true / true \(mocose\)\.", out)
    assert "momentum.lambda " in printed(capsys, "--fields")


def test_a_plan_needs_no_download(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("core.data.hub.fetch", lambda *_, **__: pytest.fail("it fetched"))
    place = ("--results-dir", str(tmp_path), "--device", "cpu")
    out = printed(capsys, "esimcse-table4", "--plan", "--scale", "paper", *place)
    assert "40 runs: none done, 40 to train." in out and not list(tmp_path.iterdir())
