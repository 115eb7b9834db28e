"""What a reader reads around a study's numbers: title, setting, notes, comparisons and verdicts in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from core.report.quantities import worst_value
from core.report.results import StudyResult
from core.report.verdicts import Judged, Outcome, Verdict, as_printed, reasons
from core.spec.claim import Contrast, Labels
from core.spec.errors import counted, shown
from core.spec.fields import explained
from core.spec.result import SCORE, unit
from core.spec.setup import values
from core.spec.table import Metric
from core.spec.vary import has, over, read

OUTCOMES: tuple[Outcome, ...] = (
    "supported", "contradicted", "equivalent", "undecided", "not run", "no verdict",
)  # fmt: skip
MARKS = dict(zip(OUTCOMES, "✔✘≈?–∅", strict=True))  # beside the word: never colour alone
READING = (
    "Effect: by how much the weakest comparison that a claim needs lies above (or, negative, below) what the "
    "claim says, paired by seed. Verdicts come at 3, 5, 8, 12, 18, 27, 40 and 60 seeds alone, and at most "
    "one study in twenty has a wrong verdict, however often it is checked. Equivalent: the weakest "
    "comparison misses what the claim says, or exceeds it, by less than the margin."
)
SETS = re.compile(r"\b([Ss])even (STS (?:tasks|sets|test sets)|transfer tasks)")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MOST_TERMS = 4  # of a comparison that is spelled out
MOST_CELLS = 8  # that a note lists
# A different value of these can move a number without being part of the run's identity.
ENVIRONMENT = (
    "python", "torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "cuda", "device",
    "processor", "threads", "commit",
)  # fmt: skip


def title(result: StudyResult) -> str:
    """Paper, table and caption."""
    return f"{result.study.paper_name} {result.study.title}: {text_here(result.study.caption, result)}"


def text_here(text: str, result: StudyResult) -> str:
    """A sentence of ours with as many test sets and transfer tasks as this scale has."""

    def here(found: re.Match) -> str:
        transfer = found[2].startswith("transfer")
        names = result.scale.probes if transfer else result.scale.tests
        word = NUMBERS[len(names)] if len(names) < len(NUMBERS) else str(len(names))
        return f"{word.capitalize() if found[1] == 'S' else word} {found[2] if transfer else 'test sets'}"

    return SETS.sub(here, text)


def setting(result: StudyResult) -> str:
    """Scale, profile, encoder and data in one line."""
    sources = result.sources
    runs = [result.setup.config(result.study, cell.cell, 0) for cell in result.cells if cell.runs]
    times = sorted(run.train.steps * run.train.batch_size / run.data.rows for run in runs)
    often = " to ".join(dict.fromkeys(f"{number:.2f}" for number in (*times[:1], *times[-1:])))
    again = f" ({sources.corpus_rows:,} sentences, read {often} times, each time in a new order)"
    return (
        f"scale {result.scale.name} · profile {result.profile} · encoder {sources.encoder_name} · text "
        f"{sources.corpus_name}{again if times and f'{times[-1]:.2f}' > '1.00' else ''} · evaluation "
        f"{sources.evaluation_name}"
    )


def reading(result: StudyResult) -> str:
    """What a number in the table is."""
    counts = [sum(run.rows is not None for run in cell.runs) for cell in result.cells]
    least, most = min([n for n in counts if n] or [result.seeds]), max(counts) or result.seeds
    seeds = f"{least} to {most} seeds" if least < most else counted(most, "seed")
    spread = f"mean over {seeds} ± half of the 95 % t-interval of that mean"
    single = "one seed; its 95 % interval, if any, is a bootstrap over test pairs"
    return f"{what(result, result.study.metric)}; {spread if most > 1 else single}."


def what(result: StudyResult, metric: Metric) -> str:
    """The metric in words."""
    kind = unit(metric)
    kind += f" ({result.aggregate})" if kind == SCORE else ""
    if metric.quantity != "spearman":
        titled = metric.title if kind in metric.title.lower() else f"{metric.title}, {kind}"
        return titled if metric.title else kind
    if metric.task == "avg":
        sets = f"mean over {', '.join(result.scale.tests)}"
        return f"{kind}, {sets if _is_shown(result, metric) else 'each test set by itself'}"
    return f"{kind}, on {result.scale.dev if metric.task == 'dev' else metric.task}"


def _is_shown(result: StudyResult, metric: Metric) -> bool:
    """Whether any cell is about this metric's task; a study can be about parts of it alone (ESimCSE, Table
    1)."""
    return any(cell.metric.task == metric.task for cell in result.cells)


def contrast_here(contrast: Contrast, result: StudyResult) -> str:
    """A comparison in words: "0.85 minus 0.9, above 0"; of many cells their number."""
    names = [(term.weight, _cell(term.cell, result)) for term in contrast.terms]
    text = "".join(_term(weight, name, n == 0) for n, (weight, name) in enumerate(names))
    text = f"a weighted sum of {len(names)} cells" if len(names) > MOST_TERMS else text
    text = f"scatter over seeds: {text}" if contrast.of == "scatter" else text
    text = text if contrast.metric is None else f"{contrast.metric.title.lower()}: {text}"
    return f"{text}, above {contrast.above:g}".replace("above -", "above −")


def _cell(labels: Labels, result: StudyResult) -> str:
    pairs = zip(result.study.axes, labels, strict=False)
    return "/".join(f"every {axis.title.lower()}" if label is None else label for axis, label in pairs)


def _term(weight: float, name: str, first: bool) -> str:
    sign = ("" if first else " plus ") if weight > 0 else "minus " if first else " minus "
    return f"{sign}{name}" if abs(weight) == 1.0 else f"{sign}{abs(weight):.3g} × {name}"


def why(verdict: Verdict) -> str:
    """The reason beside a verdict: why there is none, why it is provisional, or what "equivalent" leaves
    open."""
    head = "provisional: " if verdict.provisional else ""
    return "; ".join(part for part in (f"{head}{verdict.reason}", as_printed(verdict)) if part)


def by_value(result: Judged) -> list[str]:
    """For each claim of a study under `--vary` its outcomes with the values at which it has them."""
    outcomes: dict[str, dict[str, list[str]]] = {}
    for part in result.by_value:
        value = values(part.study)
        for verdict in part.verdicts:
            key = verdict.claim.key.removesuffix(f" ({value})")
            outcomes.setdefault(key, {}).setdefault(verdict.outcome, []).append(value)
    parts = {
        key: [f"{outcome} at {', '.join(where)}" for outcome, where in found.items()]
        for key, found in outcomes.items()
    }
    return [f"{key}: {'; '.join(each)}." for key, each in parts.items()]


def of_scale(result: StudyResult) -> str:
    """What a verdict at this scale is about."""
    if result.scale.generated:
        made = f"Scale {result.scale.name} is a made-up language and a small encoder"
        return f"{made}: its verdicts say nothing of English."
    if result.scale.name == "mini":
        return f"These verdicts are about {result.sources.encoder_name}, not about the paper's encoder."
    return f"These verdicts are about {result.study.paper_name}'s own setting."


PILOT = ", CUDA graphs"  # how devices of the pilot's runs end; no later run has such a device


def of_runs(result: Judged) -> tuple[str, ...]:
    """Notes on these runs: baselines, what cannot be judged, rates, missing and failed runs, origins."""
    notes = (_baselines, _checks, _rates, _one_order, _methods, _failed, _unavailable, _origin)
    return tuple(note for about in notes for note in about(result))


def meanings(result: Judged) -> tuple[str, ...]:
    """The meanings of the D-numbers in the notes, the table's labels and the claims' notes."""
    labels = [label for axis in result.study.axes for label in axis.labels]
    notes = (claim.note for claim in result.study.claims)
    return explained(*of_runs(result), *result.study.footnotes, *labels, *notes)


def _baselines(result: StudyResult) -> Iterator[str]:
    """The scores that need no training, in the table's own metric; nothing if the table prints no scores."""
    metric = result.study.metric
    for run in result.runs if unit(metric) == SCORE and _is_shown(result, metric) else ():
        places = ("untrained", "bag_of_words") if run.rows is not None else ()
        scores = [
            run.rows.one(place, metric.task, "spearman_all") for place in places if run.rows is not None
        ]
        if len(scores) == 2 and scores[0] is not None and scores[1] is not None:
            untrained, words = scores[0].value, scores[1].value
            yield f"Without training, [CLS] scores {untrained:.2f}, a random bag of words {words:.2f}."
            return


