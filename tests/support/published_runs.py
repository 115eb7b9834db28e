"""The runs of a published table as a data frame, made from the pack: the CSV files of runs are not published."""

import functools
import io
from pathlib import Path

import pandas as pd

from core.data.sources import recorded
from core.report.frames import csv_text, run_frame
from core.report.results import gather
from core.spec.scale import SCALES
from core.spec.setup import Setup
from core.store.store import Store
from studies import find

PUBLISHED = Path(__file__).resolve().parents[2] / "results" / "published"


def published_runs(scale, profile, study, **given):
    """What the command writes as `<study>_runs.csv`, read with these options of `pandas.read_csv`."""
    return pd.read_csv(io.StringIO(_text(scale, profile, study)), **given)


@functools.cache
def _text(scale, profile, study):
    setup = Setup(profile=profile, scale=SCALES[scale], sources=_sources()[scale].sources, seeds=SCALES[scale].seeds)
    return csv_text(run_frame(gather(find(study), setup, _store(), loaded={})))


@functools.cache
def _store():
    return Store(PUBLISHED / "none", PUBLISHED)


@functools.cache
def _sources():
    return recorded(_store())
