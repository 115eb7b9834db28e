"""All studies: each is data in its own file, each cell a run at every scale and profile; our own
vary what they name alone."""

import pytest
from fake_store import SOURCES
from made_scales import MOCOSE, PAPER_SOURCES, SHIPPED_STUDIES, cell_run, config

from core.config import methods
from core.config.identity import run_id
from core.config.methods import PROFILES, base, deviating
from core.config.scale import DEMO, MINI, PAPER, STS_TESTS
from core.config.vary import paths, value_at, vary
from core.data.encoders import PLAIN
from core.data.sources import unfetched_sources
from core.study.axes import OF_METRIC
from core.study.resolution import resolve
from core.study.setup import Setup
from studies import find

# each profile and each scale once; that no run of a paper moves is in tests/config/test_identity.py
PLACES = [("paper", DEMO, SOURCES), ("repaired", MINI, SOURCES), ("released", PAPER, PAPER_SOURCES)]


@pytest.mark.parametrize("profile, scale, sources", PLACES, ids=PROFILES)
def test_every_cell_is_a_run_and_shares_it_with_equal_changes(profile, scale, sources):
    # what a cell names of the profile itself is no change
    given = {"seed.data": 42} if profile == "released" else {}
    setup = Setup(profile=profile, scale=scale, sources=sources, seeds=2)
    for study in SHIPPED_STUDIES:
        resolved = resolve(study, setup)
        runs = {}
        assert resolved.available or study.name == "mocose-figure13"  # of BERT-large alone
        for resolved_cell in resolved.cells:
            cell = resolved_cell.cell
            method = cell.method or study.method
            named = [one for one in sorted(cell.changes.items()) if one not in given.items()]
            for seed, run in enumerate(resolved_cell.configs):
                assert run == resolved_cell.config(seed)
                assert (run.scale, run.method) == (scale.name, method)
                assert run.encoder.digest == sources.encoder_for(cell.encoder).digest
                key = method, cell.encoder, repr(named), seed
                runs.setdefault(key, set()).add(run_id(run))
            # copied, of another encoder, or in need of a model that rewrites text or of columns
            text = cell.changes.get("text")
            assert (
                resolved_cell.configs
                or cell.copied
                or cell.encoder != "bert-base"
                or (text is not None and text.model is not None)
                or base(method, profile).columns > 1
            )
        assert all(len(ids) == 1 for ids in runs.values()), study.name
        assert len({run for ids in runs.values() for run in ids}) == len(runs), study.name


def test_a_row_on_the_plain_encoder_is_the_run_that_another_table_has_with_it():
    """`start` shares its runs with those that `--encoder` trained from the plain encoder's folder,
    and with Table 7's on the scale's own."""

    def runs(name, sources, column):
        setup = Setup(profile="paper", scale=MINI, sources=sources, seeds=2)
        cells = resolve(find(name), setup).cells
        return {run for cell in cells if column in cell.cell.labels for run in cell.run_ids}

    sources = unfetched_sources(())
    given = sources.with_encoders(PLAIN._replace(stands_for="bert-base"))
    plain = runs("start", sources, "plain encoder")
    assert len(plain) == 12
    assert plain > runs("esimcse-table7", given, "avg") | runs("mocose-table3", given, "0.85")
    assert runs("start", sources, "scale's encoder") > runs("esimcse-table7", sources, "avg")


def test_the_distance_in_a_label_is_that_of_its_setting():
    for name, place in (("figure2", 1), ("figure3", 1), ("figure4", 1), ("figure13", 0)):
        for cell in MOCOSE[name].cells:
            if cell.labels[place] != "SimCSE":
                run = config(MOCOSE[name], *cell.labels)
                distance = 1 / (1 - run.ema.start) + run.queue.size / run.train.batch_size
                assert distance == pytest.approx(float(cell.labels[place]), abs=0.005)


def test_at_the_demo_tables_have_the_demo_s_sets_and_the_claims_on_them():
    demo = MOCOSE["table1"].at(DEMO)
    assert demo.axis("task").labels == (*DEMO.tests, "avg")
    assert MOCOSE["table1"].axis("task").labels == (*STS_TESTS, "avg")
    assert {claim.key for claim in demo.claims} == {"T1.1", "T1.4", "T1.6", "T1.6 (large)"}
    by_labels = {cell.labels: cell for cell in demo.cells}
    assert by_labels["BERT (first-last avg.)", DEMO.tests[0]].checkpoint == "untrained_first_last_0"
    assert by_labels["CT-BERT", "avg"].copied and by_labels["CT-BERT", "avg"].published == 72.05
    assert [cell.labels for cell in find("esimcse-table3").at(DEMO).cells if not cell.copied] == [
        ("test", task) for task in DEMO.tests
    ]


