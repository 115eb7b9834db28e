"""All studies: each is data in its own file, each cell a run at every scale and under every profile, and equal settings are equal runs."""

import ast

import pytest
from fake_store import SOURCES
from made_scales import MOCOSE, PAPER_SOURCES, cell_run, config
from places import ROOT

from core.spec.identity import run_id
from core.spec.methods import PROFILES
from core.spec.scale import DEMO, MINI, PAPER, STS_TESTS
from core.spec.setup import Setup
from studies import STUDIES, find

PLACES = [(DEMO, SOURCES), (MINI, SOURCES), (PAPER, PAPER_SOURCES)]
ESIMCSE = {study.name.removeprefix("esimcse-"): study for study in STUDIES if study.paper == "esimcse"}
STANDARD = [
    ("table3", "0.85"), ("table4", "1", "2"), ("table5", "FGSM 5e-9"), ("table6a", "768"), ("table6b", "64"), ("table9", "5e-9"),
    ("table7", "quarter", "512"), ("figure2", "64", "14.67"), ("figure3", "64", "14.67"), ("figure5", "standard", "last"), ("kmeans", "normal"),
]  # fmt: skip


def files():
    return sorted(path for path in (ROOT / "studies").glob("*/[!_]*.py"))


def available(study, scale, sources):
    setup = Setup(profile="paper", scale=scale, sources=sources, seeds=1)
    return [cell for cell in study.cells if setup.unavailable(study, cell) is None]


def test_every_file_is_a_study_of_its_name_and_holds_data_alone():
    names = {path.stem.replace("_", "-") if path.parent.name == "own" else f"{path.parent.name}-{path.stem}" for path in files()}
    assert names == {study.name for study in STUDIES} and len(names) == len(STUDIES)
    for path in files():
        nodes = list(ast.walk(ast.parse(path.read_text())))
        modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        allowed = [name for name in modules if name.startswith("core.spec.") or name.endswith(".settings") or "._" in name]
        assert modules and modules == set(allowed), path
        assert not [node for node in nodes if isinstance(node, (ast.Import, ast.FunctionDef, ast.For, ast.While))], path
        assert len(path.read_text().splitlines()) <= 260, path  # of which claims, in the paper's words, take the most


@pytest.mark.parametrize("scale, sources", PLACES, ids=["demo", "mini", "paper"])
@pytest.mark.parametrize("profile", PROFILES)
def test_every_cell_is_a_run_and_two_share_one_only_where_they_change_the_same(profile, scale, sources):
    given = {"seed.data": 42} if profile == "released" else {}  # what a cell names of the profile itself is no change
    for whole in STUDIES:
        study = whole.at(scale)
        cells, runs = available(study, scale, sources), {}
        assert cells or study.name == "mocose-figure13", study.name  # of BERT-large alone
        for cell in cells:
            for seed in (1, 2):
                run = cell_run(study, cell, profile=profile, scale=scale, sources=sources, seed=seed)
                assert (run.scale, run.method) == (scale.name, cell.method or study.method)
                assert run.encoder.digest == sources.encoder(cell.encoder).digest
                named = repr([one for one in sorted(cell.changes.items()) if one not in given.items()])
                runs.setdefault((cell.method or study.method, cell.encoder, named, seed), set()).add(run_id(run))
        assert all(len(ids) == 1 for ids in runs.values()), study.name
        assert len({run for ids in runs.values() for run in ids}) == len(runs), study.name
        for cell in set(study.cells) - set(cells):  # copied, of another encoder, or in need of a model that rewrites text
            text = cell.changes.get("text")
            assert cell.copied or cell.encoder != "bert-base" or (text is not None and text.model is not None)


def test_what_is_the_same_setting_is_the_same_run():
    """That no run moves (tests/spec/test_profiles.py) holds the other equal settings."""
    for profile in PROFILES:
        for scale, sources in PLACES:
            ids = [run_id(config(MOCOSE[name], *labels, profile=profile, scale=scale, sources=sources)) for name, *labels in STANDARD]
            assert len(set(ids)) == 1 and ids[0] == run_id(config(find("noise"), "standard", profile=profile, scale=scale, sources=sources))
    assert config(MOCOSE["table8"], "512~1024", scale=DEMO, sources=SOURCES).queue.slice == ((512, 1024),)
    assert config(MOCOSE["table4"], "0", "3", scale=DEMO, sources=SOURCES).heads.out_size == SOURCES.encoder_hidden


def test_the_distance_in_a_label_is_that_of_its_setting():
    for name, place in (("figure2", 1), ("figure3", 1), ("figure4", 1), ("figure13", 0)):
        for cell in MOCOSE[name].cells:
            if cell.labels[place] != "SimCSE":
                run = config(MOCOSE[name], *cell.labels)
                distance = 1 / (1 - run.ema.start) + run.queue.size / run.train.batch_size
                assert distance == pytest.approx(float(cell.labels[place]), abs=0.005)


def test_at_the_demo_tables_have_the_demo_s_sets_and_the_claims_on_them():
    demo = MOCOSE["table1"].at(DEMO)
    assert demo.axis("task").labels == (*DEMO.tests, "avg") and MOCOSE["table1"].axis("task").labels == (*STS_TESTS, "avg")
    assert {claim.key for claim in demo.claims} == {"T1.1", "T1.4", "T1.6", "T1.6 (large)"}
    by_labels = {cell.labels: cell for cell in demo.cells}
    assert by_labels["BERT (first-last avg.)", DEMO.tests[0]].metric.checkpoint == "untrained_first_last_0"
    assert by_labels["CT-BERT", "avg"].copied and by_labels["CT-BERT", "avg"].published == 72.05
    assert [cell.labels for cell in ESIMCSE["table3"].at(DEMO).cells if not cell.copied] == [("test", task) for task in DEMO.tests]
