"""Runs on text and pairs of one's own share no run and no name with other data."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_checkpoint
from fake_jobs import made_result
from resolved import config_at

from core.config.methods import base
from core.config.scale import MINI, PAPER, at_scale
from core.config.vary import vary
from core.data import sources
from core.data.own_data import own_digest, own_sets, with_own_pairs
from core.data.sources import local_places, local_sources
from core.runner import cli, inputs
from core.runner.plan import plan
from core.store.store import Store
from core.study.resolution import resolve
from core.study.setup import Setup
from core.training import job
from core.training.execution import Execution
from studies import find
from tools import publish

TABLE3 = find("mocose-table3")
ONE_RUN = ("mocose-table3", "--seeds", "1", "--cell", "0.85", "--jobs", "1")
PAIRS = "w1 w2\tw1 w3\t4\nw4 w5\tw6 w7\t0.5\nw8 w9\tw8 w1\t2.25\n"


def written(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_names_and_content_are_the_identity_of_pairs_which_take_the_place_of_the_scale_s(tmp_path):
    one, same = (written(tmp_path / name, PAIRS) for name in ("a.tsv", "b.tsv"))
    other = written(tmp_path / "c.tsv", PAIRS.replace("2.25", "2.5"))
    cases = (("x", one, None), ("x", other, None), ("y", one, None), ("x", one, "rest"))
    digests = [own_digest(own_sets([(name, path)]), rest) for name, path, rest in cases]
    assert len(set(digests)) == 4
    assert own_digest(own_sets([("x", same)]), None) == digests[0]
    for names, tests, dev in (
        (["x", "dev", "y"], ("x", "y"), "dev"),
        (["x"], ("x",), MINI.dev),
        (["dev"], MINI.tests, "dev"),
        ([], MINI.tests, MINI.dev),
    ):
        scale = with_own_pairs(MINI, names)
        assert (scale.tests, scale.dev) == (tests, dev)


def planned(desk, *arguments: str) -> tuple[str, set[str]]:
    """The name of the table that these arguments make, and the runs behind it."""
    places = ["--data-dir", str(desk.folder / "data"), "--encoder", str(desk.folder / "encoder")]
    order = cli.parse([*ONE_RUN, "--scale", "mini", *places, *arguments])
    store = Store(desk.results, None)
    scale, found, (study,) = inputs.data_of(order, MINI, [TABLE3], store)
    setup = Setup(profile="paper", scale=scale, sources=found, seeds=1)
    made = plan([resolve(study, setup)], store, labels=("0.85",))
    return study.name, {run.run_id for run in made.runs}


def test_a_second_text_or_set_of_pairs_shares_no_run_and_no_name(
    desk, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(desk.folder / "cache"))
    lines = "a sentence of my own\n" * 16_384
    (tmp_path / "b").mkdir()
    text = ("--text", str(written(tmp_path / "mine.txt", lines)))
    again = ("--text", str(written(tmp_path / "b" / "mine.txt", lines + "one more\n")))
    pairs = written(tmp_path / "news.tsv", PAIRS)
    both = ("--pairs", str(pairs), "--pairs", f"dev={pairs}")
    cases = ((), text, again, both[:2], both, (*text, *both))
    made = [planned(desk, *more) for more in cases]
    names = [name for name, _ in made]
    runs = [run for _, its in made for run in its]
    assert len(set(names)) == len(made) == len(set(runs)) == len(runs)
    mine = r"mocose-table3@text=mine.txt~[0-9a-f]{8}"
    encoder = r"encoder=encoder~[0-9a-f]{8}"
    assert names[0] == "mocose-table3"
    assert all(re.fullmatch(f"{mine},{encoder}", name) for name in names[1:3])
    assert re.fullmatch(rf"{mine},pairs=news\+dev~[0-9a-f]{{8}},{encoder}", names[-1])
    out = capsys.readouterr().out
    assert "mine.txt: 16384 sentences" in out and "mine.txt: 16385 sentences" in out
    assert out.count(f"3 pairs of {pairs}.") >= 2
    assert planned(desk, *again)[1] == made[2][1]
    # another encoder, and one that stands for another of the papers'
    desk.know_encoder("another\n")
    named, others = planned(desk, *text)
    assert named != names[1] and not made[1][1] & others and "encoder=encoder~" in named
    further = planned(desk, "--encoder", f"bert-large={desk.folder / 'encoder'}")[0]
    assert re.fullmatch(r"mocose-table3@bert-large=encoder~[0-9a-f]{8}", further)


def test_a_real_run_is_scored_on_one_s_own_pairs(tmp_path, monkeypatch):
    about = {"hidden": 16, "positions": 20, "masked_words": False, "unused": []}
    monkeypatch.setattr("core.data.encoders._loaded", lambda folder: dict(about))
    folder = tiny_checkpoint.bert(tmp_path)
    lines = "".join(f"w{i % 40} w{i % 7} w{i % 11}\n" for i in range(16_384))
    text = written(tmp_path / "mine.txt", lines)
    news = written(tmp_path / "news.tsv", PAIRS)
    dev = written(tmp_path / "dev.tsv", PAIRS + "w11\tw12\t1\n")
    cache = tmp_path / "cache"
    pairs = [("news", news), ("dev", dev)]
    found = local_sources(local_places(None, {"bert-base": folder}, cache, text, pairs), cache)
    sizes = {"train.steps": 3, "train.batch_size": 8, "eval.every": 1, "data.max_length": 12}
    config = vary(at_scale(base("simcse", "paper"), MINI, found), sizes)
    execution = Execution(results_dir=str(tmp_path), cache_dir=str(cache), sources=found)
    result = job.run(config, execution, lambda message: None)
    assert {block.task: len(block.gold) for block in result.pairs} == {"news": 3, "dev": 4}
    rows = [row for row in result.rows if row.metric == "spearman_all"]
    values = {(row.checkpoint, row.task): row.value for row in rows}
    assert values["selected", "avg"] == values["selected", "news"]
    assert np.isfinite(values["selected", "dev"])
    assert not any(task.startswith("STS") for _, task in values)
    written(dev, "w1 w2\tW1 w2\t1\nw3\tW3\t2\n")  # one sentence twice, for this tokenizer
    digest = local_sources(found, cache).evaluation_digest
    told: list = []
    result = job.run(vary(config, {"eval.digest": digest}), execution, told.append)
    assert {row.step for row in result.rows if row.checkpoint == "selected"} == {3}
    assert any("no check has a score" in message.get("note", "") for message in told)


def test_published_runs_take_no_plain_names_from_a_users_own(desk):
    config = config_at(desk.setup(1), TABLE3, TABLE3.matching(("0.85",))[0], 0)
    about = sources.provenance(desk.found())
    desk.store.save(config, replace(made_result(config), provenance=about))
    publish.pack(desk.store, desk.store.runs(), desk.results / "published")
    shutil.rmtree(desk.results / "runs")
    published = sources.recorded_sources(MINI, desk.store)
    # a training without data would fetch another text than these runs have
    plan = MINI, "plan", [], desk.store, desk.folder
    fetched = sources.sources_of(sources.DataOptions(), *plan)
    assert fetched.corpus_digest == fetched.transfer_digest == sources.NO_DIGEST
    desk.store.save(config, replace(made_result(config), provenance=about))
    assert sources.sources_of(sources.DataOptions(), *plan).corpus_digest == sources.NO_DIGEST
    shutil.rmtree(desk.results / "runs")
    desk.know_encoder("another\n")
    first = desk.do(*ONE_RUN)
    again = desk.do(*ONE_RUN, "--plan", "--use-published")
    assert first.returncode == 0 and "named after" not in first.stdout + again.stdout, first.stderr
    assert "1 run: 1 done, none to train." in again.stdout and len(desk.store.runs()) == 2
    # nor than your own runs have that were trained with --data-dir
    fetched = sources.sources_of(sources.DataOptions(), MINI, "plan", [], desk.store, desk.folder)
    assert fetched.corpus_digest == sources.NO_DIGEST
    own = sources.recorded_sources(MINI, desk.store)
    assert not sources.other_data(own, desk.found())
    assert sources.other_data(own, published).startswith("encoder=")
    # a third encoder takes no plain names
    desk.know_encoder("a third\n")
    assert "named after encoder=" in desk.do(*ONE_RUN, "--plan").stdout
    desk.know_encoder("another\n")
    # not refused: the page is for the user's own encoder
    every = desk.do("--all", "--plan")
    assert every.returncode == 0, every.stderr
    note = "No published run of scale mini reads this training text."
    assert note not in again.stdout
    (desk.folder / "data" / "wiki_sentences.txt").write_text("another sentence\n" * 21_000)
    assert note in desk.do(*ONE_RUN, "--plan").stdout


@pytest.mark.parametrize("mode", ["--plan", "--list", "--regenerate-figures"])
def test_who_only_looks_fetches_nothing_for_data_of_one_s_own(desk, tmp_path, monkeypatch, mode):
    monkeypatch.setattr("core.data.hub.fetch", lambda *_, **__: pytest.fail("it fetched"))
    text = written(tmp_path / "mine.txt", "a sentence of my own\n" * 16_384)
    pairs = written(tmp_path / "news.tsv", PAIRS)
    look = ["mocose-table3", mode, "--scale", "paper"]
    order = cli.parse([*look, "--text", str(text), "--pairs", str(pairs)])
    needs = (PAPER, order.need, (), desk.store, desk.cache)
    found = sources.sources_of(order.data, *needs)
    assert found.encoder.digest == sources.NO_DIGEST and found.corpus_rows == 16_384
    assert found.evaluation_digest == own_digest(own_sets([("news", pairs)]), sources.NO_DIGEST)
    assert re.match("text=mine.txt~.*pairs=news~", sources.own_data(found, ()))
    order = cli.parse([*look, "--pairs", f"a={pairs}", "--pairs", f"dev={pairs}"])
    scored = sources.sources_of(order.data, *needs).evaluation_digest
    assert scored == own_digest(own_sets([("a", pairs), ("dev", pairs)]), None)
