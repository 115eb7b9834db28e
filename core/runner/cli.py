"""A command line as an order, and an order as a command line."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Sequence
from typing import Any

from core.errors import UserError
from core.formatting import nearest
from core.runner.options import (
    EVALUATE_OPTIONS,
    JUDGE_OPTIONS,
    RUNS_OPTIONS,
    STUDY_OPTIONS,
    Groups,
    Parser,
    program,
    typed_name,
    typed_time,
)
from core.runner.orders import (
    AnyOrder,
    AnyStudyOrder,
    ChosenOrder,
    EvaluateOrder,
    FieldsOrder,
    JudgeOrder,
    ListOrder,
    PlanOrder,
    RedrawOrder,
    RunsOrder,
    SettleOrder,
    ShowOrder,
    StudyOrder,
    TrainOrder,
    VersionOrder,
    option_defaults,
    values_of,
)

# The orders that an option chooses; of two options the earlier here. Without one it is `Train`.
CHOSEN = (VersionOrder, FieldsOrder, SettleOrder, ListOrder, PlanOrder, RedrawOrder)
# What fields cannot say: an option, what it does, and those that it leaves no room for.
APART = (
    ("--all", "names every study", "STUDY --set --vary"),
    ("--text", "makes tables without claims", "--all --until-settled"),
    ("--pairs", "makes tables without claims", "--all --until-settled"),
    ("--gpus", "plans one run on each GPU of another machine", "--jobs --device"),
)
# packages that an option needs, and the files that bring them
PACKAGES = {
    "--tensorboard": ("tensorboard", "requirements-watch.txt"),
    "--cluster": ("distributed", "requirements-cluster.txt"),
}
# The commands beside those on studies: order, options, and the words of --help.
COMMANDS: dict[str, tuple[Any, Groups, dict[str, str]]] = {
    "evaluate": (
        EvaluateOrder,
        EVALUATE_OPTIONS,
        {
            "description": "Score an encoder's folder on the STS tests (Spearman x 100, SentEval's "
            "'all')."
        },
    ),
    "judge": (
        JudgeOrder,
        JUDGE_OPTIONS,
        {
            "description": "Judge scores of your own: differences paired by seed, with verdicts "
            "that stay right at most seeds you add.",
            "epilog": "SCORES is a CSV file with the columns row, seed and score, and set for "
            "several test sets. The claims of one command share 5 % of error, so state all of them "
            "at once, and before you see the scores.",
        },
    ),
    "runs": (RunsOrder, RUNS_OPTIONS, {"description": "List the stored runs."}),
}


def parse(argv: Sequence[str]) -> AnyOrder:
    """The order of a command line. Raises UserError for anything that cannot be meant."""
    check_words(argv)
    if argv and argv[0] in COMMANDS:
        kind, options, about = COMMANDS[argv[0]]
        parser = Parser(options, kind, prog=f"{program()} {argv[0]}", **about)
        return _made(kind, vars(parser.parse_intermixed_args(argv[1:])))
    if argv[:1] == ["show"]:
        typed = _typed(argv[1:])
        kind = ShowOrder
    else:
        typed = _typed(argv)
        kind = next((chosen for chosen in CHOSEN if chosen.flag in typed), TrainOrder)
    check_together(kind, typed)
    order = _made(kind, typed)
    if isinstance(order, StudyOrder):
        check_names("--encoder", order.data.encoders)
        check_names("--pairs", order.data.pairs)
        if not (order.scope.studies or order.scope.all or kind is ListOrder):
            raise UserError("No study is named; give one (see --list) or --all.")
    return order


def study_parser() -> Parser:
    """The parser of a command on studies."""
    name = program()
    return Parser(
        STUDY_OPTIONS,
        TrainOrder,
        *CHOSEN,
        prog=name,
        description="Train what is missing of the named studies and render their tables and "
        "figures.",
        epilog=f"`{name} show STUDY` draws what is stored, in English where it can, and trains "
        f"nothing. `{name} evaluate MODEL ...` scores any checkpoint, and `{name} judge SCORES "
        f"...` judges scores of your own, `{name} runs` lists stored runs; each has a --help of "
        "its own.",
    )


def check_words(argv: Sequence[str]) -> None:
    """Raise UserError for a word of any command that is empty, such as an unset variable of the
    shell, or is not UTF-8."""
    for word in argv:
        if not word.strip() or (word.startswith("--") and word.endswith("=")):
            raise UserError(f"{word or 'A word'} is empty; write what is meant, or leave it out.")
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            raise UserError(f"{word[:80]} is not UTF-8; give another name, or rename the file.")


def check_together(kind: type[ChosenOrder], typed: dict[str, Any]) -> None:
    """Raise UserError for an option that leaves no room for another, or needs one that is not
    there."""
    for field in sorted(typed.keys() - option_defaults(kind).keys() - {kind.flag}):
        option = typed_name(field)
        if kind.flag:
            raise UserError(
                f"{typed_name(kind.flag)} {kind.does}, so {option} does not go with it; leave one "
                "out."
            )
        takers = [typed_name(other.flag) for other in CHOSEN if field in option_defaults(other)]
        raise UserError(f"{option} needs {' or '.join(takers)}; add that, or leave {option} out.")
    names = set(map(typed_name, typed))
    for option, does, others in APART:
        for other in others.split():
            if {option, other} <= names:
                raise UserError(f"{option} {does}, so {other} does not go with it; leave one out.")
    for option, (package, brought_by) in PACKAGES.items():
        if option in names and importlib.util.find_spec(package) is None:
            raise UserError(
                f"{option} needs the package {package}; pip install -r {brought_by} brings it."
            )


def check_names(option: str, named: Sequence[tuple[str, object]]) -> None:
    """Raise UserError for one name of two things; names that differ in capitals alone are one."""
    if len({name.lower() for name, _ in named}) < len(named):
        raise UserError(
            f"{option} gives one name twice; give each its own, as {option} NAME=PLACE."
        )


def words(order: AnyStudyOrder) -> list[str]:
    """The command line that `parse` makes this order of, without the program."""
    line = []
    values = values_of(order)
    if order.flag and order.flag not in values:
        line.append(typed_name(order.flag))
    for field, value in values.items():
        name = typed_name(field)
        for part in value if isinstance(value, tuple) else (value,):
            word = str(part)
            if isinstance(part, tuple):
                word = "=".join(map(str, part))
            elif isinstance(part, float):
                word = typed_time(part)
            if part is True:
                line.append(name)
            elif field == "studies":
                line.append(word)
            else:
                line += [f"{name}={word}"] if word.startswith("-") else [name, word]
    return line


def _typed(argv: Sequence[str]) -> dict[str, Any]:
    """What was typed, by the fields of orders. Raises UserError."""
    parser = study_parser()
    namespace, unknown = parser.parse_known_intermixed_args(argv)
    if unknown:
        option = unknown[0].partition("=")[0]
        hint = nearest(option, parser._option_string_actions, f"see {parser.prog} --help.")
        raise UserError(f"There is no option {option[:80]}; {hint}")
    return {field: value for field, value in vars(namespace).items() if value != []}


def _made(kind: Any, typed: dict[str, Any]) -> Any:
    """An order, or a part of one, of what was typed."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(field.default):
            values[field.name] = _made(type(field.default), typed)
        elif field.name in typed:
            value = typed[field.name]
            values[field.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)
