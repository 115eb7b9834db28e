"""The grid of rates: each trial is the run of a scale with these rates, and its scores are those of development checks."""

import pytest
import real

from benchmarks import rates
from core.data.encoders import MINI_ENCODER
from core.data.sources import demo_sources, local_places, local_sources
from core.spec import methods
from core.spec.scale import LONG, MINI
from core.spec.vary import vary


def test_a_trial_has_the_rates_that_it_is_named_after_and_nothing_else_of_its_own(tmp_path):
    sources = local_sources(local_places(real.data_dir(), MINI_ENCODER), tmp_path).sources
    for method in methods.names():
        one, other = (rates.Trial("mini", method, "paper", "", rate, 3e-4).run(sources) for rate in (3e-5, 3e-4))
        assert (one.train.learning_rate, one.train.learning_rate * one.train.new_layer_factor) == (3e-5, 3e-4)
        assert vary(one, {"train.learning_rate": 3e-4, "train.new_layer_factor": 1.0}) == other
        assert (one.scale, one.train.steps) == ("mini", MINI.steps)


def test_a_trial_of_scale_long_needs_no_data():
    found = demo_sources()
    one = rates.Trial("long", "esimcse", "paper", "", 1e-3, 3e-4).run(found.sources)
    assert (one.scale, one.train.steps, one.train.learning_rate) == ("long", 1280, 1e-3)
    assert one.train.learning_rate * one.train.new_layer_factor == pytest.approx(3e-4)


def test_scores_of_scale_long_are_those_of_its_development_set(tmp_path):
    found = demo_sources()
    run = rates.Trial("long", "simcse", "paper", "", 3e-4, 3e-4).run(found.sources)
    scores = rates.development(vary(run, {"eval.every": 1}), LONG, found, 2, tmp_path)
    assert [step for step, _ in scores] == [0, 1, 2] and abs(scores[0][1] - 42.4) < 0.1  # core/demo/README: untrained


def test_a_scale_of_ones_own_data_needs_a_folder_and_the_other_none(tmp_path, capsys):
    out = str(tmp_path / "out.csv")
    assert rates.main(["--scale", "long", "--data-dir", ".", "--out", out]) == 2
    assert "leave --data-dir out" in capsys.readouterr().err
    assert rates.main(["--scale", "mini", "--out", out]) == 2
    assert "give --data-dir" in capsys.readouterr().err


def test_a_trial_is_under_its_profile_and_with_its_settings(tmp_path):
    sources = local_sources(local_places(real.data_dir(), MINI_ENCODER), tmp_path).sources
    usual = rates.Trial("mini", "mocose", "paper", "", 3e-4, 3e-4)
    bare = usual._replace(profile="repaired", settings="heads.predictor_layers=0 loss.temperature=0.1").run(sources)
    assert (bare.loss.in_batch_negatives, usual.run(sources).loss.in_batch_negatives) == (True, False)
    assert (bare.heads.predictor_layers, bare.loss.temperature) == (0, 0.1)


@pytest.mark.long  # it tokenises the whole text
def test_scores_are_those_of_the_development_set_until_the_step_that_is_asked(tmp_path):
    found = local_sources(local_places(real.data_dir(), MINI_ENCODER), tmp_path)
    config = vary(rates.Trial("mini", "simcse", "paper", "", 3e-4, 3e-4).run(found.sources), {"eval.every": 1})
    scores = rates.development(config, MINI, found, 2, tmp_path)
    assert [step for step, _ in scores] == [0, 1, 2]
    assert abs(scores[0][1] - 61.2) < 0.1  # README: the untrained [CLS]


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--rates", "abc"], "'abc' is no rate above 0"), (["--rates", "nan"], "'nan' is no rate"), (["--new", "0"], "'0' is no rate above 0"),
        (["--until", "0"], "no step from 1 to 1280"), (["--methods", "simsce"], "invalid choice: 'simsce'"), (["--data-dir", "nowhere"], "nowhere"),
        (["--until", "1281"], "no step from 1 to 1280"), (["--rats"], "Unrecognized arguments"), (["--out", ""], "--out is given empty"),
        (["--profile", "clean"], "invalid choice: 'clean'"), (["--out", "held"], "has other columns than"), (["--out", "."], "is no file of trials"), (["--out", "binary"], "is no file of trials"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_sentence_and_status_2(options, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "held").write_text("method,rate,new_layer_rate\nsimcse,1e-4,3e-4\n")
    (tmp_path / "binary").write_bytes(b"\xff\x00\n" * 9)
    assert rates.main(["--data-dir", ".", "--out", "new.csv", *options]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1 and not (tmp_path / "new.csv").exists()


@pytest.mark.parametrize(
    "settings, sentence",
    [
        (["heads.predictor=0"], "There is no field heads.predictor"), (["temperature"], "FIELD=VALUE"),
        (["loss.temperature=0.1", "loss.temperature=0.2"], "gives a field twice"),
    ],
)  # fmt: skip
def test_a_setting_that_does_not_fit_is_told_before_anything_is_written(settings, sentence, tmp_path, capsys):
    data = str(real.data_dir())
    out = tmp_path / "out.csv"
    assert rates.main(["--data-dir", data, "--out", str(out), "--methods", "mocose", "--set", *settings]) == 2
    assert sentence in capsys.readouterr().err and not out.exists()


def test_a_file_of_trials_is_read_as_it_was_written(tmp_path):
    (tmp_path / "out.csv").write_text(f"{','.join(rates.COLUMNS)}\nmini,simcse,paper,,0.0001,3e-4,0,61.2\n")
    assert rates.held(tmp_path / "out.csv") == {("mini", "simcse", "paper", "", 1e-4, 3e-4): 0} and rates.held(tmp_path / "none.csv") == {}
    (tmp_path / "empty.csv").touch()  # what a kill leaves
    assert rates.held(tmp_path / "empty.csv") == {}


def test_a_trial_that_a_file_holds_less_far_than_is_asked_runs_again_and_adds_what_is_missing(tmp_path, monkeypatch, capsys):
    reached = []

    def scores(config, scale, found, until, cache):
        reached.append(until)
        return [(step, 40.0 + step / 64) for step in range(0, until + 1, 64)]

    monkeypatch.setattr(rates, "development", scores)
    out = tmp_path / "out.csv"
    asked = ["--scale", "long", "--out", str(out), "--methods", "simcse", "--rates", "3e-4", "--new", "3e-4", "--until"]
    assert [rates.main([*asked, until]) for until in ("128", "128", "64", "256")] == [0, 0, 0, 0]
    assert reached == [128, 256]
    lines = out.read_text().splitlines()[1:]
    assert [line.split(",")[-2:] for line in lines] == [[str(step), f"{40 + step / 64:.2f}"] for step in (0, 64, 128, 192, 256)]
    assert capsys.readouterr().out.split()[-2:] == ["43.0", "44.0"]  # what was added
