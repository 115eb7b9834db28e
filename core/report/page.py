"""The page results/index.html, its README.md and CSV files, from templates over the data frames."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import jinja2
import numpy as np
import pandas as pd
from jinja2.utils import markupsafe  # what jinja2 escapes with

from core.report import frames, prospects
from core.report.claims import comparison_words
from core.report.figures import SCATTERS
from core.report.numbers import interval, signed
from core.report.tables import grid, marks, md
from core.report.verdicts import Judged, Verdict
from core.report.words import (
    MARKS,
    POINTING,
    READING,
    caution,
    mark,
    of_runs,
    outcome_words,
    reading,
    setting,
)
from core.spec.claim import Claim
from core.spec.errors import counted
from core.spec.fields import explanations
from core.spec.run import RunConfig
from core.spec.scale import PAPER
from core.spec.study import Study

TEMPLATES = Path(__file__).with_name("templates")
HOME = Path(__file__).resolve().parents[2]
COLUMNS = {"mini": "English", "demo": "made-up language", "paper": "paper scale"}  # by scale
PLACES = {
    "mini": "On English with a small encoder",
    "demo": "In a made-up language",
}  # of the first sentences
DEFAULT = "paper"  # the profile of the table of claims
TOO_WIDE = 30.0  # points: a wider interval says that there are too few seeds
FIRST_SEEDS = 5  # of a study at the papers' scale, for its cost
DOCS = ("README.md", "docs/using.md", "docs/findings.md", "docs/method.md")
ENDINGS = {
    "CSV": ".csv",
    "runs": "_runs.csv",
    "curves": "_curves.csv",
    "Markdown": ".md",
    "LaTeX": ".tex",
}
Results = Mapping[tuple[str, str], Sequence[Judged]]  # by scale and profile
Seconds = Callable[[RunConfig], float]  # that a run is expected to take


def page_files(
    studies: Sequence[Study], results: Results, folder: Path, figures: Path, seconds: Seconds
) -> dict[str, str]:
    """Every file of the page by its name in `folder`: index.html, README.md and the CSV files.

    `results` has every study. `figures` is where the figures lie, `seconds` what a run at the
    papers' scale takes. Links are to files that are there.
    """
    claims = pd.concat(map(frames.claim_frame, results.values()), ignore_index=True)
    checks = pd.concat(map(frames.check_frame, results.values()), ignore_index=True)
    compared = pd.concat(map(frames.comparison_frame, results.values()), ignore_index=True)
    costs = {
        (profile, result.study.name): prospects.of_study(result, seconds)
        for (scale, profile), found in results.items()
        if scale == PAPER.name
        for result in found
    }
    words = {
        (*key, result.study.name, verdict.claim.key): _without_run(verdict)
        for key, judged in results.items()
        for result in judged
        for verdict in result.verdicts
        if verdict.outcome == "not run"
    }
    words |= {
        (PAPER.name, *key, cost.claim): cost.words for key, each in costs.items() for cost in each
    }
    places = zip(claims["scale"], claims["profile"], claims["study"], claims["claim"], strict=True)
    claims["reason"] = [
        why or words.get(place, "") for why, place in zip(claims["reason"], places, strict=True)
    ]
    shown = _shown(claims)
    sections = []
    order = sorted(results, key=lambda key: list(COLUMNS).index(key[0]))
    for study in studies:
        mine = [
            result for key in order for result in results[key] if result.study.name == study.name
        ]
        rows = shown[shown["study"] == study.name]
        cards = [
            _card(
                claim,
                rows[rows["claim"] == claim.key].to_dict("records"),
                _comparisons(compared[compared["claim"] == claim.key]),
            )
            for claim in study.claims
        ]
        at_paper = [
            result
            for result in results.get((PAPER.name, DEFAULT), ())
            if result.study.name == study.name
        ]
        cost = _cost(at_paper[0], costs[DEFAULT, study.name], seconds) if at_paper else ""
        axes = [text for axis in study.axes for text in (axis.name, axis.title)]
        tables = [_table(result, folder, figures) for result in mine if result.begun]
        sections.append(
            {
                "study": study,
                "cards": cards,
                "summary": _summary(cards, cost),
                "tables": [
                    table for table in tables if table["files"]
                ],  # others have not been drawn
                "words": " ".join(
                    (study.paper_name, study.title, study.name, study.caption, *axes)
                ),
            }
        )
    files = {"claims.csv": claims, "comparisons.csv": compared, "comparability.csv": checks}
    given = {
        "papers": list({study.paper: study.source for study in studies}.values()),
        "sections": sections,
        "columns": COLUMNS,
        "csv_files": list(files),
        "lede": _lede(claims),
        "scatters": {
            f"{COLUMNS[scale]}, profile {profile}": _links(
                {name: figures / scale / profile / f"{name}.png" for name in SCATTERS}, folder
            )
            for scale, profile in order
        },
        "links": _links({name: HOME / name for name in DOCS}, folder),
        "older": _links({"archive": folder / "archive" / "README.md"}, folder).get("archive", ""),
    }
    pages = "index.html", "README.md"
    texts = {name: _templates().get_template(f"{name}.jinja").render(given) for name in pages}
    return texts | {name: frames.csv_text(frame, digits=6) for name, frame in files.items()}


def _without_run(verdict: Verdict) -> str:
    """How many rows of a claim have no run, where others have one."""
    cells = {cell.name: cell.begun for each in verdict.readings.values() for cell in each.cells}
    absent = list(cells.values()).count(False)
    return f"{absent} of {len(cells)} rows have no run" if 0 < absent < len(cells) else ""


def _shown(claims: pd.DataFrame) -> pd.DataFrame:
    """Claims as cards show them, English first; profiles with the same numbers share a row."""
    estimates = [_estimate(row) for row in claims.itertuples()]
    tested = list(map(interval, claims["tested_low"], claims["tested_high"]))
    labels = [_label(row) for row in claims.itertuples()]
    shown = claims.assign(estimate=estimates, tested=tested, label=labels)
    shown = shown.sort_values(
        "scale", key=lambda scale: scale.map(list(COLUMNS).index), kind="stable"
    )
    alike = ["study", "claim", "scale", "verdict", "points", "reason", "estimate", "tested", "n"]
    each = {"profile": list, "rule_changed": "first", "label": "first"}
    return shown.groupby(alike, sort=False, as_index=False).agg(each)


def _estimate(row) -> str:
    if row.unit == "points" and row.ci95_high - row.ci95_low > TOO_WIDE:
        return f"{counted(row.n, 'seed')}: too few"
    bounds = interval(row.ci95_low, row.ci95_high)
    return f"{signed(row.estimate)} {row.unit} {bounds}".rstrip() if row.n else ""


def _label(row) -> str:
    words = outcome_words(row.verdict, row.points, row.within_margin == "yes")
    whole = "" if row.verdict != "not run" else " in full"
    return f"{words}{whole} ({counted(row.n, 'seed')})" if row.n else words


def _card(claim: Claim, rows: Sequence[dict], comparisons: Sequence[dict]) -> dict:
    """A claim with its rows and comparisons, and by scale the row of the table's profile."""
    return {
        "claim": claim,
        "rows": rows,
        "at": {row["scale"]: row for row in rows if DEFAULT in row["profile"]},
        "comparisons": comparisons,
        "needed": comparisons[0]["needed"] if comparisons else "",
        "scales": [scale for scale in COLUMNS if any(scale in each["at"] for each in comparisons)],
        "rule_changed": next((row["rule_changed"] for row in rows if row["n"]), ""),
    }