def _checks(result: Judged) -> Iterator[str]:
    """Which claims have no verdict or a provisional one, and how far the method learns."""
    barred = reasons(result)
    yield from barred
    for part in result.parts:
        gain = next((check for check in part.checks.checks if check.kind == "gain"), None)
        if gain is not None and gain.met is not False and gain.words not in " ".join(barred):
            yield f"{values(part.study)}: {gain.words}." if result.study.varied else f"{gain.words}."


def _rates(result: StudyResult) -> Iterator[str]:
    """The learning rates, where the rows train at different ones."""
    rates: dict[float, list[tuple[str, ...]]] = {}
    for cell in (cell for cell in result.cells if cell.runs):
        rate = result.setup.config(result.study, cell.cell, 0).train.learning_rate
        rates.setdefault(rate, []).append(cell.cell.labels)
    if len(rates) > 1:
        listed = "; ".join(f"{rate:g} ({_listed(rates[rate], result)})" for rate in sorted(rates))
        yield f"Rows train at different learning rates: {listed}."


def _one_order(result: StudyResult) -> Iterator[str]:
    """That all runs of a trained cell read the text in one order (D35), for cells that name no order
    themselves."""
    for cell in (cell.cell for cell in result.cells if cell.begun):
        if "seed.data" not in result.study.named(cell, result.profile):
            runs = [result.setup.config(result.study, cell, seed) for seed in (0, 1)]
            if runs[0].seed.data == runs[1].seed.data:
                yield "All runs have one order of the text and one dropout; seeds move new weights (D35)."
            return


