"""One command: what its options ask for, done in its order."""

from __future__ import annotations

import contextlib
import gc
import shutil
import sys
import tomllib
from collections.abc import Callable

from core.config import fields, methods
from core.config.identity import NUMERICS
from core.config.methods import PROFILES
from core.config.scale import PAPER
from core.errors import HOME, WEEKS, UserError, counted, say, spoken
from core.runner import inputs
from core.runner import plan as planning
from core.runner.best_scale import best_scale
from core.runner.cli import Options
from core.runner.draw import StudyDrawer
from core.runner.estimate import GPU, gpu_seconds
from core.runner.launch import Stop
from core.runner.plan import Plan
from core.runner.train import RunTrainer, Surroundings
from core.runner.trials import without_columns
from core.runner.verify import compare, verify
from core.store import code, files
from core.store.store import Store
from core.study.catalogue import Catalogue
from core.study.grid import Grid, check_distinct, resolve
from core.study.study import Study
from core.study.variants import varied

# New objects; to look through a report's millions more often took a quarter of its time.
COLLECT_EVERY = 100_000


def do(options: Options, argv: list[str], around: Surroundings) -> int:
    """Do what a command line asks for; the exit status. Raises UserError for a folder that cannot
    be meant, among others."""
    gc.set_threshold(COLLECT_EVERY)

    # What needs no study
    if options.mode == "fields":
        print(fields.described(options.fields or None))
        return 0
    if options.mode == "version":
        print(version())
        return 0

    # The user's results beside the published ones
    results = options.results_dir or around.own / "results"
    published = around.home / "results" / "published"
    files.check_results_dir(results, published)
    draws = options.mode == "regenerate-figures"
    if draws and options.results_dir and not results.parent.exists():
        raise UserError(f"{results.parent} is not there; give the --results-dir that you mean.")
    store = Store(results, published)

    # The studies, and what draws them
    catalogue = around.catalogue
    figures = (options.results_dir or around.own) / "figures"
    drawer = StudyDrawer(options, store, store.root, figures)
    if options.mode == "list" and not options.studies:
        studies = list(catalogue.studies)
    else:
        studies = chosen(catalogue, options)

    # The scale: a page has all of them, and `show` takes the best
    if draws and options.all and options.scale is None:
        drawer.redraw(studies, folders=catalogue.folders)
        return 0
    if options.shows and options.scale is None:
        options.scale = best_scale(studies, store, options.profile or PROFILES[0])
    scale = inputs.scale_of(options)

    # The data
    found = inputs.sources(options, scale, studies, store)
    scale, studies = inputs.on_data(options, scale, studies, found, store.root)
    setup = inputs.setup_of(options, scale, found)
    training = RunTrainer(options, argv, around, store, setup, found)
    if options.mode == "list":
        return menu(training, studies)

    # The runs
    if options.settings or options.vary:
        for place, study in enumerate(studies):
            studies[place] = varied(study, setup, options.settings, options.vary)
            for footnote in studies[place].footnotes[len(study.footnotes) :]:
                print(footnote)  # which rows stay as they are
    grids = [resolve(study, setup) for study in studies]
    for grid in grids:
        check_distinct(grid)
    if options.mode == "verify-published":
        return verify(training, studies)
    status = 0
    if not draws:
        status = train_or_plan(training, studies, grids)
    if status > 128 or options.mode == "plan":
        return status  # stopped: the user wants out, and what is stored can be drawn later
    for grid in drawer.draw(studies, grids):
        tell(training, planning.plan([grid], store), [grid])
        say(f"`{setup.command(grid.study.name)}` trains them.")
    return status


def version() -> str:
    """This project's version, its commit, and the version of its numbers."""
    about = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commit, why = code.current_commit()
    if why:
        commit += f" ({why})"
    return f"{about['name']} {about['version']}, commit {commit}, numbers of version {NUMERICS}"


def chosen(catalogue: Catalogue, options: Options) -> list[Study]:
    """The studies that a command names, each once, or every study; says which other studies a short
    name could mean. Raises UserError for a study that does not exist, and for what is wrong with
    its file, or with any file if every study is asked for."""
    studies: dict[str, Study] = {}
    if options.all:
        studies = {study.name: study for study in catalogue.studies}
    for name in options.studies:
        group = catalogue.groups.get(name) or (catalogue.find(name),)
        studies |= {study.name: study for study in group}
        others = []
        for other in catalogue.studies:
            if other.name.endswith(f"-{name}") and other not in group:
                others.append(other.name)
        if others and name not in catalogue.groups:
            print(f"{name} is {group[0].name}; name {' and '.join(others)} in full.")
    for file, fault in catalogue.faults.items():
        if options.all or file.parent.name in options.studies:
            raise UserError(fault)
    for study in studies.values():
        catalogue.check(study)
    return list(studies.values())


def refusal_of(check: Callable[..., object], *words: object) -> str:
    """What a check refuses, in its sentence; empty if it refuses nothing."""
    try:
        check(*words)
    except UserError as error:
        return str(error)
    return ""