def _comparisons(rows: pd.DataFrame) -> list[dict]:
    """A claim's comparisons under the table's profile: in words, as printed, and by scale the
    estimate."""
    comparisons: dict[str, dict] = {}
    for row in rows[rows["profile"] == DEFAULT].itertuples():
        words = comparison_words(row)
        printed = f"{signed(row.printed)} {row.unit}".rstrip() if np.isfinite(row.printed) else ""
        new = {"words": words, "needed": row.needed, "printed": printed, "at": {}}
        comparison = comparisons.setdefault(words, new)
        if row.n:
            comparison["at"][row.scale] = (
                f"{signed(row.estimate)} {interval(row.ci95_low, row.ci95_high)} "
                f"{POINTING.get(row.points, '')}"
            ).rstrip()
    return list(comparisons.values())


def _summary(cards: Sequence[dict], cost: str) -> dict[str, str]:
    """A study in a few words for each column: "2 undecided (3 seeds), 4 not run"."""
    words = {}
    for scale, name in COLUMNS.items():
        rows = pd.DataFrame([card["at"][scale] for card in cards if scale in card["at"]])
        if scale == PAPER.name and not (len(rows) and rows["n"].any()):
            words[name] = cost
        elif len(rows):
            counts = rows["verdict"].value_counts(sort=False)
            most = rows[rows["verdict"] == "undecided"]["n"].max()
            pointing = _pointing(rows)
            few = {"undecided": f" ({counted(most, 'seed')}{'; ' if pointing else ''}{pointing})"}
            texts = [f"{n} {verdict}{few.get(verdict, '')}" for verdict, n in counts.items()]
            lacking = len(cards) - len(rows)
            texts += [f"{lacking} on test sets that this scale lacks"] if lacking else []
            words[name] = ", ".join(texts)
    return words


