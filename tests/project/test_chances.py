"""The chances put to the test say what would have been said then, and count what came of it."""

import pytest
from fake_store import edition, filled

from benchmarks.chances import Said, main, said_in, table
from core.report.cells import gather
from core.report.contrasts import Readings
from core.report.sequential import LOOKS, decide
from core.report.verdicts import verdicts
from studies import find

STUDY = find("esimcse-table11")
SEEDS, NOISE = 18, 0.8


def result(seeds, spread=6.0):
    return gather(STUDY, edition(seeds), filled(STUDY, seeds=seeds, spread=spread))


def test_what_is_said_at_a_look_is_what_a_store_with_these_seeds_alone_says():
    said = list(said_in(result(SEEDS), NOISE))
    assert {one.seeds for one in said} > {3, 5}
    for n in {one.seeds for one in said}:
        then = {verdict.claim.key: verdict for verdict in verdicts(result(n), noise=NOISE)}
        for one in (one for one in said if one.seeds == n):
            (expected,) = (chance.best for chance in then[one.claim].chances if chance.n == one.then)
            assert then[one.claim].outcome == "undecided" and one.chance == pytest.approx(expected)


def test_a_chance_has_come_true_if_the_claim_is_settled_by_the_look_that_it_speaks_of():
    whole = result(SEEDS, spread=3.0)
    readings, said = Readings(whole), list(said_in(whole, NOISE))
    assert {one.settled for one in said} == {True, False}
    for one in said:
        claim = next(claim for claim in STUDY.claims if claim.key == one.claim)
        alone = decide(claim, lambda contrast, n, most=one.then: readings.samples(contrast, n) if n <= most else None, len(STUDY.claims))
        assert one.settled == (alone.outcome != "undecided")
    for key in {one.claim for one in said}:
        first = min((one.then for one in said if one.claim == key and one.settled), default=SEEDS)
        assert max(one.seeds for one in said if one.claim == key) < first  # of a settled claim nothing more is said


def test_no_look_beyond_the_seeds_is_counted():
    assert {one.then for one in said_in(result(8), NOISE)} == {5, 8} and not list(said_in(result(3), NOISE))
    assert all(one.seeds in LOOKS and one.then in LOOKS and one.seeds < one.then for one in said_in(result(8), NOISE))


@pytest.mark.parametrize(
    "place, sentence", [("nowhere", "is no folder of published results"), ("", "holds no claim with seeds beyond its first look")]
)
def test_a_folder_without_published_results_is_answered(tmp_path, monkeypatch, capsys, place, sentence):
    monkeypatch.setattr("sys.argv", ["chances", "--published", str(tmp_path / place)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2 and sentence in capsys.readouterr().err


def test_the_table_counts_by_range_and_by_distance():
    said = [Said("A", 3, 5, 0.5, True), Said("B", 3, 5, 0.4, False), Said("A", 3, 8, 1.0, True), Said("C", 5, 8, 0.0, False)]
    rows = {line.split(" | ")[0].strip("| "): [part.strip(" |") for part in line.split("|")[2:-1]] for line in table(said)[2:]}
    assert rows["0.4 to 0.6"] == ["2", "45", "50", "0", "", ""]
    assert rows["0.95 to 1"] == ["0", "", "", "1", "100", "100"]
    assert rows["0 to 0.05"] == ["1", "0", "0", "0", "", ""] and rows["0.6 to 0.8"] == ["0", "", "", "0", "", ""]
