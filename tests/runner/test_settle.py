"""--until-settled on studies whose truth is known: what is settled, in which order, at what price, under
kills and in company."""

import re
from collections import Counter

from known_jobs import ONE, TWO

from core.report.results import gather
from core.report.verdicts import judged
from core.study.resolution import resolve

KNOWN = {"KNOWN_STUDIES": "yes", "FAKE_JOB": "tests.support.known_jobs:run"}
BOTH = ("mocose-one", "mocose-two")
TRUTH = {
    "K1": "supported",
    "K2": "contradicted",
    "K3": "equivalent",
    "K4": "undecided",
    "L1": "supported",
}


def test_what_is_true_is_found_and_no_run_is_trained_twice(desk):
    done = desk.do(*BOTH, "--until-settled", "--budget", "1000h", "--jobs", "3", **KNOWN)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = {}
    for study in (ONE, TWO):
        for verdict in judged(gather(resolve(study, desk.setup(3)), desk.store)).verdicts:
            outcomes[verdict.claim.key] = verdict.outcome
    assert outcomes == TRUTH
    assert max(Counter(desk.started()).values()) == 1
    assert len(desk.started()) == len(desk.store.runs())
    seeds = Counter(desk.store.load(identity).config.queue.size for identity in desk.store.runs())
    # K4 compares the last two
    assert seeds[128] <= 8 and seeds[256] <= 8 and seeds[384] == seeds[512] == 60
    assert "4 of 5 claims settled." in done.stdout
    assert "mocose-one K1: supported at 3 seeds\n" in done.stdout
    assert re.search(r"mocose-one K4: \w+, 40 of 60 seeds\n", done.stdout)
    assert "drew nothing" in done.stdout  # then it renders as ever
    steps = re.findall(r"Next: (\d+) runs?, .*: mocose-(\w+ \w+) at (\d+) seeds", done.stdout)
    assert len(steps) >= 8 and steps[0] in (("6", "one K1", "3"), ("6", "two L1", "3"))


def test_a_training_says_where_claims_stand_when_a_check_is_complete(desk):
    """Seed by seed; the last check is that of the table."""
    out = desk.do("mocose-one", "--seeds", "5", "--cell", "a", "--cell", "b", **KNOWN).stdout
    before, after = out.split("mocose-one K1: supported at 3 seeds\n")
    assert "[ 6/10]" in before and "[ 7/10]" in after and "K2" not in out


def test_nothing_is_begun_that_does_not_fit_the_budget(desk):
    done = desk.do(*BOTH, "--until-settled", "--budget", "30s", **KNOWN)
    assert done.returncode == 0 and not done.stderr
    assert "The shortest step left takes" in done.stdout
    plan = desk.do(*BOTH, "--until-settled", "--plan", **KNOWN).stdout
    short = desk.do(*BOTH, "--until-settled", "--plan", "--budget", "30s", **KNOWN).stdout
    assert "The shortest step left takes" in short and "mocose-one" not in short
    assert "6 runs, about" in plan and not desk.started()
    assert {"K1", "K2", "K3", "K4", "L1"} == set(re.findall(r"[KL]\d", plan))
    assert "5 claims are undecided; more runs may settle 5." in plan
