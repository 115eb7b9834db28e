"""The published runs of scale mini, trained over many versions, are still runs of its cells."""

from places import ROOT

from core.data.sources import recorded
from core.spec.identity import run_id
from core.spec.methods import PROFILES
from core.spec.scale import MINI
from core.spec.setup import Setup
from core.store.store import Store
from studies import STUDIES


def test_published_runs_are_runs_of_cells(tmp_path):
    store = Store(tmp_path, ROOT / "results" / "published")
    sources = recorded(store)["mini"].sources
    setups = [Setup(profile=profile, scale=MINI, sources=sources, seeds=12) for profile in PROFILES]
    cells = {run_id(run) for at in setups for study in STUDIES for _, runs in at.asked(study.at(MINI)) for run in runs}
    published = {run for run in store.runs() if (config := store.load(run).config).scale == "mini" and config.seed.model < 12}
    assert len(published) >= 19 and published <= cells
