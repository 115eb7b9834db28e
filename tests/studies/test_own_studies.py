"""Our own studies: each deviation is alone, none is forgotten, and what is a paper's configuration is its run."""

import pytest
from made_scales import PAPER_SOURCES, cell_run

from core.spec import methods
from core.spec.identity import run_id, to_plain
from core.spec.methods import PROFILES, deviating
from core.spec.scale import PAPER
from core.spec.vary import read
from studies import find

LISTS = [find("deviations"), find("deviations-esimcse")]
WHOLE = ("all that the code does", "repaired")
SCHEDULE, STALE = {"ema.schedule", "ema.end", "ema.total_updates"}, {"fgsm.gradient", "fgsm.views"}
NEEDS = {
    **{path: SCHEDULE | {"ema.start"} for path in SCHEDULE}, **{path: STALE for path in STALE},
    "target.freeze_projection": {"target.stop_gradient"}, "select.metric": {"select.score"}, "select.score": {"select.metric"},
}  # fmt: skip
LEFT_OUT = {
    "eval.apply_augmentation": "deviations-d21 has it",
    "queue.cut_first_batch": "without effect on a queue above a batch",
    "dup.cap": "at a rate of 0.32 no 32 tokens have more than ten repetitions",
}


def run_of(name, *labels, profile="paper", seed=1):
    study = find(name) if isinstance(name, str) else name
    (cell,) = study.matching(labels)
    return cell_run(study, cell, profile=profile, scale=PAPER, sources=PAPER_SOURCES, seed=seed)


def leaves(plain, path=""):
    """Every scalar of a configuration by dotted path."""
    if not isinstance(plain, dict):
        return {path: plain}
    return {key: value for name, inner in plain.items() for key, value in leaves(inner, f"{path}.{name}".strip(".")).items()}


def differing(a, b):
    a, b = leaves(to_plain(a)), leaves(to_plain(b))
    return {path for path in set(a) | set(b) if a.get(path) != b.get(path)}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_deviation_differs_from_the_paper_s_configuration_in_what_it_names_alone(profile):
    for study in LISTS:
        paper = run_of(study, "paper", profile=profile)
        for cell in study.cells:
            moved = {path for path, value in cell.changes.items() if read(paper, path) != value}
            same = cell.labels == ("paper",) or cell.metric is not None or (profile == "released" and "seed.data" in cell.changes)
            assert bool(moved) != same and differing(paper, run_of(study, *cell.labels, profile=profile)) == moved, cell.labels
            assert len({path.partition(".")[0] for path in cell.changes}) <= 1 or cell.labels[0] in WHOLE, cell.labels


def test_deviating_is_every_side_of_every_change_and_no_change_is_forgotten():
    for study in LISTS:
        method, sides = methods.method(study.method), deviating(study.method)
        listed = {path for path in (*method.repaired, *method.released) if not path.startswith("text.")} - {"seed.data"}
        assert tuple(sides) == PROFILES and all(set(side) == listed for side in sides.values())
        assert {path for path in listed if sides["paper"][path] != sides["repaired"][path]} == set(method.repaired)
        alone = [cell.changes for cell in study.cells if cell.labels[0] not in WHOLE]
        for path, value in sides["released"].items():
            rows = [changes for changes in alone if changes.get(path) == value and set(changes) <= {path} | NEEDS.get(path, set())]
            assert bool(rows) == (path not in LEFT_OUT), path
    assert run_of("deviations", "D11 predictor ends in a linear layer").heads.predictor_tail == "linear"


def test_d21_asks_every_augmentation_both_ways():
    study = find("deviations-d21")
    for name in study.axis("augmentation").labels[1:]:
        plain, augmented = (run_of(study, name, evaluation) for evaluation in ("plain", "augmented"))
        assert plain.aug.active() and plain.aug == augmented.aug
        assert differing(plain, augmented) == {"eval.apply_augmentation"} and augmented.eval.apply_augmentation
    assert run_id(run_of(study, "none", "plain")) == run_id(run_of("deviations", "paper"))
    printed = {cell.labels[0]: cell.published for cell in study.cells if cell.published is not None}
    table5 = {cell.published for cell in find("table5").cells}
    assert len(printed) == 4 and set(printed.values()) < table5


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_a_paper_s_cell_is_its_run(profile):
    """`collapse` is Figure 5 under two kinds of negatives, `negatives` Table 4 likewise, `momentum` Table 7, `orders` Table 7 by seed."""
    own = "queue" if profile == "paper" else "queue and batch"
    for setting, negatives in (cell.labels for cell in find("collapse").cells):
        there = run_of("mocose-figure5", setting, "last", profile=profile)
        moved = set() if negatives == own else {"loss.in_batch_negatives"}
        assert differing(run_of("collapse", setting, negatives, profile=profile), there) == moved
    depths = {"MoCoSE: queue": "2", "queue and batch": "2", "queue, no predictor": "0", "queue and batch, no predictor": "0"}
    for setting, depth in depths.items():
        here, there = run_of("negatives", setting, profile=profile), run_of("mocose-table4", "1", depth, profile=profile)
        batch = "batch" in setting
        assert differing(here, there) == (set() if batch == (profile != "paper") else {"loss.in_batch_negatives"})
    for value, components in (cell.labels for cell in find("momentum").cells):
        here, there = run_of("momentum", value, components, profile=profile), run_of("esimcse-table7", components, "avg", profile=profile)
        assert differing(here, there) == (set() if value == "0.995" else {"momentum.lambda"})
    for order, components in (cell.labels for cell in find("orders").cells):
        here, there = run_of("orders", order, components, profile=profile), run_of("esimcse-table7", components, "avg", profile=profile)
        moved = {"seed.data"} if profile != "released" or order != "42" else set()
        assert here.seed.data == int(order) and differing(here, there) == moved
    for (epsilon,) in (cell.labels for cell in find("views").cells):
        assert run_id(run_of("views", epsilon, profile=profile)) == run_id(run_of("table9", epsilon, profile=profile))
    (updates,) = find("updates").matching(("64",))
    assert find("updates").equal_updates and updates.changes == {"train.batch_size": 64}
