"""report.html: one self-contained page a scale and profile, for a phone, a desk and paper. Everything from data is escaped."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.report import claims
from core.report.cells import CellResult, StudyResult
from core.report.dialects import escape, md
from core.report.notes import ENVIRONMENT, flattened, footnotes, reading, setting, title
from core.report.quantities import decimals
from core.report.tables import grid, marks, number
from core.report.verdicts import Verdict, verdicts

STYLE = Path(__file__).with_name("page.css")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One study on the page: its result, its figure as WebP (None without one), and its results under the other profiles that are begun."""

    result: StudyResult
    picture: bytes | None
    others: tuple[StudyResult, ...] = ()


def page(sections: Sequence[Section], noise: Sequence[str] = ()) -> str:
    """The whole page. `noise` are sentences on what seeds alone do to each table."""
    first = sections[0].result
    found = {one.result.study.name: verdicts(one.result) for one in sections}
    heading = f"What holds: scale {first.scale.name}, profile {first.profile}"
    mark = f'<p class="watermark">{escape(first.scale.watermark)}</p>' if first.scale.watermark else ""
    parts = [
        "<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(heading)}</title><style>{STYLE.read_text()}</style></head><body><main>",
        f"<h1>{escape(heading)}</h1>", mark, f"<p>{escape(setting(first))}</p>",
        _summary(sections, found), _noise(noise), _contents(sections, found),
        *(_study(one, found[one.result.study.name]) for one in sections),
        "</main></body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def summary_markdown(sections: Sequence[Section], noise: Sequence[str] = ()) -> str:
    """summary.md: claims by outcome, each study's count, what it cost, and what seeds alone do."""
    first = sections[0].result
    found = {one.result.study.name: verdicts(one.result) for one in sections}
    everything = [verdict for some in found.values() for verdict in some]
    lines = [f"# What holds: scale {first.scale.name}, profile {first.profile}", "", md(setting(first)), "",
             f"{len(everything)} claims: {claims.counted(everything)}. {claims.of_scale(first)}", "", cost(sections), ""]
    lines += ["| study | runs | claims | verdicts | can this scale carry it? |", "| :-- | --: | --: | :-- | :-- |"]
    for one in sections:
        result, some = one.result, found[one.result.study.name]
        runs = f"{len(result.runs) - result.missing} of {len(result.runs)}"
        carried = ("no: " + result.not_comparable if result.not_comparable else "yes") if some else ""
        lines.append(f"| {md(title(result))} | {runs} | {len(some)} | {md(claims.counted(some))} | {md(carried)} |")
    if noise:
        lines += ["", "## What seeds alone do", "", *(f"- {md(sentence)}" for sentence in noise)]
    return "\n".join(lines) + "\n"


def cost(sections: Sequence[Section]) -> str:
    """How many distinct runs stand behind the page, and the hours they took."""
    runs = {run.run_id: run for one in sections for run in one.result.runs if run.rows is not None}
    hours = sum(sum((run.provenance.get("seconds") or {}).values()) for run in runs.values()) / 3600
    entries = sum(len(cell.runs) for one in sections for cell in one.result.cells)
    return f"{len(runs)} distinct runs stand behind {entries} entries; they took {hours:.1f} hours one after the other."


def _summary(sections: Sequence[Section], found: Mapping[str, Sequence[Verdict]]) -> str:
    counts = Counter(verdict.outcome for some in found.values() for verdict in some)
    tiles = "".join(
        f'<div class="tile {outcome.replace(" ", "-")}"><b>{counts[outcome]}</b><span>{claims.MARKS[outcome]} {outcome}</span></div>'
        for outcome in claims.OUTCOMES
    )
    total = sum(counts.values())
    return (
        f'<section><h2>Claims</h2><div class="tiles">{tiles}</div>'
        f"<p>{total} claims of the papers, each asked of these runs. {escape(claims.of_scale(sections[0].result))}</p>"
        f'<p class="small">{escape(claims.READING)}</p><p>{escape(cost(sections))}</p>{_environment(sections)}</section>'
    )


def _environment(sections: Sequence[Section]) -> str:
    runs = {run.run_id: flattened(run.provenance) for one in sections for run in one.result.runs if run.rows is not None}
    rows = []
    for name in ENVIRONMENT:
        versions = Counter(str(one[name]) for one in runs.values() if name in one)
        if versions:
            listed = ", ".join(version if len(versions) == 1 else f"{version} ({count})" for version, count in sorted(versions.items()))
            rows.append(f"<tr><th>{escape(name)}</th><td>{escape(listed)}</td></tr>")
    return f'<details><summary>Environment of the runs</summary><table class="plain">{"".join(rows)}</table></details>'


def _noise(sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<section><h2>What seeds alone do</h2><ul>{items}</ul></section>"


def _contents(sections: Sequence[Section], found: Mapping[str, Sequence[Verdict]]) -> str:
    items = []
    for one in sections:
        counts = Counter(verdict.outcome for verdict in found[one.result.study.name])
        badges = " ".join(
            f'<span class="badge {outcome.replace(" ", "-")}" title="{outcome}">{claims.MARKS[outcome]} {counts[outcome]}</span>'
            for outcome in claims.OUTCOMES if counts[outcome]
        )
        name = escape(one.result.study.name)
        items.append(f'<li><a href="#{name}">{escape(title(one.result))}</a> {badges}</li>')
    return f'<nav><h2>Studies</h2><ul>{"".join(items)}</ul></nav>'


def _study(one: Section, found: Sequence[Verdict]) -> str:
    result = one.result
    table = grid(result)
    notes = "".join(f"<li>{escape(note)}</li>" for note in (*marks(result, table), *footnotes(result)))
    picture = ""
    if one.picture is not None:
        data = base64.b64encode(one.picture).decode()
        alt = escape(f"{title(result)}. {result.study.figure.caption}. The numbers are in the table below.", quote=True)
        picture = f'<figure><img alt="{alt}" src="data:image/webp;base64,{data}"></figure>'
    return (
        f'<section id="{escape(result.study.name, quote=True)}"><h2>{escape(title(result))}</h2>'
        f'<p class="small">{escape(reading(result))}</p>{picture}{_table(table)}{_claims(found)}{_profiles(one)}'
        f'<details open><summary>Notes</summary><ul class="small">{notes}</ul></details>'
        f'<p class="small"><code>python run_study.py {escape(result.study.name)}</code> · <a href="#">top</a></p></section>'
    )


def _table(table) -> str:
    head = "".join(f'<th{"" if place < table.lead else " class=number"}>{escape(header)}</th>' for place, header in enumerate(table.headers))
    rows = []
    for place, row in enumerate(table.rows):
        cells = []
        for column, entry in enumerate(row):
            text = f"<b>{escape(entry.text)}</b>" if entry.bold else escape(entry.text)
            cells.append(f"<th>{text}</th>" if column < table.lead else f"<td class=number>{text}</td>")
        rows.append(f'<tr{" class=rule" if place in table.breaks else ""}>{"".join(cells)}</tr>')
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _claims(found: Sequence[Verdict]) -> str:
    if not found:
        return ""
    rows = []
    for one in found:
        badge = f'<span class="badge {one.outcome.replace(" ", "-")}">{claims.MARKS[one.outcome]} {one.outcome}</span>'
        small = [text for text in (one.reason, one.claim.note) if text]
        note = "".join(f'<br><span class="small">{escape(text)}</span>' for text in small)
        runs = f"; its own runs: {one.paper_runs}" if one.paper_runs != "not run" else ""
        rows.append(
            f"<tr><th>{escape(one.claim.key)}</th><td>{escape(one.claim.text)}{note}</td><td>{badge}</td>"
            f"<td>{escape(claims.measured(one))}</td><td>{escape(claims.printed(one) + runs)}</td></tr>"
        )
    head = "<tr><th>claim</th><th>it says</th><th>verdict</th><th>effect</th><th>as printed</th></tr>"
    return f'<h3>Claims</h3><div class="scroll"><table class="claims"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def _profiles(one: Section) -> str:
    """Every profile that is begun and the paper's numbers side by side, cell by cell: each other profile with its difference to this."""
    there = [{cell.cell.labels: cell for cell in other.cells} for other in one.others]
    rows = []
    for cell in one.result.cells:
        others = [cells.get(cell.cell.labels) for cells in there]
        if not any(found is not None and (found.estimate.n or cell.estimate.n) for found in others):
            continue
        paper = "" if cell.cell.published is None else number(cell.cell.published, places=decimals(cell.metric))
        entries = [_plain(cell), *(entry for other in others for entry in _beside(cell, other)), paper]
        rows.append(f"<tr><th>{escape(' / '.join(cell.cell.labels))}</th>{''.join(f'<td class=number>{escape(e)}</td>' for e in entries)}</tr>")
    if not rows:
        return ""
    names = (one.result.profile, *(name for other in one.others for name in (other.profile, "difference")), "printed")
    head = "".join(f"<th class=number>{escape(name)}</th>" for name in names)
    return (
        f"<details><summary>Profiles side by side</summary><div class=scroll><table><thead><tr><th></th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div></details>"
    )


def _beside(cell: CellResult, other: CellResult | None) -> tuple[str, str]:
    """The same cell under another profile, and how far it lies above."""
    if other is None:
        return "", ""
    both = cell.estimate.n and other.estimate.n
    return _plain(other), number(other.estimate.mean - cell.estimate.mean, signed=True, places=decimals(cell.metric)) if both else ""


def _plain(cell: CellResult) -> str:
    if not cell.estimate.n:
        return "—"
    text = number(cell.estimate.mean, places=decimals(cell.metric))
    return f"{text} ± {number(cell.estimate.sd, places=decimals(cell.metric))} (n={cell.estimate.n})" if cell.estimate.n > 1 else f"{text} (n=1)"


