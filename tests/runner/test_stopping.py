"""What becomes of a checkpoint that was left behind."""

from desk import SIX
from fake_jobs import made_result


def test_a_checkpoint_left_behind_is_told_kept_forced_away_or_swept(desk):
    first, second = desk.six().runs[:2]
    desk.store.prepare()
    desk.store.save(second.config, made_result(second.config))
    desk.behave(**{first.run_id: "raise"})
    for run in (first, second):
        desk.store.checkpoint(run.run_id).write_text("made up")
    done = desk.do(*SIX)
    assert "1 run is still to be trained, 1 of them from a checkpoint. Go on with:" in done.stdout
    assert desk.store.checkpoint(first.run_id).exists()
    assert not desk.store.checkpoint(second.run_id).exists()  # swept: the run is stored
    assert desk.do(*SIX, "--force").returncode == 1
    assert not desk.store.checkpoint(first.run_id).exists()  # --force starts from nothing
