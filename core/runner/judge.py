"""`run_study.py judge SCORES`: verdicts on scores of your own, by the statistics that judge the
papers."""

from __future__ import annotations

import os
import warnings

from core.errors import HOME, UserError
from core.formatting import say
from core.runner.orders import JudgeOrder
from core.store.files import check_results_dir, write_changed


def judge_file(order: JudgeOrder) -> None:
    """Print the table of differences and a verdict on each claim; with a results folder write both
    with the figure."""
    folder = order.results_dir
    if folder is not None:
        check_results_dir(folder, HOME / "results" / "published")
    # figures follow no setting of the user's
    os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
    from core.report.own_scores import judge_scores  # brings scipy: options are checked first
    from core.report.score_table import read_scores

    # The verdicts
    scores = read_scores(order.scores)
    name = order.scores.name
    judged = judge_scores(scores, order.claims, order.reference, order.margin, name)
    say(*str(judged).split("\n"))
    if folder is None:
        return

    # The files
    from core.report.drawing import drawing, image

    stem = f"{order.scores.stem}-judged"
    contents = {f"{stem}{ending}": text.encode() for ending, text in judged.files().items()}
    figure = judged.plot()
    with drawing(), warnings.catch_warnings(record=True) as boxes:
        for kind in ("png", "pdf"):
            contents[f"{stem}.{kind}"] = image(figure, kind)
    if boxes:
        say("", "The figure has a box for each letter that its font lacks; the tables have them.")
    page = f"{stem}.md"
    source = f"\nScores of `{order.scores}`.\n".encode()
    contents[page] += source
    is_of = (folder / page).is_file() and (folder / page).read_bytes().endswith(source)
    for name in contents:
        if (folder / name).exists() and not is_of:
            raise UserError(
                f"{folder / name} is not of {order.scores}; give another --results-dir."
            )
    for name, content in contents.items():
        write_changed(folder / name, content)
    say("", f"Written to {folder}: {', '.join(contents)}")
