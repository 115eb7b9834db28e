"""`runs` lists what is stored, by the ends of files."""

import pytest

import run_study
from core.config.identity import run_id
from core.config.methods import base
from core.config.result import Measurement, Result
from core.config.vary import vary
from core.methods.mocose.sections import TextView
from core.store.store import Store


@pytest.fixture
def stored(tmp_path):
    """Three runs of SimCSE: one with its score in the footer, one of older code, one that is cut
    off."""
    store = Store(tmp_path, None)
    store.prepare()
    runs = []
    for seed, temperature in enumerate((0.05, 0.1, 0.1)):
        changes = {"seed.model": seed, "loss.temperature": temperature, "data.digest": "d"}
        config = vary(base("simcse", "paper"), changes)
        rows = (Measurement("selected", "avg", f"spearman_{config.sts.aggregate}", 3, 60.0 + seed),)
        about = {"commit": "abc", "host": "here"} | ({"score": 60.0} if seed == 0 else {})
        store.save(config, Result(status="ok", rows=rows, provenance=about))
        runs.append(run_id(config))
    damaged = store.path("runs", runs[2])
    damaged.write_bytes(damaged.read_bytes()[:-20])
    drawn = tmp_path / "demo" / "paper"
    drawn.mkdir(parents=True)
    (drawn / "mocose-table7_runs.csv").write_text(
        f"scale,profile,encoder,fill,size,seed,run_id\ndemo,paper,e,a,b,0,{runs[0]}\n"
    )
    (drawn / "my_runs.csv").write_text("run,score\na,1\n")  # other people's files
    (drawn / "other_runs.csv").write_bytes(b"Name\n\xe9\n")
    return tmp_path, runs


def listed(capsys, folder, *words: str) -> str:
    assert run_study.main(["runs", *words, "--results-dir", str(folder)]) == 0
    return capsys.readouterr().out


def test_stored_runs_are_listed_shown_and_compared(stored, capsys):
    folder, (first, second, damaged) = stored
    out = listed(capsys, folder)
    (line,) = (line for line in out.splitlines() if line.startswith(first))
    assert line.split()[:5] == [first, "mocose-table7", "a/b", "0", "60.00"]
    assert line.split()[-2:] == ["here", "abc"] and " 61.00 " in out and out.endswith("2 runs.\n")
    assert f"{damaged}.parquet is damaged" in out
    copied = folder / "runs" / f"{'a' * 16}.parquet"
    copied.write_bytes((folder / "runs" / f"{first}.parquet").read_bytes())
    out = listed(capsys, folder)
    assert f"it holds run {first}" in out and out.endswith("2 runs.\n")
    copied.unlink()
    out = listed(capsys, folder, "--where", "loss.temperature=0.1")
    assert second in out and first not in out
    assert second not in listed(capsys, folder, "table7")
    assert "loss.temperature: 0.1 (default 0.05)\n" in listed(capsys, folder, second)
    assert "default )" not in listed(capsys, folder, first)  # a method has no default digest
    none = listed(capsys, folder, "table1", "--where", "loss.temperature=1")
    assert none.endswith("\n0 runs.\n")
    out = listed(capsys, folder, first, second)
    assert "loss.temperature: 0.05 | 0.1\n" in out and "loss.eps" not in out
    for value in ("3e-05", "3e-5", "0.00003"):
        assert first in listed(capsys, folder, "--where", f"train.learning_rate={value}")
    assert "score: 61.00\n" in listed(capsys, folder, second)


def test_a_rewriter_of_text_is_a_field_like_others(tmp_path, capsys):
    store = Store(tmp_path, None)
    store.prepare()
    changes = {"text": TextView(kind="typos"), "queue.slice": ((0, 128), (384, 512))}
    config = vary(base("mocose", "paper"), changes)
    store.save(config, Result(status="ok", rows=()))
    out = listed(
        capsys, tmp_path, "--where", "text.kind=typos", "--where", "queue.slice=0-128,384-512"
    )
    assert out.endswith("\n1 run.\n") and "text.section" not in listed(
        capsys, tmp_path, run_id(config)
    )


def test_a_folder_in_the_place_of_a_run_is_removed_and_not_trained(stored, capsys):
    folder, (first, *_) = stored
    (folder / "runs" / f"{'b' * 16}.parquet").mkdir()
    out = listed(capsys, folder)
    assert "(it is no file); remove it or train the run again" in out and first in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--where", "loss.temp=1"], "No run has loss.temp; did you mean loss.temperature?"),
        (
            ["--where", "train.seed=0"],
            "No run has train.seed; there are seed, seed.data, seed.model.",
        ),
        (["0" * 16], f"{'0' * 16}.parquet is not there; train the run, or name another."),
        (["tabel7"], "did you mean"),
    ],
)
def test_a_mistake_gets_a_sentence(stored, capsys, words, sentence):
    assert run_study.main(["runs", *words, "--results-dir", str(stored[0])]) == 2
    assert sentence in capsys.readouterr().err
