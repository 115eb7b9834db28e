"""The sentences around a table: title, what the numbers are, and footnotes on what a reader must not overlook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from core.report.cells import RunStatus, StudyResult
from core.report.comparability import comparability
from core.report.naming import stand_in, text_here
from core.report.quantities import SCORE, unit
from core.report.worst import worst
from core.spec.conditions import values
from core.spec.errors import counted, shown
from core.spec.fields import explained
from core.spec.result import device_kind
from core.spec.table import Metric
from core.spec.vary import has, over, read

# What a different value of can move a number without being part of the run's identity.
ENVIRONMENT = (
    "python", "torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "cuda", "device", "processor", "threads", "commit",
)  # fmt: skip


def title(result: StudyResult) -> str:
    """Paper, table and caption."""
    return f"{result.study.paper_name} {result.study.title}: {text_here(result.study.caption, result)}"


def setting(result: StudyResult) -> str:
    """Scale, profile, encoder and data in one line."""
    sources = result.sources
    parts = [
        f"scale {result.scale.name}",
        f"profile {result.profile}",
        f"encoder {sources.encoder_name}",
        f"text {sources.corpus_name}{_rounds(result)}",
        f"evaluation {sources.evaluation_name}",
    ]
    return " · ".join(parts)


def _rounds(result: StudyResult) -> str:
    """How often its runs read the text, where one reads it more than once."""
    runs = [result.edition.config(result.study, cell.cell, 0) for cell in result.cells if not cell.unavailable]
    times = sorted(run.train.steps * run.train.batch_size / run.data.rows for run in runs if run.train.steps)
    if not times or f"{times[-1]:.2f}" <= "1.00":
        return ""
    often = " to ".join(dict.fromkeys(f"{number:.2f}" for number in (times[0], times[-1])))
    return f" ({result.sources.corpus_rows:,} sentences, read {often} times, each time in a new order)"


def reading(result: StudyResult) -> str:
    """What a number in the table is."""
    metric = result.study.metric
    seeds = (
        f"mean over {seeds_of(result)} ± half of the 95 % t-interval of that mean"
        if max(_had(result)) > 1
        else "one seed; its 95 % interval, if any, is a bootstrap over test pairs"
    )
    return f"{what(result, metric)}; {seeds}."


def seeds_of(result: StudyResult) -> str:
    """How many seeds the cells with a run have: runs go where they decide, so cells may differ. How many are asked for, if none has one."""
    least, most = min(_had(result)), max(_had(result))
    return f"{least} to {most} seeds" if least < most else f"{most} seed{'s' if most > 1 else ''}"


def _had(result: StudyResult) -> list[int]:
    """The number of seeds of each cell with a run; of each that is asked for, if none has one."""
    counts = [sum(run.rows is not None for run in cell.runs) for cell in result.cells]
    return [n for n in counts if n] or [result.seeds]


def what(result: StudyResult, metric: Metric) -> str:
    """The metric in words."""
    kind = unit(metric)
    if kind == SCORE:
        kind += f" ({result.aggregate})"
    if metric.quantity != "spearman":
        return kind if not metric.title else metric.title if kind in metric.title.lower() else f"{metric.title}, {kind}"
    if metric.task == "avg":
        return f"{kind}, mean over {', '.join(result.scale.tests)}" if _shown(result, metric) else f"{kind}, each test set by itself"
    return f"{kind}, on {result.scale.dev if metric.task == 'dev' else metric.task}"


def _shown(result: StudyResult, metric: Metric) -> bool:
    """Whether any cell is about this metric's task; a study can be about parts of it alone (ESimCSE, Table 1)."""
    return any(cell.metric.task == metric.task for cell in result.cells)


def of_runs(result: StudyResult) -> tuple[str, ...]:
    """Notes on these runs: baselines, comparability, runs that are missing, diverged or collapsed, mixed environments and origins."""
    named = [said for said in (stand_in(result),) if said]
    return (*named, *_about_baselines(result), *_about_scale(result), *_about_seeds(result), *_about_methods(result),
            *_about_runs(result), *_about_origin(result), *_about_devices(result),
            *_about_texts(result))  # fmt: skip


