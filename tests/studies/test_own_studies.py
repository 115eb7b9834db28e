"""Our own studies: the noise study is the configuration that the tables share; each deviation is alone, and none is forgotten."""

import re

import pytest
from fake_store import SOURCES
from made_scales import PAPER_SOURCES

from core.spec import methods
from core.spec.fields import explanations
from core.spec.identity import run_id, to_plain
from core.spec.methods import PROFILES, deviating
from core.spec.scale import DEMO, MINI, PAPER
from core.spec.vary import read, vary
from studies import STUDIES, find

OWN = [study for study in STUDIES if study.paper == "ours"]
LISTS = [find("deviations"), find("deviations-esimcse")]


def run_of(study, *labels, profile="paper", scale=PAPER, sources=PAPER_SOURCES, seed=1):
    (cell,) = study.matching(labels)
    return study.config(cell, profile=profile, scale=scale, sources=sources, seed=seed)


def leaves(plain, path=""):
    """Every scalar of a configuration by dotted path."""
    if not isinstance(plain, dict):
        return {path: plain}
    return {k: v for name, inner in plain.items() for k, v in leaves(inner, f"{path}.{name}".strip(".")).items()}


def differing(a, b):
    a, b = leaves(to_plain(a)), leaves(to_plain(b))
    return {path for path in set(a) | set(b) if a.get(path) != b.get(path)}


def test_they_are_these():
    assert [study.name for study in OWN] == [
        "noise",
        "updates",
        "deviations",
        "deviations-d21",
        "deviations-esimcse",
        "collapse",
        "orders",
        "negatives",
        "momentum",
    ]


@pytest.mark.parametrize("study", OWN, ids=lambda study: study.name)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("scale, sources", [(DEMO, SOURCES), (MINI, SOURCES), (PAPER, PAPER_SOURCES)], ids=["demo", "mini", "paper"])
def test_every_cell_is_a_valid_run(study, profile, scale, sources):
    for cell in study.at(scale).cells:
        run = study.config(cell, profile=profile, scale=scale, sources=sources, seed=5)
        assert (run.scale, run.method) == (scale.name, cell.method or study.method)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("scale, sources", [(DEMO, SOURCES), (PAPER, PAPER_SOURCES)], ids=["demo", "paper"])
def test_noise_is_the_run_that_tables_3_and_7_share(profile, scale, sources):
    noise = run_of(find("noise"), "standard", profile=profile, scale=scale, sources=sources)
    for other in (("table3", "0.85"), ("table7", "quarter", "512")):
        assert run_id(noise) == run_id(run_of(find(other[0]), *other[1:], profile=profile, scale=scale, sources=sources))


def test_noise_has_seeds_for_the_largest_table_and_the_eight_printed_values():
    study = find("noise")
    (cell,) = study.cells
    assert study.least_seeds >= 24 > len(find("table7").cells)
    assert sorted(cell.published_runs) == sorted((77.30, 77.27, 77.25, 77.04, 76.89, 76.64, 76.49, 76.41))
    assert cell.published is None and study.reference is None


@pytest.mark.parametrize("study", LISTS, ids=lambda study: study.name)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_deviation_differs_from_the_papers_configuration_in_what_it_names_alone(study, profile):
    paper = run_of(study, "paper", profile=profile)
    for cell in study.cells:
        moved = {path for path, value in cell.changes.items() if read(paper, path) != value}
        same = cell.labels == ("paper",) or cell.metric is not None or (profile == "released" and "seed.data" in cell.changes)
        assert bool(moved) != same
        assert differing(paper, run_of(study, *cell.labels, profile=profile)) == moved
        sections = {path.partition(".")[0] for path in cell.changes}
        assert len(sections) <= 1 or cell.labels[0] in ("all that the code does", "repaired")


@pytest.mark.parametrize("study", [study for study in OWN[2:] if study.name.startswith("deviations")], ids=lambda study: study.name)
def test_the_profile_moves_the_seed_alone(study):
    for cell in study.cells:
        paper, repaired, released = (run_of(study, *cell.labels, profile=profile) for profile in PROFILES)
        assert paper == repaired and differing(paper, released) == (set() if "seed.data" in cell.changes else {"seed.data"})


@pytest.mark.parametrize("study, table, labels", [(LISTS[0], "table7", ("quarter", "512")), (LISTS[1], "esimcse-table11", ("2.5",))])
def test_the_list_has_the_profiles_themselves(study, table, labels):
    rows = {
        "paper": "paper",
        "repaired": "repaired" if study.method == "mocose" else "paper",  # its cap changes nothing at 0.32 (D62)
        "released": "all that the code does",
    }
    for profile, row in rows.items():
        assert run_id(run_of(study, row, profile=profile)) == run_id(run_of(find(table), *labels, profile=profile))


@pytest.mark.parametrize("method", ["mocose", "esimcse"])
def test_deviating_is_every_side_of_every_change(method):
    sides = deviating(method)
    listed = {path for path in (*methods.method(method).repaired, *methods.method(method).released) if not path.startswith("text.")} - {
        "seed.data"
    }
    assert tuple(sides) == PROFILES and all(set(side) == listed for side in sides.values())
    assert {path for path in listed if sides["paper"][path] != sides["repaired"][path]} == set(methods.method(method).repaired)
    assert not [path for path in methods.method(method).released if path in listed and sides["repaired"][path] == sides["released"][path]]


