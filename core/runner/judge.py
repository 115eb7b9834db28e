"""`run_study.py judge SCORES`: verdicts on scores of your own, by the statistics that judge the
papers."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.config.section import decimal
from core.errors import UserError, say
from core.runner.cli import Parser, program
from core.runner.devices import PROJECT
from core.store.files import refuse_published, write_changed

FILE_KINDS = ("png", "pdf")


def main(argv: Sequence[str]) -> int:
    """Print the table of differences and a verdict on each claim; with --results-dir write both
    with the figure. Returns 0."""
    options = _judge_parser().parse_args(argv)
    from core.report.own_scores import judgement  # brings scipy: options are checked first
    from core.report.score_table import read_scores

    scores = read_scores(options.scores)
    name = options.scores.name
    judged = judgement(scores, options.claims, options.reference, options.margin, name)
    say(*str(judged).split("\n"))
    if options.results_dir is None:
        return 0
    folder: Path = options.results_dir
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is no folder; give another --results-dir.")
    refuse_published(folder, PROJECT / "results" / "published")
    stem = f"{options.scores.stem}-judged"
    texts = {f"{stem}.md": judged.markdown().encode()}
    for ending, text in judged.csv_files().items():
        texts[f"{stem}{ending}.csv"] = text.encode()
    _write(folder, texts | _judged_figures(judged, stem))
    return 0


def _judged_figures(judged, stem: str) -> dict[str, bytes]:
    """The figure's files by name."""
    # figures follow no setting of the user's
    os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
    from core.report.drawing import drawing, image

    figure = judged.plot()
    with drawing():
        return {f"{stem}.{kind}": image(figure, kind) for kind in FILE_KINDS}


def _write(folder: Path, texts: Mapping[str, bytes]) -> None:
    """Write these files, and say which."""
    for name, content in texts.items():
        write_changed(folder / name, content)
    say("", f"Written to {folder}: {', '.join(texts)}")


def _expanded_path(text: str) -> Path:
    """A path; no shell expands the tilde of `--results-dir=~/scores`."""
    return Path(os.path.expanduser(text))


def _above_0(text: str) -> float:
    number = decimal(text)
    if number is None or number <= 0:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no number above 0")
    return number


def _judge_parser() -> Parser:
    parser = Parser(
        prog=f"{program()} judge",
        allow_abbrev=False,
        description="Judge scores of your own: differences paired by seed, with verdicts that "
        "stay right at most seeds you add.",
        epilog="SCORES is a CSV file with the columns row, seed and score; or row and then a column "
        "for each seed; or seed and then a column for each row. The claims of one command share 5 % "
        "of error, so state all of them at once, and before you see the scores.",
    )
    add = parser.add_argument
    add("scores", type=_expanded_path, metavar="SCORES", help="the CSV file")
    add(
        "--claim",
        dest="claims",
        action="append",
        default=[],
        metavar="TEXT",
        help="'a > b', 'a > b by 0.5', 'a = b within 0.5', 'a best' or 'a lowest'; any number of "
        "times",
    )
    add(
        "--reference",
        metavar="ROW",
        help="the row that the others are compared with (default: the first)",
    )
    add(
        "--margin",
        type=_above_0,
        metavar="NUMBER",
        help="a claim that misses what it says by less is equivalent",
    )
    add(
        "--results-dir",
        type=_expanded_path,
        metavar="DIR",
        help="write table, CSV files and figure",
    )
    return parser