LISTS = [find("deviations"), find("deviations-esimcse")]
WHOLE = ("all that the code does", "repaired")
SCHEDULE = {"ema.schedule", "ema.end", "ema.total_updates"}
STALE = {"fgsm.gradient", "fgsm.views"}
NEEDS = {
    **{path: SCHEDULE | {"ema.start"} for path in SCHEDULE},
    **{path: STALE for path in STALE},
    "target.freeze_projection": {"target.stop_gradient"},
    "select.metric": {"select.score"},
    "select.score": {"select.metric"},
}
LEFT_OUT = {
    "eval.apply_augmentation": "deviations-d21 has it",
    "queue.cut_first_batch": "without effect on a queue above a batch",
    "dup.cap": "at a rate of 0.32 no 32 tokens have more than ten repetitions",
}


def run_of(name, *labels, profile="paper", seed=1):
    study = find(name) if isinstance(name, str) else name
    (cell,) = study.matching(labels)
    return cell_run(study, cell, profile=profile, scale=PAPER, sources=PAPER_SOURCES, seed=seed)


def differing(a, b):
    """The paths at which two runs of a method differ."""
    return {path for path in paths(a) if value_at(a, path) != value_at(b, path)}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_deviation_differs_from_the_paper_s_configuration_in_what_it_names_alone(profile):
    for study in LISTS:
        paper = run_of(study, "paper", profile=profile)
        for cell in study.cells:
            moved = {path for path, value in cell.changes.items() if value_at(paper, path) != value}
            reads_another = any(getattr(cell, name) for name in OF_METRIC)
            given = profile == "released" and "seed.data" in cell.changes
            assert bool(moved) != (cell.labels == ("paper",) or reads_another or given), cell.labels
            run = run_of(study, *cell.labels, profile=profile)
            assert differing(paper, run) == moved, cell.labels
            sections = {path.partition(".")[0] for path in cell.changes}
            assert len(sections) <= 1 or cell.labels[0] in WHOLE, cell.labels


@pytest.mark.parametrize("study", LISTS)
def test_deviating_is_every_side_of_every_change_and_no_change_is_forgotten(study):
    method = methods.method(study.method)
    sides = deviating(study.method)
    every = {*method.repaired, *method.released} - {"seed.data"}
    listed = {path for path in every if not path.startswith("text.")}
    assert tuple(sides) == PROFILES and all(set(side) == listed for side in sides.values())
    repaired = {path for path in listed if sides["paper"][path] != sides["repaired"][path]}
    assert repaired == set(method.repaired)
    alone = [cell.changes for cell in study.cells if cell.labels[0] not in WHOLE]
    for path, value in sides["released"].items():
        needs = {path} | NEEDS.get(path, set())
        rows = [one for one in alone if one.get(path) == value and set(one) <= needs]
        assert bool(rows) == (path not in LEFT_OUT), path


def test_d21_asks_every_augmentation_both_ways():
    study = find("deviations-d21")
    for name in study.axis("augmentation").labels[1:]:
        plain, augmented = (run_of(study, name, way) for way in ("plain", "augmented"))
        assert plain.aug.active() and plain.aug == augmented.aug
        assert differing(plain, augmented) == {"eval.apply_augmentation"}
        assert augmented.eval.apply_augmentation
    assert run_of(study, "none", "plain") == run_of("deviations", "paper")
    printed = {cell.labels[0]: cell.published for cell in study.cells if cell.published is not None}
    assert len(printed) == 4
    assert set(printed.values()) < {cell.published for cell in find("table5").cells}


BATCH = "loss.in_batch_negatives"
OURS = {  # by study of ours: a paper's study, and by label its labels and what ours has instead
    "along": ("esimcse-table6", lambda components: ((components,), {})),
    "noise": ("mocose-table9", lambda _: (("5e-9",), {})),
    "views": ("mocose-table9", lambda epsilon: ((epsilon,), {})),
    "collapse": (
        "mocose-figure5",
        lambda setting, negatives: ((setting, "last"), {BATCH: "batch" in negatives}),
    ),
    "negatives": (
        "mocose-table4",
        lambda name: (("1", "0" if "no predictor" in name else "2"), {BATCH: "batch" in name}),
    ),
    "momentum": (
        "esimcse-table7",
        lambda value, components: ((components, "avg"), {"momentum.lambda": float(value)}),
    ),
    "orders": (
        "esimcse-table7",
        lambda order, components: ((components, "avg"), {"seed.data": int(order)}),
    ),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", OURS)
def test_a_cell_of_ours_is_a_paper_s_run_but_for_what_it_names(name, profile):
    paper, there = OURS[name]
    for cell in find(name).cells:
        if cell.method is None:
            labels, changes = there(*cell.labels)
            expected = vary(run_of(paper, *labels, profile=profile), changes)
            assert run_of(name, *cell.labels, profile=profile) == expected, cell.labels


def test_equal_updates_are_stated():
    (updates,) = find("updates").matching(("64",))
    assert find("updates").equal_updates and updates.changes == {"train.batch_size": 64}
