"""Carrying out one command from its parsed options."""

from __future__ import annotations

import contextlib
import gc
import itertools
import shutil
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace

from core.config import fields, methods
from core.config.identity import NUMERICS
from core.config.methods import PROFILES
from core.data.text import sentences as read_sentences
from core.data.text import text_bytes
from core.errors import HOME, UserError
from core.formatting import WEEKS, say, spoken
from core.runner import inputs
from core.runner import plan as planning
from core.runner.best_scale import best_scale
from core.runner.cli import words
from core.runner.devices import cache_folder
from core.runner.draw import StudyDrawer
from core.runner.estimate import GPU
from core.runner.inputs import Context
from core.runner.orders import (
    AnyStudyOrder,
    EvaluateOrder,
    FieldsOrder,
    JudgeOrder,
    ListOrder,
    PlanOrder,
    RedrawOrder,
    Scope,
    SettleOrder,
    ShowOrder,
    TableOrder,
    TrainOrder,
    VersionOrder,
)
from core.runner.plan import Plan
from core.runner.progress import Answers, answer
from core.runner.train import RunTrainer, Surroundings, check_settings
from core.runner.verify import compare
from core.store import code
from core.store.cache import cached
from core.study.catalogue import Catalogue
from core.study.resolution import ResolvedStudy, resolve
from core.study.study import Study

# New objects between two garbage collections. A report makes millions, and more frequent
# collections took a quarter of its time.
COLLECT_EVERY = 100_000
SMALL_TEXT = 20_000  # sentences; a plan for a smaller text says how often a run reads the text


def do_alone(order: FieldsOrder | VersionOrder | EvaluateOrder | JudgeOrder) -> int:
    """Carry out a command that needs no study; the exit status is 0. `evaluate` and `judge` write
    the files that their options name. Raises UserError."""
    match order:
        case FieldsOrder():
            print(fields.described(order.section or None))
        case VersionOrder():
            print(version())
        case EvaluateOrder():
            from core.runner.evaluate import score_encoders

            score_encoders(order)
        case JudgeOrder():
            from core.runner.judge import judge_file

            judge_file(order)
    return 0


def do(order: AnyStudyOrder, around: Surroundings) -> int:
    """Carry out a command on studies: print, train, draw; the exit status. Sets how often this
    process collects garbage. Raises UserError, also for a redraw into a folder that is not
    there."""
    gc.set_threshold(COLLECT_EVERY)

    # The user's results beside the published ones, and the studies
    scope = order.scope
    store = around.store(scope.results_dir)
    results = store.root
    if isinstance(order, RedrawOrder) and scope.results_dir and not results.parent.exists():
        raise UserError(f"{results.parent} is not there; give the --results-dir that you mean.")
    drawer = StudyDrawer(store, results, (results if scope.results_dir else around.own) / "figures")
    studies: Sequence[Study] = around.catalogue.studies
    if scope.studies or type(order) is not ListOrder:
        studies = named_studies(around.catalogue, scope)

    # A page has all scales, and `show` takes the best
    if isinstance(order, RedrawOrder) and scope.all and scope.scale is None:
        drawer.redraw(studies, order)
        return 0
    if isinstance(order, ShowOrder) and scope.scale is None:
        best = best_scale(studies, store, scope.profile or PROFILES[0])
        order = replace(order, scope=replace(scope, scale=best))

    # The data
    setup, studies = inputs.setup_and_studies(order, studies, store)
    context = Context(store=store, setup=setup, studies=studies, machine=order.machine)
    if type(order) is ListOrder:
        return print_studies(context, around.catalogue, order.use_published)

    # The runs
    again = words(order)
    if isinstance(order, TableOrder):
        context = replace(context, studies=context.changed(order.changes))
    resolved_studies = context.resolved_studies()
    status = 0
    match order:
        case PlanOrder():
            plan = make_plan(context, resolved_studies, order, keep_models=order.keep_models)
            print_plan(context, plan, resolved_studies, claims=not scope.all)
            return 0
        case SettleOrder():
            from core.runner.settle import Settling  # brings scipy

            settling = Settling(context, order.use_published, order.budget)
            if order.plan:
                return settling.plan()
            training = RunTrainer(context, around, again, order.outputs)
            with contextlib.closing(training):
                status = settling.go(training)
        case TrainOrder():
            plan = make_plan(
                context, resolved_studies, order, order.force, order.outputs.keep_models
            )
            answers = Answers(resolved_studies, plan.missing)
            training = RunTrainer(context, around, again, order.outputs, answers, order.force)
            with contextlib.closing(training):
                status = training.train(plan)
            if status <= 128:
                compare(store, [run.run_id for run in plan.missing])
    if status > 128:
        return status  # stopped: the user wants out, and what is stored can be drawn later
    undrawn = drawer.draw(context, resolved_studies, order)
    for resolved in resolved_studies:
        if resolved.study.name in undrawn:
            print_plan(context, planning.plan([resolved], store), [resolved])
            say(f"`{setup.command(resolved.study.name)}` trains them.")
    return status


