"""One command: what its options ask for, done in its order."""

from __future__ import annotations

import contextlib
import gc
import shutil
import sys
import tomllib
from collections.abc import Callable, Sequence

from core.config import fields, methods
from core.config.identity import NUMERICS
from core.config.methods import PROFILES
from core.config.scale import PAPER
from core.errors import UserError, are, counted, say
from core.runner import contributions, devices, inputs, mps
from core.runner import plan as planning
from core.runner.best_scale import best_scale
from core.runner.cli import Options
from core.runner.devices import PROJECT
from core.runner.draw import StudyDrawer, publish_and_draw, redraw_published
from core.runner.estimate import GPU, gpu_seconds
from core.runner.names import studies_meant
from core.runner.plan import Plan
from core.runner.progress import WEEKS, spoken
from core.runner.train import RunTrainer, Surroundings
from core.runner.trials import without_columns
from core.runner.verify import compare, verify
from core.store import code, files
from core.store.store import Store
from core.study.catalogue import Catalogue
from core.study.grid import Grid, check_distinct, resolve
from core.study.study import Study

# New objects; to look through a report's millions more often took a quarter of its time.
COLLECT_EVERY = 100_000


def did_without_studies(options: Options, around: Surroundings) -> bool:
    """Do what needs no study, if that is asked; whether it was."""
    if options.mode == "fields":
        print(fields.described(options.fields or None))
    elif options.mode == "version":
        print(version())
    elif options.mode == "import":
        contributions.import_folder(options.imports, store_of(options, around), around.home)
    else:
        return False
    return True


def do(options: Options, argv: list[str], around: Surroundings) -> int:
    """Do what a command line asks for; the exit status."""
    gc.set_threshold(COLLECT_EVERY)
    if did_without_studies(options, around):
        return 0

    mps.end_stale()

    # The studies
    catalogue = around.catalogue
    draws = options.mode == "regenerate-figures"
    store = store_of(options, around)
    figures = (options.results_dir or around.own or around.home) / "figures"
    drawer = StudyDrawer(options, store, store.root, figures)
    if options.mode == "list" and not options.studies:
        studies = list(catalogue.studies)
    else:
        studies = chosen(catalogue, options)

    # What needs no scale
    if draws and options.publish:
        redraw_published(around.home, catalogue.studies, catalogue.folders)
        return 0
    if draws and options.all and options.scale is None:
        drawer.redraw(studies, folders=catalogue.folders)
        return 0
    if options.shows and options.scale is None:
        options.scale = best_scale(studies, store, options.profile or PROFILES[0])

    # The scale and its data
    scale = inputs.scale_of(options)
    if options.mode not in inputs.LOOKING and not options.cluster:
        devices.check_torch(options.device)  # before anything is fetched
    found = inputs.sources(options, scale, studies, store)
    scale, studies = inputs.on_data(options, scale, studies, found, store.root)
    setup = inputs.setup_of(options, scale, found.sources)
    training = RunTrainer(options, argv, around, store, setup, found)
    return act(training, studies, drawer)


def act(training: RunTrainer, studies: list[Study], drawer: StudyDrawer) -> int:
    """List, verify, plan, train or draw these studies; the exit status."""
    options = training.options
    around = training.around
    setup = training.setup
    if options.mode == "list":
        return menu(training, studies)
    studies = [inputs.varied(options, study, setup) for study in studies]
    grids = [resolve(study, setup) for study in studies]
    for grid in grids:
        check_distinct(grid)
    if options.mode == "export":
        contributions.export_runs(training, grids)
        return 0
    if options.mode == "verify-imported":
        return contributions.verify_imported(training, studies)
    if options.mode == "verify-published":
        return verify(training, studies)
    status = 0
    if options.mode != "regenerate-figures":
        status = train_or_plan(training, studies, grids)
    if status > 128 or options.mode == "plan":
        return status  # stopped: the user wants out, and what is stored can be drawn later
    if options.publish:
        replace_others = options.replace_published
        everything = around.catalogue.studies
        publish_and_draw(training.store, around.home, everything, grids, replace_others)
    drawer.draw(studies, grids)
    return status


def version() -> str:
    """This project's version, its commit, and the version of its numbers."""
    text = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    about = tomllib.loads(text)["project"]
    words = [f"{about['name']} {about['version']}"]
    commit = code.current_commit()
    if commit:
        words.append(f"commit {commit}")
    words.append(f"numbers of version {NUMERICS}")
    return ", ".join(words)


def store_of(options: Options, around: Surroundings) -> Store:
    """The user's results beside the published ones. Raises UserError for a folder that cannot be
    meant."""
    results = options.results_dir or (around.own or around.home) / "results"
    published = around.home / "results" / "published"
    files.refuse_published(results, published)
    if results.exists() and not results.is_dir():
        raise UserError(f"{results} is no folder; give another --results-dir.")
    if options.mode == "regenerate-figures" and options.results_dir and not results.exists():
        raise UserError(
            f"{results} is not there; give the --results-dir of the command that trained."
        )
    return Store(results, published)


def chosen(catalogue: Catalogue, options: Options) -> list[Study]:
    """The studies that a command names, each once, or every study; prints what is wrong with other
    files of their folders. Raises UserError for a study that does not exist or is wrong."""
    studies: dict[str, Study] = {}
    if options.all:
        _refuse_all(list(catalogue.faults.values()))
        studies = {study.name: study for study in catalogue.studies}
    for name in studies_meant(options.studies, catalogue):
        for file, fault in catalogue.faults.items():
            if file.parent.name == name:
                raise UserError(fault)
        group = catalogue.groups.get(name) or (catalogue.find(name),)
        studies |= {study.name: study for study in group}
        if name not in catalogue.groups:
            _say_others(name, group[0], catalogue)
    for study in studies.values():
        catalogue.check(study)
    folders = {file.parent for file, study in catalogue.files.items() if study.name in studies}
    for file, fault in catalogue.faults.items():
        if file.parent in folders:
            print(f"Passed over: {fault}")
    return list(studies.values())


