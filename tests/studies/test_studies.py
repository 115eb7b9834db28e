"""The studies: listed, named after their files, complete, true to the papers' numbers, and sharing the runs that they share."""

import ast
import re

import pytest
from fake_store import SOURCES, config_of
from made_scales import PAPER_SOURCES
from places import ROOT

from core.data.sources import demo_sources
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.methods import PROFILES
from core.spec.scale import DEMO, MINI, PAPER
from core.spec.vary import read, vary
from studies import STUDIES, find

BY_NAME = {study.name: study for study in STUDIES}
SHIPPED = [study for study in STUDIES if study.paper in ("mocose", "esimcse", "ours")]


def available(study, scale, sources):
    return [cell for cell in study.cells if study.unavailable(cell, scale, sources) is None]


def files():
    return sorted(path for path in (ROOT / "studies").glob("*/[!_]*.py"))


def test_every_file_is_listed_and_named_as_its_study():
    own = {path.stem.replace("_", "-") for path in files() if path.parent.name == "own"}
    assert {f"{path.parent.name}-{path.stem}" for path in files() if path.parent.name != "own"} | own == set(BY_NAME)
    assert len(BY_NAME) == len(STUDIES)


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_a_study_is_data_over_spec_and_settings_and_short(path):
    text = path.read_text()
    modules = {n.module for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)}
    assert modules and all(module.startswith("core.spec.") or module.endswith((".settings", "._backbones")) for module in modules)
    assert not [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.FunctionDef, ast.For, ast.While))]
    assert len(text.splitlines()) <= 180  # of which claims, in the paper's words, take the most


@pytest.mark.parametrize(
    "name, full", [("table7", "mocose-table7"), ("mocose-table3", "mocose-table3"), ("esimcse-table11", "esimcse-table11")]
)
def test_studies_are_found_by_name_and_mocose_by_its_short_name(name, full):
    assert find(name).name == full


@pytest.mark.parametrize(
    "name, hint", [("tabel7", "did you mean table7"), ("esimsce-table10", "did you mean esimcse-table10"), ("Table3", "did you mean table3"),
                   ("xyz", "choose one of mocose-table")]
)  # fmt: skip
def test_an_unknown_study_is_refused_with_the_nearest_name(name, hint):
    with pytest.raises(UserError, match=hint):
        find(name)


def test_table_3_as_printed():
    study = BY_NAME["mocose-table3"]
    assert {cell.labels[0]: cell.published for cell in study.cells} == {
        "0.5": 75.76, "0.8": 75.19, "0.85": 76.49, "0.9": 76.05, "0.95": 76.08, "0.99": 75.12,
    }  # fmt: skip
    assert [cell.changes for cell in study.cells] == [{"ema.start": v} for v in (0.5, 0.8, 0.85, 0.9, 0.95, 0.99)]
    run = config_of(study, ("0.9",), 0, scale=MINI)
    assert (run.queue.size, run.queue.init_size, run.train.batch_size) == (512, 128, 64)


def test_table_7_as_printed():
    study = BY_NAME["mocose-table7"]
    printed = {cell.labels: cell.published for cell in study.cells}
    assert [study.axis(study.rows).labels, study.axis(study.columns).labels] == [
        ("none", "quarter", "half", "all"), ("128", "256", "512", "1024", "4096"),
    ]  # fmt: skip
    assert [printed["none", k] for k in ("128", "256", "512", "1024", "4096")] == [76.40, 76.19, 75.38, 76.63, 50.17]
    assert [printed[row, "512"] for row in ("none", "quarter", "half", "all")] == [75.38, 77.30, 76.94, 76.29]
    assert [printed[row, "4096"] for row in ("none", "quarter", "half", "all")] == [50.17, 50.42, 38.74, 45.80]
    assert sum(printed.values()) == pytest.approx(1406.97)  # of the twenty printed numbers
    assert max(printed, key=printed.get) == study.reference
    sizes = {cell.labels: (cell.changes["queue.size"], cell.changes["queue.init_size"]) for cell in study.cells}
    assert [sizes[row, "1024"] for row in ("none", "quarter", "half", "all")] == [(1024, 1), (1024, 256), (1024, 512), (1024, 1024)]


def test_table_11_as_printed():
    study = BY_NAME["esimcse-table11"]
    assert [(cell.labels[0], cell.changes["queue.size"], cell.published) for cell in study.cells] == [
        ("1", 64, 83.83), ("1.5", 96, 83.81), ("2", 128, 83.03), ("2.5", 160, 84.85), ("3", 192, 82.66),
    ]  # fmt: skip
    assert study.metric.task == "dev"
    run = config_of(study, ("2.5",), 0, scale=MINI)
    assert (run.momentum.lambda_, run.dup.rate, run.dup.unit, run.train.batch_size) == (0.995, 0.32, "subword", 64)


@pytest.mark.parametrize("study", STUDIES, ids=lambda s: s.name)
def test_single_runs_of_the_paper_average_to_what_it_prints(study):
    known = [cell for cell in study.cells if cell.published_runs]
    if study.name in ("mocose-table3", "mocose-table7"):
        assert len(known) == {"mocose-table3": 5, "mocose-table7": 20}[study.name]
    for cell in known:
        if cell.published is None:
            continue
        read_to = 0.3 if cell.labels[-1] == "4096" or study.name == "mocose-figure12" else 0.02
        assert len(cell.published_runs) == 3 and list(cell.published_runs) == sorted(cell.published_runs)
        assert sum(cell.published_runs) / 3 == pytest.approx(cell.published, abs=read_to)