def version() -> str:
    """This project's version, its commit, and the version of its numbers."""
    about = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commit, why = code.current_commit()
    if why:
        commit += f" ({why})"
    return f"{about['name']} {about['version']}, commit {commit}, numbers of version {NUMERICS}"


def named_studies(catalogue: Catalogue, scope: Scope) -> list[Study]:
    """The studies that a command names, each once, or every study with --all. Prints which other
    studies a short name could mean. Caches that every study is correct. Raises UserError for a
    study that does not exist or has a wrong file, with --all for any wrong file."""
    studies: dict[str, Study] = {}
    if scope.all:
        studies = {study.name: study for study in catalogue.studies}
    for name, following in itertools.zip_longest(scope.studies, scope.studies[1:], fillvalue=""):
        group = catalogue.groups.get(name) or (named_study(catalogue, name, following),)
        studies |= {study.name: study for study in group}
        others = []
        for other in catalogue.studies:
            if other.name.endswith(f"-{name}") and other not in group:
                others.append(other.name)
        if others and name not in catalogue.groups:
            print(f"{name} is {group[0].name}; name {' and '.join(others)} in full.")
    for file, fault in catalogue.faults.items():
        if scope.all or file.parent.name in scope.studies:
            raise UserError(fault)

    def check() -> None:
        for study in studies.values():
            catalogue.check(study)

    if scope.all:  # 0.6 s, and so done once for each state of code and studies
        cached(cache_folder() / "checked", [code.digest(), repr(studies)], check)
    else:
        check()
    return list(studies.values())


def named_study(catalogue: Catalogue, name: str, following: str) -> Study:
    """The study of that name. Raises UserError without such a study. The message suggests `table7`
    for `table 7`, where `following` is the next name."""
    try:
        return catalogue.find(name)
    except UserError:
        if following and not refusal_of(catalogue.find, joined := f"{name}{following}"):
            raise UserError(f"There is no study {name[:80]!r}; did you mean {joined}?") from None
        raise


def refusal_of(check: Callable[..., object], *words: object) -> str:
    """Call a check with these words; the message of its UserError, empty without an error."""
    try:
        check(*words)
    except UserError as error:
        return str(error)
    return ""


def make_plan(
    context: Context,
    resolved_studies: Sequence[ResolvedStudy],
    order: TrainOrder | PlanOrder,
    force: bool = False,
    keep_models: bool = False,
) -> Plan:
    """The runs of a command. Sets damaged files of runs aside. Prints which studies need more
    seeds than the command names."""
    plan = planning.plan(
        resolved_studies,
        context.store,
        use_published=order.use_published,
        force=force,
        labels=order.cells,
        keep_models=keep_models,
    )
    seeds = order.changes.seeds
    for study in context.studies:
        if seeds and seeds < study.least_seeds:
            print(
                f"{study.name} shows how far seeds spread, so each cell takes at least "
                f"{study.least_seeds} seeds, not {seeds}."
            )
    return plan


