"""Runs of four steps at scale demo, and planned ones for the fake job."""

import functools

from core.config.identity import run_id
from core.config.methods import base
from core.config.scale import DEMO, at_scale
from core.config.vary import vary
from core.data.sources import demo_sources
from core.data.sts import StsSet, load_demo, sets_digest
from core.data.transfer import load_probes, probes_digest
from core.runner.plan import PlannedRun
from core.training import job
from tests.support.places import temporary


def small(method="mocose", profile="repaired", **changes):
    run = at_scale(base(method, profile), DEMO, demo_sources())
    run = vary(run, {"train.steps": 4, "train.batch_size": 16, "eval.every": 2})
    return vary(run, {key.replace("__", "."): value for key, value in changes.items()})


@functools.cache
def thinned():
    """Every eighth pair of each set: what a test of the training needs of an evaluation."""
    return {
        name: StsSet(name, one.subset[::8], one.a[::8], one.b[::8], one.gold[::8])
        for name, one in load_demo().items()
    }


@functools.cache
def shared_cache() -> str:
    """A cache for runs of one process: to read the demo's text takes longer than four steps."""
    return temporary("cache-").name


def run(config, execution):
    """The result of a run, whose configuration names the thinned sets where they are scored."""
    if job.load_demo is thinned and config.eval.digest == small().eval.digest:
        digest = sets_digest(thinned())
        if config.eval.transfer:
            digest = probes_digest(digest, load_probes())
        config = vary(config, {"eval.digest": digest})
    return job.run(config, execution, lambda report: None)


def planned(steps: int) -> PlannedRun:
    config = vary(base("mocose", "paper"), {"scale": "mini", "train.steps": steps})
    return PlannedRun(run_id=run_id(config), config=config, cells=("made-up a",), seed=0)
