"""Checkpoints: when they are written, and what becomes of one that was left behind."""

from desk import SIX
from fake_jobs import made_result

from core.runner import cli
from core.runner.command import Command
from core.runner.train import Training
from core.spec.scale import DEMO, MINI, PAPER
from run_study import shipped


def command(*arguments: str) -> Training:
    return Command(cli.parse(["table3", *arguments]), [], shipped()).training


def test_checkpoints_by_scale_and_by_choice():
    assert [command().checkpoint_minutes(scale) for scale in (DEMO, MINI, PAPER)] == [None, 10.0, 10.0]
    chosen = command("--checkpoint-minutes", "0.5")
    assert [chosen.checkpoint_minutes(scale) for scale in (DEMO, PAPER)] == [0.5, 0.5]
    assert command("--checkpoint-minutes", "0").checkpoint_minutes(PAPER) is None


def test_a_checkpoint_left_behind_is_told_kept_forced_away_or_swept(desk):
    first, second = desk.six().runs[:2]
    desk.store.prepare()
    desk.store.save(second.config, made_result(second.config))
    desk.behave(**{first.run_id: "raise"})
    for run in (first, second):
        desk.store.checkpoint(run.run_id).write_text("made up")
    assert "1 of those that are not running go on from a checkpoint" in desk.do(*SIX, "--status").stdout
    done = desk.do(*SIX)
    assert "1 run is still to be trained, 1 of them from a checkpoint. Go on with:" in done.stdout
    assert desk.store.checkpoint(first.run_id).exists()
    assert not desk.store.checkpoint(second.run_id).exists()  # swept: the run is stored
    assert desk.do(*SIX, "--force").returncode == 1
    assert not desk.store.checkpoint(first.run_id).exists()  # --force starts from nothing
