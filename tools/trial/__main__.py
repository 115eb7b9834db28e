"""Try methods for silent mistakes, by short runs at scale demo on this machine's processor:

    python -m tools.trial METHOD …    each method under its own defaults
    python -m tools.trial STUDY …     each way through a method that the study's cells take

It prints what each trains. No command trains or refuses by it. The exit status is 2 if a mistake is
found.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import astuple, replace
from functools import partial

import studies
from core.config import methods
from core.config.methods import base
from core.config.run import RunConfig
from core.config.scale import DEMO, at_scale
from core.config.vary import vary
from core.data.sources import demo_sources
from core.errors import UserError
from core.formatting import counted, say
from core.training.execution import Execution
from tools.trial.check import trial
from tools.trial.short_run import own_sections


def ways(config: RunConfig) -> list:
    """What decides the way through a method's code: the values of its own sections, but of numbers
    whether they are 0."""
    values = [config.method, config.columns]
    for section in own_sections(config).values():
        for value in () if section is None else astuple(section):
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            values.append(bool(value) if is_number else str(value))
    return values


def configs(name: str) -> list[RunConfig]:
    """The runs that a method's or a study's name stands for, at scale demo."""
    papers = [base(name, "paper")] if name in methods.names() else []
    if not papers:
        study = studies.find(name)
        papers = [study.paper_config(cell, "paper") for cell in study.cells if not cell.copied]
    made_up = replace(demo_sources(), corpus_columns=1)
    runs = []
    for paper in papers:
        run = at_scale(paper, DEMO, made_up)
        runs.append(run if run.rewriting is None else vary(run, {"text": None}))
    return runs


def heard(method: str, weights: str) -> None:
    """Print what a method trains."""
    say(f"{method} trains {weights}.")


def main(names: Sequence[str]) -> int:
    """Try these, and say what is wrong."""
    tried: list[list] = []
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        execution = Execution(results_dir=folder, cache_dir=folder, sources=demo_sources())
        for config in [config for name in names for config in configs(name)]:
            if ways(config) not in tried:
                tried.append(ways(config))
                faults += trial(config, execution, partial(heard, config.method))
    if faults:
        say(*faults, out=sys.stderr)
    say(f"Trial of {counted(len(tried), 'way')}: {counted(len(faults), 'fault')}.")
    return 2 if faults else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tools.trial",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a method or a study (default: every method)"
    )
    try:
        sys.exit(main(parser.parse_args().names or methods.names()))
    except UserError as error:
        parser.exit(2, f"{error}\n")
