"""What a reader reads around a study's numbers: title, setting, notes, comparisons and verdicts in
words."""

from __future__ import annotations

from collections.abc import Iterator

from core.report.comparisons import Outcome, Points
from core.report.quantities import worst_value
from core.report.results import StudyResult, worst_values
from core.report.verdicts import Judged, reasons
from core.spec.claim import Contrast
from core.spec.errors import counted, shown
from core.spec.fields import explained
from core.spec.result import SCORE, unit
from core.spec.setup import values

MARKS: dict[Outcome, str] = {  # beside the word: never colour alone
    "supported": "✔",
    "contradicted": "✘",
    "equivalent": "≈",
    "undecided": "?",
    "not run": "–",
    "no verdict": "∅",
}
# in the place of an undecided claim's mark
POINTING: dict[Points, str] = {"for": "↗", "against": "↘"}
READING = (
    "An undecided claim points for (↗) or against (↘) by its 95 % intervals, which is no verdict. "
    "Effect: by how much the weakest comparison that a claim needs lies above (or, negative, "
    "below) what the "
    "claim says, paired by seed. Verdicts come at 3, 5, 8, 12, 18, 27, 40 and 60 seeds alone, and "
    "at most "
    "one study in twenty has a wrong verdict, however often it is checked. Equivalent: the weakest "
    "comparison misses what the claim says, or exceeds it, by less than the margin."
)
# What scale mini is, said of the encoder that the project brings for it.
MINI_ENCODER = "25d54aea40ddce1805cb868d9af1f0edaca8175f92a7f0f5a6b31a8e637f0614"
CUT = (
    "The encoder was cut from a sentence encoder that had been trained contrastively, and chosen "
    "because "
    "SimCSE rises on it."
)
LIKE = 0.05  # passes over the text: less is no difference
# of a comparison that is spelled out; that a note lists
MOST_TERMS = 4
MOST_CELLS = 8
# A different value of these can move a number without being part of the run's identity.
ENVIRONMENT = (
    "python",
    "torch",
    "transformers",
    "tokenizers",
    "datasets",
    "numpy",
    "scipy",
    "cuda",
    "device",
    "processor",
    "threads",
    "commit",
)


def title(result: StudyResult) -> str:
    """Paper, table and caption."""
    return f"{result.study.paper_name} {result.study.title}: {result.study.caption}"


def setting(result: StudyResult) -> str:
    """Scale, profile, encoder and data in one line."""
    setup = result.setup
    of = result.setup.sources
    encoder, text, pairs = map(shown, (of.encoder_name, of.corpus_name, of.evaluation_name))
    where = f"scale {setup.scale.name} · profile {setup.profile}"
    return f"{where} · encoder {encoder} · text {text} · evaluation {pairs}"


def caution(result: StudyResult) -> str:
    """What a verdict at this scale says nothing about, and what the scale is; empty at the papers'
    own."""
    scale = result.setup.scale
    of = result.setup.sources
    if scale.generated:
        return f"Scale {scale.name} has a made-up language: its verdicts say nothing of English."
    if scale.name == "paper":
        return ""
    sentences = [
        f"These verdicts are about {shown(of.encoder_name)}, not about the paper's encoder."
    ]
    passes = (scale.steps or 0) * scale.batch_size / of.corpus_rows
    if passes >= 2:
        read = f"reads {of.corpus_rows:,} sentences {passes:.0f} times"
        sentences.append(f"Training {read}; the papers read a million sentences once.")
    if of.encoder_digest == MINI_ENCODER:
        sentences.append(CUT)
    return " ".join(sentences)


def reading(result: StudyResult) -> str:
    """What a number in the table is, and over how many seeds."""
    metric = result.study.metric
    kind = unit(result.study.metric)
    kind += f" ({result.aggregate})" if kind == SCORE else ""
    if metric.quantity != "spearman":
        kind = kind if metric.title.lower() == kind else f"{metric.title}, {kind}"
    elif metric.task == "avg":
        kind += (
            f", {'' if result.study.tasks else 'mean '}over {', '.join(result.setup.scale.tests)}"
        )
    else:
        kind += f", on {result.setup.scale.dev if metric.task == 'dev' else metric.task}"
    counts = sorted(cell.estimate.n for cell in result.cells if cell.estimate.n) or [0]
    least = f"{counts[0]} to " if counts[0] < counts[-1] else ""
    return f"{kind}; {least}{counted(counts[-1], 'seed')}."


def mark(verdict: Outcome, points: Points) -> str:
    """The symbol of a verdict, or of where an undecided claim points."""
    return POINTING.get(points) or MARKS[verdict]


def outcome_words(verdict: Outcome, points: Points, within_margin: bool) -> str:
    """A verdict in words, with where an undecided claim points, or that the effect is below the
    margin."""
    if points:
        return f"{verdict}, points {points}"
    if within_margin:
        return f"{verdict}, smaller than the margin"
    return verdict


