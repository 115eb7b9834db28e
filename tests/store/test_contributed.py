"""Runs that others made: what verifies is imported as it was packed, and anything else is refused
with nothing written."""

import json
import os
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest
from fake_jobs import made_result
from fake_store import made_setup
from resolved import config_at

from core.config.identity import run_id
from core.data.sources import demo_sources, provenance
from core.errors import UserError
from core.runner import contributions
from core.runner.verify import Retrained, withdraw_differing
from core.store import code, contributed, records
from core.store.published import packed
from core.store.store import Store
from studies import find

STUDY = find("mocose-table3")
SETUP = made_setup(sources=demo_sources())
CONFIGS = [config_at(SETUP, STUDY, cell, 0) for cell in STUDY.cells[:4]]
ABOUT = provenance(demo_sources()) | {"device": "cpu: x86_64", "encoder": "demo encoder"}


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A store of four runs, and a folder into which it packed them; each commit has their code."""
    monkeypatch.setattr(code, "commit_of", lambda provenance, repository: "0123456789ab")
    store = Store(tmp_path / "lab", None)
    for config in CONFIGS:
        result = made_result(config)
        store.save(config, replace(result, provenance=ABOUT))
    commits = dict.fromkeys(store.runs(), "0123456789ab")
    contributed.export(map(store.load, store.runs()), tmp_path / "pack", "Lab A", commits)
    return store


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_imported_run_counts_as_it_was_packed_until_a_retraining_differs(lab, tmp_path, capsys):
    store = Store(tmp_path / "mine", None)
    contributions.import_folder(tmp_path / "pack", store, tmp_path)
    store = Store(tmp_path / "mine", None)
    assert store.runs() == lab.runs()
    for run in lab.runs():
        theirs = store.load(run)
        assert theirs.table.equals(lab.load(run).table) and theirs.source == "imported"
        assert theirs.provenance["contributor"] == "Lab A"
        assert store.has(run, use_published=True) and not store.has(run)

    # a retraining with the same numbers changes nothing; one that differs withdraws all four
    run = store.runs()[0]
    same = Retrained("run", store.load(run), lab.load(run))
    assert withdraw_differing(store, [same]) == []
    score = pa.compute.add(same.new.table["value"], 0.02)
    table = same.new.table.set_column(4, "value", score)
    (name,) = withdraw_differing(store, [same._replace(new=replace(same.new, table=table))])
    assert f"The pack {name} of Lab A is withdrawn" in capsys.readouterr().out
    store = Store(tmp_path / "mine", None)
    assert store.runs() == () and name.startswith("Lab-A-")
    with pytest.raises(UserError, match=f"{name} was withdrawn"):
        contributions.import_folder(tmp_path / "pack", store, tmp_path)


def forged(lab, tmp_path, change):
    """The pack with its runs changed, sealed anew as a forger would."""
    runs = {}
    for run in lab.runs():
        stored = lab.load(run)
        about = stored.provenance | {"contributor": "Lab A"}
        footer = stored.footer | {"provenance": json.dumps(about, sort_keys=True)}
        table, footer, name = change(stored.table, dict(footer), run)
        runs[name] = (table, footer)
    (tmp_path / "pack" / "demo" / "runs.parquet").write_bytes(packed(runs))


def with_about(**changes):
    def change(table, footer, run):
        about = json.loads(footer["provenance"]) | changes
        return table, footer | {"provenance": json.dumps(about)}, run

    return change


def with_row(*row):
    def change(table, footer, run):
        return pa.concat_tables([table, records.table([row], records.RUN_SCHEMA)]), footer, run

    return change


def other_id(table, footer, run):
    name = f"{int(run, 16) ^ 1:016x}"
    return table, footer | {"run_id": name}, name


def other_fields(table, footer, run):
    document = json.loads(footer["config"])
    document["run"]["train"]["steps"] += 1
    return table, footer | {"config": json.dumps(document)}, run


@pytest.mark.parametrize(
    ("change", "problem"),
    (
        (other_id, "holds run"),
        (other_fields, "holds run"),
        (with_row("selected", "avg", "spearman_all", 9999, 101.0), "a score of 101"),
        (with_row("elsewhere", "avg", "spearman_all", 9999, 1.0), "a row that no run leaves"),
        (with_about(contributor="<script>"), "a contributor's name"),
        (with_about(seconds={"train": "1"}), "another seconds in its provenance"),
        (with_about(encoders=[["bert-base"]]), "another encoders"),
        (with_about(surprise="x"), "another surprise"),
        (with_about(host="x" * 10_000), "another host"),
        (with_about(own_data=True), "a text or pairs of its own"),
        (with_about(evaluation_digest="0" * 64), "on other data"),
        (lambda table, footer, run: (table, footer | {"more": "x"}, run), "other fields"),
    ),
)
def test_a_forged_pack_is_refused_with_nothing_written(lab, tmp_path, change, problem):
    forged(lab, tmp_path, change)
    with pytest.raises(UserError, match=problem):
        contributions.import_folder(tmp_path / "pack", Store(tmp_path / "mine", None), tmp_path)
    assert not (tmp_path / "mine").exists()


def with_other_file(pack):
    (pack / "demo" / "notes.txt").write_text("x")


def with_other_folder(pack):
    (pack / "elsewhere").mkdir()


def as_link(pack):
    target = pack.parent / "target.parquet"
    os.replace(pack / "demo" / "runs.parquet", target)
    (pack / "demo" / "runs.parquet").symlink_to(target)


def as_linked_folder(pack):
    os.replace(pack / "demo", pack.parent / "demo")
    (pack / "demo").symlink_to(pack.parent / "demo")


def as_pipe(pack):
    (pack / "demo" / "runs.parquet").unlink()
    os.mkfifo(pack / "demo" / "runs.parquet")


def with_changed_numbers(pack):
    """Better numbers under the old seals."""
    file = pack / "demo" / "runs.parquet"
    table = pa.parquet.read_table(file)
    rewrite(file, table.set_column(5, "value", pa.compute.add(table["value"], 1.0)))


def rewrite(file, table):
    """The same pack with other rows."""
    about = pa.parquet.ParquetFile(file).metadata.metadata[b"runs"]
    with pa.parquet.ParquetWriter(file, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"runs": about.decode()})


def of_other_scale(pack):
    os.replace(pack / "demo", pack / "mini")


def as_bomb(pack):
    """Texts of a few bytes on disk that take gigabytes in memory."""
    rows = 1 << 20
    names = ("run_id", *records.RUN_SCHEMA.names)
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * 4096]))
    columns = [text, text, text, text, pa.array([0] * rows, pa.int64()), pa.array([0.0] * rows)]
    rewrite(pack / "demo" / "runs.parquet", pa.table(dict(zip(names, columns, strict=True))))


@pytest.mark.parametrize(
    "change",
    (
        *(with_other_file, with_other_folder, as_link, as_linked_folder, as_pipe),
        *(with_changed_numbers, of_other_scale, as_bomb),
    ),
)
def test_a_hostile_folder_is_refused_with_nothing_written(lab, tmp_path, change):
    change(tmp_path / "pack")
    with pytest.raises(UserError):
        contributions.import_folder(tmp_path / "pack", Store(tmp_path / "mine", None), tmp_path)
    assert not (tmp_path / "mine").exists()


def test_a_run_of_unknown_code_or_with_other_numbers_than_yours_is_refused(
    lab, tmp_path, monkeypatch
):
    mine = Store(tmp_path / "mine", None)
    result = made_result(CONFIGS[0])
    rows = tuple(row._replace(value=90.0) for row in result.rows)
    mine.save(CONFIGS[0], replace(result, rows=rows, provenance=ABOUT))
    before = content(tmp_path / "mine")
    with pytest.raises(UserError, match=f"Run {run_id(CONFIGS[0])} of Lab A is .* your own run"):
        contributions.import_folder(tmp_path / "pack", mine, tmp_path)
    monkeypatch.setattr(code, "commit_of", lambda provenance, repository: "")
    with pytest.raises(UserError, match="code that no commit"):
        contributions.import_folder(tmp_path / "pack", mine, tmp_path)
    assert content(tmp_path / "mine") == before