def _refuse_all(faults: Sequence[str]) -> None:
    """Raise UserError where files are wrong and every study is asked for."""
    if len(faults) == 1:
        raise UserError(faults[0])
    if faults:
        raise UserError(f"{faults[0]} ({len(faults) - 1} more files are wrong; see --list.)")


def _say_others(name: str, study: Study, catalogue: Catalogue) -> None:
    """Name the other studies that a short name could mean."""
    others = []
    for other in catalogue.studies:
        if other.name.endswith(f"-{name}") and other != study:
            others.append(other.name)
    if others:
        print(f"{name} is {study.name}; name {' and '.join(others)} in full.")


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
        for line in raised_seeds(options, studies):
            print(line)
        if options.mode == "plan":
            return tell(training, plan, grids)
        status = training.train(plan)
        if status <= 128:  # it was not stopped
            compare(store, [run.run_id for run in plan.missing if store.has(run.run_id)])
        return status


def raised_seeds(options: Options, studies: Sequence[Study]) -> list[str]:
    """A sentence for each study that trains more seeds than the user named."""
    lines = []
    for study in studies:
        if options.seeds and options.seeds < study.least_seeds:
            lines.append(
                f"{study.name} shows how far seeds spread, so each cell takes at least "
                f"{study.least_seeds} seeds, not {options.seeds}."
            )
    return lines


def tell_states(plan: Plan, store: Store) -> None:
    """Print the runs in training and those that failed."""
    for run in plan.runs:
        if store.claimed(run.run_id):
            say(f"running {run.run_id} {run.label}")
            continue
        failure = store.failure(run.run_id)
        if failure:
            say(f"failed  {run.run_id} {run.label}: {failure}")


def tell(training: RunTrainer, plan: Plan, grids: list[Grid]) -> int:
    """Print a plan: its runs and their time, runs in training and failed ones, and what can be
    judged."""
    store = training.store
    setup = training.setup
    refusal = refusal_of(training.check, plan)
    if refusal:
        print(f"Training here would be refused: {refusal}")
    print(plan.line())
    expected = training.expected()
    seconds = expected.wall(plan.missing)
    time = f"About {spoken(seconds)} {expected.where}"
    if seconds > WEEKS and not expected.gpu:
        time += f", so this needs a GPU; --gpus 1 plans for one {GPU}"
    print(f"{time}.")
    tell_states(plan, store)
    passed = True
    if training.options.trial:
        passed = _trials_pass(training, plan, grids)
    if len(plan.missing) < len(plan.runs):
        from core.report.results import gather

        for grid in grids:
            number = gather(grid, store).count("no number")
            if number:
                say(f"{grid.study.name}: {are(number, 'stored run')} without a number for a cell.")
    if setup.scale.name == PAPER.name:
        from core.report import prospects

        say(*prospects.lines(grids, gpu_seconds, training.options.gpus or 1))
    elif not training.options.all:
        from core.report.verdicts import judged_at

        for line in judged_at(grids, store):
            say(line)
    return 0 if passed else 2


def _trials_pass(training: RunTrainer, plan: Plan, grids: Sequence[Grid]) -> bool:
    """Try every method of a plan, also of rows without their columns, and print what is wrong;
    whether nothing is."""
    runs = [planned.config for planned in plan.runs]
    faults, untried = training.tried([*runs, *without_columns(grids)], anew=True)
    say(*faults, out=sys.stderr)
    result = counted(len(faults), "fault") if faults else "no fault"
    if untried:
        result += f" in the others; {', '.join(untried)} could not be tried"
    print(f"Trial: {result}.")
    return not (faults or untried)


def menu(training: RunTrainer, studies: list[Study]) -> int:
    """Print papers and studies, with runs, time and claims; the exit status is 2 if a file is
    wrong."""
    from core.report.verdicts import judgeable

    # The papers
    setup = training.setup
    catalogue = training.around.catalogue
    for paper in dict.fromkeys(study.source for study in studies if study.source is not None):
        say(f"{paper.name}, {paper.authors}: {paper.title} {paper.link} {paper.code}".strip())
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
        claims = judgeable([grid], training.store)
        judged = [f"{entry.able} of {entry.claims}" for entry in claims]
        time = spoken(expected.wall(plan.missing)) if plan.missing else ""
        done = f"{len(plan.runs) - len(plan.missing)} of {len(plan.runs)}"
        rows.append([study.name, done, time, *(judged or [""]), study.caption])
    print(
        f"Times are {expected.where}, of the runs to train. Claims: that scale {setup.scale.name}"
    )
    print_columns(["study", "runs done", "time", "claims", "about"], rows)
    for sentence in filter(None, wrong):
        say(sentence, out=sys.stderr)
    if any(wrong):
        return 2
    return 0


def print_columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headers, each column as wide as its longest text; on a terminal the last one
    is cut."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    limit = None
    if sys.stdout.isatty():
        limit = shutil.get_terminal_size().columns
    for row in (headers, *rows):
        texts = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        line = "  ".join(texts).rstrip()
        if limit and len(line) > limit:
            line = f"{line[: limit - 1]}…"
        say(line)
