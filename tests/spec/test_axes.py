"""--vary: the axes that it adds, which runs they are, and what is refused."""

import pytest
from fake_store import made_setup

from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.setup import parts, values
from core.spec.vary import read, vary
from studies import find

RATES = "train.learning_rate=3e-4,1e-3"


def varied(name, *fields, settings=()):
    return made_setup().varied(find(name), tuple(settings), fields)


def test_runs_at_the_study_s_own_value_are_those_of_the_study_and_others_differ_in_the_field_alone():
    study, at = find("mocose-table9"), made_setup()
    own = varied("mocose-table9", RATES)
    for cell in study.cells:
        slow, usual = (one for one in own.cells if one.labels[:1] == cell.labels)
        for seed in range(2):
            before, slower = at.config(study, cell, seed), at.config(own, slow, seed)
            assert run_id(at.config(own, usual, seed)) == run_id(before)
            assert slower == vary(before, {"train.learning_rate": 3e-4}) and run_id(slower) != run_id(before)
        assert (usual.published, slow.published) == (cell.published, None)
    assert own.name == "mocose-table9@by-train.learning_rate=3e-4,1e-3" and own.title == "Table 9 by train.learning_rate"


def test_two_fields_make_a_grid_and_each_place_of_it_is_the_study_again():
    study = find("mocose-table3")
    own = varied("mocose-table3", RATES, "loss.temperature=0.05, 0.1, 0.2")
    assert [axis.labels for axis in own.axes[1:]] == [("3e-4", "1e-3"), ("0.05", "0.1", "0.2")]
    assert len(own.cells) == 6 * len(study.cells) and len(own.claims) == 6 * len(study.claims)
    places = parts(own)
    assert [values(place) for place in places] == ["3e-4/0.05", "3e-4/0.1", "3e-4/0.2", "1e-3/0.05", "1e-3/0.1", "1e-3/0.2"]
    for place in places:
        assert len(place.cells) == len(study.cells) and place.reference == (*study.reference, *place.cells[0].labels[1:])
        assert [claim.key for claim in place.claims] == [f"{claim.key} ({values(place)})" for claim in study.claims]
        assert all(place.cells_of(claim.predicate.contrasts()) for claim in place.claims)
        assert parts(place) == (place,)
        run = made_setup().config(place, place.cells[0], 0)
        assert (read(run, "train.learning_rate"), read(run, "loss.temperature")) == tuple(map(float, values(place).split("/")))
    assert parts(study) == (study,)


def test_cells_without_the_field_keep_their_run_and_are_named():
    own = varied("esimcse-table6", "momentum.lambda=0.99,0.999")
    runs = {cell.labels: run_id(made_setup().config(own, cell, 0)) for cell in own.cells}
    assert runs["unsup-SimCSE", "0.99"] == runs["unsup-SimCSE", "0.999"] and runs["ESimCSE", "0.99"] != runs["ESimCSE", "0.999"]
    assert own.footnotes[-1].startswith("No field momentum.lambda, and so unchanged: ")


def test_set_and_vary_go_together():
    own = varied("mocose-table9", RATES, settings=("train.steps=20",))
    assert own.name == "mocose-table9@train.steps=20@by-train.learning_rate=3e-4,1e-3"
    assert len(own.claims) == 2 * len(find("mocose-table9").claims)
    assert {made_setup().config(own, cell, 0).train.steps for cell in own.cells} == {20}


REFUSED = {
    ("fgsm.epsilon=1e-9,1e-8",): "fgsm.epsilon is what mocose-table9 varies",
    ("dup.rate=0.1,0.2",): "method mocose has no section dup",
    ("train.learning_rate=3e-4,fast",): "train.learning_rate is 'fast', but it must be a finite number",
    ("queue.size=512,1.5",): "queue.size is",
    ("train.learning_rate=3e-4",): "gives one value; use --set for one value",
    ("train.learning_rate=3e-4,",): "--vary takes FIELD=a,b,c",
    ("=1,2",): "--vary takes FIELD=a,b,c",
    (RATES, RATES): "gives train.learning_rate twice",
    ("seed.model=1,2",): "--seeds settles it",
}


@pytest.mark.parametrize("fields", REFUSED, ids=" ".join)
def test_what_cannot_be_varied_is_one_sentence(fields):
    with pytest.raises(UserError, match=REFUSED[fields]) as refused:
        varied("mocose-table9", *fields)
    assert "\n" not in str(refused.value) and str(refused.value).count(". ") == 0
