"""Results as DataFrames: what they hold, that nothing heavy is loaded, and that the page's example
runs."""

import json
import re
import shutil
import sys
from dataclasses import replace

import pandas
import pytest
from fake_jobs import made_result
from made_scales import cell_run
from places import ROOT, python
from resolved import config_at

import studies
from core import api
from core.api import load
from core.config.identity import run_id, text_id
from core.config.result import Measurement
from core.config.scale import DEMO, MINI
from core.data.sources import demo_sources, recorded_sources
from core.errors import UserError
from core.report.frames import claim_frame, csv_text
from core.report.verdicts import study_result
from core.store.records import RUN_SCHEMA, read_file, to_bytes
from core.store.store import Store
from core.study import variants
from core.study.catalogue import Catalogue
from core.study.resolution import resolve
from core.study.setup import Setup
from tools import publish

STUDY = studies.find("table6b")
SOURCES = demo_sources()


@pytest.fixture(scope="module")
def made_home(tmp_path_factory):
    """A checkout with the runs of a table: the first seed published, the second one's own."""
    folder = tmp_path_factory.mktemp("home")
    results = folder / "results"
    for cell in STUDY.cells:
        for seed, store in enumerate((Store(folder / "theirs", None), Store(results, None))):
            store.prepare()
            config = cell_run(STUDY, cell, profile="paper", scale=DEMO, sources=SOURCES, seed=seed)
            made = made_result(config)
            sts = f"spearman_{config.sts.aggregate}"
            dev = (
                Measurement("curve", "dev", sts, step, score)
                for step, score in ((0, 40.0), (2, 50.0))
            )
            store.save(
                config,
                replace(
                    made, rows=(*made.rows, *dev, Measurement("curve", "train", "loss", 2, 1.5))
                ),
            )
    theirs = Store(folder / "theirs", None)
    publish.pack(theirs, theirs.runs(), results / "published")
    return folder


@pytest.fixture
def home(made_home, tmp_path, monkeypatch):
    """A copy of it, as this checkout."""
    shutil.copytree(made_home, tmp_path / "home")
    monkeypatch.setattr(api, "HOME", tmp_path / "home")
    return tmp_path / "home"


def test_frames_hold_what_is_stored_and_say_what_is_damaged(home, capsys):
    results = load()
    runs = results.runs()
    assert len(runs) == 2 * len(STUDY.cells) == runs["run"].nunique()
    assert set(runs["source"]) == {"own", "published"}
    one = runs.iloc[0]
    config = results.store.load(one["run"]).config
    assert run_id(config) == one["run"] and one["train.batch_size"] == config.train.batch_size
    scores = results.scores()
    mine = scores[scores["run"] == one["run"]].query("checkpoint == 'selected' and task == 'avg'")
    assert one["score"] in set(mine["value"])
    curves = results.curves()
    assert set(curves["run"]) == set(runs["run"])
    assert list(curves.columns) == ["run", "step", "dev", "loss"]
    numbers = curves[curves["run"] == one["run"]].fillna(-1).values[:, 1:].tolist()
    assert numbers == [[0, 40.0, -1], [2, 50.0, 1.5]]
    pairs = results.pairs()
    assert set(pairs["run"]) == set(runs.loc[runs["source"] == "own", "run"])
    assert {"gold", "cosine"} <= set(pairs.columns)
    assert len(load(published=False).runs()) == len(STUDY.cells)
    assert not len(results.runs(scale="mini"))
    seeds = results.seeds("table6b", seeds=2)
    sizes = runs.set_index("run").loc[seeds["run"], "train.batch_size"].astype(str)
    assert list(sizes) == list(seeds["batch_size"]) and set(seeds["seed"]) == {0, 1}
    pack = home / "results" / "published" / "demo" / "runs.parquet"
    content = bytearray(pack.read_bytes())
    content[4:99] = bytes(95)  # of a page: its runs count as missing
    pack.write_bytes(content)
    damaged = load().runs().query("source == 'published'")
    assert set(damaged["status"]) == {"damaged"} and damaged["score"].isna().all()
    assert set(damaged["scale"]) == {"demo"} and len(damaged) == len(STUDY.cells)
    capsys.readouterr()
    for kind in ("runs", "pairs"):
        path = min((home / "results" / kind).glob("*.parquet"))
        path.write_bytes(path.read_bytes()[:-20])
        frame = load().scores() if kind == "runs" else load().pairs()
        assert path.stem not in set(frame["run"])
        left_out = len(STUDY.cells) + 1 if kind == "runs" else 1
        assert f"{left_out} run" in capsys.readouterr().out
    cut, flipped, *_ = sorted((home / "results" / "runs").glob("*.parquet"))
    content = bytearray(flipped.read_bytes())
    content[9] ^= 1  # of a page: the footer can be read
    flipped.write_bytes(content)
    status = load().runs().set_index("run")["status"]
    assert status[flipped.stem] == status[cut.stem] == "damaged"


@pytest.mark.parametrize(
    "config, about", [({"run": 5}, {}), ({"else": 1}, {"seconds": {"a": "b"}, "encoders": 3})]
)
def test_runs_of_another_program_are_passed_over(home, config, about):
    """They have a seal and an id."""
    store = Store(home / "results", None)
    table, footer, _ = read_file(store.path("runs", store.own_runs()[0]), RUN_SCHEMA)
    text = json.dumps(json.loads(footer["config"]) | config)
    footer |= {"config": text, "run_id": text_id(text), "provenance": json.dumps(about)}
    store.path("runs", text_id(text)).write_bytes(to_bytes(table, footer))
    runs = load().runs()
    assert (runs["status"] != "damaged").sum() == 2 * len(STUDY.cells) == len(runs) - 1
    assert len(load().curves()) and recorded_sources(MINI, store) is None