SCHEDULE, STALE = {"ema.schedule", "ema.end", "ema.total_updates"}, {"fgsm.gradient", "fgsm.views"}
NEEDS = {
    **{path: SCHEDULE | {"ema.start"} for path in SCHEDULE},
    **{path: STALE for path in STALE},
    "target.freeze_projection": {"target.stop_gradient"},
    "select.metric": {"select.score"},
    "select.score": {"select.metric"},
}


@pytest.mark.parametrize("study", LISTS, ids=lambda study: study.name)
def test_no_change_is_forgotten(study):
    left_out = {
        "eval.apply_augmentation": "deviations-d21 has it",
        "queue.cut_first_batch": "without effect on a queue above a batch",
        "dup.cap": "at a rate of 0.32 no 32 tokens have more than ten repetitions",
    }
    alone = [cell.changes for cell in study.cells if cell.labels[0] not in ("all that the code does", "repaired")]
    for path, value in deviating(study.method)["released"].items():
        found = [changes for changes in alone if changes.get(path) == value and set(changes) <= {path} | NEEDS.get(path, set())]
        assert bool(found) == (path not in left_out), path


def test_labels_name_deviations_that_are_written_down():
    numbers = {number for study in OWN for axis in study.axes for label in axis.labels for number in re.findall(r"D\d+", label)}
    assert {"D1", "D2", "D6", "D7", "D9", "D22", "D24", "D40", "D60", "D61", "D70", "D80"} <= numbers
    assert numbers <= set(explanations())


def test_d21_asks_every_augmentation_both_ways():
    study = find("deviations-d21")
    for name in study.axis("augmentation").labels[1:]:
        plain, augmented = (run_of(study, name, evaluation) for evaluation in ("plain", "augmented"))
        assert plain.aug.active() and plain.aug == augmented.aug
        assert differing(plain, augmented) == {"eval.apply_augmentation"} and augmented.eval.apply_augmentation
    assert run_id(run_of(study, "none", "plain")) == run_id(run_of(find("deviations"), "paper"))
    printed = {cell.labels: cell.published for cell in study.cells if cell.published is not None}
    assert printed == {("position shuffle of the code (D24)", "augmented"): 73.80,
                       ("token cut-off 0.1 of the code (D22)", "augmented"): 41.32, ("feature cut-off 0.01", "augmented"): 76.33,
                       ("feature cut-off 0.1", "augmented"): 71.62}  # fmt: skip


def test_other_readings_share_the_papers_runs():
    for study in LISTS:
        readings = [cell for cell in study.cells if cell.metric is not None]
        assert {(m.metric.checkpoint, m.metric.quantity) for m in readings} == {
            ("last", "spearman"), ("selected", "spearman_mean"), ("selected", "spearman_wmean"),
        }  # fmt: skip
        assert {run_id(run_of(study, *cell.labels)) for cell in readings} == {run_id(run_of(study, "paper"))}


def test_paths_in_the_lists_exist_and_move_away_from_the_clean_value():
    for study in LISTS:
        paper = run_of(study, "paper")
        for cell in study.cells:
            for path, value in cell.changes.items():
                assert read(vary(paper, cell.changes), path) == value


@pytest.mark.parametrize("profile", PROFILES)
def test_collapse_is_figure_5_under_two_kinds_of_negatives(profile):
    """So it shares Figure 5's runs where the profile has those negatives, and moves nothing else where it has not."""
    study, figure = find("collapse"), find("mocose-figure5")
    own = "queue" if profile == "paper" else "queue and batch"
    for setting, negatives in (cell.labels for cell in study.cells):
        here = run_of(study, setting, negatives, profile=profile)
        there = run_of(figure, setting, "last", profile=profile)
        assert differing(here, there) == (set() if negatives == own else {"loss.in_batch_negatives"})


def test_collapse_is_judged_by_the_row_that_keeps_its_decay():
    """Not by one that may collapse: had it collapsed, the study would count as one whose scale cannot train."""
    study = find("collapse")
    judging = study.matching(study.must_learn[0])
    assert study.reference is None and len(study.must_learn) == 1 and len(judging) == 2
    assert all(cell.changes["ema.start"] > 0 and "ema.schedule" not in cell.changes for cell in judging)
    assert len(study.cells) - len(judging) == 4 == sum(cell.changes.get("ema.start") == 0 for cell in study.cells)


@pytest.mark.parametrize("profile", PROFILES)
def test_rows_of_orders_differ_in_the_seed_of_the_data_alone_and_that_of_42_is_released_s_table_7(profile):
    study, table = find("orders"), find("esimcse-table7")
    for order, components in (cell.labels for cell in study.cells):
        here = [run_of(study, order, components, profile=profile, seed=seed) for seed in (0, 3)]
        assert [run.seed.data for run in here] == [int(order)] * 2 and [run.seed.model for run in here] == [0, 3]
        there = run_of(table, components, "avg", profile=profile, seed=3)
        assert differing(here[1], there) == ({"seed.data"} if profile != "released" or order != "42" else set())