def train_or_plan(training: RunTrainer, studies: list[Study], grids: list[Grid]) -> int:
    """Train what is missing, or with --resolve what decides most; with --plan print it. The exit
    status."""
    options = training.options
    store = training.store
    with contextlib.closing(training):
        if options.resolve:
            from core.runner.resolve import Resolving  # brings scipy

            resolving = Resolving(training, studies)
            if options.mode == "plan":
                return resolving.plan()
            return resolving.go()
        plan = planning.plan(
            grids,
            store,
            use_published=options.use_published,
            force=options.force,
            labels=options.cells,
            keep_models=options.keep_models,
        )
        for study in studies:
            if options.seeds and options.seeds < study.least_seeds:
                print(
                    f"{study.name} shows how far seeds spread, so each cell takes at least "
                    f"{study.least_seeds} seeds, not {options.seeds}."
                )
        if options.mode == "plan":
            return tell(training, plan, grids)
        status = training.train(plan)
        if status <= 128:  # it was not stopped
            done = [run.run_id for run in plan.missing if store.has(run.run_id)]
            compare(Store(store.root / "none", store.published), store, done)
        return status


def tell(training: RunTrainer, plan: Plan, grids: list[Grid]) -> int:
    """Print a plan: its runs and their time, runs in training and failed ones, what trials of every
    method say, and what can be judged. The exit status is 2 if a trial fails."""
    store = training.store
    setup = training.setup
    refusal = refusal_of(training.check, plan)
    if refusal:
        print(f"Training here would be refused: {refusal}")
    print(plan.line())
    pack = store.packs.get(setup.scale.name)
    text = setup.sources.corpus_digest
    if pack and not any(text in footer["config"] for footer in pack.footers.values()):
        print(f"No published run of scale {setup.scale.name} reads this training text.")
    expected = training.expected()
    seconds = expected.wall(plan.missing)
    time = f"About {spoken(seconds)} {expected.where}"
    if seconds > WEEKS and not expected.gpu:
        time += f", so this needs a GPU; --gpus 1 plans for one {GPU}"
    print(f"{time}.")
    for run in plan.runs:
        if store.claimed(run.run_id):
            say(f"running {run.run_id} {run.label}")
        elif failure := store.failure(run.run_id):
            say(f"failed  {run.run_id} {run.label}: {failure}")
    passed = True
    if training.options.trial:
        runs = [planned.config for planned in plan.runs]
        # also rows without their columns
        faults, untried = training.tried([*runs, *without_columns(grids)], Stop(), anew=True)
        say(*faults, out=sys.stderr)
        result = counted(len(faults), "fault") if faults else "no fault"
        if untried:
            result += f" in the others; {', '.join(untried)} could not be tried"
        print(f"Trial: {result}.")
        passed = not (faults or untried)
    if setup.scale.name == PAPER.name:
        from core.report import prospects

        say(*prospects.lines(grids, gpu_seconds))
    elif not training.options.all:
        from core.report.verdicts import judgeable

        for grid in grids:
            able, reasons = judgeable(grid, store)
            if grid.study.claims:
                claims = f"{able} of {len(grid.study.claims)} claims"
                say(
                    f"{grid.study.name}: {claims} can be judged at scale {setup.scale.name}, if "
                    "its methods learn."
                )
            for reason in reasons:
                say(f"  {reason}")
    return 0 if passed else 2


def menu(training: RunTrainer, studies: list[Study]) -> int:
    """Print papers and studies, with runs, time and claims; the exit status is 2 if a file is
    wrong."""
    from tabulate import tabulate

    from core.report.verdicts import judgeable

    # The papers
    setup = training.setup
    catalogue = training.around.catalogue
    for paper in dict.fromkeys(study.source for study in studies if study.source is not None):
        say(f"{paper.name}, {paper.authors}: {paper.title} {paper.link} {paper.code}".strip(", "))
    expected = training.expected()

    # What is wrong with files
    wrong = list(catalogue.faults.values())
    for name in methods.names():
        wrong.append(refusal_of(methods.method, name))

    # The studies
    rows = []
    for study in studies:
        fault = refusal_of(catalogue.check, study)
        if fault:
            wrong.append(fault)
            continue
        grid = resolve(study, setup)
        plan = planning.plan([grid], training.store, use_published=training.options.use_published)
        claims = ""
        if study.claims:
            claims = f"{judgeable(grid, training.store)[0]} of {len(grid.study.claims)}"
        time = spoken(expected.wall(plan.missing)) if plan.missing else ""
        done = f"{len(plan.runs) - len(plan.missing)} of {len(plan.runs)}"
        rows.append([study.name, done, time, claims, study.caption])
    print(
        f"Times are {expected.where}, of the runs to train. Claims are those that scale "
        f"{setup.scale.name} can judge, if their methods learn."
    )
    headers = ["study", "runs done", "time", "claims", "about"]
    width = shutil.get_terminal_size().columns
    for line in tabulate([headers, *rows], tablefmt="plain", disable_numparse=True).split("\n"):
        if sys.stdout.isatty() and len(line) > width:
            line = f"{line[: width - 1]}…"
        say(line)
    wrong = list(filter(None, wrong))
    if wrong:
        say(*wrong, out=sys.stderr)
    return 2 if wrong else 0
