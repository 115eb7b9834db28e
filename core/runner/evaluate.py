"""`run_study.py evaluate MODEL ...`: score any encoders on disk with the evaluator that scores the
runs, and compare them pair by pair."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core.config.scale import DEMO, SCALES, STS_TESTS
from core.data.encoders import configuration, json_object, unfollowed
from core.data.hub import ENCODER_PLACE, encoder_folder
from core.data.own_data import DEV, check_name, data_file, own_sets
from core.data.sts import StsSet, load_demo, load_split, load_sts
from core.data.transfer import TransferTask, load_probes, load_transfer
from core.errors import UserError, refusing
from core.formatting import counted, no_formula, say
from core.runner import devices
from core.runner.cli import check_names
from core.runner.orders import EvaluateOrder
from core.store.files import regular, write_whole
from core.store.locks import waiting

if TYPE_CHECKING:
    from core.evaluation.scoring import EvaluationResult

SHOWN_AGGREGATES = ("all", "mean", "wmean")
SCORE_OF = ["path", "pooling", "sets", "less", "task", "metric"]  # what a row of the CSV is of
CSV_COLUMNS = [*SCORE_OF, "value", "pairs"]
NO_SCORE = "  no rank correlation: all cosines are equal, or a vector is zero or not finite"
MAIN = {"spearman_all": "cosine_spearman", "accuracy_test": "accuracy"}  # and MTEB's names
Values = dict[tuple[str, str], float]  # by set or task, and metric


class TestData(NamedTuple):
    """Sets by name, which of them are tests (the others are development sets), those that give
    alignment and uniformity, transfer tasks, and where all come from."""

    sets: dict[str, StsSet]
    tests: list[str]
    geometry_of: list[StsSet]
    transfer: list[TransferTask]
    source: str


class Scored(NamedTuple):
    """What an encoder scores, and all of its numbers."""

    evaluation: EvaluationResult
    values: Values


def score_encoders(order: EvaluateOrder) -> None:
    """Print the scores of each encoder, and how the scores of each further encoder differ from the
    first encoder's. Writes the files that --csv and --json name. Raises UserError."""
    if not order.models:
        raise UserError("MODEL is missing; give the folder of an encoder.")
    if order.csv:
        _add_rows(order.csv)
    folders = [encoder_folder(place, devices.cache_folder()) for place in order.models]
    for folder in folders:
        if not (folder / "modules.json").is_file():
            configuration(folder)
    data = _test_data(order)
    devices.resources(order.scale, order.device, None)  # refuses cuda without a GPU
    import torch  # takes seconds: mistakes are found first

    from core.evaluation import scoring, transfer

    with refusing(devices.NO_GPU, devices.MEND_GPU):
        torch.zeros(1, device=order.device)
    if SCALES[order.scale].generated:
        say(f"Scale {order.scale} is in a made-up language: scores say nothing of English.")
    first: Scored | None = None
    for place, folder in zip(order.models, folders, strict=True):
        began = time.monotonic()
        encode, pooling = _encode_and_pooling(order, folder)
        evaluation = scoring.evaluate(data.sets, encode, data.geometry_of)
        values = _score_values(data, evaluation)
        if data.transfer:
            for name, accuracy in transfer.transfer_accuracies(data.transfer, encode).items():
                say(f"{name}: accuracy {accuracy.test:.2f}")
                values[name, "accuracy_test"] = accuracy.test
        seconds = time.monotonic() - began
        say(f"{seconds:.1f} s, pooling {pooling}")
        tables = [("", values)]
        scored = Scored(evaluation, values)
        if first is None:
            first = scored
        else:
            say(f"A is {order.models[0]}, B is {place}.")
            tables.append((str(order.models[0]), _less(data, first, scored)))
        rows = []
        for less, table in tables:
            for (name, metric), value in table.items():
                graded = metric.startswith("spearman") and name in data.sets
                pairs = len(data.sets[name]) if graded else ""
                source = (no_formula(str(place)), pooling, data.source, less)
                rows.append((*source, name, metric, value, pairs))
        if order.csv:
            _add_rows(order.csv, rows)
        if order.json:
            _write_json(order.json, place, pooling, data, values, seconds)