def _methods(result: StudyResult) -> Iterator[str]:
    """What the study changes in its own method's rows and not in another method's rows that have the
    field."""
    study, lacking = result.study, dict[str, list[tuple[str, ...]]]()
    base = over(study.base_changes, study.by_profile.get(result.profile, {}))
    others = [one.cell for one in result.cells if one.cell.method not in (None, study.method)]
    for cell in (cell for cell in others if not cell.copied):
        run, named = study.paper_config(cell, result.profile), study.named(cell, result.profile)
        for path, value in base.items():
            if path not in named and has(run, path) and read(run, path) != value:
                lacking.setdefault(f"{path}={value}", []).append(cell.labels)
    for change, rows in lacking.items():
        yield f"Not changed in rows of another method: {change} ({_listed(rows, result)})."


def _failed(result: StudyResult) -> Iterator[str]:
    """Runs that are missing, diverged or collapsed, and what they count for."""
    worst = {worst_value(cell.metric) for cell in result.cells if not cell.unavailable}
    count = " or ".join(f"{one:g}" for one in sorted(one for one in worst if one is not None))
    counts = f"counted as {count}, the worst" if count else "missing: the metric has no worst value"
    sentences = {
        "missing": "not run yet (—)",
        "incomplete": "without the number that its cell shows (—)",
        "diverged": f"diverged (‡), {counts}",
        "collapsed": f"with vectors of one direction (‡), without a number of their own {counts}",
    }
    for status, sentence in sentences.items():
        cells = [(cell, sum(run.status == status for run in cell.runs)) for cell in result.cells]
        where = [f"{'/'.join(cell.cell.labels)}: {n}" for cell, n in cells if n]
        if where:
            n = sum(run.status == status for run in result.runs)
            yield f"{n} of {counted(len(result.runs), 'run')} {sentence} ({_cut(where)})."
    yield from (f"Not counted: {run.trouble}" for run in result.runs if run.trouble)


def _unavailable(result: StudyResult) -> Iterator[str]:
    whys: dict[str, list[tuple[str, ...]]] = {}
    for cell in (cell for cell in result.cells if cell.unavailable and not cell.cell.copied):
        whys.setdefault(cell.unavailable, []).append(cell.cell.labels)
    yield from (f"Unavailable (n/a): {why} ({_listed(labels, result)})." for why, labels in whys.items())
    if any(cell.cell.copied for cell in result.cells):
        yield "Entries without a number of ours are the paper's copies from elsewhere, never run."


def _origin(result: StudyResult) -> Iterator[str]:
    """Runs from the published results, and in which parts of their environment the runs differ."""
    runs = [run for run in result.runs if run.rows is not None]
    if result.published:
        own = len(runs) - result.published
        rest = f", {own} from this machine." if own else "."
        yield f"From the project's published results: {counted(result.published, 'run')} of those shown{rest}"
    if pilot := sum(str(run.provenance.get("device", "")).endswith(PILOT) for run in runs):
        yield f"Of a pilot, trained before the scale was committed: {counted(pilot, 'run')}, loss in bf16."
    environments = [flattened(run.provenance) for run in runs]
    for name in ENVIRONMENT:
        versions = Counter(shown(str(one[name])) for one in environments if name in one)
        if len(versions) > 1:
            listed = ", ".join(f"{version} ({count})" for version, count in sorted(versions.items()))
            masks = "; dropout can differ between them" if name == "device" else ""
            yield f"The runs differ in {name}: {listed}{masks}."


def _listed(cells: Sequence[tuple[str, ...]], result: StudyResult) -> str:
    """Cells by their labels. A first label stands alone where all of its cells are among them."""
    other = {
        one.cell.labels[0] for one in result.cells if one.cell.labels not in cells and not one.cell.copied
    }
    names = [labels[0] if labels[0] not in other else "/".join(labels) for labels in cells]
    return _cut(list(dict.fromkeys(names)))


def _cut(names: Sequence[str]) -> str:
    return "; ".join(names[:MOST_CELLS]) + ("; …" if len(names) > MOST_CELLS else "")


def flattened(provenance: Mapping[str, object]) -> dict[str, object]:
    """Provenance with nested mappings (library versions) brought to one level, by the last name."""
    flat: dict[str, object] = {}
    for name, value in provenance.items():
        flat |= flattened(value) if isinstance(value, Mapping) else {name: value}
    return flat
