"""What a reader reads around a study's numbers: title, setting, notes, comparisons and verdicts in
words."""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from statistics import median

import pandas as pd

from core.config.fields import explained
from core.config.quantities import SCORE
from core.config.result import unit
from core.config.section import decimal
from core.formatting import counted, shown
from core.report.comparisons import AVERAGE_SCORE, over_pairs
from core.report.contrasts import Direction
from core.report.numbers import number
from core.report.results import StudyResult
from core.report.verdicts import JudgedStudy, Outcome, why_unmarked
from core.study.axes import Labels
from core.study.reason import in_words
from core.study.registered import KNOWN_DATA, rows_of
from core.study.resolution import values
from core.study.study import Study

# of every verdict, and of where an undecided claim points; beside the word: never colour alone, and
# no arrow, which would say that a number rises or falls
MARKS: dict[tuple[Outcome, Direction], str] = {
    ("supported", ""): "✔",
    ("contradicted", ""): "✘",
    ("equivalent", ""): "≈",
    ("undecided", "for"): "?✔",
    ("undecided", "against"): "?✘",
    ("undecided", ""): "?",
    ("not run", ""): "–",
    ("no verdict", ""): "∅",
}
FLAGS = {  # of a claim
    "⚑": "rule younger than the first runs on this text",
    "⚐": "these runs are younger than the rule",
    "↯": "differs along training",
}
VERDICT_NOTE = (
    "Brackets have 95 % intervals. An undecided claim points for (?✔) or against (?✘) by them, "
    "which is no verdict. Verdicts come at 3, 5, 8, 12, 18, 27, 40 and 60 seeds alone, however "
    "often a study is checked. Equivalent: the weakest comparison misses what the claim says, or "
    "exceeds it, by less than the margin."
)
ERROR_NOTE = (
    "At most one study in twenty has a wrong verdict by the chance of seeds. Other test pairs, "
    "texts and encoders are not covered."
)
UNCOVERED = " Verdicts with ⚑ are not covered."
UNJUDGED = ("not run", "no verdict")
LEARNING_RATE = "train.learning_rate"
LIKE = 0.05  # passes over the text: less is no difference
# A different value of these can move a number without being part of the run's identity.
ENVIRONMENT = """
    python torch transformers tokenizers datasets numpy scipy cuda device processor threads commit
    code
    """.split()


def title(result: StudyResult) -> str:
    """Paper, table and caption, and the learning rates that labels state in the paper's units."""
    words = f"{result.study.heading}: {result.study.caption}"
    rates = [
        f"{label} as {rate:.3g}" for label, rate in dict(trained_rates(result).values()).items()
    ]
    if rates:
        words += f". Scale {result.setup.scale.name} trains the learning rates {', '.join(rates)}"
    return words


def title_and_setting(result: JudgedStudy) -> tuple[str, str]:
    """What a study's figures say: its table, and the verdicts or why there are none; where its runs
    come from, and their seeds."""
    unmarked = why_unmarked(result)
    counts = Counter(verdict.outcome for verdict in result.verdicts)
    verdicts = ", ".join(f"{outcome}: {counted(n, 'claim')}" for outcome, n in counts.items())
    if unmarked:
        verdicts = f"No verdict: {in_words(unmarked)}"
    words = ". ".join(filter(None, [title(result), verdicts]))
    return words, f"{setting(result)} · {seed_counts(result)}"


def trained_rates(result: StudyResult) -> dict[Labels, tuple[str, float]]:
    """By the labels of a cell, the label that states its learning rate, and the rate at which the
    cell is trained, where the scale changed it."""
    rates = {}
    for entry in result.cells:
        cell = entry.cell
        stated = result.study.named(cell, result.setup.profile).get(LEARNING_RATE)
        if stated is None or entry.unavailable is not None:
            continue
        trained = entry.config(0).train.learning_rate
        for label in cell.labels:
            if trained != stated and decimal(label) == stated:
                rates[cell.labels] = (label, trained)
    return rates


def names_of(study: Study, cells: pd.DataFrame) -> dict[str, str]:
    """By label, what tables and figures call it: as the paper has it, with the encoder that was run
    in the place of a BERT that it names."""
    names = {}
    ours = cells[cells["scale"] != "paper"]
    for axis in study.axes:
        for label in axis.labels:
            encoders = set(ours.loc[ours[axis.name] == label, "encoder"]) - {""}
            of_bert = "BERT" in label and encoders
            names[label] = f"{label} ({', '.join(sorted(encoders))})" if of_bert else label
    return names