def test_tables_comparisons_seeds_and_claims_are_those_of_the_csv_files(home):
    results = load()
    table = results.table("table6b", seeds=2).set_index("batch_size")
    assert len(table) == len(STUDY.cells) and set(table["n"]) == {2} and "printed" in table
    values = results.seeds("table6b", seeds=2).set_index("batch_size").loc["32"]["value"].round(4)
    assert list(values) == [round(v, 4) for v in table.loc["32"]["values"]]
    varied = load().table("table6b", seeds=2, vary="train.learning_rate=1e-3,3e-3")
    assert list(varied["n"]) == [2] * len(table) + [0] * len(table)
    assert set(varied["train.learning_rate"]) == {"1e-3", "3e-3"}
    setup = Setup(profile="paper", scale=DEMO, sources=SOURCES, seeds=2)
    found = study_result(resolve(STUDY, setup), results.store)
    assert csv_text(load().claims("table6b", seeds=2)) == csv_text(claim_frame([found]))
    every = load().claims()
    assert STUDY.name in set(every["study"]) and set(every["scale"]) == {"demo"}


def test_claims_leave_out_a_study_that_makes_no_run_and_name_its_file(home, monkeypatch, capsys):
    broken = replace(STUDY, method="simcsf")
    file = next(file for file, study in studies.CATALOGUE.files.items() if study is STUDY)
    catalogue = Catalogue({**studies.CATALOGUE.files, file: broken}, {})
    monkeypatch.setattr(studies, "CATALOGUE", catalogue)
    monkeypatch.setattr(studies, "STUDIES", catalogue.studies)
    assert STUDY.name not in set(load().claims(scale="demo")["study"])
    assert "table6b.py, line " in capsys.readouterr().out


def test_a_variant_is_read_by_its_settings(home):
    store = Store(home / "results", None)
    setup = Setup(profile="paper", scale=DEMO, sources=SOURCES, seeds=1)
    own = variants.varied(STUDY, setup, ("loss.temperature=0.1",))
    for cell in own.cells:
        config = config_at(setup, own, cell, 0)
        store.save(config, made_result(config))
    mine = load().table("table6b", "demo", seeds=1, settings="loss.temperature=0.1")
    assert set(mine["n"]) == {1} and "printed" not in mine.dropna(axis=1, how="all")
    assert set(load().table("table6b", settings=["loss.temperature=0.2"])["n"]) == {0}
    assert set(load().table("table6b")["n"]) == {2}


def test_a_study_on_text_of_your_own_is_read_by_the_options_that_trained_it(home, tmp_path):
    text = tmp_path / "mine.txt"
    text.write_text("".join(f"Sentence {i} is mine.\n" for i in range(400)))
    empty = load().study("table6b", "mini", text=text, seeds=1)
    assert "text=mine.txt~" in empty.study.name and empty.setup.sources.corpus_rows == 400
    config = config_at(empty.setup, empty.study, empty.study.cells[0], 0)
    Store(home / "results", None).save(config, made_result(config))
    assert list(load().table("table6b", "mini", text=text, seeds=1)["n"])[:2] == [1, 0]


def test_what_is_not_there_is_one_sentence(home):
    for call, sentence in (
        (lambda: load("/nowhere"), "is no results folder"),
        (lambda: load().table("table6b", scale="huge"), "invalid choice: 'huge'"),
        (lambda: load().table("table6b", profil="paper"), "did you mean --profile"),
        (lambda: load().table("table6b", scale="paper"), "No run of scale paper is stored"),
        (lambda: load().plot("mocose-table7"), "most of its rows have no run"),
    ):
        with pytest.raises(UserError, match=sentence):
            call()


def test_the_examples_of_the_docs_run_on_the_published_runs(capsys):
    text = (ROOT / "docs" / "using.md").read_text()
    for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(example, "docs/using.md", "exec"), {})  # noqa: S102  (the page's own code)
    out = capsys.readouterr().out
    assert "mocose" in out and "+momentum contrast" in out and "ci95_low" in out


def test_the_notebook_runs_on_the_published_runs(monkeypatch):
    """Its code cells in their order, from its folder, as Jupyter would run them."""
    file = ROOT / "examples" / "esimcse_table7.ipynb"
    monkeypatch.chdir(file.parent)
    monkeypatch.setattr(sys, "path", list(sys.path))
    names: dict = {}
    for cell in json.loads(file.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)  # noqa: S102  (our own code)
    html = names["table"]._repr_markdown_()
    published = pandas.read_csv(ROOT / "results/published/mini/paper/esimcse-table7.csv")
    row = published.query("components == '+word repetition' and task == 'avg'").iloc[0]
    average = names["averages"].query("components == '+word repetition'").iloc[0]
    assert average["paired_difference"] == pytest.approx(row["paired_difference"], abs=1e-4)
    assert f"{row['mean']:.2f} ±" in html and html.count("\n|") > len(published) / 8
    assert names["figure"].axes and set(names["claims"]["scale"]) == {"mini"}


def test_neither_torch_nor_the_engine_is_loaded():
    heavy = "'torch', 'core.training', 'core.evaluation', 'core.encoder', 'scipy.stats'"
    code = f"import sys, core.api; print([m for m in sys.modules if m.startswith(({heavy}))])"
    assert python("-c", code).stdout == "[]\n"