def print_plan(
    context: Context, plan: Plan, resolved_studies: Sequence[ResolvedStudy], claims: bool = True
) -> None:
    """Print a plan: its runs and their time, runs in training and failed runs. Reads a small text.
    With `claims` judge the stored runs, and print which claims can be judged and what more seeds
    may settle."""
    store = context.store
    setup = context.setup
    refusal = refusal_of(check_settings, context, plan)
    if refusal:
        print(f"Training here would be refused: {refusal}")
    print(plan.line())
    pack = store.packs.get(setup.scale.name)
    text = setup.sources.corpus_digest
    if pack and not any(text in footer["config"] for footer in pack.footers.values()):
        print(f"No published run of scale {setup.scale.name} reads this training text.")
    expected = context.expected()
    seconds = expected.wall(run.config for run in plan.missing)
    sources = setup.sources
    if sources.corpus is not None and sources.corpus_rows < SMALL_TEXT and plan.missing:
        content = text_bytes(sources.corpus)
        different = len(set(read_sentences(content, "lines", sources.corpus_name)))
        most = max(run.config.train.steps * run.config.train.batch_size for run in plan.missing)
        say(
            f"A run reads the text up to {most / sources.corpus_rows:.0f} times; {different} of "
            f"its {sources.corpus_rows} sentences are distinct."
        )
    time = f"About {spoken(seconds)} {expected.where}"
    if seconds > WEEKS and not expected.gpu:
        time += f", so this needs a GPU; --gpus 1 plans for one {GPU}"
    print(f"{time}.")
    for run in plan.runs:
        if store.claimed(run.run_id):
            say(f"running or waiting {run.run_id} {run.label}")
        elif failure := store.failure(run.run_id):
            say(f"failed  {run.run_id} {run.label}: {failure}")
    if claims:
        from core.report.prospects import prospect
        from core.report.verdicts import judgeable_claims, study_result

        for resolved in resolved_studies:
            able, reasons = judgeable_claims(resolved, store)
            if resolved.study.claims:
                number = f"{able} of {len(resolved.study.claims)} claims"
                say(
                    f"{resolved.study.name}: {number} can be judged at scale {setup.scale.name}, "
                    "if its methods learn."
                )
            for reason in reasons:
                say(f"  {reason}")
            for part in study_result(resolved, store).parts:
                for verdict in part.verdicts:
                    likely = prospect(verdict, len(part.study.claims))
                    if likely:
                        say(f"  {answer(verdict) or verdict.claim.key}; {likely}.")


def print_studies(context: Context, catalogue: Catalogue, use_published: bool) -> int:
    """Print papers and studies, with runs, time and claims. Sets damaged files of runs aside. The
    exit status is 2 if a file of a study or a method is wrong, which stderr says."""
    from tabulate import tabulate

    from core.report.verdicts import judgeable_claims

    # The papers
    setup = context.setup
    sources = (study.source for study in context.studies)
    for paper in dict.fromkeys(source for source in sources if source is not None):
        say(f"{paper.name}, {paper.authors}: {paper.title} {paper.link} {paper.code}".strip(", "))
    expected = context.expected()

    # What is wrong with files
    wrong = list(catalogue.faults.values())
    for name in methods.names():
        wrong.append(refusal_of(methods.method, name))

    # The studies
    rows = []
    for study in context.studies:
        fault = refusal_of(catalogue.check, study)
        if fault:
            wrong.append(fault)
            continue
        resolved = resolve(study, setup)
        plan = planning.plan([resolved], context.store, use_published=use_published)
        claims = ""
        if study.claims:
            able, _ = judgeable_claims(resolved, context.store)
            claims = f"{able} of {len(resolved.study.claims)}"
        time = spoken(expected.wall(run.config for run in plan.missing)) if plan.missing else ""
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