def _cost(result: Judged, costs: Sequence, seconds: Seconds) -> str:
    """What a study would take at the papers' scale."""
    cells = {cell.runs[0].run_id: cell.cell for cell in result.cells if cell.runs}
    if costs or not cells:
        return prospects.summary(costs) if costs else "cannot be run"
    hours = (
        sum(seconds(result.setup.config(result.study, cell, 0)) for cell in cells.values()) / 3600
    )
    runs = f"{FIRST_SEEDS} seeds are {FIRST_SEEDS * len(cells)} runs"
    return f"{runs}, {prospects.gpu_time(FIRST_SEEDS * hours)}"


def _table(result: Judged, folder: Path, figures: Path) -> dict:
    """A study's table at one scale and profile, with its figures and the files beside it."""
    scale = result.setup.scale.name
    profile = result.setup.profile
    name = result.study.name
    table = grid(result.study, frames.cell_frame(result))
    files = {kind: folder / scale / profile / f"{name}{ending}" for kind, ending in ENDINGS.items()}
    cautions = [caution(result)] if caution(result) else []
    pictures = {end: figures / scale / profile / f"{name}{end}.png" for end in ("", "-differences")}
    return {
        "scale": scale,
        "profile": profile,
        "name": f"{COLUMNS[scale]}, profile {profile}",
        "grid": table,
        "notes": (setting(result), reading(result), *marks(table), *cautions, *of_runs(result)),
        "figures": _links(pictures, folder),
        "files": _links(files, folder),
    }


def _links(paths: Mapping[str, Path], folder: Path) -> dict[str, str]:
    """The paths of files that are there, as links from a page in `folder`, with no letter that is
    syntax."""
    there = {name: path.resolve() for name, path in paths.items() if path.is_file()}
    return {name: quote(os.path.relpath(path, folder.resolve())) for name, path in there.items()}


def _lede(claims: pd.DataFrame) -> str:
    """The page's first sentences: what has been tested at all."""
    words = []
    if not (claims[claims["scale"] == PAPER.name]["n"] > 0).any():
        words.append("No claim has been tested at the papers’ own scale yet.")
    for scale, place in PLACES.items():
        here = claims[(claims["scale"] == scale) & (claims["profile"] == DEFAULT)]
        counts = here["verdict"].value_counts()
        if len(counts):
            texts = {
                outcome: f"{counts[outcome]} {outcome}" for outcome in MARKS if outcome in counts
            }
            if pointing := _pointing(here):
                texts["undecided"] += f" ({pointing})"
            words.append(f"{place}: {', '.join(texts.values())}.")
    return " ".join(words)


def _pointing(claims: pd.DataFrame) -> str:
    """Where the undecided of these claims point: "pointing: 1 for, 13 against, 6 nowhere"."""
    points = claims[claims["verdict"] == "undecided"]["points"]
    counts = {side: int((points == side).sum()) for side in (*POINTING, "")}
    texts = [f"{n} {side or 'nowhere'}" for side, n in counts.items() if n]
    return f"pointing: {', '.join(texts)}" if (points != "").any() else ""


def _templates() -> jinja2.Environment:
    """Templates that escape everything from data."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.jinja",)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"slug": slug, "markdown": lambda text: md(str(text)), "explained": explained}
    made.globals |= {"MARKS": MARKS, "POINTING": POINTING, "READING": READING, "mark": mark}
    return made


def explained(text: str) -> markupsafe.Markup:
    """Text with each D-number's meaning as its title."""
    known = explanations()
    escape = markupsafe.escape
    return markupsafe.Markup(
        re.sub(
            rf"\b({'|'.join(known)})\b",
            lambda found: f'<abbr title="{escape(known[found[0]])}">{found[0]}</abbr>',
            str(escape(text)),
        )
    )


def slug(text: str) -> str:
    """Text as a part of a link."""
    return "-".join("".join(c if c.isalnum() or c in "._-" else " " for c in text).split())