def setting(result: StudyResult) -> str:
    """Scale, profile, encoders and data in one line."""
    setup = result.setup
    sources = setup.sources
    encoders = sorted({shown(sources.encoder_of(digest).name) for digest in _encoders(result)})
    text = shown(sources.corpus_name)
    pairs = shown(sources.evaluation_name)
    scale = f"scale {setup.scale.name}"
    if setup.scale.generated:
        scale += " (made-up language)"
    where = f"{scale} · profile {setup.profile}"
    return f"{where} · encoder: {', '.join(encoders)} · text: {text} · evaluation: {pairs}"


def scope_note(result: JudgedStudy) -> str:
    """What a verdict at this scale says nothing about, of which checkpoint it speaks, how often a
    run reads its text, and what is known of these data; empty at the papers' own."""
    scale = result.setup.scale
    if scale.generated:
        return f"Scale {scale.name} has a made-up language: its verdicts say nothing of English."
    if scale.name == "paper":
        return ""
    these = "this encoder" if len(_encoders(result)) == 1 else "these encoders"
    sentences = [f"These numbers are of {these}, not of the paper's."]
    sentences += _checkpoint(result)
    for check in result.parts[0].checks:
        if check.kind == "passes" and abs(check.value - check.limit) > LIKE:
            words = check.reason.words
            sentences.append(f"{words[:1].upper()}{words[1:]}.")
    sentences += _known(result)
    return " ".join(sentences)


def _checkpoint(result: StudyResult) -> Iterator[str]:
    """Of which checkpoint a table speaks that reads the selected one."""
    cells = [cell for cell in result.cells if cell.trains]
    if not any(cell.metric.checkpoint == "selected" for cell in cells):
        return
    stored = {run.run_id: run.rows for cell in cells for run in cell.runs if run.rows is not None}
    steps = [rows.selected_step for rows in stored.values()]
    step = ""
    if steps and None not in steps:
        last = cells[0].config(0).train.steps
        step = f" (median: step {median(step or 0 for step in steps):,.0f} of {last:,})"
    selected = f"the checkpoint that the development set selects{step}"
    yield f"They describe {selected}, unless a step is named."


def _known(result: StudyResult, scores: Collection[str] = ("",)) -> list[str]:
    """What is known of the encoders and the text of these runs; of scores, such as "avg spearman",
    what is known of their differences between test pairs."""
    sources = result.setup.sources
    digests = {
        "encoder": _encoders(result),
        "text": {sources.corpus_digest},
        "pairs": {sources.evaluation_digest},
    }
    sentences = []
    for row in rows_of(KNOWN_DATA):
        same = all(row[name] in {"", *known} for name, known in digests.items())
        if same and row["score"] in scores:
            sentences.append(row["sentence"])
    return sentences


def _encoders(result: StudyResult) -> set[str]:
    """The digests of the scale's encoder and of others that a run of these starts from."""
    begun = [cell.config(0).encoder for cell in result.cells if cell.begun]
    return {result.setup.sources.encoder.digest, *(encoder.digest for encoder in begun)}


def seed_counts(result: StudyResult) -> str:
    """How many seeds the cells have that have any."""
    counts = sorted(cell.estimate.n for cell in result.cells if cell.estimate.n) or [0]
    first = f"{counts[0]} to " if counts[0] < counts[-1] else ""
    return f"{first}{counted(counts[-1], 'seed')} a cell"


def number_note(result: JudgedStudy) -> str:
    """What a number in the table is, over how many seeds, and how far other test pairs would move a
    difference, where that was measured or the pairs of two rows are stored."""
    sentences = [f"{_number_words(result)}; {seed_counts(result)}."]
    scores = {f"{cell.metric.task} {cell.metric.quantity}" for cell in result.cells}
    known = _known(result, scores)
    sizes = [] if known or AVERAGE_SCORE not in scores else over_pairs(result)
    if sizes:
        least, most = (number(size) for size in (min(sizes), max(sizes)))
        span = f"{least} to {most}" if least < most else most
        moves = "Other test pairs would move a difference of averages by about"
        known.append(f"{moves} ± {span} points.")
    return " ".join(sentences + known)