def _score_values(data: TestData, evaluation: EvaluationResult) -> Values:
    """Print a line for each set, the average, alignment and uniformity."""
    from core.evaluation.scoring import mean_score

    sets, tests = data.sets, data.tests
    development = " and ".join(name for name in sets if name not in tests)
    read = f"{counted(len(tests), 'test set')} and {development or 'no development set'}"
    say(f"Read {read}, {sum(map(len, sets.values()))} pairs.")
    scores = dict(evaluation.scores)
    if tests:
        scores["avg"] = {name: mean_score(scores, tests, name) for name in SHOWN_AGGREGATES}
    say(f"{'set':<10} {'pairs':>6} {'all':>7} {'mean':>7} {'wmean':>7}")
    values: Values = {}
    for name, score in scores.items():
        pairs = len(sets.get(name, "")) or ""
        note = ""
        if name == "avg":
            note = f"  of the {counted(len(tests), 'test')}"
            if development:
                note += f", without {development}"
        elif math.isnan(score["all"]):
            note = NO_SCORE
        numbers = " ".join(f"{score[aggregate]:>7.2f}" for aggregate in SHOWN_AGGREGATES)
        say(f"{'average' if name == 'avg' else name:<10} {pairs:>6} {numbers}{note}")
        for aggregate in SHOWN_AGGREGATES:
            values[name, f"spearman_{aggregate}"] = score[aggregate]
    for metric, value in evaluation.geometry.items():
        if not math.isnan(value):  # a set may be smaller than a batch
            say(f"{metric.replace('_', ', ')}: {value:.4f}")
        values[data.geometry_of[-1].name, metric] = value
    return values


def _less(data: TestData, first: Scored, second: Scored) -> Values:
    """Print the scores of two encoders side by side, and their differences over the same pairs."""
    import numpy as np

    from core.report.statistics import paired_bootstrap

    draws = {}
    for seed, name in enumerate(data.sets):
        pairs = []
        for encoder in (first, second):
            blocks = [block for block in encoder.evaluation.pairs if block.task == name]
            pairs.append(np.concatenate([(block.gold, block.cosine) for block in blocks], axis=1))
        (gold, a), (_, b) = pairs
        draws[name] = paired_bootstrap(gold, b, a, seed=seed)
    if data.tests:
        draws["avg"] = np.mean([draws[name] for name in data.tests], axis=0)
    say(f"{'':<12} {'A':>7} {'B':>7} {'B - A':>7}")
    values: Values = {}
    for (name, metric), score in first.values.items():
        if metric in MAIN:
            other = second.values[name, metric]
            values[name, metric] = other - score
            line = f"{name:<12} {score:>7.2f} {other:>7.2f} {other - score:>+7.2f}"
            if name in draws:
                low, high = np.quantile(draws[name], (0.025, 0.975)).tolist()
                values |= {(name, f"{metric}_low"): low, (name, f"{metric}_high"): high}
                line += f" [{low:+.2f}, {high:+.2f}]"
            say(line)
    say("In brackets: 95 % by the percentile bootstrap over each set's pairs, 2,000 draws, seed 0.")
    return values


def _add_rows(path: Path, rows: Sequence[tuple] = ()) -> None:
    """Add rows to a CSV file, in the place of those that are of the same. Raises UserError, also
    without rows, for a file of other columns."""
    import pandas as pd

    old = pd.DataFrame(columns=CSV_COLUMNS)
    with waiting(devices.cache_folder() / "csv.lock", f"writing {path}"):
        with refusing(f"{path} cannot be read", "give another --csv"):
            if path.exists():
                old = pd.read_csv(regular(path), dtype=str, keep_default_na=False)
        if list(old) != CSV_COLUMNS:
            raise UserError(f"{path} holds no scores; give another --csv.")
        if rows:
            table = pd.concat([old, pd.DataFrame(rows, columns=CSV_COLUMNS)])
            table = table.drop_duplicates(SCORE_OF, keep="last")
            write_whole(path, table.to_csv(index=False, na_rep="nan").encode())


def _write_json(
    folder: Path, place: Path, pooling: str, data: TestData, values: Values, seconds: float
) -> None:
    """Write tests and transfer tasks as MTEB lays its results out, in fractions. Raises UserError
    for a file of other sets or another pooling."""
    hub = ENCODER_PLACE.fullmatch(str(place))
    name, revision = hub.groups() if hub else (str(place)[1:], "no_revision_available")
    folder = folder / name.replace("/", "__") / revision
    meta = {"name": name, "revision": revision}
    write_whole(folder / "model_meta.json", json.dumps(meta).encode())
    titles = {name: name for name in data.tests} | {"STS-B": "STSBenchmark"}
    titles |= {task.name: f"{task.name}Classification" for task in data.transfer}
    source = {"dataset_revision": data.source, "pooling": pooling}
    for (name, metric), value in values.items():
        if metric not in MAIN or name not in titles:
            continue
        score = None if math.isnan(value) else value / 100
        entry: dict[str, Any] = {MAIN[metric]: score, "main_score": score}
        entry |= {"hf_subset": "default", "languages": []}
        file = source | {
            "task_name": titles[name],
            "mteb_version": None,
            "scores": {"test": [entry]},
            "evaluation_time": seconds,
            "kg_co2_emissions": None,
        }
        path = folder / f"{titles[name]}.json"
        if not source.items() <= (file | json_object(path)).items():
            raise UserError(f"{path} is of other sets or another pooling; give another --json.")
        write_whole(path, json.dumps(file, indent=2).encode())


