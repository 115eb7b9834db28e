"""A study of two cells and a store with values for them, for tests of what is drawn from a
store."""

from dataclasses import replace

from fake_store import SOURCES, FakeStore, config_of, made_setup

from core.config.scale import DEMO
from core.report.verdicts import study_result
from core.study.resolution import resolve
from core.study.study import Axis, Cell, FigureSpec, Metric, Study


def result(study, store, seeds=3, scale=DEMO, sources=SOURCES):
    return study_result(resolve(study, made_setup(seeds, scale=scale, sources=sources)), store)


def small(**changes):
    """Two cells, a and b, of which a is the reference."""
    fields = {
        "name": "mocose-small",
        "paper": "mocose",
        "title": "Table 0",
        "caption": "Small",
        "method": "mocose",
        "axes": (Axis(name="size", title="Size", labels=("a", "b")),),
        "rows": None,
        "columns": "size",
        "cells": (
            Cell(labels=("a",), changes={"queue.size": 256}, published=50.0),
            Cell(labels=("b",), changes={"queue.size": 512}),
        ),
        "metric": Metric(task="avg", title="Average"),
        "figure": FigureSpec(x="size"),
        "reference": ("a",),
    }
    return Study(**{**fields, **changes})


def stored(study, scale=DEMO, untrained=None, **by_label):
    """A store with these values by cell and seed; a tuple (value, status) sets the status."""
    store = FakeStore()
    for label, values in by_label.items():
        for seed, value in enumerate(values):
            if value is not None:
                value, status = value if isinstance(value, tuple) else (value, "ok")
                config = config_of(study, (label,), seed, scale=scale)
                store.add(config, value, scale=scale, status=status, untrained=untrained)
    return store


def printed(**changes):
    """The same study under another name, with a printed number for both cells and a printed run for
    one."""
    a, b = small().cells
    cells = (replace(a, published=1.0, published_runs=(1.0,)), replace(b, published=2.0))
    return small(**{"name": "mocose-x", "title": "Table X", "cells": cells, **changes})
