"""`run_study.py evaluate MODEL`: score any encoder on disk with the evaluator that scores the
runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

from core.config.scale import DEMO, SCALES, STS_TESTS
from core.data.encoders import unfollowed
from core.data.own_data import DEV, check_name, data_file, own_sets
from core.data.sts import StsSet, load_demo, load_sts, load_stsb
from core.errors import UserError, refusing
from core.formatting import counted, no_formula, say
from core.runner import devices
from core.runner.cli import check_names
from core.runner.orders import EvaluateOrder
from core.store.files import write_whole

SHOWN_AGGREGATES = ("all", "mean", "wmean")
SCORED_COLUMNS = ("model", "pooling", "task", "metric", "value", "pairs")  # of the CSV file
NO_SCORE = "  no rank correlation: all cosines are equal, or a vector is zero or not finite"


def score_encoder(order: EvaluateOrder) -> None:
    """Print a line for each set, the average, alignment and uniformity."""
    began = time.monotonic()
    csv = order.csv
    model = no_formula(order.model.name)
    if csv and csv.exists():
        quoted = model.replace('"', '""')  # as a name with a comma or a quote is written
        header = f"{','.join(SCORED_COLUMNS)}\n".encode()
        mine = (header + f"{model},".encode(), header + f'"{quoted}",'.encode())
        if not csv.is_file() or not csv.read_bytes().startswith(mine):
            raise UserError(f"{csv} holds no scores of {model}; give another --csv.")
    sets, tests, geometry_of = _task(order)
    devices.resources(order.scale, order.device, None)  # refuses cuda without a GPU
    import torch  # takes seconds: mistakes are found first

    from core.evaluation import scoring

    with refusing(devices.NO_GPU, devices.MEND_GPU):
        torch.zeros(1, device=order.device)
    encode, pooling = _encode_and_pooling(order)
    development = " and ".join(name for name in sets if name not in tests)
    read = f"{counted(len(tests), 'test set')} and {development or 'no development set'}"
    say(f"Read {read}, {sum(map(len, sets.values()))} pairs.")
    evaluation = scoring.evaluate(sets, encode, geometry_of)

    # What is printed, and lines of the CSV file
    scores = dict(evaluation.scores)
    if tests:
        scores["avg"] = {name: evaluation.average(tests, name) for name in SHOWN_AGGREGATES}
    say(f"{'set':<10} {'pairs':>6} {'all':>7} {'mean':>7} {'wmean':>7}")
    lines: list[tuple[str, str, float, object]] = []  # set, metric, value, pairs
    for name, score in scores.items():
        pairs: object = ""
        note = ""
        if name in sets:
            pairs = len(sets[name])
        if name == "avg":
            note = f"  of the {counted(len(tests), 'test')}"
            if development:
                note += f", without {development}"
        elif math.isnan(score["all"]):
            note = NO_SCORE
        numbers = " ".join(f"{score[aggregate]:>7.2f}" for aggregate in SHOWN_AGGREGATES)
        say(f"{'average' if name == 'avg' else name:<10} {pairs:>6} {numbers}{note}")
        for aggregate in SHOWN_AGGREGATES:
            lines.append((name, f"spearman_{aggregate}", score[aggregate], pairs))
    for metric, value in evaluation.geometry.items():
        if not math.isnan(value):  # a set may be smaller than a batch
            say(f"{metric.replace('_', ', ')}: {value:.4f}")
        lines.append((geometry_of[-1].name, metric, value, ""))
    say(f"{time.monotonic() - began:.1f} s, pooling {pooling}")
    if csv:
        import pandas

        rows = [(model, pooling, *line) for line in lines]
        table = pandas.DataFrame(rows, columns=SCORED_COLUMNS)
        write_whole(csv, table.to_csv(index=False, na_rep="nan").encode())


def _encode_and_pooling(order: EvaluateOrder) -> tuple[Callable[[Sequence[str]], Any], str]:
    """The function from sentences to vectors, and its pooling in words: those that the encoder's
    folder states, or without them, those that the user names, that a kept model states, or [CLS].
    Says what was read."""
    from core.evaluation import encoding

    folder = order.model
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
            say(f"Not used: {dropped[:200]}.")
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


def _task(order: EvaluateOrder) -> tuple[dict[str, StsSet], list[str], list[StsSet]]:
    """The sets that the order names, which of them are tests (the others are development sets),
    and those that give alignment and uniformity. Raises UserError if they name none."""
    cache = devices.cache_folder()
    check_names("--pairs", order.pairs)
    own = own_sets([(name, data_file(place, "pairs", cache)) for name, place in order.pairs])
    sets: dict[str, StsSet] = {}
    tests = [name for name in own if name != DEV]
    geometry_of = list(own.values())
    if SCALES[order.scale].generated:
        if order.data_dir is not None:
            raise UserError(
                f"--scale {order.scale} has its own pairs and reads no --data-dir; leave one out."
            )
        sets = load_demo()
        for name in own:
            check_name(name, {other.lower() for other in sets})
        tests = [*DEMO.tests, *tests]
        geometry_of = [sets[DEMO.dev]]
    elif order.data_dir is not None:
        sets = load_sts(order.data_dir)
        tests = [*STS_TESTS, *tests]
        geometry_of = [
            load_stsb(order.data_dir, "train"),
            sets["STS-B dev"],
            sets["STS-B"],
        ]
    elif not own:
        raise UserError(
            "Give --data-dir with SentEval's data, --pairs with pairs of your own, or --scale demo."
        )
    return sets | own, tests, geometry_of
