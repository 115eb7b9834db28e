"""A study of two cells, for tests of what a study is."""

from core.spec.study import Study
from core.spec.table import Axis, Cell, FigureSpec, Metric


def study(**changes):
    fields = {
        "name": "mocose-x", "paper": "mocose", "title": "Table X", "caption": "x", "method": "mocose",
        "axes": (Axis(name="size", title="Size", labels=("a", "b")),), "rows": None, "columns": "size",
        "cells": (Cell(labels=("a",), changes={"queue.size": 256}, published=1.0, published_runs=(1.0,)),
               Cell(labels=("b",), changes={"queue.size": 512}, published=2.0)),
        "metric": Metric(task="avg", title="Average"), "figure": FigureSpec(kind="grouped", x="size"), "reference": ("a",),
    }  # fmt: skip
    return Study(**{**fields, **changes})
