"""`run_study.py judge SCORES`: verdicts on scores of your own, by the statistics that judge the
papers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence

from core.errors import HOME, say
from core.runner.cli import Parser, path_here, program
from core.store.files import check_results_dir, write_changed


def main(argv: Sequence[str]) -> int:
    """Print the table of differences and a verdict on each claim; with --results-dir write both
    with the figure. Returns 0."""
    options = _judge_parser().parse_args(argv)
    folder = options.results_dir
    if folder is not None:
        check_results_dir(folder, HOME / "results" / "published")
    # figures follow no setting of the user's
    os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
    from core.report.own_scores import judgement  # brings scipy: options are checked first
    from core.report.score_table import read_scores

    # The verdicts
    scores = read_scores(options.scores)
    name = options.scores.name
    judged = judgement(scores, options.claims, options.reference, options.margin, name)
    say(*str(judged).split("\n"))
    if folder is None:
        return 0

    # The files
    from core.report.drawing import drawing, image

    stem = f"{options.scores.stem}-judged"
    contents = {f"{stem}{ending}": text.encode() for ending, text in judged.files().items()}
    figure = judged.plot()
    with drawing(), warnings.catch_warnings(record=True) as boxes:
        for kind in ("png", "pdf"):
            contents[f"{stem}.{kind}"] = image(figure, kind)
    if boxes:
        say("", "The figure has a box for each letter that its font lacks; the tables have them.")
    for name, content in contents.items():
        write_changed(folder / name, content)
    say("", f"Written to {folder}: {', '.join(contents)}")
    return 0


def _judge_parser() -> Parser:
    parser = Parser(
        prog=f"{program()} judge",
        allow_abbrev=False,
        description="Judge scores of your own: differences paired by seed, with verdicts that "
        "stay right at most seeds you add.",
        epilog="SCORES is a CSV file with the columns row, seed and score, "
        "and set for several test sets. The claims of one command share 5 % "
        "of error, so state all of them at once, and before you see the scores.",
    )
    add = parser.add_argument
    add("scores", type=path_here, metavar="SCORES", help="the CSV file")
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
        type=float,
        metavar="NUMBER",
        help="a claim that misses what it says by less is equivalent",
    )
    add(
        "--results-dir",
        type=path_here,
        metavar="DIR",
        help="write table, CSV files and figure",
    )
    return parser