def of_paper(result: StudyResult) -> tuple[str, ...]:
    """Notes on the paper's table and its code, at the paper's own scale: the study's footnotes."""
    return result.study.footnotes


def footnotes(result: StudyResult) -> tuple[str, ...]:
    """The notes on these runs, then those on the paper, then the meanings of the D-numbers in both."""
    return (*of_runs(result), *of_paper(result), *meanings(result))


def meanings(result: StudyResult) -> tuple[str, ...]:
    """The meanings of the D-numbers in the notes, the table's labels and the claims' notes."""
    labels = [label for axis in result.study.axes for label in axis.labels]
    return explained(*of_runs(result), *of_paper(result), *labels, *(claim.note for claim in result.study.claims))


def _about_scale(result: StudyResult) -> Iterator[str]:
    """Whether these runs can carry the paper's experiment, with the numbers; nothing for a study without claims."""
    if result.study.claims and any(cell.runs for cell in result.cells):
        for part in result.parts:
            yield f"{values(part.study)}: {comparability(part).sentence}" if result.study.varied else comparability(part).sentence


def one_order(result: StudyResult) -> bool:
    """Whether the runs of a trained cell all read the text in one order and with one dropout, so that seeds move new weights alone (D35).
    Cells that name their order themselves are passed over."""
    trained = [cell.cell for cell in result.cells if any(run.rows is not None for run in cell.runs)]
    for cell in (cell for cell in trained if "seed.data" not in result.study.named(cell, result.profile)):
        runs = [result.edition.config(result.study, cell, seed) for seed in (0, 1)]
        if runs[0].train.steps:
            return runs[0].seed.data == runs[1].seed.data
    return False


def _about_seeds(result: StudyResult) -> Iterator[str]:
    if one_order(result):
        yield (
            "All runs read the text in one order and with one dropout; a seed moves new weights alone (D35). Intervals and verdicts speak "
            "of that order, and would be wider over several."
        )


def _about_methods(result: StudyResult) -> Iterator[str]:
    """Which cells are one number of the same runs, and what the study changes in its own method's rows and not in those of another method,
    which has the field, too."""
    shared: dict[object, list[str]] = {}
    for one in (cell for cell in result.cells if cell.runs):
        shared.setdefault((one.runs[0].run_id, one.metric), []).append("/".join(one.cell.labels))
    for names in (names for names in shared.values() if len(names) > 1):
        yield f"The same runs, and so one number: {', '.join(names)}."
    study, lacking = result.study, dict[str, list[tuple[str, ...]]]()
    base = over(study.base_changes, study.by_profile.get(result.profile, {}))
    for cell in (one.cell for one in result.cells if one.cell.method not in (None, study.method) and not one.unavailable):
        run, named = study.paper_config(cell, result.profile), study.named(cell, result.profile)
        for path, value in base.items():
            if path not in named and has(run, path) and read(run, path) != value:
                lacking.setdefault(f"{path}={value}", []).append(cell.labels)
    for change, rows in lacking.items():
        yield f"Not changed in rows of another method: {change} ({', '.join(_short(rows, [cell.cell.labels for cell in result.cells]))})."


def _about_baselines(result: StudyResult) -> Iterator[str]:
    """The scores that need no training, in the table's own metric; nothing if the table prints counts, spectra, or parts of a score."""
    if unit(result.study.metric) != SCORE or not _shown(result, result.study.metric):
        return
    for run in result.runs:
        if run.rows is None:
            continue
        untrained, words = (run.rows.one(at, result.study.metric.task, "spearman_all") for at in ("untrained", "bag_of_words"))
        if untrained is not None and words is not None:
            yield f"Without training, the encoder's own [CLS] scores {untrained.value:.2f}; a random bag of words scores {words.value:.2f}."
            return