def _encode_and_pooling(
    order: EvaluateOrder, folder: Path
) -> tuple[Callable[[Sequence[str]], Any], str]:
    """The function from sentences to vectors, and its pooling in words: those that the encoder's
    folder states, or without them, those that the user names, that a kept model states, or [CLS].
    Says what was read."""
    from core.evaluation import encoding

    here: dict[str, Any] = {"device": order.device, "allow_pickle": order.allow_pickle}
    # the folder that states modules, pooling and prompts
    places = (folder, folder.parent)
    stated_by = next((place for place in places if (place / "modules.json").is_file()), None)
    encode: Callable[[Sequence[str]], Any]
    if stated_by is None or order.pooling or (folder / "run.json").is_file():
        note = "."
        if order.pooling and stated_by:
            note = f". What {stated_by} says of modules, prompts and similarity is not used."
        elif not order.pooling and not stated_by:
            note = ". Choose another with --pooling."
        pooling: Any = order.pooling or encoding.stated_pooling(folder)
        checkpoint = encoding.load_checkpoint(folder, pooling=pooling, trains=False, **here)
        dropped = ", ".join([*checkpoint.heads(), *unfollowed(folder, checkpoint.max_length)])
        if dropped:
            say(f"Weights and settings not used: {dropped[:200]}.")
        encode = partial(encoding.sentence_vectors, checkpoint, pooling=pooling)
        model = checkpoint.model
        longest = checkpoint.max_length
    else:
        alone = "give --pooling to score its encoder alone"
        if stated_by != folder:
            raise UserError(
                f"{folder} is a part of {stated_by}, which states a pooling; give that, or {alone}."
            )
        if find_spec("sentence_transformers") is None:
            raise UserError(
                f"{folder} has modules.json, which sentence-transformers reads; install the extra "
                f"[evaluate] (requirements-evaluate.txt), or {alone}."
            )
        modules = encoding.load_modules(folder, **here)
        prompts = ", ".join(name for name, prompt in modules.prompts.items() if prompt)
        note = (
            f", by sentence-transformers. Cosines are scored, with prompt "
            f"{modules.default_prompt_name or 'none'}; the folder names the similarity "
            f"{modules.similarity_fn_name} and prompts: {prompts or 'none'}."
        )
        pooling = ", ".join(type(module).__name__.lower() for module in list(modules)[1:])
        encode = partial(modules.encode, show_progress_bar=False)
        model = modules[0].auto_model
        longest = modules.max_seq_length
    config = model.config
    weights = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    shape = f"{config.model_type}, {config.num_hidden_layers} layers x {config.hidden_size}"
    say(
        f"Read {folder}: {shape}, {weights:.1f} million weights; sentences are cut at {longest} "
        "tokens.",
        f"Pooling {pooling}{note}",
    )
    return encode, pooling


def _test_data(order: EvaluateOrder) -> TestData:
    """What the order names. Raises UserError if it names nothing."""
    cache = devices.cache_folder()
    check_names("--pairs", order.pairs)
    files = [(name, data_file(place, "pairs", cache)) for name, place in order.pairs]
    own = own_sets(files)
    source = [f"{name}={file}" for name, file in files]
    tests = [name for name in own if name != DEV]
    if SCALES[order.scale].generated:
        if order.data_dir is not None:
            raise UserError(
                f"--scale {order.scale} has its own pairs and reads no --data-dir; leave one out."
            )
        sets = load_demo()
        for name in own:
            check_name(name, {other.lower() for other in sets})
        tests = [*DEMO.tests, *tests]
        tasks = load_probes() if order.transfer else []
        geometry_of = [sets[DEMO.dev]]
        source = [order.scale, *source]
    elif order.data_dir is not None:
        sets = load_sts(order.data_dir)
        tests = [*STS_TESTS, *tests]
        tasks = load_transfer(order.data_dir) if order.transfer else []
        geometry_of = [
            load_split(order.data_dir, "STS-B", "train"),
            sets["STS-B dev"],
            sets["STS-B"],
        ]
        source = [str(order.data_dir), *source]
    elif not own or order.transfer:
        raise UserError(
            "Give --data-dir with SentEval's data, --pairs with pairs of your own, or --scale demo."
        )
    else:
        sets, tasks, geometry_of = {}, [], list(own.values())
    if tasks:
        source.append("transfer")
    return TestData(sets | own, tests, geometry_of, tasks, " ".join(source))