def verdict_note(claims: pd.DataFrame) -> str:
    """What verdicts on these claims mean; how often they are wrong is known where a rule is older
    than the runs."""
    judged = claims[~claims["verdict"].isin(UNJUDGED)]
    younger = judged["flags"].str.contains("⚑")
    if younger.all():
        return VERDICT_NOTE
    return f"{VERDICT_NOTE} {ERROR_NOTE}{UNCOVERED * bool(younger.any())}"


def _number_words(result: StudyResult) -> str:
    """What a number in the table is."""
    metric = result.study.metric
    scale = result.setup.scale
    kind = unit(metric)
    if kind == SCORE.words:
        kind += f" ({result.aggregate})"
    if metric.quantity != "spearman":
        if metric.title.lower() == kind:
            return kind
        return f"{metric.title}, {kind}"
    if metric.task == "dev":
        return f"{kind}, on the development set ({scale.dev})"
    if metric.task != "avg":
        return f"{kind}, on {metric.task}"
    mean = "" if result.study.tasks else "mean "
    return f"{kind}, {mean}over {', '.join(scale.tests)}"


def outcome_words(verdict: Outcome, direction: Direction, within_margin: bool = False) -> str:
    """A verdict in words, with where an undecided claim points, or that the effect is below the
    margin."""
    if direction:
        return f"{verdict}, points {direction}"
    if within_margin:
        return f"{verdict}, smaller than the margin"
    return verdict


def run_notes(result: JudgedStudy) -> tuple[str, ...]:
    """Notes on these runs: how far the method learns (claims have the rest), missing and failed
    runs, origins."""
    learning = []
    for part in result.parts:
        where = f"{values(part.study)}: " if result.study.varied else ""
        for check in part.checks:
            if check.kind == "gain":
                learning.append(f"{where}{check.reason.words}.")
    return (*learning, *_failed(result), *_origin(result))


def deviation_notes(result: JudgedStudy) -> tuple[str, ...]:
    """The meanings of the D-numbers in the notes, the table's labels and the claims' notes."""
    labels = chain.from_iterable(axis.labels for axis in result.study.axes)
    notes = (claim.note for claim in result.study.claims)
    return explained(*run_notes(result), *result.study.footnotes, *labels, *notes)


def damaged(result: StudyResult) -> Iterator[str]:
    """A sentence for each stored run that cannot be read, which counts as missing."""
    for run in result.runs:
        if run.trouble:
            yield f"Not counted: {run.trouble}"


def _failed(result: StudyResult) -> Iterator[str]:
    """Runs that are missing, diverged or collapsed, and cells that cannot be run."""
    sentences = {
        "missing": "not run yet (—)",
        "no number": "without the number that its cell shows",
        "diverged": "diverged, marked ‡",
        "collapsed": "with vectors of one direction, marked ‡",
    }
    runs = counted(len(result.runs), "run")
    for status, sentence in sentences.items():
        count = result.count(status)
        if count:
            yield f"{count} of {runs} {sentence}."
    yield from damaged(result)
    unavailable = [cell.unavailable for cell in result.cells if cell.unavailable is not None]
    for reason in dict.fromkeys(unavailable):
        if reason.kind != "copied":
            yield f"Unavailable (n/a): {reason.words}."
    if any(cell.cell.copied for cell in result.cells):
        yield "Entries without a number of ours are the paper's copies from elsewhere, never run."


def _origin(result: JudgedStudy) -> Iterator[str]:
    """The runs' seeds, how many are published, and in which parts of their environment they
    differ."""
    runs = [run for run in result.runs if run.rows is not None]
    ordered = any("seed.data" in cell.cell.changes for cell in result.cells)
    if runs and result.setup.profile == "released" and not ordered:
        yield "All runs have one order of the text and one dropout; seeds move new weights (D35)."
    sources = Counter(run.source for run in runs)
    if sources["published"]:
        here = f", {sources['own']} from this machine" if sources["own"] else ""
        count = counted(sources["published"], "run")
        yield f"From the project's published results: {count} of those shown{here}."
    environments = [{**run.provenance, **run.provenance.get("versions", {})} for run in runs]
    differing = []
    for name in ENVIRONMENT:
        versions = {str(environment[name]) for environment in environments if name in environment}
        if len(versions) > 1:
            differing.append(name)
    if differing:
        masks = "; dropout can differ between devices" if "device" in differing else ""
        yield f"The runs differ in {', '.join(differing)}{masks}."