def _about_runs(result: StudyResult) -> Iterator[str]:
    total = len(result.runs)
    said: tuple[tuple[RunStatus, str], ...] = (
        ("missing", "not run yet (—)"),
        ("incomplete", "without the number that its cell shows (—)"),
        ("diverged", f"diverged (‡), {_counted_as(result)}"),
        (
            "collapsed",
            f"have vectors of one direction at the selected checkpoint (‡), counted with their own number if they have one, else {_counted_as(result)}",
        ),
    )
    for status, sentence in said:
        where = [f"{'/'.join(cell.cell.labels)}: {cell.count(status)}" for cell in result.cells if cell.count(status)]
        if where:
            count = len({run.run_id for cell in result.cells for run in cell.runs if run.status == status})
            listed = "; ".join(where[:8]) + ("; …" if len(where) > 8 else "")
            yield f"{count} of {counted(total, 'run')} {sentence} ({listed})."
    for run in result.runs:
        if run.trouble:
            yield f"Not counted: {run.trouble}"
    reasons: dict[str, list[tuple[str, ...]]] = {}
    for cell in result.cells:
        if cell.unavailable and not cell.cell.copied:
            reasons.setdefault(cell.unavailable, []).append(cell.cell.labels)
    for reason, labels in reasons.items():
        where = _short(labels, [cell.cell.labels for cell in result.cells if not cell.cell.copied])
        listed = "; ".join(where[:8]) + ("; …" if len(where) > 8 else "")
        yield f"Unavailable (n/a): {reason} ({listed})."
    if any(cell.cell.copied for cell in result.cells):
        yield "Entries without a number of ours are the paper's copies from elsewhere: shown, never run, in no statistic."


def _counted_as(result: StudyResult) -> str:
    """What a run without a number of its own counts for, in this study."""
    found = {worst(cell.metric) for cell in result.cells if not cell.unavailable}
    missing = "missing where the metric has no worst value" if found - {None} else "missing: the metric has no worst value"
    values = [f"counted as {value:g}, the worst" for value in sorted(one for one in found if one is not None)]
    return ", ".join([*values, *([missing] if None in found else [])])


def _short(cells: list[tuple[str, ...]], among: list[tuple[str, ...]]) -> list[str]:
    """Cells by their labels. If all cells of a first label are among them, that label stands alone."""
    other = {labels[0] for labels in among if labels not in cells}
    return list(dict.fromkeys(labels[0] if labels[0] not in other else "/".join(labels) for labels in cells))


def _about_origin(result: StudyResult) -> Iterator[str]:
    found = [run for run in result.runs if run.rows is not None]
    if result.published:
        own = len(found) - result.published
        rest = f", {own} from this machine." if own else "."
        yield f"From the project's published results: {counted(result.published, 'run')} of those shown{rest}"
    flat = [flattened(run.provenance) for run in found]
    for name in ENVIRONMENT:
        versions = Counter(shown(str(one[name])) for one in flat if name in one)
        if len(versions) > 1:
            listed = ", ".join(f"{version} ({count})" for version, count in sorted(versions.items()))
            yield f"The runs differ in {name}: {listed}."


def _about_devices(result: StudyResult) -> Iterator[str]:
    """How many runs each kind of device made, where there are two."""
    runs = {run.run_id: device_kind(run.provenance) for run in result.runs if run.rows is not None}
    kinds = Counter(runs.values())
    if kinds["cpu"] and kinds["cuda"]:
        yield (
            f"CPUs trained {kinds['cpu']} of these runs and GPUs {kinds['cuda']}. Dropout masks can differ between the two kinds of device, "
            "so runs of one seed may share fewer of them."
        )


def _about_texts(result: StudyResult) -> Iterator[str]:
    """Cells whose second text was not written alike for runs that drew alike: a model's words can hang on device and version."""
    for cell in result.cells:
        texts: dict[int, dict[str, list[int]]] = {}  # seeds by text, by seed of the draws
        for run in cell.runs:
            if (text := run.provenance.get("rewritten_text")) is not None:
                drawn = result.edition.config(result.study, cell.cell, run.seed).seed.data
                texts.setdefault(drawn, {}).setdefault(str(text), []).append(run.seed)
        for written in (found for found in texts.values() if len(found) > 1):
            seeds = "; ".join(", ".join(map(str, sorted(found))) for found in written.values())
            yield f"{'/'.join(cell.cell.labels)}: the same draws gave {len(written)} texts, which differ by device or version (seeds {seeds})."


def flattened(provenance: Mapping[str, object]) -> dict[str, object]:
    """Provenance with nested mappings (library versions) brought to one level, by the last name."""
    flat: dict[str, object] = {}
    for name, value in provenance.items():
        flat |= flattened(value) if isinstance(value, Mapping) else {name: value}
    return flat
