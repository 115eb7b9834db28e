"""One cell of a study at a setup."""

from dataclasses import replace

from core.study.resolution import resolve


def cell_at(setup, study, cell):
    """The cell with its runs, or why it has none."""
    return resolve(replace(study, cells=(cell,), tasks=None), setup).cells[0]


def config_at(setup, study, cell, seed):
    """The cell's run under a seed."""
    return cell_at(setup, study, cell).config(seed)
