"""Text and pairs of one's own: what is read, what is refused, and that nothing is shared with other
data."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import datasets
import numpy as np
import pytest
import tiny_checkpoint

import studies
from core.config.methods import base
from core.config.scale import MINI, PAPER, at_scale
from core.config.vary import vary
from core.data import own_data, sources
from core.data.own_data import (
    data_file,
    named_pairs,
    own_digest,
    own_sets,
    read_pairs,
    with_own_pairs,
)
from core.data.sources import Execution, local_places, local_sources
from core.errors import UserError
from core.runner import cli, inputs
from core.runner.plan import plan
from core.store.store import Store
from core.study.grid import resolve
from core.study.setup import Setup
from core.training import job

ONE_RUN = ("mocose-table3", "--seeds", "1", "--cell", "0.85", "--jobs", "1")
PAIRS = "w1 w2\tw1 w3\t4\nw4 w5\tw6 w7\t0.5\nw8 w9\tw8 w1\t2.25\n"


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_pairs_are_read_as_they_stand_and_a_line_that_is_no_pair_is_named(tmp_path):
    path = tmp_path / "a.tsv"
    text = "\ufefffirst\tsecond\tscore\r\n  a  b \tc\t0.9\r\n\nd\te\t-3\n"
    assert read_pairs(written(path, text)) == [("a b", "c", 0.9), ("d", "e", -3.0)]
    for content, sentence in (
        ("a\tb\n", "line 1: expected two sentences and a score"),
        ("a\tb\t1\t2\n", "expected two sentences and a score"),
        ("a\tb\t1\nc\td\thigh\n", "line 2: expected a score, but found 'high'"),
        ("a\tb\t1\nc\t \t2\n", "line 2: expected a sentence of 1 to 10000 characters"),
        ("a\tb\t1\nc\td\t1_0\n", "line 2: expected a score"),
        ("a\tb\tnan\nc\td\t1\n", "line 1: expected a score, but found 'nan'"),
        ("a\tb\t-Inf\nc\td\t1\n", "line 1: expected a score"),
        ("a\tb\t1\nc\td\t٣\n", "line 2: expected a score"),
        ("a\tb\t\nc\td\t1\n", "line 1: expected a score, but found ''"),
        ("a\tb\t1\nc\td\t1\n", "2 pairs that cannot be ranked"),
        ("", "has 0 pairs"),
        ("a\ta\t1\nb\tb\t2\n", "2 pairs that cannot be ranked"),
        ("a\tb\t1\nb\ta\t2\n", "2 pairs that cannot be ranked"),
        ("a\tb\t1\nc\0\td\t2\n", "a.tsv, line 2"),
    ):
        with pytest.raises(UserError, match=re.escape(sentence)):
            read_pairs(written(path, content))


def test_a_set_is_named_or_called_like_its_file_and_names_twice_are_refused():
    hub = "hf:mteb/sts12-sts@" + "0" * 40 + "#test"
    for text, found in (
        ("x/news.tsv", ("news", "x/news.tsv")),
        ("dev=x/news.tsv", ("dev", "x/news.tsv")),
        ("My set=a=b.tsv", ("My set", "a=b.tsv")),
        (hub, ("sts12-sts", hub)),
    ):
        assert named_pairs(text) == found
    for arguments, sentence in (
        (["table3", "--pairs", "a.tsv", "--pairs", "b/a.tsv"], "one name twice"),
        (["--all", "--pairs", "a.tsv"], "--all does not go with it"),
        *(
            (["table3", "--pairs", name], "taken by another set")
            for name in ("avg=a.tsv", "STS-B=a.tsv", "b/STS-B.tsv", "Dev=a", "mr=a")
        ),
        (["table3", "--pairs", "a.tsv", "--pairs", "b/A.tsv"], "one name twice"),
        (["table3", "--pairs", "a/b=c.tsv"], "NAME=FILE"),
        (["table3", "--resolve", "--budget", "1h", "--text", "a"], "--resolve"),
        (["table3", "--pairs", "x="], "names no set or no file"),
    ):
        with pytest.raises(UserError, match=sentence):
            cli.parse(arguments)


def test_names_and_content_are_the_identity_of_pairs_which_take_the_place_of_the_scale_s(tmp_path):
    one, same = (written(tmp_path / name, PAIRS) for name in ("a.tsv", "b.tsv"))
    other = written(tmp_path / "c.tsv", PAIRS.replace("2.25", "2.5"))
    digest, *others = (
        own_digest(own_sets([(name, path)]), rest)
        for name, path, rest in (
            ("x", one, None),
            ("x", other, None),
            ("y", one, None),
            ("x", one, "rest"),
        )
    )
    assert own_digest(own_sets([("x", same)]), None) == digest and len({digest, *others}) == 4
    assert (
        with_own_pairs(MINI, ["x", "dev", "y"]).tests,
        with_own_pairs(MINI, ["x", "dev", "y"]).dev,
    ) == (("x", "y"), "dev")
    assert (
        with_own_pairs(MINI, ["x"]).dev,
        with_own_pairs(MINI, ["dev"]).tests,
        with_own_pairs(MINI, []),
    ) == (MINI.dev, MINI.tests, MINI)


def planned(desk, *arguments: str) -> tuple[str, set[str]]:
    """The name of the table that these arguments make, and the runs behind it."""
    given = [
        *ONE_RUN,
        "--scale",
        "mini",
        "--data-dir",
        str(desk.folder / "data"),
        "--encoder",
        str(desk.folder / "encoder"),
        *arguments,
    ]
    options = cli.parse(given)
    store = Store(desk.results, None)
    chosen = [studies.find("mocose-table3")]
    found = inputs.sources(options, MINI, chosen, store)
    scale, (study,) = inputs.on_data(options, MINI, chosen, found, store.root)
    made = plan(
        [resolve(study, Setup(profile="paper", scale=scale, sources=found, seeds=1))],
        store,
        labels=("0.85",),
    )
    return study.name, {run.run_id for run in made.runs}


def test_a_second_text_or_set_of_pairs_shares_no_run_and_no_name_with_the_first(
    desk, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(desk.folder / "cache"))
    lines = "a sentence of my own\n" * 16_384
    text = written(tmp_path / "mine.txt", lines)
    (tmp_path / "b").mkdir()
    again = written(tmp_path / "b" / "mine.txt", lines + "one more\n")
    pairs = written(tmp_path / "news.tsv", PAIRS)
    both = ("--pairs", str(pairs), "--pairs", f"dev={pairs}")
    made = [
        planned(desk, *more)
        for more in (
            (),
            ("--text", str(text)),
            ("--text", str(again)),
            both[:2],
            both,
            ("--text", str(text), *both),
        )
    ]
    names = [name for name, _ in made]
    runs = [run for _, found in made for run in found]
    assert len(set(names)) == len(made) == len(set(runs)) == len(runs)
    mine = r"mocose-table3@text=mine.txt~[0-9a-f]{8}"
    encoder = r"encoder=encoder~[0-9a-f]{8}"
    assert names[0] == "mocose-table3"
    assert all(re.fullmatch(f"{mine},{encoder}", name) for name in names[1:3])
    assert re.fullmatch(rf"{mine},pairs=news\+dev~[0-9a-f]{{8}},{encoder}", names[-1])
    out = capsys.readouterr().out
    assert "Training text mine.txt: 16384 sentences." in out
    assert "Training text mine.txt: 16385 sentences." in out
    assert f"Test set news: 3 pairs of {pairs}." in out
    assert f"Development set: 3 pairs of {pairs}." in out
    assert planned(desk, "--text", str(again))[1] == made[2][1]
    # another encoder, and one that stands for another of the papers'
    name, runs = planned(desk, "--text", str(text))
    desk.know_encoder("another\n")
    named, others = planned(desk, "--text", str(text))
    assert named != name and not runs & others and "encoder=encoder~" in named
    large = str(desk.folder / "encoder")
    further = planned(desk, "--encoder", f"bert-large={large}")[0]
    assert re.fullmatch(r"mocose-table3@bert-large=encoder~[0-9a-f]{8}", further)


def test_a_real_run_is_scored_on_one_s_own_pairs(tmp_path, monkeypatch):
    about = {"hidden": 16, "positions": 20, "masked_words": False, "unused": []}
    monkeypatch.setattr("core.data.encoders._loaded", lambda folder: dict(about))
    folder = tiny_checkpoint.bert(tmp_path)
    text = written(
        tmp_path / "mine.txt", "".join(f"w{i % 40} w{i % 7} w{i % 11}\n" for i in range(16_384))
    )
    pairs = [
        ("news", written(tmp_path / "news.tsv", PAIRS)),
        ("dev", written(tmp_path / "dev.tsv", PAIRS + "w11\tw12\t1\n")),
    ]
    found = local_sources(
        local_places(None, {"bert-base": folder}, tmp_path / "cache", text, pairs),
        tmp_path / "cache",
    )
    config = at_scale(base("simcse", "paper"), MINI, found)
    config = vary(
        config, {"train.steps": 3, "train.batch_size": 8, "eval.every": 1, "data.max_length": 12}
    )
    execution = Execution(
        results_dir=str(tmp_path), cache_dir=str(tmp_path / "cache"), sources=found
    )
    result = job.run(config, execution, lambda message: None)
    assert {block.task: len(block.gold) for block in result.pairs} == {"news": 3, "dev": 4}
    values = {
        (row.checkpoint, row.task): row.value for row in result.rows if row.metric == "spearman_all"
    }
    assert values["selected", "avg"] == values["selected", "news"]
    assert np.isfinite(values["selected", "dev"])
    assert not any(task.startswith("STS") for _, task in values)
    written(pairs[1][1], "w1 w2\tW1 w2\t1\nw3\tW3\t2\n")  # one sentence twice, for this tokenizer
    digest = local_sources(found, tmp_path / "cache").evaluation_digest
    told: list = []
    result = job.run(vary(config, {"eval.digest": digest}), execution, told.append)
    assert {row.step for row in result.rows if row.checkpoint == "selected"} == {3}
    assert "no check has a score, so the last checkpoint is selected" in [
        message.get("note") for message in told
    ]
    written(pairs[0][1], PAIRS.replace("2.25", "2.5"))
    with pytest.raises(UserError, match="not what this run was planned with"):
        job.run(config, execution, lambda message: None)


def pairs_of(place: Path | str, cache: Path) -> list:
    return read_pairs(data_file(str(place), "pairs", cache))


def text_of(place: Path | str, cache: Path) -> str:
    return data_file(str(place), "text", cache).read_text()


def test_tables_of_this_machine_are_read_as_they_stand(tmp_path, capsys):
    csv = written(tmp_path / "test.csv", 'sentence1,sentence2,score\na b,c,1.5\n"d\te",f,4\n')
    assert pairs_of(csv, tmp_path) == [("a b", "c", 1.5), ("d e", "f", 4.0)]
    written(csv, 'sentence1,sentence2,score\na b,c,1.5\n"d\te",g,4\n')
    assert pairs_of(csv, tmp_path)[1] == ("d e", "g", 4.0)  # what changed is read anew
    written(csv, "A,B,relatedness\nNA,b,1\nc,d,2\n")
    named = f"{csv}?columns=A,B,relatedness"
    assert pairs_of(named, tmp_path) == [("NA", "b", 1.0), ("c", "d", 2.0)]
    tsv = written(tmp_path / "b.tsv", 'sentence1\tsentence2\tscore\n"open\tb\t1\nc"\td\t2\n')
    assert [a for a, _, _ in pairs_of(tsv, tmp_path)] == ['"open', 'c"']
    quoted = written(tmp_path / "c.tsv", '"he ""said"" so"\tb\t1\nc\td\t2\n')
    assert len(own_sets([("c", quoted)])["c"]) == len(read_pairs(quoted)) == 2
    assert "1 fields as a spreadsheet quotes them" in capsys.readouterr().out

    array = written(tmp_path / "texts.json", '[{"text": "one \\"quoted"}, {"text": "two"}]')
    lines = written(tmp_path / "lines.json", '{"text": "one"}\n\n{"text": "two"}\n')
    assert (text_of(array, tmp_path), text_of(lines, tmp_path)) == (
        'one "quoted\ntwo\n',
        "one\ntwo\n",
    )
    plain = written(tmp_path / "lines.txt", "one sentence\n")
    assert data_file(str(plain), "text", tmp_path) == plain  # by line
    one = written(tmp_path / "a.csv", 'text\n"Row 1 says ""yes"", and goes on."\nRow 2\n')
    assert text_of(one, tmp_path) == 'Row 1 says "yes", and goes on.\nRow 2\n'
    written(one, "line\nA sentence.\n")
    assert text_of(f"{one}?columns=line", tmp_path) == "A sentence.\n"


@pytest.mark.parametrize("name", ["a[1].csv", "a?.csv", "x*/p.csv", "q::z.csv", "b.csv.gz"])
def test_a_path_is_the_file_of_that_name_and_never_a_pattern(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    content = b"sentence1,sentence2,score\na,b,1\nc,d,2\n"
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    assert pairs_of(path, tmp_path / "cache") == [("a", "b", 1.0), ("c", "d", 2.0)]


HEAD = "sentence1,sentence2,score\n"
NO_TABLE = (  # a file, what it holds, and the row that a sentence names
    ("a.jsonl", '{"sentence1": "a", "sentence2": null, "score": 1}', "row 1"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": ["b"], "score": 1}', "row 1"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b", "score": true}', "row 1"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b\\u0000", "score": 1}', "row 1"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b\\ud800", "score": 1}', "row 1"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b", "score": 1}\n3\n', "row 2"),
    ("a.jsonl", '{"sentence1": "a", "sentence2": "b", "score": 1}\n{\n', "line 2"),
    ("a.jsonl", "3\n", "a.jsonl"),
    ("a.jsonl", "", "a.jsonl"),
    ("a.json", '["a"]', "a.json"),
    ("a.csv", f"{HEAD}NA,null,1\n,b,2\n", "row 2"),
    ("a.csv", f"{HEAD}a,b\0,1\n", "a.csv, line 2"),
    ("a.csv", f"{HEAD}a,b,1,2\n", "a.csv"),
    ("a.csv", "sentence1,sentence2,score,score\na,b,1,4\n", "a.csv"),
    ("a.csv", "A,B,score\na,b,1\n", "sentence1, sentence2"),
    ("a.csv", f"{HEAD}\udce9,b,1\n", "a.csv, line 2"),
    ("a.csv", "", "a.csv"),
    ("a.parquet", "PAR1", "a.parquet"),
)


@pytest.mark.parametrize("name, content, named", NO_TABLE)
def test_what_is_no_pair_is_named_and_becomes_no_word(tmp_path, name, content, named):
    (tmp_path / name).write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(UserError, match=re.escape(named)):
        pairs_of(tmp_path / name, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("hf/*"))


@pytest.mark.parametrize("ending", [".csv", ".CSV", ".csv.gz"])
def test_no_first_sentence_is_lost_as_the_name_of_a_column(tmp_path, ending):
    content = b"A first sentence.\nA second one.\n"
    path = tmp_path / f"a{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    with pytest.raises(UserError, match="A first sentence"):
        text_of(path, tmp_path)


@pytest.mark.parametrize(
    "place",
    [
        *("hf:mteb/sts12-sts#test", "hf:mteb/sts12-sts@main#test", "missing.json", "a.csv#train"),
        *("a.csv?columns=", "a.csv?column=a", "a.csv?columns=a,b", "a.csv?columns=a,,b"),
        *("a.csv?columns=a,a,b", "a.csv?columns=sentence1,sentence2,score&config=de"),
    ],
)
def test_a_place_is_a_file_or_a_data_set_at_one_commit(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.csv", f"{HEAD}a,b,1\nc,d,2\n")
    with pytest.raises(UserError):
        data_file(place, "pairs", tmp_path / "cache")


def test_a_data_set_on_the_hub_is_read_once_at_its_commit_unless_its_copy_is_cut(
    tmp_path, monkeypatch
):
    asked = []

    def load(path, name, *, split, revision):
        asked.append((path, split, revision, name))
        return datasets.Dataset.from_dict({"text": ["one  two", "three"], "id": [1, 2]})

    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr(own_data, "check_hub", lambda: None)
    monkeypatch.chdir(tmp_path)
    place = f"hf:some/texts@{'a' * 40}#train"
    with pytest.raises(UserError, match="only a command that trains fetches it"):
        data_file(place, "text", tmp_path, fetch=False)
    for _ in range(2):
        assert (
            data_file(place, "text", tmp_path, fetch=bool(not asked)).read_text()
            == "one two\nthree\n"
        )
    assert asked == [("some/texts", "train", "a" * 40, None)]
    written(data_file(place, "text", tmp_path), "one two\n")
    assert data_file(place, "text", tmp_path).read_text() == "one two\nthree\n" and len(asked) == 2
    data_file(f"hf:some/texts@{'a' * 40}#train?config=en", "text", tmp_path)
    assert asked[-1] == ("some/texts", "train", "a" * 40, "en")
    (tmp_path / "some" / "texts").mkdir(parents=True)
    assert data_file(place, "text", tmp_path).is_file()
    with pytest.raises(UserError, match="some/texts is a folder here, too"):
        data_file(place.replace("train", "test"), "text", tmp_path)


def test_published_runs_take_no_plain_names_from_a_users_own(desk):
    desk.commit()
    assert desk.do(*ONE_RUN).returncode == 0
    assert "Published 1 run in" in desk.do("publish", ONE_RUN[0]).stdout
    shutil.rmtree(desk.results / "runs")
    shutil.rmtree(desk.results / "first")
    published = sources.recorded_sources(MINI, desk.store)
    desk.know_encoder("another\n")
    first = desk.do(*ONE_RUN)
    again = desk.do(*ONE_RUN, "--plan", "--use-published")
    assert first.returncode == 0 and "named after" not in first.stdout + again.stdout, first.stderr
    assert "1 run: 1 done, none to train." in again.stdout and len(desk.store.runs()) == 2
    own = sources.digests(sources.recorded_sources(MINI, desk.store))
    assert own == sources.digests(desk.found()) != sources.digests(published)
    noted = desk.store.first("mini")
    # as in a folder of before: another encoder takes no plain names
    shutil.rmtree(desk.results / "first")
    desk.know_encoder("a third\n")
    assert "named after encoder=" in desk.do(*ONE_RUN).stdout and desk.store.first("mini") == noted
    desk.know_encoder("another\n")
    # not refused: the page is for the user's own encoder
    drawn = desk.do("--all", "--regenerate-figures")
    assert drawn.returncode == 0, drawn.stderr
    note = "No published run of scale mini reads this training text."
    assert note not in again.stdout
    (desk.folder / "data" / "wiki_sentences.txt").write_text("another sentence\n" * 21_000)
    assert note in desk.do(*ONE_RUN, "--plan").stdout


@pytest.mark.parametrize("mode", ["--plan", "--list", "--regenerate-figures"])
def test_who_only_looks_fetches_nothing_for_data_of_one_s_own(desk, tmp_path, monkeypatch, mode):
    monkeypatch.setattr(
        "core.data.hub.fetch", lambda *_, **__: pytest.fail("something was asked for")
    )
    text = written(tmp_path / "mine.txt", "a sentence of my own\n" * 16_384)
    pairs = written(tmp_path / "news.tsv", PAIRS)
    options = cli.parse(
        ["mocose-table3", mode, "--scale", "paper", "--text", str(text), "--pairs", str(pairs)]
    )
    found = inputs.sources(options, PAPER, [], desk.store)
    assert found.encoder.digest == sources.NO_DIGEST and found.corpus_rows == 16_384
    assert found.evaluation_digest == own_digest(own_sets([("news", pairs)]), sources.NO_DIGEST)
    assert sources.own_data(found, ()).startswith("text=mine.txt~")
    assert "pairs=news~" in sources.own_data(found, ())
    alone = cli.parse(
        [
            "mocose-table3",
            mode,
            "--scale",
            "paper",
            "--pairs",
            f"a={pairs}",
            "--pairs",
            f"dev={pairs}",
        ]
    )
    scored = inputs.sources(alone, PAPER, [], desk.store).evaluation_digest
    assert scored == own_digest(own_sets([("a", pairs), ("dev", pairs)]), None)
