"""Ctrl-C and SIGTERM: what running trainings are given, what is kept, and what a checkpoint left behind
means."""

import signal
import time

from desk import SIX, until
from fake_jobs import made_result

from core.runner import cli
from core.runner.command import Command
from core.runner.train import Training
from core.spec.scale import DEMO, MINI, PAPER
from run_study import shipped


def command(*arguments: str) -> Training:
    return Command(cli.parse(["table3", *arguments]), [], shipped()).training


def test_checkpoints_and_grace_by_scale_and_by_choice():
    assert [command().checkpoint_minutes(scale) for scale in (DEMO, MINI, PAPER)] == [None, 10.0, 10.0]
    assert [command().grace(scale) for scale in (DEMO, MINI, PAPER)] == [0.0, 60.0, 60.0]
    chosen = command("--checkpoint-minutes", "0.5", "--grace", "7")
    for scale in (DEMO, PAPER):
        assert (chosen.checkpoint_minutes(scale), chosen.grace(scale)) == (0.5, 7.0)
    assert command("--checkpoint-minutes", "0").checkpoint_minutes(PAPER) is None


def test_within_the_grace_running_trainings_may_finish_and_none_is_started(desk):
    gate = desk.folder / "gate"
    desk.behave_all(f"hold {gate}")
    driver = desk.start(*SIX, "--checkpoint-minutes", "0", "--grace", "30")
    until(lambda: len(desk.started()) == 2)
    driver.send_signal(signal.SIGINT)
    time.sleep(1.0)
    assert driver.poll() is None and all(desk.store.claimed(run) for run in desk.started())
    gate.touch()
    out, err = driver.communicate(timeout=20)
    assert driver.returncode == 130 and "Trained 2 of 6 runs." in out, out + err
    assert len(desk.started()) == 2 and set(desk.store.runs()) == set(desk.started())


def test_what_does_not_end_within_the_grace_is_ended(desk):
    desk.behave_all("sleep 60")
    driver = desk.start(*SIX, "--checkpoint-minutes", "0", "--grace", "0.5")
    until(lambda: len(desk.started()) == 2)
    driver.send_signal(signal.SIGTERM)
    out, err = driver.communicate(timeout=20)
    assert driver.returncode == 143 and "6 runs are still to be trained" in out, out + err


def test_a_checkpoint_left_behind_is_told_kept_forced_away_or_swept(desk):
    first, second = desk.six().runs[:2]
    desk.store.prepare()
    desk.store.save(second.config, made_result(second.config))
    desk.behave(**{first.run_id: "raise"})
    for run in (first, second):
        desk.store.checkpoint(run.run_id).write_text("made up")
    assert "1 of those that are not running go on from a checkpoint" in desk.do(*SIX, "--status").stdout
    done = desk.do(*SIX)
    assert "To train just those again, 1 of them from a checkpoint" in done.stdout
    assert desk.store.checkpoint(first.run_id).exists()
    assert not desk.store.checkpoint(second.run_id).exists()  # swept: the run is stored
    assert desk.do(*SIX, "--force").returncode == 1
    assert not desk.store.checkpoint(first.run_id).exists()  # --force starts from nothing
