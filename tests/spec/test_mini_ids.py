"""The runs at the papers' length that were trained before scale mini had it are runs of its cells."""

from published_runs import PUBLISHED

from core.data.sources import recorded
from core.spec.conditions import Edition
from core.spec.identity import run_id
from core.spec.scale import MINI
from core.store.store import Store
from studies import find

BEFORE = {
    "0afd25fa964f1b4f", "5d2901698dca5cc0", "6354c58d1650fb08", "823315e4b0606756", "8de3f13d89148a42",
    "90ce07fd10b997d1", "a278525d68eac3bd", "a2e0655246425f45", "b499198044fcb406", "b70fcc6e1b000969", "c64e235bdbc815d6",
    "c80bc2735cedd125", "d5def87d82072cc3", "e8e5695754a68ada", "eb9a0330e7475d5b",
    "ef076fab150da8c1", "f0699bb1e9a563c3", "f8b03c46bd92fbdf", "fb6067be22c9c658",
}  # fmt: skip


def test_the_runs_before_the_scale_are_its_cells(tmp_path):
    store = Store(tmp_path, PUBLISHED)
    sources = recorded(store)["mini"].sources
    cells = set()
    for profile in ("paper", "repaired"):
        edition = Edition(profile=profile, scale=MINI, sources=sources, seeds=3)
        for name in ("esimcse-table7", "mocose-table3", "deviations"):
            study = find(name)
            cells |= {run_id(run) for _, runs in edition.asked(study) for run in runs}
    assert all(store.has(run, use_published=True) for run in BEFORE)
    assert BEFORE <= cells, f"{len(BEFORE - cells)} runs are of no cell: {BEFORE - cells}"