@pytest.mark.parametrize("study", SHIPPED, ids=lambda s: s.name)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("scale, sources", [(DEMO, SOURCES), (MINI, SOURCES), (PAPER, PAPER_SOURCES)], ids=["demo", "mini", "paper"])
def test_cells_share_a_run_only_where_they_change_the_same(study, profile, scale, sources):
    study = study.at(scale)
    cells = available(study, scale, sources)
    runs = [study.config(cell, profile=profile, scale=scale, sources=sources, seed=s) for cell in cells for s in range(3)]
    given = {"seed.data": 42} if profile == "released" else {}  # what a cell names of the profile itself is no change
    changes = [[one for one in sorted(c.changes.items()) if one not in given.items()] for c in cells]
    assert len({run_id(run) for run in runs}) == 3 * len({(c.method, c.encoder, repr(one)) for c, one in zip(cells, changes, strict=True)})
    assert {run.scale for run in runs} == {scale.name} or study.name == "mocose-figure13"  # of BERT-large alone


@pytest.mark.parametrize("study", SHIPPED, ids=lambda s: s.name)
def test_profiles_share_a_run_only_where_they_say_the_same_and_cells_keep_what_they_vary(study):
    for cell in available(study, PAPER, PAPER_SOURCES):
        paper, repaired, released = (study.config(cell, profile=p, scale=PAPER, sources=PAPER_SOURCES, seed=7) for p in PROFILES)
        pinned = (
            study.name.startswith("deviations") and "seed.data" in cell.changes
        )  # there profiles differ in the seed alone, and it has one
        assert (run_id(released) in (run_id(paper), run_id(repaired))) == pinned
        same = paper.method == "simcse" or study.name.startswith("deviations") or cell.changes.get("dup", paper) is None
        if (dup := getattr(paper, "dup", None)) is not None:  # repaired caps it at ten, which 32 tokens reach at a rate above 0.34 (D62)
            same = same or (dup.unit == "subword" and int(dup.rate * 32) <= 10 and not cell.by_profile.get("repaired"))
        assert (run_id(paper) == run_id(repaired)) == same  # SimCSE's paper is its code; a list of deviations is the same under each
        own = study.base_changes if cell.method in (None, study.method) else {}
        for profile, run in zip(PROFILES, (paper, repaired, released), strict=True):
            named = {**own, **study.by_profile.get(profile, {}), **cell.changes, **cell.by_profile.get(profile, {})}
            for path, value in named.items():
                if cell.method not in (None, study.method) and path not in {**cell.changes, **cell.by_profile.get(profile, {})}:
                    continue
                if path != "text":  # what of it is the code's slip, the profile decides (D26, D27)
                    assert read(run, path) == value


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("scale", [DEMO, MINI], ids=["demo", "mini"])
def test_tables_3_and_7_share_one_run(profile, scale):
    ids = {
        name: {run_id(config_of(BY_NAME[name], cell.labels, 1, profile, scale)): cell.labels for cell in BY_NAME[name].cells}
        for name in ("mocose-table3", "mocose-table7", "esimcse-table11")
    }
    shared = set(ids["mocose-table3"]) & set(ids["mocose-table7"])
    assert [(ids["mocose-table3"][i], ids["mocose-table7"][i]) for i in shared] == [(("0.85",), ("quarter", "512"))]
    assert not set(ids["esimcse-table11"]) & (set(ids["mocose-table3"]) | set(ids["mocose-table7"]))


@pytest.mark.parametrize("study", STUDIES, ids=lambda s: s.name)
def test_guesses_are_said_in_footnotes_and_titles_are_the_papers(study):
    assert study.paper == "ours" or re.sub(r"\W", "", study.title).lower() == study.name.partition("-")[2]
    assert study.footnotes and all(note.endswith(".") for note in study.footnotes)
    said = study.paper != "mocose" or study.name == "mocose-table8"  # Table 8's setting is in the paper and the notebook
    assert said or any("guess" in note for note in study.footnotes)


def test_transfer_tasks_as_a_setting_change_what_the_run_is_evaluated_on():
    study = find("table3")
    sample = study.config(study.cells[0], profile="paper", scale=DEMO, sources=demo_sources().sources, seed=0)
    run = study.with_settings(("eval.transfer=true",), {study.cells[0].labels: sample}).config(
        study.cells[0], profile="paper", scale=DEMO, sources=demo_sources().sources, seed=0
    )
    assert run == vary(sample, {"eval.transfer": True, "eval.digest": demo_sources().sources.transfer_digest})


def test_a_variant_has_no_rows_for_what_the_paper_copied():
    study = find("table1")
    sample = study.config(
        next(c for c in study.cells if c.encoder == "bert-base" and not c.copied), profile="paper", scale=DEMO, sources=SOURCES, seed=0
    )
    varied = study.with_settings(("train.steps=8",), {study.cells[0].labels: sample})
    assert "GloVe (avg.)" in study.axis(study.rows).labels and "GloVe (avg.)" not in varied.axis(varied.rows).labels
    assert {cell.labels[0] for cell in varied.cells} == set(varied.axis(varied.rows).labels)
    assert varied.axis("task").labels == study.axis("task").labels