def contrast_here(contrast: Contrast, result: StudyResult) -> str:
    """A comparison in words: "0.85 minus 0.9, above 0"; of many cells their number."""
    axes = result.study.axes
    text = ""
    for term in contrast.terms:
        named = [
            label or f"every {axis.title.lower()}"
            for axis, label in zip(axes, term.cell, strict=True)
        ]
        size = "" if abs(term.weight) == 1.0 else f"{abs(term.weight):.3g} × "
        text += f" {'plus' if term.weight > 0 else 'minus'} {size}{'/'.join(named)}"
    count = len(contrast.terms)
    text = (
        text[1:].removeprefix("plus ")
        if count <= MOST_TERMS
        else f"a weighted sum of {count} cells"
    )
    text = f"scatter over seeds: {text}" if contrast.of == "scatter" else text
    text = text if contrast.metric is None else f"{contrast.metric.title.lower()}: {text}"
    return f"{text}, above {contrast.above:g}".replace("above -", "above −")


def by_value(result: Judged) -> list[str]:
    """For each claim of a study under `--vary` its outcomes with the values at which it has
    them."""
    outcomes: dict[str, dict[str, list[str]]] = {}
    for part in result.by_value:
        value = values(part.study)
        for verdict in part.verdicts:
            key = verdict.claim.key.removesuffix(f" ({value})")
            outcomes.setdefault(key, {}).setdefault(verdict.outcome, []).append(value)
    where = {
        key: [f"{outcome} at {', '.join(places)}" for outcome, places in each.items()]
        for key, each in outcomes.items()
    }
    return [f"{key}: {'; '.join(parts)}." for key, parts in where.items()]


def of_runs(result: Judged) -> tuple[str, ...]:
    """Notes on these runs: what cannot be judged, missing and failed runs, origins."""
    return (*_checks(result), *_failed(result), *_unavailable(result), *_origin(result))


def meanings(result: Judged) -> tuple[str, ...]:
    """The meanings of the D-numbers in the notes, the table's labels and the claims' notes."""
    labels = [label for axis in result.study.axes for label in axis.labels]
    notes = (claim.note for claim in result.study.claims)
    return explained(*of_runs(result), *result.study.footnotes, *labels, *notes)


def _checks(result: Judged) -> Iterator[str]:
    """Which claims have no verdict or a provisional one, and how far the method learns."""
    yield from reasons(result)
    given_reasons = set()
    for verdict in result.verdicts:
        given_reasons |= {*verdict.barred, *verdict.provisional}
    for part in result.parts:
        for check in part.checks:
            words = check.reason.words
            far = abs(check.value - check.limit) > LIKE
            if check.kind == "passes" and far and part is result.parts[0]:
                yield f"{words[:1].upper()}{words[1:]}."
            learns = check.kind == "gain" and check.met is not False
            if learns and check.reason not in given_reasons:
                where = ""
                if result.study.varied:
                    where = f"{values(part.study)}: "
                yield f"{where}{words}."


def _failed(result: StudyResult) -> Iterator[str]:
    """Runs that are missing, diverged or collapsed, and what they count for."""
    counts_for = worst_values(cell for cell in result.cells if cell.unavailable is None)
    worst = {worst_value(metric) for metric in counts_for}
    numbers = " or ".join(
        f"{value:g}" for value in sorted(value for value in worst if value is not None)
    )
    if any(value is not None and value < 0 for value in counts_for.values()):
        numbers += " or the lowest score below it"
    counts = (
        f"counted as {numbers}, the worst" if numbers else "missing: the metric has no worst value"
    )
    sentences = {
        "missing": "not run yet (—)",
        "no number": "without the number that its cell shows",
        "diverged": f"diverged (‡), {counts}",
        "collapsed": f"with vectors of one direction (‡), without a number of their own {counts}",
    }
    for status, sentence in sentences.items():
        cells = {cell.name: cell.count(status) for cell in result.cells}
        if any(cells.values()):
            n = result.count(status)
            where = [f"{name}: {count}" for name, count in cells.items() if count]
            listed = "; ".join(where[:MOST_CELLS]) + ("; …" if len(where) > MOST_CELLS else "")
            yield f"{n} of {counted(len(result.runs), 'run')} {sentence} ({listed})."
    yield from (f"Not counted: {run.trouble}" for run in result.runs if run.trouble)


def _unavailable(result: StudyResult) -> Iterator[str]:
    unavailable = [cell.unavailable for cell in result.cells if cell.unavailable is not None]
    for reason in dict.fromkeys(unavailable):
        if reason.kind != "copied":
            yield f"Unavailable (n/a): {reason.words}."
    if any(cell.cell.copied for cell in result.cells):
        yield "Entries without a number of ours are the paper's copies from elsewhere, never run."


def _origin(result: Judged) -> Iterator[str]:
    """The runs' seeds, how many are published, and in which parts of their environment they
    differ."""
    runs = [run for run in result.runs if run.rows is not None]
    ordered = any("seed.data" in cell.cell.changes for cell in result.cells)
    if runs and result.setup.profile == "released" and not ordered:
        yield "All runs have one order of the text and one dropout; seeds move new weights (D35)."
    if published := sum(run.source == "published" for run in runs):
        own = len(runs) - published
        rest = f", {own} from this machine." if own else "."
        shown_runs = f"{counted(published, 'run')} of those shown"
        yield f"From the project's published results: {shown_runs}{rest}"
    environments = [{**run.provenance, **run.provenance.get("versions", {})} for run in runs]
    versions = {name: {str(of[name]) for of in environments if name in of} for name in ENVIRONMENT}
    if differing := [name for name in ENVIRONMENT if len(versions[name]) > 1]:
        masks = "; dropout can differ between devices" if "device" in differing else ""
        yield f"The runs differ in {', '.join(differing)}{masks}."
